// The known word that a mistyped one was probably meant to be.

/** Null when nothing is near enough to be worth suggesting: more than a third of the letters differ. */
export function nearestWord(typed: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestEdits = Math.max(1, Math.floor(typed.length / 3)) + 1;
  for (const word of known) {
    const edits = editDistance(typed.toLowerCase(), word.toLowerCase());
    if (edits < bestEdits) [best, bestEdits] = [word, edits];
  }
  return best;
}

/** Insertions, removals, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        edits = Math.min(edits, (beforeLast[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length] ?? 0;
}
