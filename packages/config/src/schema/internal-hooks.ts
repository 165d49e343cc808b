// hooks.internal.*: code of the operator's own that hears what happens in the gateway.
import { hookEventNames, hookFamilies } from "@parley/protocol";
import { z } from "zod";
import { envName } from "./skills.ts";

const hookEntry = z
  .object({
    enabled: z
      .boolean()
      .exactOptional()
      .describe(
        "Default: true for hooks in the state folder and extraDirs, false for those that Parley brings and for those of a workspace.",
      ),
    env: z
      .record(envName, z.string().max(32_768))
      .default({})
      .describe(
        'Variables of its process. "${NAME}" takes the daemon\'s own. Values of names like …_KEY and …_TOKEN are kept out of logs and answers.',
      ),
    timeoutMs: z
      .number()
      .int()
      .min(1)
      .max(600_000)
      .exactOptional()
      .describe(
        "Longest time for one event, in milliseconds. Default: 5 seconds where the gateway waits for it, and never more than 30 there; else 60.",
      ),
    sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/, { error: "not a SHA-256 in hex" })
      .exactOptional()
      .describe(
        "The content that was enabled, as `parley hooks enable` writes it for a hook of a workspace: with another content it is off.",
      ),
  })
  .catchall(z.json())
  .describe("Every other key is a setting of the hook.");

export const internalHooksSchema = z
  .strictObject({
    enabled: z.boolean().default(true).describe("false: no hook runs."),
    entries: z
      .record(z.string().min(1).max(128), hookEntry)
      .default({})
      .describe("What is said of single hooks, by name or by the hookKey that a hook names."),
    load: z
      .strictObject({
        extraDirs: z
          .array(z.string().min(1))
          .default([])
          .describe("More folders with hooks; relative ones lie under the state folder."),
      })
      .prefault({})
      .describe(
        "Where hooks come from: hooks/ in the state folder, these folders, those that Parley brings, hooks/ in the workspace.",
      ),
    handlers: z
      .array(
        z.strictObject({
          event: z
            .enum(["tool:before", "tool:after", ...hookEventNames, ...hookFamilies])
            .describe(
              "agent:bootstrap: before the workspace files go into the prompt. tool:before: may block a tool's call. tool:after: is told its result. The others are those of hooks (docs/hooks.md).",
            ),
          module: z
            .string()
            .min(1)
            .describe("Path of a TypeScript or JavaScript module, relative to this file."),
          export: z
            .string()
            .min(1)
            .default("default")
            .describe("Name of the function that the module exports."),
        }),
      )
      .default([])
      .describe("Single modules, in the order in which they run; each sees what the one before left."),
  })
  .prefault({})
  .describe("Your own code inside Parley.");
