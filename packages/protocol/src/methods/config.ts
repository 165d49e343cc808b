// The control plane's methods for the config file. Clients read it with secrets masked, and every change
// names the hash of the file that the client read.
import { z } from "zod";

const problem = z.object({
  /** For example `channels.telegram.allowFrom[0]`; empty when the whole file is meant. */
  path: z.string(),
  /** Counted from 1; absent when the problem is not in the file. */
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  message: z.string(),
  fix: z.string().optional(),
});

const verdict = { problems: z.array(problem), warnings: z.array(problem) };

const json = z.json();
const block = z.record(z.string(), json);
const baseHash = z.string().max(128);
const idempotencyKey = z.string().min(1).max(128).optional();
/** Object keys and list indexes. An index one past the end appends. */
const place = z
  .array(z.union([z.string().max(1024), z.number().int().nonnegative()]))
  .min(1)
  .max(64);
const fileText = z.string().max(1_048_576);

export const configWritten = z.object({
  path: z.string(),
  hash: z.string(),
  /** Paths whose value differs now; empty when the file said so already. */
  changed: z.array(z.string()),
  /** Path of the copy of the old file; null when the old file was not valid. */
  backup: z.string().nullable(),
  warnings: z.array(problem),
  /** Other problems that remain in the file. No part of the file takes effect until all are fixed. */
  problems: z.array(problem).optional(),
  /** The subset of `changed` that takes effect only after a restart. */
  restartNeeded: z.array(z.string()),
});

export const configMethods = {
  "config.get": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({
      path: z.string(),
      exists: z.boolean(),
      /** Hash of the file that was read; a change passes it as `baseHash`. */
      hash: z.string(),
      /** The file's own content; null when it is not JSON5. */
      file: json,
      /** The effective config with every default; null while there are problems. */
      config: json,
      ...verdict,
    }),
  },
  /**
   * The file's own text, with its comments and with secrets masked; `config.apply` takes it back so. `text`:
   * a draft in its place; `config`: put into the text in place of what it says, comments of what stays are
   * kept. Nothing is written. Needs `admin`, because comments may say anything.
   */
  "config.text": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ text: fileText.optional(), config: block.optional() }),
    result: z.object({
      /** Null when it is not JSON5. */
      text: z.string().nullable(),
      /** Of the file; a change passes it as `baseHash`. */
      hash: z.string(),
      /** What the text says; null when it is not JSON5. */
      file: json,
    }),
  },
  /** JSON Schema of the file. */
  "config.schema": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({ schema: json }),
  },
  /**
   * Validates the given text, or the file itself. Needs `admin`, because validating reads environment
   * variables and secret files.
   */
  "config.validate": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({ text: fileText.optional() }),
    /** Of a text: the places in which it differs from the file, and those of them that need a restart. */
    result: z.object({ ...verdict, changed: z.array(z.string()), restartNeeded: z.array(z.string()) }),
  },
  /**
   * Applies a JSON Merge Patch (RFC 7396). It replaces whole lists, and removes list entries only where
   * `replacePaths` names the list.
   */
  "config.patch": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({
      patch: block,
      baseHash,
      replacePaths: z.array(z.string().max(1024)).max(100).optional(),
      idempotencyKey,
    }),
    result: configWritten,
  },
  /** Changes single paths, all or nothing: an entry with `value` sets, one without removes. */
  "config.set": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({
      changes: z
        .array(z.object({ path: place, value: json.optional() }))
        .min(1)
        .max(100),
      baseHash: baseHash.optional(),
      idempotencyKey,
    }),
    result: configWritten,
  },
  /** Replaces the whole file, given as a value (comments of unchanged parts stay) or as text. */
  "config.apply": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.union([
      z.strictObject({ config: block, baseHash, idempotencyKey }),
      z.strictObject({ text: fileText, baseHash, idempotencyKey }),
    ]),
    result: configWritten,
  },
} as const;
