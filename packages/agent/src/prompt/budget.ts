// Limits how much of the window the prompt may take, and decides which sections shrink. Each zone has its own
// share: if a long group text could shrink the stable zone, that zone would depend on the surface, against
// I12.
import { charsPerToken } from "./tokens.ts";

export interface PromptBudget {
  readonly stableTokens: number;
  readonly volatileTokens: number;
}

const stableShare = 0.4;
const volatileShare = 0.1;

/** Shares of a context window, in tokens. The window belongs to the model family, so it is a stable fact. */
export function promptBudget(windowTokens: number): PromptBudget {
  return {
    stableTokens: Math.floor(windowTokens * stableShare),
    volatileTokens: Math.floor(windowTokens * volatileShare),
  };
}

/** A rendered section on its way into the prompt. */
export interface Draft {
  readonly id: string;
  readonly priority: number;
  readonly droppable: boolean;
  /** See `Section`. */
  readonly shrinksFirst: boolean;
  readonly text: string;
  shrink(maxChars: number): string | null;
}

export interface Cut {
  readonly section: string;
  readonly how: "shortened" | "dropped";
  readonly rawChars: number;
  readonly keptChars: number;
}

/** What is left to a section that shrinks first while others could still give way: a part of the zone. */
const firstShare = 0.4;

/**
 * Cuts a zone to its share: what shrinks first, then lowest priority first; everything is made shorter before
 * anything is dropped.
 */
export function fit<D extends Draft>(
  drafts: readonly D[],
  maxTokens: number,
): { readonly drafts: readonly D[]; readonly cuts: readonly Cut[] } {
  const texts = new Map(drafts.map((draft) => [draft.id, draft.text]));
  const cuts = new Map<string, Cut>();
  const overChars = (): number =>
    [...texts.values()].reduce((sum, text) => sum + text.length, 0) - maxTokens * charsPerToken;
  if (overChars() <= 0) return { drafts, cuts: [] };

  const inTurn = drafts.toSorted((a, b) => a.priority - b.priority);
  const first = inTurn.filter(({ shrinksFirst }) => shrinksFirst);
  const floorChars = Math.floor(maxTokens * charsPerToken * firstShare);
  const turns = [
    ...first.map((draft) => ({ draft, leastChars: floorChars })),
    ...inTurn.filter(({ shrinksFirst }) => !shrinksFirst).map((draft) => ({ draft, leastChars: 0 })),
    ...first.map((draft) => ({ draft, leastChars: 0 })),
  ];
  for (const { draft, leastChars } of turns) {
    const over = overChars();
    if (over <= 0) break;
    const now = texts.get(draft.id) ?? "";
    const shorter = draft.shrink(Math.max(leastChars, now.length - over));
    if (shorter === null || shorter.length >= now.length) continue;
    texts.set(draft.id, shorter);
    cuts.set(draft.id, {
      section: draft.id,
      how: "shortened",
      rawChars: draft.text.length,
      keptChars: shorter.length,
    });
  }
  for (const draft of inTurn) {
    if (overChars() <= 0) break;
    if (!draft.droppable) continue;
    texts.delete(draft.id);
    cuts.set(draft.id, { section: draft.id, how: "dropped", rawChars: draft.text.length, keptChars: 0 });
  }
  return {
    drafts: drafts.flatMap((draft) => {
      const text = texts.get(draft.id);
      return text === undefined ? [] : [{ ...draft, text }];
    }),
    cuts: [...cuts.values()],
  };
}
