// Nodes of two versions on one Redis: each has an installation of its own, which is updated one after the
// other while people write.
import { mkdir, symlink } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { redisStore } from "@parley/store";
import { redisServer, type RedisServer } from "@parley/testkit";
import { expect } from "vitest";
import { answeredIn, answerTo, flawless, judge, said } from "../crash/said.ts";
import { eventually, freshHome } from "../e2e/daemon.ts";
import { findableGateway } from "../e2e/operator.ts";
import { world, type World } from "../e2e/world.ts";
import type { Role } from "../cluster/fleet.ts";
import type { InventedReleases } from "./invented-releases.ts";
import { keptUp, type KeptUp } from "./kept-up.ts";

const chats = [101, 102, 103, 104];
const silenceMs = 450;
const patience = 3;
const heardWithinMs = 120_000;
/** Longer than a node's line is taken for news. */
const rollWithinMs = 60_000;
/** Each look is a process. */
const lookEveryMs = 250;

interface MixedNode {
  readonly name: string;
  readonly kept: KeptUp;
  /** `kill -9`; it is started again, as by a service manager, in the version in force. */
  die(): Promise<void>;
  /** `parley update --to`. */
  update(to: string): Promise<{ readonly code: number | null; readonly err: string }>;
}

export interface Mixed {
  readonly nodes: readonly MixedNode[];
  /** Name and version of all nodes that run, once these do. */
  roll(versions: readonly string[]): Promise<void>;
  /** Everything that was said so far is answered. */
  heard(): Promise<void>;
  /** They stop; everything was answered once, in its order, but what is flagged. */
  expectFlawless(): Promise<void>;
  close(): Promise<void>;
}

export async function mixedVersions(
  releases: InventedReleases,
  from: string,
  roles: readonly Role[],
): Promise<Mixed> {
  const [w, redis, shared] = await Promise.all([world(), redisServer(), freshHome()]);
  w.models.reply((call) => ({ text: answerTo(call), delayMs: 60 }));
  for (const folder of ["workspace", "media"]) await mkdir(join(shared, folder));
  const nodes: MixedNode[] = [];
  for (const [at, role] of roles.entries())
    nodes.push(await startNode({ w, redis, shared, releases, from, role, name: `${role}-${at + 1}` }));
  const [first] = nodes;

  async function roll(versions: readonly string[]): Promise<void> {
    const wanted = nodes.map(({ name }, at) => `${name} ${versions[at] ?? ""}`);
    let seen: readonly string[] = [];
    const look = async (): Promise<boolean> => {
      const { out } = (await first?.kept.parley("nodes", "--json").ended) ?? { out: "" };
      if (!out.startsWith("{")) return false;
      const told = JSON.parse(out) as {
        readonly nodes: readonly { readonly node: string; readonly version: string; readonly up: boolean }[];
      };
      seen = told.nodes.filter(({ up }) => up).map(({ node, version }) => `${node} ${version}`);
      return wanted.every((each) => seen.includes(each));
    };
    const lookAgain = async (): Promise<boolean> => (await look()) || (await pause(lookEveryMs, false));
    await eventually(lookAgain, rollWithinMs, "the nodes").catch((cause: unknown) => {
      throw new Error(`wanted ${wanted.join(", ")}, seen ${seen.join(", ")}`, { cause });
    });
  }

  const counts = new Map(chats.map((chat) => [chat, 0]));
  const texts = (chat: number): readonly string[] => {
    try {
      return w.answers(chat).map(({ text }) => text);
    } catch {
      // Nothing was said there yet.
      return [];
    }
  };
  const lost = (chat: number): readonly number[] => judge(texts(chat), counts.get(chat) ?? 0).lost;
  async function heard(): Promise<void> {
    const upTo = new Map(counts);
    const isHeard = (chat: number): boolean => lost(chat).every((n) => n > (upTo.get(chat) ?? 0));
    await eventually(() => chats.every(isHeard), heardWithinMs, "every answer").catch((cause: unknown) => {
      const logs = nodes.map(({ name, kept }) => `${name}: ${kept.log().slice(-2_000)}`);
      throw new Error(`${JSON.stringify(chats.map(lost))}\n${logs.join("\n")}`, { cause });
    });
  }
  let isTalking = true;
  const talks = chats.map(async (chat) => {
    while (isTalking) {
      const n = (counts.get(chat) ?? 0) + 1;
      if (lost(chat).length < patience) {
        counts.set(chat, n);
        w.telegram.as(chat).says(said(n));
      }
      await pause(silenceMs);
    }
  });
  const end = async (): Promise<void> => {
    isTalking = false;
    await Promise.all(talks);
  };
  await roll(nodes.map(() => from));
  await heard();
  return {
    nodes,
    roll,
    heard,
    async expectFlawless() {
      await end();
      await heard();
      await Promise.all(nodes.map(({ kept }) => kept.stop()));
      const { flagged, open, dead, withMore } = await left(redis);
      expect({ open, dead, withMore }).toEqual({ open: 0, dead: [], withMore: true });
      for (const chat of chats) {
        const verdict = judge(texts(chat), counts.get(chat) ?? 0);
        const isFlagged = (n: number): boolean =>
          flagged.some(({ lane, content }) => lane.endsWith(`:${chat}`) && answeredIn(content).includes(n));
        const doubled = verdict.doubled.filter((n) => !isFlagged(n));
        expect({ chat, ...verdict, doubled }).toEqual({ chat, ...flawless });
      }
      console.log(`${[...counts.values()].join(", ")} messages, ${flagged.length} flagged`);
    },
    async close() {
      await end();
      await Promise.all(nodes.map(({ kept }) => kept.stop()));
      await Promise.all([w.close(), redis.close()]);
    },
  };
}

