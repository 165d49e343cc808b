// The copy of a transcript into a conversation that begins with it.
import { longLog } from "@parley/agent";
import type { Entry } from "@parley/protocol";
import type { Session, StoredEntry } from "@parley/store";
import { expect, test } from "vitest";
import { forkCommand } from "../src/transcript/fork.ts";
import { standsFromField } from "../src/transcript/history.ts";

const user = (text: string): Entry => ({
  type: "user",
  content: [{ type: "text", text }],
  rows: [],
  atMs: 0,
});

/** `lastSeq` of the new session. */
function copying(entries: readonly (readonly [number, Entry])[], lastSeq = 0) {
  const stored = entries.map(([seq, entry]): StoredEntry => ({
    seq,
    epoch: 2,
    turn: "t",
    body: JSON.stringify(entry),
  }));
  return forkCommand({
    open: async () => ({ lastSeq }) as Session,
    transcript: async (_key, { afterSeq = 0, epoch, limit }) =>
      stored.filter((each) => each.seq > afterSeq && each.epoch === epoch).slice(0, limit),
  });
}

const run = async (command: ReturnType<typeof copying>, throughSeq: number) => {
  const args = JSON.stringify({ from: "a", epoch: 2, throughSeq, fields: { model: "m" } });
  const end = await command.run({ key: "b", args } as never);
  if (end === null || typeof end === "string") throw new Error("a fork says nothing");
  return { ...end, entries: (end.entries ?? []).map((each) => JSON.parse(each) as Entry) };
};

test("copies through one entry and no further, over many pages", async () => {
  const command = copying(Array.from({ length: 700 }, (_, at) => [at + 40, user(`m${at}`)] as const));
  const { entries, patch, answer } = await run(command, 40 + 600);
  expect(entries).toHaveLength(601);
  expect(entries[0]).toEqual(user("m0"));
  expect(entries.at(-1)).toEqual(user("m600"));
  expect(patch).toEqual({ model: "m" });
  expect(answer).toBeNull();
});

test("a summary stands for the same entries in the copy, wherever they come to stand", async () => {
  const summary: Entry = { type: "summary", text: "s", throughSeq: 11, atMs: 0 };
  const command = copying(
    [
      [10, user("a")],
      [11, user("b")],
      [12, user("c")],
      [13, summary],
      [14, user("d")],
    ],
    5,
  );
  const whole = await run(command, 14);
  expect(whole.entries[3]).toEqual({ ...summary, throughSeq: 7 });
  expect(whole.patch).toEqual({ model: "m", [standsFromField]: 7 });
  // Before the summary nothing stood for anything.
  expect((await run(command, 12)).patch).toEqual({ model: "m" });
});

test("of several summaries the last one copied stands, also when a later one is left behind", async () => {
  const summary = (throughSeq: number): Entry => ({
    type: "summary",
    text: `through ${throughSeq}`,
    throughSeq,
    atMs: 0,
  });
  const talk = [10, 11, 13, 14, 15, 17, 19].map((seq) => [seq, user(`m${seq}`)] as const);
  const command = copying(
    [...talk, [12, summary(10)] as const, [16, summary(14)] as const, [18, summary(17)] as const].toSorted(
      ([a], [b]) => a - b,
    ),
    100,
  );
  const stands = async (throughSeq: number) => {
    const { patch = {}, entries } = await run(command, throughSeq);
    return [
      patch[standsFromField],
      ...entries.flatMap((each) => (each.type === "summary" ? [each.throughSeq] : [])),
    ];
  };
  expect(await Promise.all([11, 12, 15, 17, 19].map(stands))).toEqual([
    [undefined],
    [101, 101],
    [101, 101],
    [105, 101, 105],
    [108, 101, 105, 108],
  ]);
});

test("of a long talk the newest is copied, to the bound that a turn has, and an entry that cannot be read is left out", async () => {
  const count = longLog.entries * 2 + 700;
  const long = copying(Array.from({ length: count }, (_, at) => [at + 1, user(`m${at + 1}`)] as const));
  const { entries } = await run(long, count);
  // Whole pages are read until there are enough.
  expect([entries.length, entries.at(-1)]).toEqual([
    Math.ceil((longLog.entries * 2) / 250) * 250,
    user(`m${count}`),
  ]);
  const wide = longLog.bytes / 10;
  const heavy = copying(
    Array.from({ length: 600 }, (_, at) => [at + 1, user("x".repeat(at < 350 ? 1 : wide))] as const),
  );
  expect((await run(heavy, 600)).entries).toHaveLength(250);
  const damaged = copying([
    [1, user("a")],
    [2, { type: "from the future" } as never],
    [3, { type: "summary", text: "s", throughSeq: 2, atMs: 0 }],
  ]);
  const { entries: read, patch } = await run(damaged, 3);
  expect([read, patch?.[standsFromField]]).toEqual([
    [user("a"), { type: "summary", text: "s", throughSeq: 1, atMs: 0 }],
    1,
  ]);
  await expect(damaged.run({ key: "b", args: '{"from":"a"}' } as never)).rejects.toThrow("epoch");
});
