// Lets an owner's agent look at the configuration, change what is not protected, and restart the daemon.
import { Fault, visibleText, type Json, type JsonObject } from "@parley/protocol";
import { z } from "zod";
import type { Settings } from "../ports/settings.ts";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { freeSettings } from "../free-settings.ts";
import { mergePatch, protectedChanges } from "../protected-settings.ts";
import type { Tool, ToolResult } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const block = z.record(z.string(), z.json());
const args = z.object({
  action: z.enum([
    "restart",
    "update.check",
    "update.run",
    "config.schema.lookup",
    "config.get",
    "config.patch",
    "config.apply",
  ]),
  path: z
    .string()
    .max(500)
    .optional()
    .describe('config.schema.lookup and config.get: a key, such as "messages.queue".'),
  patch: block.optional().describe("config.patch: merged into the configuration; null removes a key."),
  config: block.optional().describe("config.apply: the whole new configuration."),
  baseHash: z
    .string()
    .optional()
    .describe(
      "config.patch and config.apply: the hash that config.get told; the change is refused if the file changed since.",
    ),
  to: z
    .string()
    .regex(/^\w[\w.+-]{0,63}$/)
    .optional()
    .describe("update.run: a version."),
  reason: z.string().max(500).default("asked by the agent").describe("restart: why, for the log."),
});

export const gatewayListing: ToolListing = {
  name: "gateway",
  label: "Gateway",
  section: "automation",
  profiles: [],
  effect: "writes",
  summary: "Restart or configure Parley",
};

export function gateway({ settings, owner }: ToolContext): Tool | Unavailable {
  if (!owner) return { unavailable: "only owners may use it (commands.ownerAllowFrom)" };
  if (settings === undefined) return { unavailable: "the configuration cannot be reached from here" };
  return defineTool({
    ...gatewayListing,
    description:
      "Parley itself: config.schema.lookup before any change, config.get, config.patch, config.apply, restart, update.check (tells what is there, changes nothing), update.run. Only when the user asked. " +
      "Only a few settings can be changed (model, thinking, time zone, queue mode, resets, how answers look); all others are the operator's.",
    args,
    // The words of a page may ask for it; the person in whose name it is done did not.
    outside: ({ action, to, patch, config, reason }) =>
      action === "config.get" || action === "config.schema.lookup" || action === "update.check"
        ? null
        : action === "update.run"
          ? `update Parley to ${to ?? "the newest version"}`
          : action === "restart"
            ? `restart Parley: ${visibleText(reason)}`
            : `${action}\n${visibleText(JSON.stringify(patch ?? config ?? null))}`,
    async run({ action, path, patch, config, baseHash, reason, to }, scope) {
      switch (action) {
        case "restart":
          await settings.restart(scope, reason);
          return textResult("Parley restarts after this answer.");
        case "update.check":
          return textResult(await settings.checkUpdate());
        case "update.run":
          await settings.update(scope, to);
          return textResult("The update begins; you are told how it ended.");
        case "config.schema.lookup":
          return looked(await settings.schema(needed(path, "path")), `there is no key "${path ?? ""}"`);
        case "config.get": {
          const { shown, hash } = await settings.read();
          const value = path === undefined ? shown : at(shown, path);
          return value === undefined
            ? textResult(`${path ?? ""} is not set.\nhash: ${hash}`)
            : textResult(`${JSON.stringify(value, null, 2)}\nhash: ${hash}`);
        }
        case "config.patch":
          return change(settings, baseHash, (now) => mergePatch(now, needed(patch, "patch")));
        case "config.apply":
          return change(settings, baseHash, () => needed(config, "config"));
      }
    },
  });
}

async function change(
  settings: Settings,
  baseHash: string | undefined,
  make: (now: JsonObject) => Json,
): Promise<ToolResult> {
  const { value, hash } = await settings.read();
  if (baseHash !== undefined && baseHash !== hash)
    throw new Fault("conflict", "the configuration changed since config.get; read it again");
  const after = make(value);
  const touched = protectedChanges(value, after);
  if (touched.length > 0) {
    const free = freeSettings.map(({ path, says }) => (says === "" ? path : `${path} (${says})`)).join(", ");
    throw new Fault(
      "denied",
      `only the operator may change ${touched.slice(0, 5).join(", ")}; nothing was changed. You may change ${free}`,
    );
  }
  const { restart } = await settings.write(after as JsonObject, hash);
  return textResult(
    restart ? "Changed; a restart is needed for it to take effect." : "Changed, and in effect.",
  );
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Fault("invalid", `this action needs ${name}`);
  return value;
}

function looked(schema: Json, otherwise: string): ToolResult {
  return schema === null ? textResult(otherwise, true) : textResult(JSON.stringify(schema, null, 2));
}

function at(value: Json, path: string): Json | undefined {
  return path.split(".").reduce<Json | undefined>((found, key) => {
    return typeof found === "object" && found !== null && Object.hasOwn(found, key)
      ? (found as JsonObject)[key]
      : undefined;
  }, value);
}
