// How fast the store's drivers are: verbs per second with 1 and 64 callers in flight. SQLite beside the same
// number of bare write transactions on the same disk in the same run; Redis, on a server of its own on this
// machine, beside SQLite. `node bench/store.ts [--seconds 2] [--json FILE]`; prints a table. Without
// redis-server SQLite alone is measured.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { type ConversationKey, type SessionKey, silentLog, systemClock } from "@parley/protocol";
import { redisStore, sqliteStore, type Store } from "@parley/store";
import { program, redisServer } from "@parley/testkit";

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "2" }, json: { type: "string" } },
});
const clock = systemClock();
const runMs = Number(values.seconds) * 1000;
const payload = JSON.stringify({ text: "x".repeat(280) });
const account = "telegram:default";

interface Work {
  readonly name: string;
  /** Durable steps of one repetition: how many bare transactions it is compared with. */
  readonly steps: number;
  /** `caller` has a lane of its own, `n` counts its repetitions. */
  run(store: Store, caller: number, n: number): Promise<void>;
}

interface Result {
  readonly driver: string;
  readonly verb: string;
  readonly inFlight: number;
  readonly perSecond: number;
  /** Of bare SQLite transactions. */
  readonly barePerSecond: number;
  /** perSecond / barePerSecond. */
  readonly ratio: number;
}

const lane = (caller: number) => `agent:main:telegram:dm:${caller}` as SessionKey;
const chat = (caller: number) => `${account}:dm:${caller}` as ConversationKey;
const accept = async (store: Store, id: string, caller: number): Promise<void> => {
  const to = { lane: lane(caller), conversation: chat(caller), authority: "person" };
  await store.inbox.accept([{ id, ...to, pool: `${caller}`, as: { kind: "work" }, payload }]);
};

const works: readonly Work[] = [
  { name: "accept", steps: 1, run: (store, caller, n) => accept(store, `a${caller}-${n}`, caller) },
  {
    name: "accept, take, commit",
    steps: 3,
    async run(store, caller, n) {
      await accept(store, `t${caller}-${n}`, caller);
      const turn = await store.turns.take({
        pool: `${caller}`,
        holder: "bench",
        leaseMs: 60_000,
        maxRows: 20,
      });
      if ("idle" in turn) throw new Error("no turn to take");
      const delivery = {
        id: `${turn.id}/0`,
        pool: account,
        lane: turn.conversation,
        parts: [{ content: payload }],
        cause: turn.id,
      };
      await store.turns.commit(turn, turn.id, {
        outcome: "answered",
        entries: [payload, payload],
        deliveries: [delivery],
      });
    },
  },
  {
    name: "post, take, sending, sent, release",
    steps: 5,
    async run(store, caller, n) {
      const id = `d${caller}-${n}`;
      await store.outbox.post([
        { id, pool: `${caller}`, lane: chat(caller), parts: [{ content: payload }], cause: "bench" },
      ]);
      const parcel = await store.outbox.take({
        pool: `${caller}`,
        holder: "bench",
        leaseMs: 60_000,
        maxRows: 20,
      });
      if ("idle" in parcel) throw new Error("no delivery to take");
      await store.outbox.record(parcel, [{ delivery: id, part: 0, to: "sending", attempt: 1 }]);
      await store.outbox.record(parcel, [{ delivery: id, part: 0, to: "sent", receipt: "{}" }]);
      await store.outbox.release(parcel, { afterMs: 0, reason: "sent" });
    },
  },
];

/** Repetitions per second on a fresh store. */
async function measure(work: Work, inFlight: number, store: Store): Promise<number> {
  const untilMs = clock.mono() + runMs;
  const startMs = clock.mono();
  const counts = await Promise.all(
    Array.from({ length: inFlight }, async (_, caller) => {
      let n = 0;
      for (; clock.mono() < untilMs; n += 1) await work.run(store, caller, n);
      return n;
    }),
  );
  const tookMs = clock.mono() - startMs;
  await store.close();
  return (counts.reduce((sum, n) => sum + n, 0) * 1000) / tookMs;
}

/**
 * What the disk gives without any grouping: `steps` transactions of one insert each, WAL and
 * synchronous=FULL, per second.
 */
function measureBare(steps: number, dir: string): number {
  const db = new DatabaseSync(join(dir, `bare-${steps}.db`));
  db.exec(
    "pragma journal_mode = wal; pragma synchronous = full; create table t (id text primary key, payload text) without rowid",
  );
  const insert = db.prepare("insert into t values (?, ?)");
  const startMs = clock.mono();
  let n = 0;
  for (; clock.mono() - startMs < runMs / 2; n += 1) {
    for (let step = 0; step < steps; step += 1) insert.run(`${n}-${step}`, payload);
  }
  const perSecond = (n * 1000) / (clock.mono() - startMs);
  db.close();
  return perSecond;
}

const dir = mkdtempSync(join(tmpdir(), "parley-bench-"));
const bare = new Map(works.map((work) => [work.name, measureBare(work.steps, dir)]));
const results: Result[] = [];

async function bench(driver: string, open: (name: string) => Promise<Store>): Promise<void> {
  for (const work of works) {
    for (const inFlight of [1, 64]) {
      const perSecond = await measure(work, inFlight, await open(`${work.steps}-${inFlight}`));
      const barePerSecond = bare.get(work.name) ?? 0;
      const ratio = Number((perSecond / barePerSecond).toFixed(2));
      results.push({
        driver,
        verb: work.name,
        inFlight,
        perSecond: Math.round(perSecond),
        barePerSecond: Math.round(barePerSecond),
        ratio,
      });
    }
  }
}

const onFatal = (error: unknown): void => {
  throw error;
};
await bench("sqlite", (name) =>
  sqliteStore({ path: join(dir, `${name}.db`), clock, log: silentLog, bootId: "bench", onFatal }));
if ("missing" in program("redis-server"))
  console.warn("redis-server is not on the PATH: SQLite alone is measured");
else {
  for (const fsync of ["everysec", "always"]) {
    const server = await redisServer({ args: ["--appendfsync", fsync] });
    await bench(`redis ${fsync}`, (name) =>
      redisStore({ url: server.url, keyPrefix: name, log: silentLog, bootId: "bench" }));
    await server.close();
  }
}
rmSync(dir, { recursive: true });
console.table(results);
if (values.json !== undefined)
  writeFileSync(
    values.json,
    `${JSON.stringify({ bench: "store", seconds: runMs / 1000, results }, null, 2)}\n`,
  );
