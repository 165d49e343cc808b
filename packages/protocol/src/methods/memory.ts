// The control plane's methods for the agents' memory: search the notes, read lines of them, and look after
// their index.
import { z } from "zod";

const agent = z.string().min(1).max(64).optional();

const hit = z.object({
  /** Relative to the agent's workspace. */
  path: z.string(),
  startLine: z.number().int(),
  endLine: z.number().int(),
  /** Headings that the passage stands under. */
  heading: z.string(),
  score: z.number(),
  source: z.enum(["memory", "sessions"]),
  /** Who may find it: `curated`, `daily`, `shared`, `session:…`, `person:…`. */
  scope: z.string(),
  snippet: z.string(),
  /** In which turn it was said; `path` is then the session's key, and lines are numbers of entries. */
  turn: z.string().optional(),
  /** Where text of strangers came from that the turn had read which wrote or said it. */
  untrusted: z.string().optional(),
});

const indexStatus = z.object({
  agent: z.string(),
  enabled: z.boolean(),
  workspace: z.string(),
  index: z.string(),
  provider: z.string(),
  model: z.string().nullable(),
  files: z.number().int(),
  chunks: z.number().int(),
  vectors: z.number().int(),
  /** Passages that have no vector yet. */
  vectorsLeft: z.number().int(),
  /** Files that are not indexed yet. */
  filesLeft: z.number().int(),
  bytes: z.number(),
  /** Files that are left out or read otherwise than as UTF-8. */
  problems: z.array(z.object({ path: z.string(), reason: z.string() })),
  notes: z.array(z.string()),
});

export const memoryMethods = {
  /** Searches all notes of an agent, whoever may find them in a chat. */
  "memory.search": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      agent,
      query: z.string().max(1_000_000),
      maxResults: z.number().int().min(1).max(50).optional(),
      minScore: z.number().min(0).max(1).optional(),
    }),
    result: z.object({
      agent: z.string(),
      mode: z.enum(["keyword", "hybrid"]),
      notes: z.array(z.string()),
      results: z.array(hit),
    }),
  },
  "memory.get": {
    scope: "read",
    sessions: "all",
    needs: "config",
    params: z.object({
      agent,
      path: z.string().min(1).max(1_024),
      from: z.number().int().min(1).optional(),
      lines: z.number().int().min(1).max(2_000).optional(),
    }),
    result: z.object({
      path: z.string(),
      startLine: z.number().int(),
      endLine: z.number().int(),
      totalLines: z.number().int(),
      text: z.string(),
    }),
  },
  /** Every agent, or the one that is named. Brings the index up to date first. */
  "memory.status": {
    scope: "read",
    sessions: "all",
    needs: "config",
    params: z.object({ agent }),
    result: z.object({ agents: z.array(indexStatus) }),
  },
  /** Throws the index away and builds it anew from the notes. */
  "memory.reindex": {
    scope: "admin",
    sessions: "all",
    needs: "config",
    params: z.object({ agent }),
    result: z.object({ agents: z.array(indexStatus) }),
  },
  /** Who had a line of the notes written: the line itself, words of it, or `path#line`. */
  "memory.why": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ agent, line: z.string().min(1).max(4_000) }),
    result: z.object({
      agent: z.string(),
      lines: z.array(
        z.object({
          path: z.string(),
          line: z.number().int(),
          text: z.string(),
          /** Newest first; empty: a person or a program wrote it, or its turn is not stored any more. */
          writtenBy: z.array(
            z.object({
              session: z.string(),
              turn: z.string(),
              by: z.array(z.string()),
              atMs: z.number(),
              tool: z.string(),
              /** Where text of strangers came from that the turn had read before. */
              untrusted: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  },
  /** What turns changed in the notes, newest first: kept for 90 days. */
  "memory.history": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      agent,
      path: z.string().min(1).max(1_024).optional(),
      limit: z.number().int().min(1).max(500).optional(),
    }),
    result: z.object({
      agent: z.string(),
      changes: z.array(
        z.object({
          id: z.string(),
          path: z.string(),
          session: z.string(),
          turn: z.string(),
          by: z.array(z.string()),
          tool: z.string(),
          atMs: z.number(),
          /** Lines that went and came. */
          removed: z.string(),
          added: z.string(),
          undoneAtMs: z.number().optional(),
        }),
      ),
    }),
  },
  /** Takes a change back: the newest that is not undone, or the one that is named. */
  "memory.undo": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      agent,
      id: z.string().min(1).max(64).optional(),
      idempotencyKey: z.string().min(1).max(128).optional(),
    }),
    result: z.object({
      agent: z.string(),
      id: z.string(),
      path: z.string(),
      /** False: the file was as before the change already. */
      changed: z.boolean(),
    }),
  },
  /** What the nightly upkeep proposed, newest first: kept for 30 days. */
  "memory.proposals": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ agent }),
    result: z.object({
      proposals: z.array(
        z.object({
          id: z.string(),
          agent: z.string(),
          session: z.string(),
          turn: z.string(),
          state: z.enum(["open", "accepting", "accepted", "refused", "expired"]),
          createdAtMs: z.number(),
          expiresAtMs: z.number(),
          by: z.string().optional(),
          /** What became of it, in words. */
          said: z.string(),
          changes: z.array(
            z.object({
              kind: z.enum(["merge", "contradiction"]),
              lines: z.array(z.object({ path: z.string(), line: z.number().int(), text: z.string() })),
              /** What stands in place of the lines of a merge. */
              text: z.string().nullable(),
              why: z.string(),
              untrusted: z.string().optional(),
            }),
          ),
        }),
      ),
    }),
  },
  /** Accepts or refuses a proposal; `changes`: only some of it, from 1. */
  "memory.decide": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      id: z.string().min(1).max(40),
      decision: z.enum(["accept", "refuse"]),
      idempotencyKey: z.string().min(1).max(128).optional(),
      changes: z.array(z.number().int().min(1).max(100)).max(100).optional(),
    }),
    result: z.object({ id: z.string(), said: z.string() }),
  },
  /**
   * Shows the lines of notes that the query means; with `confirm` takes them out of the files, the index and
   * what is stored of conversations.
   */
  "memory.forget": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ agent, query: z.string().min(1).max(4_000), confirm: z.boolean().optional() }),
    result: z.object({
      agent: z.string(),
      done: z.boolean(),
      lines: z.array(z.object({ path: z.string(), line: z.number().int(), text: z.string() })),
      /** Stored texts of conversations that were rewritten; null before it is confirmed. */
      history: z.number().int().nullable(),
      notes: z.array(z.string()),
    }),
  },
} as const;
