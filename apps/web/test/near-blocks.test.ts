// What of a long conversation is drawn: all that is seen, few beside it, and the rest is as high as it was.
import type { ChatMessage } from "@parley/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { blocksOf, type Block } from "../src/view/chat/blocks.ts";
import { nearBlocks, piecesOf, seenFirst } from "../src/view/chat/near-blocks.ts";

const messages = Array.from({ length: 10_000 }, (_, seq): ChatMessage => ({
  seq: seq + 1,
  role: "assistant",
  text: "",
  html: "",
  atMs: seq,
}));
const blocks = blocksOf(messages, []);
const heightPx = 800;

/** Each block is as high as its number in a list of measures says. */
const measured = (measures: readonly number[]): Map<number, number> =>
  new Map(blocks.map(({ key }, at) => [key, measures[at % measures.length] ?? 1]));
const sum = (of: readonly number[]): number => of.reduce((all, each) => all + each, 0);
const isDrawn = (piece: object): piece is Block => "messages" in piece;

test("wherever one reads, what is seen is drawn in its place, and little else", () => {
  const heights = fc.array(fc.integer({ min: 40, max: 3_000 }), { minLength: 1, maxLength: 9 });
  const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(heights, places, (measures, reads) => {
      const known = measured(measures);
      const total = sum([...known.values()]);
      let near: ReadonlySet<number> = new Set();
      for (const read of reads) {
        const topPx = Math.floor(read * (total - heightPx));
        near = nearBlocks(blocks, near, known, { topPx, heightPx });
        const pieces = piecesOf(blocks, near, known);
        let at = 0;
        let drawnPx = 0;
        for (const piece of pieces) {
          const px = isDrawn(piece) ? (known.get(piece.key) ?? 0) : piece.gapPx;
          const isSeen = at < topPx + heightPx && at + px > topPx;
          expect(isDrawn(piece) || !isSeen).toBe(true);
          if (isDrawn(piece)) drawnPx += px;
          at += px;
        }
        expect(at).toBe(total);
        // Both margins, a block that reaches into each, and the newest two.
        expect(drawnPx).toBeLessThanOrEqual(heightPx + 2 * 2_000 + 4 * Math.max(...measures));
      }
    }),
    { numRuns: 30 },
  );
});

test("the end is drawn for who stays there, without a height that is known", () => {
  const near = nearBlocks(blocks, new Set(), new Map(), { topPx: Infinity, heightPx });
  const pieces = piecesOf(blocks, near, new Map());
  expect(pieces[0]).toMatchObject({ key: "first gap" });
  expect(pieces.slice(1).every(isDrawn)).toBe(true);
  expect(pieces.at(-1)).toBe(blocks.at(-1));
});

test("a small step changes nothing, so that it costs nothing", () => {
  const near = nearBlocks(blocks, new Set(), new Map(), { topPx: 90_000, heightPx });
  expect(nearBlocks(blocks, near, new Map(), { topPx: 90_010, heightPx })).toBe(near);
});

/** Blocks of three messages, each 100 high, in a view of 250 that is scrolled so far. */
function scrolled(topPx: number, blockCount = 4): Element {
  const rect = (from: number, to: number) => () => ({ top: from - topPx, bottom: to - topPx });
  const one = (name: string, from: number, to: number, inner: readonly object[] = []): object => ({
    name,
    getBoundingClientRect: rect(from, to),
    querySelectorAll: () => inner,
  });
  const all = Array.from({ length: blockCount }, (_, at) =>
    one(
      `block ${at}`,
      at * 300,
      at * 300 + 300,
      [0, 1, 2].map((nth) => one(`message ${at}.${nth}`, at * 300 + nth * 100, at * 300 + nth * 100 + 90)),
    ),
  );
  return {
    getBoundingClientRect: () => ({ top: 0, bottom: 250 }),
    querySelectorAll: () => all,
  } as never;
}

test("the first message that is seen is known with its place; one that ends at the edge is not seen", () => {
  const first = (topPx: number, blockCount?: number): unknown => {
    const found = seenFirst(scrolled(topPx, blockCount));
    return found === null ? null : [(found.element as never as { name: string }).name, found.top];
  };
  expect([first(0), first(89), first(90), first(400), first(890), first(995), first(1_200)]).toEqual([
    ["message 0.0", 0],
    ["message 0.0", -89],
    ["message 0.1", 10],
    ["message 1.1", 0],
    ["block 2", -290],
    ["message 3.1", 5],
    null,
  ]);
  // Between the last message of a block and its end the block itself counts.
  expect(first(295)).toEqual(["block 0", -295]);
  // What begins below the view is not seen, nor is anything where there is nothing.
  expect([first(-250), first(-249), first(0, 0), seenFirst(null)]).toEqual([
    null,
    ["message 0.0", 249],
    null,
    null,
  ]);
});
