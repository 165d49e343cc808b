// The trial of a suspect: how long it is watched, when a death proves it guilty, what a death without it
// says, and what another process makes of the evidence. The clock tells, to the millisecond.
import { silentLog, type Log } from "@parley/protocol";
import type { SqliteStore, Turn, TurnView } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import {
  isSuspect,
  quarantine,
  quarantineMemory,
  settleTrial,
  type Quarantine,
  type QuarantineMemory,
  type Ruling,
} from "../src/quarantine.ts";
import { memoryStore } from "./store.ts";

let clock: VirtualClock;
let store: SqliteStore;
let warned: string[];
beforeEach(async () => {
  clock = virtualClock();
  await clock.advance(1_000_000);
  store = await memoryStore(clock);
  warned = [];
  onTestFinished(() => store.close());
});

const log: Log = { ...silentLog, warn: (_fields, message) => void warned.push(message) };
/** Of a process that began now. */
const boot = (
  bootId: string,
  here: QuarantineMemory = quarantineMemory(),
  find: unknown = null,
): Quarantine =>
  quarantine(
    { cells: store.cells, turns: { find: async () => find as TurnView | null } },
    here,
    { bootId, bootAtMs: clock.now() },
    clock,
    log,
  );
/** It was opened so long before now. */
const turn = (id: string, livedMs = 0, attempt = 3): Turn =>
  ({ id, attempt, openedAtMs: clock.now() - livedMs, rows: [], lane: "l" }) as unknown as Turn;
const waits = (ruling: Ruling): unknown => (ruling.kind === "wait" ? ruling.how.afterMs : ruling.kind);
const dies = (bootId: string): Promise<void> => settleTrial(store.cells, bootId, clock.now());

/** Rules as often as it is told to come again. */
async function alone(by: Quarantine, of: Turn): Promise<() => Promise<void>> {
  for (let n = 0; n < 100; n += 1) {
    const ruling = await by.rule(of);
    if (ruling.kind === "alone") return ruling.end;
    if (ruling.kind !== "wait") throw new Error(ruling.kind);
    await clock.advance(ruling.how.afterMs);
  }
  throw new Error("it never ran");
}

test("a turn is a suspect from its third attempt, and is watched as long as its lives say: 5 to 30 seconds", async () => {
  expect([1, 2, 3, 4].map((attempt) => isSuspect({ attempt }))).toEqual([false, false, true, true]);
  const watched = async (livedMs: number, attempt = 3): Promise<unknown> => {
    await store.cells.remove("suspects:trial");
    return waits(await boot("b").rule(turn("t", livedMs, attempt)));
  };
  expect([
    await watched(0),
    await watched(3_332),
    await watched(4_000),
    await watched(12_000, 5),
    await watched(20_000),
    await watched(20_002),
  ]).toEqual([5_000, 5_000, 6_000, 9_000, 30_000, 30_000]);
  expect(await boot("b2").rule(turn("t"))).toEqual({
    kind: "wait",
    how: { afterMs: 1_000, reason: "a suspect waits until it may run", refund: true },
  });
});

test("the watch is over at its end and not before, and one suspect runs at a time", async () => {
  const by = boot("b");
  const [one, other] = [turn("one"), turn("other")];
  expect(waits(await by.rule(one))).toBe(5_000);
  await clock.advance(4_999);
  expect(waits(await by.rule(other))).toBe(1);
  await clock.advance(1);
  const ruling = await by.rule(one);
  expect([ruling.kind, waits(await by.rule(other))]).toEqual(["alone", 1_000]);
  expect(by.reasons()).toEqual([
    "2 turns are under suspicion: Parley died twice while it worked on each; they run one at a time, everybody else goes on (now one)",
  ]);
  if (ruling.kind === "alone") await ruling.end();
  expect(by.reasons()).toEqual([
    "one turn is under suspicion: Parley died twice while it worked on each; they run one at a time, everybody else goes on (none runs now)",
  ]);
  // Nothing more is watched after the first: the next runs at once.
  expect((await by.rule(other)).kind).toBe("alone");
  expect(warned).toEqual([
    "the process died in this turn twice, watching whether it dies without it",
    "the process died in this turn before, it is the one suspect that runs",
    "the process died in this turn before, it is the one suspect that runs",
  ]);
});

test("a suspicion that nobody looks at any more is told of until its time and a grace are over", async () => {
  const by = boot("b");
  await by.rule(turn("one"));
  await clock.advance(5_000 + 15_000 - 1);
  expect(by.reasons()).toHaveLength(1);
  await clock.advance(1);
  expect(by.reasons()).toEqual([]);
});

test("a death proves the suspect guilty when the process had lived twice as long without it, to the millisecond", async () => {
  const trial = async (livedMs: number): Promise<unknown> => {
    await store.cells.remove("suspects:trial");
    const one = turn("one");
    await alone(boot("b"), one);
    await clock.advance(livedMs);
    await dies("b");
    const ruling = await boot("next").rule(one);
    return ruling.kind === "guilty" ? ruling.cells : waits(ruling);
  };
  // It was watched for five seconds.
  expect([await trial(2_500), await trial(2_501)]).toEqual([
    [{ key: "suspects:trial", value: null }],
    15_002,
  ]);
  // Longer than that boot lived, and at most 75 seconds.
  expect(await trial(40_000)).toBe(75_000);
});

