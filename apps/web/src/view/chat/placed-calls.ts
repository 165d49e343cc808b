// Places calls of tools between the messages: each turn's before the first message that came after them,
// those of now at the end. Calls that did not change stay the same objects: nothing is drawn again for them.
import type { ChatMessage } from "@parley/protocol";
import { foldedAtFirst, type ToolCall } from "./tool-card.ts";

const noCalls: readonly ToolCall[] = [];

interface PlacedCalls {
  readonly place: (calls: readonly ToolCall[], messages: readonly ChatMessage[]) => void;
  /** Those before the message with this seq. */
  readonly before: (seq: number) => readonly ToolCall[];
  /** Those of now. */
  readonly last: () => readonly ToolCall[];
  /** How many of these are folded; none where there are none. */
  readonly foldedOf: (calls: readonly ToolCall[]) => number;
  readonly fold: (first: ToolCall, folded: number) => void;
  readonly unfold: () => void;
}

export function placedCalls(): PlacedCalls {
  let before: ReadonlyMap<number, readonly ToolCall[]> = new Map();
  let last = noCalls;
  /** How many of a turn's calls are folded, by its first call: it changes only where nobody sees it. */
  const folds = new Map<string, number>();
  return {
    place: (calls, messages) => {
      const [shown, now] = placed(calls, messages);
      before = new Map([...shown].map(([seq, each]) => [seq, sameAs(before.get(seq), each)]));
      last = sameAs(last, now);
    },
    before: (seq) => before.get(seq) ?? noCalls,
    last: () => last,
    foldedOf: (calls) => {
      const [first] = calls;
      if (first === undefined) return 0;
      const folded = folds.get(first.id) ?? foldedAtFirst(calls.length);
      folds.set(first.id, folded);
      return folded;
    },
    fold: ({ id }, folded) => folds.set(id, folded),
    unfold: () => folds.clear(),
  };
}

function placed(
  calls: readonly ToolCall[],
  messages: readonly ChatMessage[],
): readonly [ReadonlyMap<number, readonly ToolCall[]>, readonly ToolCall[]] {
  const before = new Map<number, ToolCall[]>();
  const last: ToolCall[] = [];
  const first = messages[0]?.atMs ?? 0;
  let at = 0;
  for (const call of calls.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
    if (call.startedAtMs < first) continue;
    while (at < messages.length && !comesAfter(messages[at], call)) at += 1;
    const next = messages[at];
    if (next === undefined) last.push(call);
    else before.set(next.seq, [...(before.get(next.seq) ?? []), call]);
  }
  return [before, last];
}

/** Those of before where nothing changed, so that nothing is drawn again for them. */
function sameAs(before: readonly ToolCall[] = noCalls, now: readonly ToolCall[]): readonly ToolCall[] {
  const isSame = (call: ToolCall, at: number): boolean =>
    before[at]?.id === call.id && before[at].turn === call.turn && before[at].state === call.state;
  return before.length === now.length && now.every(isSame) ? before : now;
}

function comesAfter(message: ChatMessage | undefined, { startedAtMs }: ToolCall): boolean {
  return message !== undefined && message.role !== "user" && message.atMs >= startedAtMs;
}
