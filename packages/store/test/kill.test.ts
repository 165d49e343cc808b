// Processes on one file, killed with SIGKILL at random instants and started again; then all is drained and the logs are compared
// with the store: nothing acknowledged is lost (I1), every row has one turn and one end (I2, I3), replies are in order (I4), and a
// message that may have been shown twice is flagged (I5). PARLEY_LONG=1 makes it long.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog, systemClock } from "@parley/protocol";
import { expect, test } from "vitest";
import { describeDatabase, sqliteStore, type Store } from "../src/index.ts";
import { tempDir } from "./open-sqlite.ts";
import { isIdle, lane, want, wantOut } from "./subject.ts";

const kills = process.env["PARLEY_LONG"] === "1" ? 60 : 5;
const program = new URL("kill/program.ts", import.meta.url).pathname;
const cast = [
  ["platform", "p0"],
  ["turns", "t0"],
  ["turns", "t1"],
  ["deliveries", "d0"],
  ["deliveries", "d1"],
] as const;

test("killed processes lose nothing, answer once, in order, and flag what may show twice", { timeout: 300_000 }, async () => {
  const dir = tempDir();
  await killLoop(dir);
  const clock = systemClock();
  const store = await sqliteStore({
    path: join(dir, "state.db"),
    clock,
    log: silentLog,
    bootId: "end",
    exclusive: true,
    onFatal: () => {},
  });
  const sends = lines(join(dir, "sends.log"));
  await drain(store, sends);

  const acked = readdirSync(dir)
    .filter((name) => name.startsWith("acked-"))
    .flatMap((name) => lines(join(dir, name)));
  const rows = await store.inbox.find({ limit: 1_000_000 });
  const ends = new Map(rows.map(({ id, outcome }) => [id, outcome]));
  expect(acked.length).toBeGreaterThan(20);
  expect(acked.filter((id) => ends.get(id) !== "answered")).toEqual([]);

  const answered = (
    await Promise.all(["0", "1", "2", "3", "4"].map((peer) => store.sessions.transcript(lane(peer), { limit: 1_000_000 })))
  ).flat();
  const answeredRows = answered.flatMap(({ body }) => JSON.parse(body) as readonly string[]);
  expect(new Set(answered.map(({ turn }) => turn)).size).toBe(answered.length);
  expect(answeredRows.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());

  const deliveries = (await store.outbox.find({ limit: 1_000_000 })).toReversed();
  expect(deliveries.map(({ cause }) => cause).toSorted()).toEqual(answered.map(({ turn }) => turn).toSorted());
  const times = new Map<string, number>();
  for (const send of sends) times.set(send, (times.get(send) ?? 0) + 1);
  const parts = deliveries.flatMap(({ id, parts: each }) => each.map((part, n) => ({ key: `${id} ${n}`, part })));
  expect(parts.filter(({ part }) => part.state !== "sent" && part.state !== "ambiguous")).toEqual([]);
  expect(parts.filter(({ key, part }) => (times.get(key) ?? 0) > (part.flagged ? 2 : 1))).toEqual([]);

  for (const chatLane of new Set(deliveries.map((each) => each.lane))) {
    const wanted = deliveries.filter((each) => each.lane === chatLane).flatMap(({ id, parts: each }) => each.map((_, n) => `${id} ${n}`));
    const place = new Map(wanted.map((key, index) => [key, index]));
    const shown = sends.flatMap((key) => place.get(key) ?? []);
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
  }
  await store.close();
  expect(describeDatabase(join(dir, "state.db"), { full: true }).findings).toEqual([]);
  rmSync(dir, { recursive: true });
});

async function killLoop(dir: string): Promise<void> {
  const start = ([role, name]: (typeof cast)[number]): ChildProcess => {
    return spawn(process.execPath, [program, dir, role, name], { stdio: ["ignore", "ignore", "inherit"] });
  };
  const running = cast.map(start);
  while (!existsSync(join(dir, "sends.log"))) await wait(50);
  for (let n = 0; n < kills; n += 1) {
    await wait(100 + Math.random() * 500);
    // Each sort of process dies in turn; the instant is what is random.
    const victim = n % cast.length;
    const member = cast[victim] as (typeof cast)[number];
    await killed(running[victim] as ChildProcess);
    running[victim] = start(member);
  }
  await wait(500);
  await Promise.all(running.map(killed));
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) throw new Error(`a process of the kill loop ended by itself with ${child.exitCode}`);
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function drain(store: Store, sends: string[]): Promise<void> {
  for (let turn = await store.turns.take(want); !isIdle(turn); turn = await store.turns.take(want)) {
    const rows = turn.rows.map(({ id }) => id);
    const parts = [{ content: "last" }];
    const reply = { id: `${turn.id}/0`, pool: wantOut.pool, lane: turn.conversation, parts, cause: turn.id };
    await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [JSON.stringify(rows)], deliveries: [reply] });
  }
  for (let parcel = await store.outbox.take(wantOut); !isIdle(parcel); parcel = await store.outbox.take(wantOut)) {
    for (const { id, parts } of parcel.deliveries) {
      for (const [part, { state, attempts, flagged }] of parts.entries()) {
        if (state !== "queued" && state !== "sending") continue;
        if (state === "sending" && flagged) await store.outbox.record(parcel, [{ delivery: id, part, to: "ambiguous", reason: "twice" }]);
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

function lines(path: string): string[] {
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").filter(Boolean) : [];
}
