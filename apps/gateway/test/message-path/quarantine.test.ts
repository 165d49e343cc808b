// Suspects beside what else happens to a gateway: a change of its config, and an approval that the one that
// runs asks for.
import { type ConversationKey, type SessionKey, silentLog } from "@parley/protocol";
import { sqliteStore, type SqliteStore, type Turn } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { processMemory, type ProcessMemory } from "../../src/message-path/process-memory.ts";
import { settleTrial, quarantine, type Ruling, type Quarantine } from "@parley/runner";

let clock: VirtualClock;
let store: SqliteStore;
beforeEach(async () => {
  clock = virtualClock();
  store = await sqliteStore({
    path: ":memory:",
    bootId: "first",
    exclusive: true,
    onFatal: () => {},
    clock,
    log: silentLog,
  });
  onTestFinished(() => store.close());
});

const coreOf = (bootId: string, { quarantine: here, bootAtMs }: ProcessMemory): Quarantine =>
  quarantine(store, here, { bootId, bootAtMs }, clock, silentLog);

/** Rules as often as it is told to come again, until the suspect may run or `withinMs` are over. */
async function ruled(by: Quarantine, turn: Turn, withinMs: number): Promise<Ruling> {
  const untilMs = clock.now() + withinMs;
  for (;;) {
    const ruling = await by.rule(turn);
    if (ruling.kind !== "wait" || clock.now() >= untilMs) return ruling;
    await clock.advance(ruling.how.afterMs);
  }
}

/** A turn that is held, as one in which the process died twice. */
async function suspect(name: string): Promise<Turn> {
  const [lane, conversation] = [
    `agent:main:telegram:dm:${name}` as SessionKey,
    `telegram:default:dm:${name}` as ConversationKey,
  ];
  await store.inbox.accept([
    { id: name, pool: "person", lane, conversation, authority: "open", as: { kind: "work" }, payload: "{}" },
  ]);
  const turn = await store.turns.take({ pool: "person", holder: "first", leaseMs: 30_000, maxRows: 1 });
  if ("idle" in turn) throw new Error("there is no turn");
  return { ...turn, attempt: 3 };
}

test("a suspect waits for the one that runs under the config before", async () => {
  const kept = processMemory(clock);
  const before = coreOf("first", kept);
  const [one, other] = [await suspect("one"), await suspect("other")];
  const ruling = await ruled(before, one, 60_000);
  if (ruling.kind !== "alone") throw new Error(`it may not run: ${ruling.kind}`);

  const after = coreOf("first", kept);
  expect(await after.rule(other)).toMatchObject({ kind: "wait" });
  expect(after.reasons()).toEqual([
    expect.stringMatching(/^2 turns are under suspicion: .*now agent:main:telegram:dm:one#/),
  ]);
  await ruling.end();
  expect(await after.rule(other)).toMatchObject({ kind: "alone" });
});

test("a suspect is watched three times as long as it lived before each death", async () => {
  const one = await suspect("one");
  // Two boots died in it within twelve seconds: it lived six seconds each time.
  await clock.advance(12_000);
  const by = coreOf("first", processMemory(clock));
  const fromMs = clock.now();
  expect(await ruled(by, one, 60_000)).toMatchObject({ kind: "alone" });
  expect(clock.now() - fromMs).toBe(18_000);
});

test("a suspect does not wait for an answer to one that parked and died with the process", async () => {
  const [one, other] = [await suspect("one"), await suspect("other")];
  expect(await ruled(coreOf("first", processMemory(clock)), one, 60_000)).toMatchObject({ kind: "alone" });
  await store.turns.park(one, { tickets: ["approval"], wake: "any", untilMs: clock.now() + 86_400_000 });
  await settleTrial(store.cells, "first", clock.now());

  expect(await ruled(coreOf("second", processMemory(clock)), other, 5 * 60_000)).toMatchObject({
    kind: "alone",
  });
});
