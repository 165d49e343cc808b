// The control plane's methods about prompts: one whole, each section with its reason, what moved between two. Only the whole text shows what
// stands in a workspace, so it alone asks for more than reading.
import { z } from "zod";
import { promptExplanation, promptIdentity, promptMoves } from "./prompt-report.ts";

const id = z.string().min(1).max(1024);

const whichPrompt = z.object({
  /** A session key; the session that last changed when absent. */
  session: id.optional(),
  /** A turn of that session by its number; below zero from the end, -1 the last. Absent: the prompt that a turn would get now. */
  turn: z.number().int().optional(),
});

export const promptMethods = {
  /** The whole text: it holds the agent's workspace files. */
  "prompt.show": {
    scope: "admin",
    sessions: "all",
    params: whichPrompt,
    result: promptIdentity.extend({ hash: z.string(), boundary: z.number().int(), text: z.string() }),
  },
  /** Every section, in or out, and what moved since the turn before. */
  "prompt.explain": {
    scope: "read",
    sessions: "all",
    params: whichPrompt,
    result: promptIdentity.extend({
      explanation: promptExplanation,
      moved: promptMoves.extend({ since: promptIdentity }).nullable(),
    }),
  },
  /** From the last turn to now; with `turn`, from the one before it to it; with `with`, from this session to that one. */
  "prompt.diff": {
    scope: "read",
    sessions: "all",
    params: whichPrompt.extend({ with: id.optional() }),
    result: promptMoves.extend({ before: promptIdentity, after: promptIdentity }),
  },
} as const;
