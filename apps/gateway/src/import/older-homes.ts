// Writes the config of an older home (Clawdbot, Moltbot, the first OpenClaw) with the names that OpenClaw has
// for the same keys today, so that only one form is translated. What is named both ways keeps the newer name.
import { formatPath } from "@parley/config";
import type { Json, JsonObject } from "@parley/protocol";
import { at, isBlock, leaves, without, withValue, type Path } from "./tree.ts";

export interface Renamed {
  readonly config: JsonObject;
  /** Where a key stood, by where it stands now; both by `formatPath`, one for each value. */
  readonly was: ReadonlyMap<string, string>;
}

const channels = ["telegram", "discord", "whatsapp", "signal", "imessage", "slack"];

export function renamed(written: JsonObject): Renamed {
  let config: Json = written;
  const was = new Map<string, string>();
  const move = (from: Path, to: Path): void => {
    const value = at(config, from);
    if (value === undefined || at(config, to) !== undefined) return;
    config = withValue(without(config, from), to, value);
    for (const { path } of leaves(value))
      was.set(formatPath([...to, ...path]), formatPath([...from, ...path]));
  };
  for (const channel of channels) move([channel], ["channels", channel]);
  for (const key of keysAt(config, ["agent"])) move(["agent", key], ["agents", "defaults", key]);
  move(["routing", "allowFrom"], ["channels", "whatsapp", "allowFrom"]);
  move(["routing", "bindings"], ["bindings"]);
  move(["routing", "queue"], ["messages", "queue"]);
  move(["routing", "groupChat"], ["messages", "groupChat"]);
  move(["routing", "agentToAgent"], ["tools", "agentToAgent"]);
  // Agents were a block by id, as the newest homes write them again.
  const chosen = at(config, ["routing", "defaultAgentId"]);
  move(["routing", "agents"], ["agents", "entries"]);
  if (typeof chosen === "string" && isBlock(at(config, ["agents", "entries", chosen])))
    move(["routing", "defaultAgentId"], ["agents", "entries", chosen, "default"]);
  if (typeof chosen === "string" && at(config, ["agents", "entries", chosen, "default"]) === chosen)
    config = withValue(config, ["agents", "entries", chosen, "default"], true);
  if (at(config, ["agents", "list"]) === undefined && at(config, ["agents", "entries"]) === undefined)
    move(["identity"], ["agents", "entries", "main", "identity"]);
  for (const block of ["agent", "routing"])
    if (keysAt(config, [block]).length === 0 && isBlock(at(config, [block])))
      config = without(config, [block]);
  return { config: config as JsonObject, was };
}

function keysAt(config: Json, path: Path): readonly string[] {
  const block = at(config, path);
  return isBlock(block) ? Object.keys(block) : [];
}
