// Says which blocks of a long conversation are drawn: those near the reader, and the newest. What lies
// between is left out, as high as it was or as it is guessed to be, so that nothing moves when it is drawn.
import type { Block } from "./blocks.ts";

/** Blocks this far from what is seen are drawn. */
const drawnWithinPx = 1_200;
/** Blocks that are drawn stay so while they are this near: what goes, goes together with what comes. */
const keptWithinPx = 2_000;
/** A message that was not drawn yet. */
const guessedPx = 90;
/** The newest blocks are drawn always, because a screen reader tells what comes into them. */
const newestBlocks = 2;

/** A run of blocks that are left out. */
interface Gap {
  readonly key: string;
  readonly gapPx: number;
}

export type Piece = Block | Gap;

type Heights = ReadonlyMap<number, number>;

const heightOf = ({ key, messages }: Block, heights: Heights): number =>
  heights.get(key) ?? messages.length * guessedPx;

/** The conversation from its beginning to its end. */
export function piecesOf(
  blocks: readonly Block[],
  near: ReadonlySet<number>,
  heights: Heights,
): readonly Piece[] {
  const pieces: Piece[] = [];
  let gapPx = 0;
  for (const [at, block] of blocks.entries()) {
    if (!near.has(block.key) && at < blocks.length - newestBlocks) {
      gapPx += heightOf(block, heights);
      continue;
    }
    // The first gap stays the same one while the reader moves.
    if (gapPx > 0) pieces.push({ key: pieces.length === 0 ? "first gap" : `gap before ${block.key}`, gapPx });
    gapPx = 0;
    pieces.push(block);
  }
  return pieces;
}

/** What is seen, from the beginning of the conversation; `topPx` may be Infinity for its end. */
export interface Seen {
  readonly topPx: number;
  readonly heightPx: number;
}

/** Keys of the blocks to draw. Returns `near` itself while it holds all that are needed. */
export function nearBlocks(
  blocks: readonly Block[],
  near: ReadonlySet<number>,
  heights: Heights,
  seen: Seen,
): ReadonlySet<number> {
  const needed = within(blocks, heights, seen, drawnWithinPx);
  if (needed.every((key) => near.has(key))) return near;
  const kept = within(blocks, heights, seen, keptWithinPx).filter((key) => near.has(key));
  return new Set([...needed, ...kept]);
}

function within(
  blocks: readonly Block[],
  heights: Heights,
  { topPx, heightPx }: Seen,
  px: number,
): readonly number[] {
  const total = blocks.reduce((sum, block) => sum + heightOf(block, heights), 0);
  const top = Math.min(topPx, total - heightPx);
  const found: number[] = [];
  let at = 0;
  for (const block of blocks) {
    const end = at + heightOf(block, heights);
    if (end > top - px && at < top + heightPx + px) found.push(block.key);
    at = end;
  }
  return found;
}

/** The first message that is seen, and where; null: none is. */
export function seenFirst(
  scroll: Element | null,
): { readonly element: Element; readonly top: number } | null {
  if (scroll === null) return null;
  const { top: edge, bottom: end } = scroll.getBoundingClientRect();
  const isSeen = (element: Element): boolean => element.getBoundingClientRect().bottom > edge;
  const block = firstOf([...scroll.querySelectorAll(".block")], isSeen);
  if (block === undefined) return null;
  const element = firstOf([...block.querySelectorAll("article")], isSeen) ?? block;
  const { top } = element.getBoundingClientRect();
  return top < end ? { element, top } : null;
}

/** The first of those for which it holds, where it holds for all after one for which it does. */
function firstOf<T>(all: readonly T[], holds: (one: T) => boolean): T | undefined {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const one = all[middle];
    if (one !== undefined && holds(one)) to = middle;
    else from = middle + 1;
  }
  return all[from];
}
