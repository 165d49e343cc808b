// What an old database costs: a daemon on an empty state folder beside one whose database has many sessions
// and a gigabyte of what was said, started in turn; then messages in turn, to each its own. Read the CPU
// first: it hardly changes with what else the machine does. `node bench/long.ts [--sessions 10000]
// [--kilobytes 100] [--starts 3] [--messages 50]`; prints a table. Needs twice the size on the disk.
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type ConversationKey, type SessionKey, silentLog, sleep } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { bothMs, converse, percentile } from "./daemon/converse.ts";
import { clock, fakes, homeFor, startDaemon } from "./daemon/daemon.ts";

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "10000" },
    kilobytes: { type: "string", default: "100" },
    starts: { type: "string", default: "3" },
    messages: { type: "string", default: "50" },
  },
});
const [sessions, kilobytes, starts, messages] = [
  Number(values.sessions),
  Number(values.kilobytes),
  Number(values.starts),
  Number(values.messages),
];
const together = 100;

async function side(name: string) {
  const world = await fakes();
  const home = homeFor(world);
  return {
    name,
    world,
    home,
    database: join(home.path, "state.db"),
    ready: [] as number[],
    cpu: [] as number[],
  };
}

/** One answered turn a session, with so much text that they make up the size. */
async function fill(path: string): Promise<void> {
  const onFatal = (error: unknown): never => {
    throw error;
  };
  const store = await sqliteStore({ path, clock, log: silentLog, bootId: "bench", onFatal });
  const entry = JSON.stringify({ v: 1, kind: "note", text: "x".repeat(kilobytes * 500) });
  const one = async (n: number): Promise<void> => {
    const lane = `agent:main:telegram:dm:${100_000 + n}` as SessionKey;
    const conversation = `telegram:default:dm:${100_000 + n}` as ConversationKey;
    const pool = `fill${n % together}`;
    const as = { kind: "work" } as const;
    await store.inbox.accept([
      { id: `fill-${n}`, lane, conversation, authority: "person", pool, as, payload: "{}" },
    ]);
    const turn = await store.turns.take({ pool, holder: "bench", leaseMs: 600_000, maxRows: 1 });
    if ("idle" in turn) throw new Error("no turn to take");
    await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [entry, entry], deliveries: [] });
  };
  for (let n = 0; n < sessions; n += together)
    await Promise.all(Array.from({ length: together }, (_, at) => one(n + at)));
  await store.close();
}

const sides = [await side("empty"), await side("old")] as const;
const [, old] = sides;
try {
  // The first start makes the folder, and fills the compile cache.
  for (const { home } of sides) await (await startDaemon(home)).stop();
  await fill(old.database);
  for (let n = 0; n < starts; n += 1) {
    for (const { home, ready, cpu } of sides) {
      const daemon = await startDaemon(home);
      ready.push(daemon.readyMs);
      cpu.push(daemon.cpuSeconds() * 1_000);
      await daemon.stop();
    }
  }
  const rows: Record<string, object> = {};
  for (const { name, world, home, database, ready, cpu } of sides) {
    const daemon = await startDaemon(home);
    await sleep(clock, 3_000);
    await converse(world, 25);
    const before = daemon.cpuSeconds();
    const spans = await converse(world, messages);
    rows[name] = {
      "database MB": Math.round(statSync(database).size / 1e6),
      "ready ms": percentile(ready, 0.5),
      "CPU ms until ready": percentile(cpu, 0.5),
      "CPU ms a message": Math.round(((daemon.cpuSeconds() - before) / messages) * 10_000) / 10,
      "both p50 ms": percentile(bothMs(spans), 0.5),
      "resident MB": Math.round(daemon.residentMb()),
    };
    await daemon.stop();
  }
  console.table(rows);
} finally {
  for (const { world, home } of sides) {
    await world.close();
    home.remove();
  }
}
