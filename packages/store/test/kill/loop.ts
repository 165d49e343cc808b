// Processes on one store, killed with SIGKILL at random instants and started again; then all is drained and
// the logs are compared with the store: nothing acknowledged is lost (I1), every row has one turn and one end
// (I2, I3), replies are in order (I4), and a message that may have been shown twice is flagged (I5).
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import { isIdle, lane, want, wantOut } from "../subject.ts";

export interface KillLoop {
  /** Where the processes write their logs. */
  readonly dir: string;
  /** What the processes open; see open-store.ts. */
  readonly store: string;
  readonly kills: number;
  /** Takes a turn among the victims: something that is killed and comes back. */
  readonly also?: () => Promise<void>;
}

interface Member {
  readonly child: ChildProcess;
  /** Resolves with nothing when it was killed, and with what it said when it ended by itself. */
  readonly ended: Promise<string>;
}

const program = new URL("program.ts", import.meta.url).pathname;
const cast = [
  ["platform", "p0"],
  ["turns", "t0"],
  ["turns", "t1"],
  ["deliveries", "d0"],
  ["deliveries", "d1"],
] as const;

/** Messages without which a run proves nothing. */
const fewest = 20;

export async function killLoop({ dir, store, kills, also }: KillLoop): Promise<void> {
  const start = ([role, name]: (typeof cast)[number]): Member => {
    const child = spawn(process.execPath, [program, dir, store, role, name], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = new Promise<string>((resolve) =>
      child.once("close", (code) =>
        resolve(code === null ? "" : `${role} ${name} ended with ${code}: ${said}`),
      ),
    );
    return { child, ended };
  };
  const running = cast.map(start);
  try {
    while (!existsSync(join(dir, "sends.log"))) await wait(50);
    const victims = cast.length + (also === undefined ? 0 : 1);
    for (let n = 0; n < kills; n += 1) {
      await wait(100 + Math.random() * 500);
      // Each sort of process dies in turn; the instant is what is random.
      const victim = n % victims;
      const member = cast[victim];
      if (member === undefined) await also?.();
      else {
        await killed(running[victim] as Member);
        running[victim] = start(member);
      }
    }
    // A busy machine gets little done between the kills.
    while (ackedIn(dir).length <= fewest) await wait(100);
    await wait(500);
  } finally {
    await Promise.all(running.map(killed));
  }
}

/** Throws what a process said that had ended before its time. */
async function killed({ child, ended }: Member): Promise<void> {
  child.kill("SIGKILL");
  const why = await ended;
  if (why !== "") throw new Error(why);
}

/** Drains the store and compares it with what the processes logged. No lease of theirs may be left. */
export async function judge(dir: string, store: Store): Promise<void> {
  const sends = lines(join(dir, "sends.log"));
  await drain(store, sends);

  const acked = ackedIn(dir);
  const rows = await store.inbox.find({ limit: 1_000_000 });
  const ends = new Map(rows.map(({ id, outcome }) => [id, outcome]));
  expect(acked.length).toBeGreaterThan(fewest);
  expect(acked.filter((id) => ends.get(id) !== "answered")).toEqual([]);

  const answered = (
    await Promise.all(
      ["0", "1", "2", "3", "4"].map((peer) => store.sessions.transcript(lane(peer), { limit: 1_000_000 })),
    )
  ).flat();
  const answeredRows = answered.flatMap(({ body }) => JSON.parse(body) as readonly string[]);
  expect(new Set(answered.map(({ turn }) => turn)).size).toBe(answered.length);
  expect(answeredRows.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());

  const deliveries = (await store.outbox.find({ limit: 1_000_000 })).toReversed();
  expect(deliveries.map(({ cause }) => cause).toSorted()).toEqual(
    answered.map(({ turn }) => turn).toSorted(),
  );
  const times = new Map<string, number>();
  for (const send of sends) times.set(send, (times.get(send) ?? 0) + 1);
  const parts = deliveries.flatMap(({ id, parts: each }) =>
    each.map((part, n) => ({ key: `${id} ${n}`, part })),
  );
  expect(parts.filter(({ part }) => part.state !== "sent" && part.state !== "ambiguous")).toEqual([]);
  expect(parts.filter(({ key, part }) => (times.get(key) ?? 0) > (part.flagged ? 2 : 1))).toEqual([]);

  for (const chatLane of new Set(deliveries.map((each) => each.lane))) {
    const wanted = deliveries
      .filter((each) => each.lane === chatLane)
      .flatMap(({ id, parts: each }) => each.map((_, n) => `${id} ${n}`));
    const place = new Map(wanted.map((key, index) => [key, index]));
    const shown = sends.flatMap((key) => place.get(key) ?? []);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
  }
}

async function drain(store: Store, sends: string[]): Promise<void> {
  for (let turn = await store.turns.take(want); !isIdle(turn); turn = await store.turns.take(want)) {
    const rows = turn.rows.map(({ id }) => id);
    const parts = [{ content: "last" }];
    const reply = { id: `${turn.id}/0`, pool: wantOut.pool, lane: turn.conversation, parts, cause: turn.id };
    await store.turns.commit(turn, turn.id, {
      outcome: "answered",
      entries: [JSON.stringify(rows)],
      deliveries: [reply],
    });
  }
  for (
    let parcel = await store.outbox.take(wantOut);
    !isIdle(parcel);
    parcel = await store.outbox.take(wantOut)
  ) {
    for (const { id, parts } of parcel.deliveries) {
      for (const [part, { state, attempts, flagged }] of parts.entries()) {
        if (state !== "queued" && state !== "sending") continue;
        if (state === "sending" && flagged)
          await store.outbox.record(parcel, [{ delivery: id, part, to: "ambiguous", reason: "twice" }]);
        else {
          await store.outbox.record(parcel, [{ delivery: id, part, to: "sending", attempt: attempts + 1 }]);
          sends.push(`${id} ${part}`);
          await store.outbox.record(parcel, [{ delivery: id, part, to: "sent", receipt: "r" }]);
        }
      }
    }
    await store.outbox.release(parcel, { afterMs: 0, reason: "drained" });
  }
}

function ackedIn(dir: string): readonly string[] {
  const logs = readdirSync(dir).filter((name) => name.startsWith("acked-"));
  return logs.flatMap((name) => lines(join(dir, name)));
}

function lines(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}
