// Chooses where a conversation is cut when its beginning becomes a summary. The cut is before a message or an
// answer, never between a call and its result (I11), and the request of the running turn stays unless it
// alone is too much.
import type { Entry } from "@parley/protocol";

export interface CutInput {
  /** The entries after the last summary, oldest first. */
  readonly entries: readonly Entry[];
  /** Tokens of one entry. */
  readonly sizeOf: (entry: Entry) => number;
  /** How many of the newest tokens should stay. */
  readonly keepTokens: number;
  /** Index where the running turn begins; `entries.length` when none runs. */
  readonly turnFrom: number;
  /** Tokens that the running turn may take before it is cut too. */
  readonly roomTokens: number;
}

/** Entries before the returned index become the summary; null when there is nothing to cut off. */
export function planCut({ entries, sizeOf, keepTokens, turnFrom, roomTokens }: CutInput): number | null {
  const sizes = entries.map(sizeOf);
  const sum = (from: number, to: number): number =>
    sizes.slice(from, to).reduce((all, size) => all + size, 0);
  let from = entries.length;
  for (let kept = 0; from > 0 && kept + (sizes[from - 1] ?? 0) <= keepTokens; from -= 1)
    kept += sizes[from - 1] ?? 0;

  const turnFits = sum(turnFrom, entries.length) <= roomTokens;
  const latest = turnFits ? turnFrom : Math.max(turnFrom, lastAnswer(entries));
  const cut =
    from >= latest
      ? latest
      : boundary(entries, from, latest, (at) => sum(at, entries.length) * 2 >= keepTokens);
  return cut > 0 ? cut : null;
}

/**
 * Returns the first message of a person at or after `from` where that keeps enough, else the first message or
 * answer; never after `latest`.
 */
function boundary(
  entries: readonly Entry[],
  from: number,
  latest: number,
  enough: (at: number) => boolean,
): number {
  const message = entries.findIndex((entry, at) => at >= from && at <= latest && entry.type === "user");
  if (message >= 0 && enough(message)) return message;
  const safe = entries.findIndex(
    (entry, at) => at >= from && at <= latest && (entry.type === "user" || entry.type === "assistant"),
  );
  return safe < 0 ? latest : safe;
}

function lastAnswer(entries: readonly Entry[]): number {
  return entries.findLastIndex((entry) => entry.type === "assistant");
}
