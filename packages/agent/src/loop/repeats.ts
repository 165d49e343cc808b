// Breaks loops of identical calls: the same tool with the same arguments and the same answer is no progress.
// It counts in the turn's entries alone, so a resumed turn counts the same. A call whose answer changes
// (polling a process) starts again at one.
import type { Entry, Json, ToolCall, ToolResultEntry } from "@parley/protocol";

/**
 * The third identical call still runs and is warned; from the fifth on none runs; the eighth ends the tools
 * of this turn.
 */
export const repeatLimits = { warn: 3, block: 5, end: 8 } as const;

const noteStart = "Note: this exact call";
const blockStart = "Not run: this exact call";

export function repeatNote(nth: number): string {
  return `${noteStart} was made ${nth} times with the same answer. Try something else.`;
}

export function blockedText(nth: number): string {
  return `${blockStart} was made ${nth - 1} times before with the same answer. Do something else, or answer with what you know.`;
}

/** Counts identical calls with identical answers before this one. */
export function repeatsBefore(entries: readonly Entry[], call: Pick<ToolCall, "name" | "args">): number {
  const key = callKey(call);
  let count = 0;
  let lastAnswer = "";
  for (const result of answersTo(entries, key)) {
    if (textOf(result).startsWith(blockStart)) {
      count += 1;
      continue;
    }
    const answer = JSON.stringify([
      result.isError,
      result.content.filter((part) => part.type !== "text" || !part.text.startsWith(noteStart)),
    ]);
    count = answer === lastAnswer ? count + 1 : 1;
    lastAnswer = answer;
  }
  return count;
}

/** True when some call of the turn has reached the last limit. */
export function stuck(entries: readonly Entry[]): boolean {
  return entries.some(
    (entry) =>
      entry.type === "assistant" &&
      entry.content.some(
        (part) => part.type === "toolCall" && repeatsBefore(entries, part) >= repeatLimits.end,
      ),
  );
}

function answersTo(entries: readonly Entry[], key: string): readonly ToolResultEntry[] {
  const ids = new Set<string>();
  const found: ToolResultEntry[] = [];
  for (const entry of entries) {
    if (entry.type === "assistant") {
      for (const part of entry.content)
        if (part.type === "toolCall" && callKey(part) === key) ids.add(part.id);
    } else if (entry.type === "toolResult" && ids.has(entry.callId)) {
      found.push(entry);
    }
  }
  return found;
}

function callKey(call: Pick<ToolCall, "name" | "args">): string {
  return `${call.name.toLowerCase()} ${JSON.stringify(sorted(call.args))}`;
}

/** Arguments in another order are the same arguments. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

function textOf(result: ToolResultEntry): string {
  const first = result.content[0];
  return first?.type === "text" ? first.text : "";
}
