// Cuts a conversation into blocks, of which only those near the reader are drawn: ten thousand messages cost
// as much as a hundred. A block keeps its beginning whatever comes before or after it, so nothing jumps.
import type { ChatMessage } from "@parley/protocol";

export interface Block {
  /** The seq of its first message. */
  readonly key: number;
  readonly messages: readonly ChatMessage[];
  /** The message that stands before it; absent at the beginning. */
  readonly after: ChatMessage | undefined;
}

/** Few, so that one more block is drawn within a frame. */
export const blockMessages = 5;

/** A block whose messages are the same is the same object as in `before`. */
export function blocksOf(messages: readonly ChatMessage[], before: readonly Block[]): readonly Block[] {
  const known = new Map(before.map((block) => [block.key, block]));
  const starts = startsOf(messages, known);
  return starts.map((start, at) => {
    const cut = messages.slice(start, starts[at + 1]);
    const after = messages[start - 1];
    const key = cut[0]?.seq ?? 0;
    const old = known.get(key);
    const isSame =
      old?.after === after &&
      old?.messages.length === cut.length &&
      cut.every((message, index) => message === old.messages[index]);
    return isSame && old !== undefined ? old : { key, messages: cut, after };
  });
}

/** Places of the messages with which blocks begin. */
function startsOf(messages: readonly ChatMessage[], known: ReadonlyMap<number, Block>): readonly number[] {
  const first = messages.findIndex(({ seq }) => known.has(seq));
  if (first === -1) return messages.flatMap((_, at) => (at % blockMessages === 0 ? [at] : []));
  const starts: number[] = [];
  // What came in before is cut from its end, so that all blocks but the first are full.
  for (let at = first - blockMessages; at > 0; at -= blockMessages) starts.unshift(at);
  if (first > 0) starts.unshift(0);
  let begun = first;
  for (let at = first; at < messages.length; at += 1)
    if (at === first || known.has(messages[at]?.seq ?? 0) || at - begun >= blockMessages) {
      starts.push(at);
      begun = at;
    }
  return starts;
}
