// Rows that a stop takes while they wait: what a job's history says of them, and what the session that asked
// is told, also when the process that stopped them died in between.
import { formatRowPayload, parseRowPayload, type ConversationKey, type SessionKey } from "@parley/protocol";
import type { NewRow, Row, SqliteStore } from "@parley/store";
import { directMessage, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { runLog } from "../src/schedules/run-log.ts";
import { scheduledStore } from "../src/schedules/scheduled-turns.ts";
import { slotRow } from "../src/schedules/slot-row.ts";
import { answeringStore } from "../src/sessions/answering-turns.ts";
import { childRegistry, newChild, type Child } from "../src/sessions/child-registry.ts";
import { internalRow } from "../src/internal-row.ts";
import { jobOf } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

let clock: VirtualClock;
let store: SqliteStore;
beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
});

const parent = "agent:main:telegram:dm:7" as SessionKey;
const target = "agent:main:telegram:dm:8" as SessionKey;
const began = {
  pool: "main",
  lane: parent,
  conversation: "telegram:default:dm:7" as ConversationKey,
  authority: "owner",
  payload: formatRowPayload({ v: 1, inbound: directMessage({ sender: { id: "7" } }), owner: true }),
} as const;
const person = (id: string, lane: SessionKey): NewRow => ({
  ...began,
  id,
  lane,
  as: { kind: "work" },
});
const found = async (id: string): Promise<Row | undefined> =>
  (await store.inbox.find({ id, limit: 1 }))[0] as unknown as Row | undefined;

test("a run that is stopped while it waits is in its job's history as skipped, and a message is in none", async () => {
  const log = runLog(store.cells, { retentionMs: 1e9, keepLines: 10 });
  const { inbox } = scheduledStore(store, { log, ownersAt: async () => [], clock });
  const lane = "agent:main:cron:brief" as SessionKey;
  const rights = { owner: true, authority: "owner" };
  const slots = [1, 2].map((n) => ({ id: `cron:brief:${n}`, instantMs: n * 1_000 }));
  await inbox.accept([...slots.map((slot) => slotRow(jobOf(), slot, rights, 5)), person("m1", lane)]);
  await clock.advance(9_000);
  const stopped = await inbox.stop(lane, { rows: "all", reason: "/stop" });
  expect(stopped.rows.toSorted((a, b) => a.localeCompare(b))).toEqual(["cron:brief:1", "cron:brief:2", "m1"]);
  expect(await log.list("brief", 10)).toEqual(
    [2, 1].map((n) => ({
      v: 1,
      job: "brief",
      slot: `cron:brief:${n}`,
      instantMs: n * 1_000,
      turn: null,
      session: lane,
      outcome: "skipped",
      reason: "/stop",
      count: 1,
      startedAtMs: null,
      endedAtMs: clock.now(),
      tokens: 0,
      said: "",
    })),
  );
});

const asker = { session: parent, pool: "main", epoch: 1, reply: "push", hops: 1 } as const;
const asked = (id: string): NewRow =>
  internalRow(
    { ...began, lane: target },
    `message:${id}`,
    "the word?",
    { kind: "message", id, turn: `${parent}#1`, asker },
    0,
  );
const childSession = "agent:main:subagent:0123456789ab-1" as SessionKey;
const child: Child = {
  v: 1,
  id: "0123456789ab-1",
  session: childSession,
  parent,
  turn: `${parent}#1`,
  label: "digger",
  task: "dig",
  mode: "run",
  model: null,
  startedAtMs: 0,
  asker,
  runs: 1,
  killed: false,
  end: null,
};

async function answering() {
  const children = childRegistry(store.cells);
  const { key, value } = newChild(child);
  await store.cells.put(key, value ?? "", {});
  const made = answeringStore(store, {
    children,
    placeOf: () => null,
    threads: { threadsOf: () => [], unbind: async () => [] },
    endBelow: async () => {},
    clock,
  } as never);
  const task = internalRow(
    { ...began, lane: childSession },
    `task:${child.id}`,
    "dig",
    { kind: "task", id: child.id, turn: `${parent}#1`, asker },
    0,
  );
  await made.inbox.accept([asked("a"), asked("b"), person("m1", target), task]);
  return { ...made, children };
}
const toldOf = async (id: string): Promise<string | null> => {
  const row = await found(`answer:${id}`);
  return row === undefined ? null : parseRowPayload(row.payload).inbound.text;
};
const words = (id: string): string =>
  `Session ${target} was stopped before it finished: /stop. It was asked by message ${id}.`;

test("whoever asked is told once that a message was stopped while it waited, and a sub-agent's task is its end", async () => {
  const { inbox, children } = await answering();
  await inbox.stop(target, { rows: { ids: ["message:a", "m1"] }, reason: "/stop" });
  expect([await toldOf("a"), await toldOf("b")]).toEqual([words("a"), null]);
  expect((await found("answer:a")) as object).toMatchObject({
    lane: parent,
    conversation: "telegram:default:dm:7",
  });
  await inbox.stop(childSession, { rows: "all", reason: "killed" });
  expect((await children.get(child.id))?.end).toMatchObject({ state: "stopped", reason: "killed" });
  expect(parseRowPayload((await found(`child:${child.id}`))?.payload ?? "").inbound.text).toMatch(
    /^Sub-agent "digger" \(0123456789ab-1\) was stopped before it finished: killed\./,
  );
  expect(await store.cells.list("stopping:", 10)).toEqual([]);
});

test("what a process that died between a stop and its answers left is told at the next start, once, and not what goes on", async () => {
  const { inbox, healStops } = await answering();
  const note = (ids: readonly string[]) => JSON.stringify({ lane: target, ids, reason: "/stop" });
  await store.cells.put("stopping:1:x", note(["message:a", "message:b"]), {});
  // Another process stopped the one, and is about to stop the other.
  await store.inbox.stop(target, { rows: { ids: ["message:a"] }, reason: "/stop" });
  await healStops();
  expect([await toldOf("a"), await toldOf("b")]).toEqual([words("a"), null]);
  expect(await store.cells.list("stopping:", 10)).toHaveLength(1);
  await store.inbox.stop(target, { rows: { ids: ["message:b"] }, reason: "/stop" });
  await healStops();
  expect([await toldOf("b"), await store.cells.list("stopping:", 10)]).toEqual([words("b"), []]);
  const rows = await inbox.find({ lane: parent, limit: 10 });
  await healStops();
  expect(await inbox.find({ lane: parent, limit: 10 })).toHaveLength(rows.length);
});
