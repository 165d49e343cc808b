// The report on a compiled prompt that `parley prompt` and /context show. Sizes are UTF-16 units and
// estimated tokens.
import { z } from "zod";

const section = z.object({
  id: z.string(),
  zone: z.enum(["stable", "volatile"]),
  chars: z.number().int(),
  tokens: z.number().int(),
  /** Hash of the section's text; empty when the section is left out. */
  hash: z.string(),
  included: z.boolean(),
  reason: z.string(),
});

const file = z.object({
  name: z.string(),
  state: z.enum(["present", "missing", "refused"]),
  rawChars: z.number().int(),
  injectedChars: z.number().int(),
  truncated: z.boolean(),
  /** Why it is left out, or who wrote it when that was not an owner. */
  note: z.string().optional(),
  hash: z.string(),
});

const cut = z.object({
  section: z.string(),
  how: z.enum(["shortened", "dropped"]),
  rawChars: z.number().int(),
  keptChars: z.number().int(),
});

const tool = z.object({
  name: z.string(),
  chars: z.number().int(),
  tokens: z.number().int(),
  hash: z.string(),
});

/** Identifies a prompt: a turn's, or, without a turn, the one that the session would get now. */
export const promptIdentity = z.object({
  session: z.string(),
  /** Number of the turn within the session, from 1. */
  turn: z.number().int().nullable(),
  turnId: z.string().nullable(),
  atMs: z.number().nullable(),
  stableHash: z.string(),
});

export const promptExplanation = z.object({
  mode: z.enum(["full", "minimal", "none"]),
  hash: z.string(),
  stableHash: z.string(),
  /** Offset at which the volatile zone begins. */
  boundary: z.number().int(),
  chars: z.number().int(),
  tokens: z.number().int(),
  stableTokens: z.number().int(),
  volatileTokens: z.number().int(),
  estimator: z.string(),
  sections: z.array(section),
  files: z.array(file),
  truncations: z.array(cut),
  /** Tools whose schemas travel beside the prompt. */
  tools: z.array(tool),
});

export const promptMoves = z.object({
  /** True when the stable zone changed, so that the provider's cached prefix is lost. */
  stableMoved: z.boolean(),
  moves: z.array(
    z.object({
      id: z.string(),
      zone: z.enum(["stable", "volatile"]),
      change: z.enum(["added", "removed", "changed"]),
      charsBefore: z.number().int(),
      charsAfter: z.number().int(),
    }),
  ),
  /** Workspace files whose injected text changed. */
  files: z.array(z.string()),
  /** Tools whose schemas changed. */
  tools: z.array(z.string()),
});

export type PromptIdentity = z.infer<typeof promptIdentity>;
export type PromptMoves = z.infer<typeof promptMoves>;
