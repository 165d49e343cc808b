// The control plane's methods for prompts: show one, explain its sections, diff two. Only the whole text
// shows workspace files, so only `prompt.show` needs more than the scope `read`.
import { z } from "zod";
import { promptExplanation, promptIdentity, promptMoves } from "../prompt-report.ts";

const id = z.string().min(1).max(1024);

const whichPrompt = z.object({
  /** A session key. Default: the session that changed last. */
  session: id.optional(),
  /**
   * Number of a turn of that session; negative counts from the end, -1 is the last. Default: the prompt that
   * a turn would get now.
   */
  turn: z.number().int().optional(),
});

export const promptMethods = {
  /** Returns the whole text, including the agent's workspace files. */
  "prompt.show": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: whichPrompt,
    result: promptIdentity.extend({ hash: z.string(), boundary: z.number().int(), text: z.string() }),
  },
  /** Returns every section, included or not, and what changed since the turn before. */
  "prompt.explain": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: whichPrompt,
    result: promptIdentity.extend({
      explanation: promptExplanation,
      moved: promptMoves.extend({ since: promptIdentity }).nullable(),
    }),
  },
  /**
   * Compares the last turn with now; with `turn`, that turn with the one before it; with `with`, this session
   * with that one.
   */
  "prompt.diff": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: whichPrompt.extend({ with: id.optional() }),
    result: promptMoves.extend({ before: promptIdentity, after: promptIdentity }),
  },
} as const;
