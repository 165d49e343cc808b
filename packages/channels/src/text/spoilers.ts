// Finds `||hidden||` in the tokens of one paragraph. Both ends lie in the same span, touch their text, and
// are not escaped.
import type { Token } from "./grammar.ts";

/** `|||` and longer runs are no spoiler's edge. */
const edge = /(?<!\|)\|\|(?!\|)/g;

/** Offsets of the paired edges by token index; opening and closing edges alternate. */
export function spoilerEdges(tokens: readonly Token[]): ReadonlyMap<number, readonly number[]> {
  const edges = new Map<number, number[]>();
  const add = (index: number, offset: number): void => {
    const offsets = edges.get(index);
    if (offsets === undefined) edges.set(index, [offset]);
    else offsets.push(offset);
  };
  const openAtLevel: ({ index: number; offset: number } | null)[] = [null];
  tokens.forEach((token, index) => {
    if (token.nesting === 1) openAtLevel.push(null);
    if (token.nesting === -1 && openAtLevel.length > 1) openAtLevel.pop();
    if (token.type !== "text") return;
    for (const { index: offset } of token.content.matchAll(edge)) {
      const opening = openAtLevel.at(-1) ?? null;
      const before = token.content[offset - 1];
      const after = token.content[offset + 2];
      if (opening !== null && before !== " ") {
        add(opening.index, opening.offset);
        add(index, offset);
        openAtLevel[openAtLevel.length - 1] = null;
      } else if (opening === null && after !== " ") {
        openAtLevel[openAtLevel.length - 1] = { index, offset };
      }
    }
  });
  return edges;
}
