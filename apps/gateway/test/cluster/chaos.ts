// A gateway of several processes under everything that can happen to processes and to Redis, with people who
// go on talking meanwhile. What they see is judged afterwards: everything answered, in order, nothing twice
// but what is flagged as a resend of unknown outcome.
import { setTimeout as pause } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { redisStore } from "@parley/store";
import { expect } from "vitest";
import { answeredIn, answerTo, judge, said, type Verdict } from "../crash/said.ts";
import { eventually } from "../e2e/daemon.ts";
import { fleet, type Fleet, type Node, type Role } from "./fleet.ts";

export interface ChaosOptions {
  readonly edges: number;
  readonly workers: number;
  readonly chats: number;
  readonly messages: number;
  /** What happens, one after the other, while people talk. */
  readonly events: readonly Misfortune[];
  /** The model's own time. */
  readonly modelMs: number;
  /** After the last misfortune, until everything is answered. */
  readonly healMs: number;
}

export type Misfortune =
  | "kill the leader"
  | "kill a worker"
  | "pause the leader"
  | "pause a worker"
  | "kill Redis"
  | "cut all connections"
  | "forget BullMQ's keys";

export interface ChaosEnd {
  readonly verdicts: readonly Verdict[];
  /** Parts that were sent again after an unknown outcome. */
  readonly flagged: number;
  /** Answers that people saw twice although no part that says so was flagged. */
  readonly doubledInSilence: readonly string[];
  readonly openRows: number;
  readonly deadRows: number;
  readonly exits: readonly (number | string)[];
}

/** Longer than a term: another node leads meanwhile. */
const pauseLeaderMs = 9_000;
const pauseWorkerMs = 4_000;

export async function chaos(options: ChaosOptions): Promise<ChaosEnd> {
  const f = await fleet();
  try {
    return await happen(f, options);
  } finally {
    await f.close();
  }
}

async function happen(f: Fleet, options: ChaosOptions): Promise<ChaosEnd> {
  const { world: w, redis } = f;
  w.models.reply(async (call) => {
    await pause(options.modelMs * (0.5 + Math.random()));
    return answerTo(call);
  });
  const nodes = new Map<string, Node>();
  const up = async (name: string, role: Role): Promise<void> =>
    void nodes.set(name, await f.start(name, role));
  const names = (role: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${role}-${n + 1}`);
  await Promise.all([
    ...names("edge", options.edges).map((name) => up(name, "edge")),
    ...names("worker", options.workers).map((name) => up(name, "worker")),
  ]);

  const chats = Array.from({ length: options.chats }, (_, n) => 1_000 + n);
  const texts = (chat: number): readonly string[] => w.answers(chat).map(({ text }) => text);
  let calm = false;
  /** People write on for as long as something happens. */
  const talk = async (chat: number): Promise<number> => {
    let n = 0;
    while (n < options.messages) {
      n += 1;
      w.telegram.as(chat).says(said(n));
      await pause(calm ? 20 : (options.events.length * 3_000 * (0.3 + Math.random())) / options.messages);
    }
    return n;
  };
  const talks = chats.map(talk);
  for (const event of options.events) {
    await pause(400 + Math.random() * 400);
    await befall(event, f, nodes);
  }
  calm = true;
  await Promise.all(talks);
  const verdict = (chat: number): Verdict => judge(texts(chat), options.messages);
  await eventually(
    () => chats.every((chat) => verdict(chat).lost.length === 0),
    options.healMs,
    "every answer",
  ).catch((error: unknown) => {
    for (const node of nodes.values()) console.log(node.name, node.log().slice(-3_000));
    throw error;
  });
  await pause(500);
  const exits = await Promise.all([...nodes.values()].map((node) => node.stop()));

  const store = await redisStore({ url: redis.url, keyPrefix: "parley", bootId: "look", log: silentLog });
  const flagged = (await store.outbox.find({ limit: 100_000 })).flatMap(({ lane, parts }) =>
    parts.filter((part) => part.flagged).map((part) => ({ lane: String(lane), content: part.content })),
  );
  const isFlagged = (chat: number, n: number): boolean =>
    flagged.some(({ lane, content }) => lane.endsWith(`:${chat}`) && answeredIn(content).includes(n));
  const rows = await store.inbox.find({ limit: 100_000 });
  await store.close();
  return {
    verdicts: chats.map(verdict),
    flagged: flagged.length,
    doubledInSilence: chats.flatMap((chat) =>
      verdict(chat)
        .doubled.filter((n) => !isFlagged(chat, n))
        .map((n) => `${chat}: m${n}`),
    ),
    openRows: rows.filter(({ state }) => state !== "ended").length,
    deadRows: rows.filter(({ outcome }) => outcome === "dead").length,
    exits,
  };
}

async function befall(event: Misfortune, { redis, start }: Fleet, nodes: Map<string, Node>): Promise<void> {
  const leader = async (): Promise<Node> => {
    const name = await eventually(
      async () => leaderIn(await redis.command("HGET", "{parley}:cell:leader:telegram:default", "v")),
      10_000,
      "a leader",
    );
    return nodes.get(name) as Node;
  };
  const worker = (): Node =>
    [...nodes.values()].filter(({ role }) => role === "worker")[
      Math.floor(Math.random() * 8) % count(nodes, "worker")
    ] as Node;
  const killed = async (node: Node): Promise<void> => {
    node.kill("SIGKILL");
    await node.exited;
    await pause(300);
    nodes.set(node.name, await start(node.name, node.role));
  };
  const paused = async (node: Node, ms: number): Promise<void> => {
    node.kill("SIGSTOP");
    await pause(ms);
    node.kill("SIGCONT");
  };
  switch (event) {
    case "kill the leader":
      return killed(await leader());
    case "kill a worker":
      return killed(worker());
    case "pause the leader":
      return paused(await leader(), pauseLeaderMs);
    case "pause a worker":
      return paused(worker(), pauseWorkerMs);
    case "kill Redis":
      await redis.kill();
      await pause(300);
      return redis.start();
    case "cut all connections":
      return void (await redis.command("CLIENT", "KILL", "TYPE", "normal"));
    case "forget BullMQ's keys": {
      const keys = (await redis.command("KEYS", "{parley}:bull:*"))
        .split("\r\n")
        .filter((line) => line.startsWith("{"));
      if (keys.length > 0) await redis.command("DEL", ...keys);
    }
  }
}

function count(nodes: ReadonlyMap<string, Node>, role: Role): number {
  return [...nodes.values()].filter((node) => node.role === role).length;
}

function leaderIn(answer: string): string | undefined {
  return /"node":"([^"]+)"/.exec(answer)?.[1];
}

export function expectHarmless(end: ChaosEnd): void {
  expect(end.verdicts.flatMap(({ lost, late, others }) => [...lost, ...late, ...others])).toEqual([]);
  expect(end).toMatchObject({ doubledInSilence: [], openRows: 0, deadRows: 0 });
  expect(end.exits.filter((exit) => exit !== 0)).toEqual([]);
}
