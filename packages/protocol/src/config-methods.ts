// The control plane's methods about the config file. It is read with its secrets masked, and changed on the hash of what was read.
import { z } from "zod";

const problem = z.object({
  /** `channels.telegram.allowFrom[0]`; empty for the file as a whole. */
  path: z.string(),
  /** From 1; absent when the trouble is not in the file. */
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
/** Keys and indexes of lists; one past a list's end appends. */
const place = z
  .array(z.union([z.string().max(1024), z.number().int().nonnegative()]))
  .min(1)
  .max(64);
const fileText = z.string().max(1_048_576);

const written = z.object({
  path: z.string(),
  hash: z.string(),
  /** Places that differ now; empty when the file said so already. */
  changed: z.array(z.string()),
  /** The file as it was, when it was good. */
  backup: z.string().nullable(),
  warnings: z.array(problem),
  /** Mistakes elsewhere in the file that stay, where one of several was mended: nothing of it is in force before they are mended, too. */
  problems: z.array(problem).optional(),
  /** Of `changed`: what a running gateway takes up only when it starts again. */
  restartNeeded: z.array(z.string()),
});

export const configMethods = {
  "config.get": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({
      path: z.string(),
      exists: z.boolean(),
      /** Names what was read, for `baseHash`. */
      hash: z.string(),
      /** What the file says; null when it is not JSON5. */
      file: json,
      /** What it means, with every default; null while there are problems. */
      config: json,
      ...verdict,
    }),
  },
  /** JSON Schema of the file. */
  "config.schema": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({ schema: json }),
  },
  /** A text in place of the file, or the file itself. It may read variables and secret files, so it is no matter for readers. */
  "config.validate": {
    scope: "admin",
    sessions: "none",
    params: z.object({ text: fileText.optional() }),
    result: z.object(verdict),
  },
  /** A merge patch (RFC 7396). A list is replaced as a whole, and loses entries only when `replacePaths` names it. */
  "config.patch": {
    scope: "admin",
    sessions: "none",
    params: z.object({
      patch: block,
      baseHash,
      replacePaths: z.array(z.string().max(1024)).max(100).optional(),
      idempotencyKey,
    }),
    result: written,
  },
  /** Single places: with `value` set, without removed. All or nothing. */
  "config.set": {
    scope: "admin",
    sessions: "none",
    params: z.object({
      changes: z
        .array(z.object({ path: place, value: json.optional() }))
        .min(1)
        .max(100),
      baseHash: baseHash.optional(),
      idempotencyKey,
    }),
    result: written,
  },
  /** The whole file: as a value, which keeps the comments of what stays, or as a text. */
  "config.apply": {
    scope: "admin",
    sessions: "none",
    params: z.union([
      z.strictObject({ config: block, baseHash, idempotencyKey }),
      z.strictObject({ text: fileText, baseHash, idempotencyKey }),
    ]),
    result: written,
  },
} as const;
