// What one message costs the store, so that no change makes it dearer unseen: syncs of the disk, transactions
// and statements from its arrival until its answer is recorded and the lane is given back. Beside them stands
// how often the handle asks whether another connection wrote.
import { StatementSync } from "node:sqlite";
import { silentLog } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { warmUp } from "../../src/daemon/warm-up.ts";
import { stage, type Stage } from "./stage.ts";

/**
 * Raise a number only with a reason: each sync costs people a third of a millisecond or more, each statement
 * ten microseconds, each question after others half a microsecond in a transaction and under four outside.
 */
const most = { syncs: 4, transactions: 4, statements: 54, doubts: 17 };

interface Work {
  syncs: number;
  transactions: number;
  statements: number;
  /** Questions whether another connection wrote, which make what is remembered true. */
  doubts: number;
}

const words = /^(begin|commit|savepoint|release|rollback)/;
const verbs = ["get", "all", "run"] as const;
const { prototype } = StatementSync;
const real = { get: prototype.get, all: prototype.all, run: prototype.run };

let s: Stage;
let work: Work;
let isWriting = false;

beforeEach(async () => {
  work = { syncs: 0, transactions: 0, statements: 0, doubts: 0 };
  for (const verb of verbs)
    prototype[verb] = function (this: StatementSync, ...values: never[]) {
      note(this.sourceSQL.trim());
      return Reflect.apply(real[verb], this, values) as never;
    };
  s = await stage({ catalogue: true });
});
afterEach(async () => {
  await s.close();
  Object.assign(prototype, real);
});

/** A transaction that wrote nothing has nothing to sync. */
function note(sql: string): void {
  if (/^(insert|update|delete)/.test(sql)) isWriting = true;
  if (sql === "pragma data_version") work.doubts += 1;
  else if (!words.test(sql)) work.statements += 1;
  if (sql !== "commit") return;
  work.transactions += 1;
  if (isWriting) work.syncs += 1;
  isWriting = false;
}

async function costOf(message: () => Promise<void>): Promise<Work> {
  const before = { ...work };
  await message();
  await s.pass(50);
  return {
    syncs: work.syncs - before.syncs,
    transactions: work.transactions - before.transactions,
    statements: work.statements - before.statements,
    doubts: work.doubts - before.doubts,
  };
}

test("a message and its answer cost the store no more than they did", async () => {
  const alice = s.person("alice");
  await alice.says("first").gets("re: first");
  await s.pass(5_000);
  const cost = await costOf(() => alice.says("hello").gets("re: hello"));
  expect(cost.syncs).toBeLessThanOrEqual(most.syncs);
  expect(cost.transactions).toBeLessThanOrEqual(most.transactions);
  expect(cost.statements).toBeLessThanOrEqual(most.statements);
  expect(cost.doubts).toBeLessThanOrEqual(most.doubts);
});

test("what a start warms writes nothing and sends nothing, and a channel that cannot is left for its first message", async () => {
  const alice = s.person("alice");
  await alice.says("first").gets("re: first");
  await s.pass(5_000);
  const { prompts, turnPreparer } = s.core();
  const broken = s.telegram.channel();
  const told: string[] = [];
  const noisy = { ...silentLog, debug: (_: unknown, text: string) => told.push(text) };
  const cost = await costOf(async () => {
    warmUp({
      prompt: {
        config: { agents: { list: [{ id: "main" }] } } as never,
        store: s.store(),
        prompts,
        turnPreparer,
      },
      channels: [{ ...broken, capabilities: null as never }, broken],
      clock: s.clock,
      log: noisy as never,
    });
  });
  expect(cost).toMatchObject({ syncs: 0, transactions: 0 });
  expect(cost.statements).toBeGreaterThan(0);
  expect(told).toEqual(["what the first message needs is not warm"]);
  expect(s.telegram.sends).toHaveLength(1);
});
