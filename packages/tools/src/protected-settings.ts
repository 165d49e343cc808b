// What an agent may never change about itself: who may talk to it, what it may do, where its keys and models lie. Compared by result, not by
// request: a change is refused when any protected value differs afterwards, whatever spelling, alias or deletion brought it about.
import type { Json, JsonObject } from "@parley/protocol";

/** Paths whose whole subtree is protected; "*" is any one key or index. */
const protectedPaths: readonly (readonly string[])[] = [
  ["tools"],
  ["approvals"],
  ["commands"],
  ["gateway"],
  ["bindings"],
  ["hooks"],
  ["plugins"],
  ["mcp"],
  ["models", "providers"],
  ["store"],
  ["session", "dmScope"],
  ["session", "identityLinks"],
  ["agents", "*", "sandbox"],
  ["agents", "*", "tools"],
  ["agents", "*", "workspace"],
  ["agents", "list", "*", "id"],
  ["agents", "list", "*", "sandbox"],
  ["agents", "list", "*", "tools"],
  ["agents", "list", "*", "workspace"],
  ["skills"],
];

/** Keys that mean who, where or a secret, wherever they stand: channels have them at several depths. */
const protectedKeys =
  /allowFrom|policy|token$|secret|password|api_?key|credential|^auth|allowBots|requireMention|^users$|^roles$|^tools$|^skills$|webhook|apiRoot|baseUrl|^env$|^command$|^exec$|^sandbox$|^elevated$|^agentId$|^groups$|^guilds$|^topics$|^channels$|^accounts$|^systemPrompt$|^proxy$/i;
/** The word channels at the top holds everything else that may be changed there. */
const openKeys = new Set(["channels"]);

/** The protected paths that differ, "a.b.0"; also those that appear or go away. */
export function protectedChanges(before: Json, after: Json): readonly string[] {
  return differences(before, after, []);
}

function differences(before: Json | undefined, after: Json | undefined, path: readonly string[]): readonly string[] {
  if (same(before, after)) return [];
  if (isProtected(path)) return [path.join(".")];
  // A value that stands where a block was, or the other way round, is looked into from both sides.
  const keys = new Set([...keysOf(before), ...keysOf(after)]);
  return [...keys].flatMap((key) => differences(valueAt(before, key), valueAt(after, key), [...path, key]));
}

function isProtected(path: readonly string[]): boolean {
  if (protectedPaths.some((each) => each.length === path.length && each.every((key, at) => key === "*" || key === path[at]))) return true;
  const key = path.at(-1) ?? "";
  return protectedKeys.test(key) && !(path.length === 1 && openKeys.has(key));
}

function keysOf(value: Json | undefined): readonly string[] {
  return typeof value === "object" && value !== null ? Object.keys(value) : [];
}

function valueAt(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = keysOf(a);
  return keys.length === keysOf(b).length && keys.every((key) => Object.hasOwn(b, key) && same(valueAt(a, key), valueAt(b, key)));
}

/** RFC 7396: null removes, objects merge, anything else replaces. A key that would reach a prototype stays an ordinary key. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