interface NodeOptions {
  readonly w: World;
  readonly redis: RedisServer;
  readonly shared: string;
  readonly releases: InventedReleases;
  readonly from: string;
  readonly role: Role;
  readonly name: string;
}

async function startNode(options: NodeOptions): Promise<MixedNode> {
  const { w, redis, shared, releases, from, role, name } = options;
  const home = await freshHome();
  for (const folder of ["workspace", "media"]) await symlink(join(shared, folder), join(home, folder));
  const config = {
    ...w.config,
    ...(await findableGateway()),
    store: { driver: "redis", redis: { url: redis.url } },
    update: { url: releases.folder, watchSeconds: 2 },
  };
  writeFileSync(join(home, "parley.json5"), JSON.stringify(config));
  const program = await releases.install("tarball", from);
  const kept = keptUp(program, home, { afterMs: 100 }, ["--role", role, "--node", name]);
  return {
    name,
    kept,
    async die() {
      const pid = await eventually(() => kept.pid() ?? undefined, rollWithinMs, `${name} to run`);
      process.kill(pid, "SIGKILL");
      await eventually(() => kept.pid() !== pid && kept.pid() !== null, rollWithinMs, `${name} to come back`);
    },
    update: (to) => kept.parley("update", "--to", to).ended,
  };
}

async function left(redis: RedisServer) {
  const store = await redisStore({ url: redis.url, keyPrefix: "parley", bootId: "look", log: silentLog });
  try {
    const rows = await store.inbox.find({ limit: 100_000 });
    const deliveries = await store.outbox.find({ limit: 100_000 });
    return {
      open: rows.filter(({ state }) => state !== "ended").length,
      // What the newer version alone writes was there to be read.
      withMore: rows.some(({ payload }) => payload.includes('"later":["x"]')),
      dead: rows.filter(({ outcome }) => outcome === "dead").map(({ reason }) => reason),
      flagged: deliveries.flatMap(({ lane, parts }) =>
        parts
          .filter((part) => part.flagged)
          .map((part) => ({ lane: String(lane), content: String(part.content) })),
      ),
    };
  } finally {
    await store.close();
  }
}