test("a suspect that dies late is judged at the third time, however long it lived", async () => {
  const one = turn("one");
  const rulings: unknown[] = [];
  for (const bootId of ["b1", "b2", "b3"]) {
    const by = boot(bootId);
    rulings.push(waits(await by.rule(one)));
    await alone(by, one);
    await clock.advance(50_000);
    await dies(bootId);
  }
  rulings.push((await boot("b4").rule(one)).kind);
  expect(rulings).toEqual([5_000, 75_000, 75_000, "guilty"]);
});

test("a death while no suspect ran frees all of them, for five minutes or eight deaths", async () => {
  const one = turn("one");
  expect(waits(await boot("b1").rule(one))).toBe(5_000);
  await dies("b1");
  expect((await boot("b2").rule(one)).kind).toBe("free");
  expect((await boot("b2").rule(turn("other"))).kind).toBe("free");
  expect(warned.at(-1)).toBe("the process died while no suspect ran: what kills it is none of them");
  await clock.advance(299_999);
  expect((await boot("b2").rule(one)).kind).toBe("free");
  await clock.advance(1);
  expect(waits(await boot("b2").rule(one))).toBe(30_000);
  await dies("b2");
  expect((await boot("b3").rule(one)).kind).toBe("free");
  for (let n = 0; n < 7; n += 1) await dies("b3");
  expect((await boot("b3").rule(one)).kind).toBe("free");
  await dies("b3");
  expect((await boot("b3").rule(one)).kind).toBe("wait");
});

test("deaths do not lengthen the five minutes, and an end in peace is none of them", async () => {
  const one = turn("one");
  await boot("b1").rule(one);
  await dies("b1");
  await boot("b2").rule(one);
  await clock.advance(200_000);
  await dies("b2");
  for (let n = 0; n < 20; n += 1) await settleTrial(store.cells, "b2", null);
  await clock.advance(99_999);
  expect((await boot("b3").rule(one)).kind).toBe("free");
  await clock.advance(1);
  expect((await boot("b3").rule(one)).kind).toBe("wait");
});

test("only a death of the process that made the trial counts for it, once, and its end in peace ends it", async () => {
  const one = turn("one");
  await alone(boot("b1"), one);
  await dies("another");
  await clock.advance(1_000);
  await dies("b1");
  const fell = (await store.cells.get("suspects:trial"))?.value;
  await clock.advance(60_000);
  await dies("b1");
  expect((await store.cells.get("suspects:trial"))?.value).toBe(fell);
  expect(JSON.parse(fell ?? "{}")).toMatchObject({ boot: "b1", diedByMs: clock.now() - 60_000 });
  await store.cells.remove("suspects:trial");
  await boot("b1").rule(one);
  await settleTrial(store.cells, "another", null);
  expect(await store.cells.get("suspects:trial")).not.toBeNull();
  await settleTrial(store.cells, "b1", null);
  expect(await store.cells.get("suspects:trial")).toBeNull();
});

test("another process waits for a trial until it is certainly over, and then watches for itself", async () => {
  const [one, other] = [turn("one"), turn("other")];
  await alone(boot("b1"), one);
  const elsewhere = boot("b2");
  await clock.advance(60_000 + 15_000 - 1);
  expect(waits(await elsewhere.rule(other))).toBe(1_000);
  await clock.advance(1);
  // That process had begun five seconds after the turn.
  expect(waits(await elsewhere.rule(other))).toBe(7_500);
});

test("after the death of one, another suspect waits until that one's turn is over, parked apart or out of suspicion", async () => {
  await alone(boot("b1"), turn("one"));
  await dies("b1");
  const ruled = async (find: unknown): Promise<unknown> =>
    waits(await boot("b2", quarantineMemory(), find).rule(turn("other")));
  expect(await ruled({ state: "parked", attempt: 3 })).toBe(1_000);
  expect(await ruled({ state: "open", attempt: 2 })).toBe(5_000);
  for (const over of [null, { state: "done", attempt: 3 }]) {
    await store.cells.remove("suspects:trial");
    await alone(boot("b1"), turn("one"));
    await dies("b1");
    expect(await ruled(over)).toBe(5_000);
  }
});

test("a suspect that ended leaves its trial for a minute, in which the next needs no watch, and ends only itself", async () => {
  const here = quarantineMemory();
  const by = boot("b1", here);
  const end = await alone(by, turn("one"));
  await end();
  const second = await alone(by, turn("other"));
  await end();
  expect(here.running).toBe("other");
  await second();
  expect(here.running).toBeNull();
  await clock.advance(59_999);
  expect((await by.rule(turn("third"))).kind).toBe("alone");
  await store.cells.remove("suspects:trial");
  const late = quarantineMemory();
  const after = boot("b1", late);
  await (
    await alone(after, turn("one"))
  )();
  await clock.advance(60_000);
  expect(waits(await after.rule(turn("other")))).toBe(5_000);
});
