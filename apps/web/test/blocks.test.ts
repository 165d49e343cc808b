// The blocks of a long conversation: they cover it, keep their beginnings, and only those that changed are
// new.
import type { ChatMessage } from "@parley/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { blockMessages, blocksOf, type Block } from "../src/view/chat/blocks.ts";

const all = Array.from({ length: 400 }, (_, seq): ChatMessage => ({
  seq: seq + 1,
  role: "assistant",
  text: `t${seq}`,
  html: "",
  atMs: seq,
}));

const covered = (blocks: readonly Block[]): readonly number[] =>
  blocks.flatMap(({ messages }) => messages.map(({ seq }) => seq));

test("whatever comes before or after, all is covered in order, in blocks of bounded size, and none begins elsewhere", () => {
  const grows = fc.array(fc.record({ back: fc.nat(90), on: fc.nat(90) }), { maxLength: 6 });
  fc.assert(
    fc.property(fc.integer({ min: 150, max: 250 }), grows, (middle, steps) => {
      let [from, to] = [middle, middle + 10];
      let before: readonly Block[] = [];
      for (const { back, on } of steps) {
        [from, to] = [Math.max(0, from - back), Math.min(all.length, to + on)];
        const messages = all.slice(from, to);
        const blocks = blocksOf(messages, before);
        expect(covered(blocks)).toEqual(messages.map(({ seq }) => seq));
        expect(Math.max(...blocks.map((block) => block.messages.length))).toBeLessThanOrEqual(blockMessages);
        const keys = new Set(blocks.map(({ key }) => key));
        for (const { key } of before) expect(keys.has(key)).toBe(true);
        before = blocks;
      }
    }),
  );
});

test("a block in which nothing changed is the same object; one whose message was edited is not", () => {
  const first = blocksOf(all.slice(0, 100), []);
  const next = blocksOf(all.slice(0, 130), first);
  expect(next.slice(0, 2)).toEqual(first.slice(0, 2));
  expect(next[0]).toBe(first[0]);
  expect(next[1]).toBe(first[1]);
  const edited = all
    .slice(0, 130)
    .map((message) => (message.seq === blockMessages + 2 ? { ...message, text: "x" } : message));
  const after = blocksOf(edited, next);
  expect(after[0]).toBe(next[0]);
  expect(after[1]).not.toBe(next[1]);
});

test("a block whose messages stayed is another where the one before them was edited: it says whom it goes on", () => {
  const blocks = blocksOf(all.slice(0, 130), []);
  const last = blockMessages;
  const edited = all.slice(0, 130).map((each) => (each.seq === last ? { ...each, text: "x" } : each));
  const after = blocksOf(edited, blocks);
  expect(after[1]?.messages).toEqual(blocks[1]?.messages);
  expect([blocks[1]?.after?.text, after[1]?.after?.text]).toEqual([`t${last - 1}`, "x"]);
});

test("a message that went leaves the others where they were", () => {
  const blocks = blocksOf(all.slice(0, 120), []);
  const without = blocksOf(
    all.slice(0, 120).filter(({ seq }) => seq !== 30),
    blocks,
  );
  expect(without.map(({ key }) => key)).toEqual(blocks.map(({ key }) => key));
  expect(without[0]).toBe(blocks[0]);
});
