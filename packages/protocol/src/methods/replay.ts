// The control plane's method for replaying a turn: what it was, run again with what holds now.
import { z } from "zod";
import { promptMoves } from "../prompt-report.ts";

const entry = z.looseObject({ type: z.string() });

const call = z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) });

/** What a saved turn must do when it is run again; what is absent is not looked at. */
const turnExpectation = z.object({
  /** `same`: the same calls with the same arguments. `names`: the same tools in the same order. */
  calls: z.enum(["same", "names", "any"]).default("names"),
  answer: z
    .object({
      /** The same words. */
      same: z.boolean().optional(),
      includes: z.array(z.string()).optional(),
      excludes: z.array(z.string()).optional(),
    })
    .default({}),
  /** Most tokens, in times of the recorded turn's. */
  tokens: z.number().positive().optional(),
});

/** A turn with all that it takes to run it again, elsewhere and later. */
export const savedTurn = z.object({
  v: z.literal(1),
  kind: z.literal("parley-turn"),
  turn: z.string(),
  session: z.string(),
  place: z
    .object({
      /** A conversation key. */
      conversation: z.string(),
      guild: z.string().optional(),
      parent: z.string().optional(),
    })
    .nullable(),
  by: z.object({ owner: z.boolean(), senders: z.array(z.string()) }).nullable(),
  /** The session's own settings then. */
  fields: z.record(z.string(), z.unknown()),
  /** What the model had read before. */
  history: z.array(entry),
  /** The turn's own entries. */
  entries: z.array(entry).min(1),
  /** The report of its prompt, without the text; null where it was kept no longer. */
  prompt: z.looseObject({ stableHash: z.string(), sections: z.array(z.unknown()) }).nullable(),
  startedAtMs: z.number(),
  tookMs: z.number().nullable(),
  expect: turnExpectation,
});

const side = z.object({
  model: z.string(),
  stop: z.string(),
  answer: z.string(),
  calls: z.array(call),
  steps: z.number().int(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
  cacheReadTokens: z.number().int(),
  cacheWriteTokens: z.number().int(),
  costUsd: z.number().nullable(),
  tookMs: z.number().nullable(),
});

export const replayMethods = {
  /**
   * Runs a past turn again: the prompt compiled anew, tools answered from the record, nothing sent and
   * nothing stored. The model is asked and costs what it costs.
   */
  "turns.replay": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      /** A turn, row or session; of a session its last turn. */
      id: z.string().min(1).max(1024).optional(),
      /** In the place of `id`: one that was saved. */
      saved: savedTurn.optional(),
      /** A name from the model list. */
      model: z.string().min(1).max(256).optional(),
      /** Another config file on the gateway's machine, an absolute path. */
      config: z.string().min(1).max(4096).optional(),
      /** False: only the prompt is compared, and no model is asked. */
      ask: z.boolean().default(true),
      /** Hands out the turn to be saved, and asks no model. */
      save: z.boolean().default(false),
    }),
    result: z.object({
      turn: z.string(),
      session: z.string(),
      before: side,
      /** Null where no model was asked. */
      after: side.nullable(),
      /** What moved in the prompt; null where the old one is kept no longer. */
      prompt: promptMoves.nullable(),
      /** Calls that had no result of their own in the record. */
      unanswered: z.array(call.extend({ given: z.enum(["another", "none"]) })),
      /** What moved, in words. */
      moved: z.array(z.string()),
      /** What the saved turn expects and did not happen. */
      failures: z.array(z.string()),
      saved: savedTurn.optional(),
    }),
  },
} as const;

export type SavedTurn = z.infer<typeof savedTurn>;
