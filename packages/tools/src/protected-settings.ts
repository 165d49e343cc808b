// Finds changes to settings that only the operator may change: all that `freeSettings` does not name. It
// compares results, not requests, so no spelling, alias or deletion gets around it.
import type { Json, JsonObject } from "@parley/protocol";
import { freeSettings, type FreeSetting } from "./free-settings.ts";

const free = freeSettings.map((setting) => ({ ...setting, steps: setting.path.split(".") }));

/** The protected paths that differ, "a.b.0"; also those that appear or go away. */
export function protectedChanges(before: Json, after: Json): readonly string[] {
  const differences = (
    was: Json | undefined,
    is: Json | undefined,
    path: readonly string[],
  ): readonly string[] => {
    if (same(was, is)) return [];
    const setting = settingAt(path);
    if (setting !== undefined) return setting.allows?.(is, before) === false ? [path.join(".")] : [];
    if (!canBeLookedInto(was, is, path)) return [path.join(".")];
    const keys = new Set([...keysOf(was), ...keysOf(is)]);
    return [...keys].flatMap((key) => differences(valueAt(was, key), valueAt(is, key), [...path, key]));
  };
  return differences(before, after, []);
}

function settingAt(path: readonly string[]): FreeSetting | undefined {
  return free.find(({ steps }) => steps.length === path.length && matches(steps, path));
}

/**
 * A block of which some is free: judged key by key. What people name, and an entry of a list, must be there
 * before and after.
 */
function canBeLookedInto(was: Json | undefined, is: Json | undefined, path: readonly string[]): boolean {
  const below = free.filter(
    ({ steps }) => steps.length > path.length && matches(steps.slice(0, path.length), path),
  );
  if (below.length === 0) return false;
  if (Array.isArray(was) || Array.isArray(is)) return Array.isArray(was) && Array.isArray(is);
  const isNamed = below.every(({ steps }) => steps[path.length - 1] === "*");
  return isNamed && path.length > 0
    ? isObject(was) && isObject(is)
    : isBlockOrNothing(was) && isBlockOrNothing(is);
}

function matches(steps: readonly string[], path: readonly string[]): boolean {
  return steps.every((step, at) => step === "*" || step === path[at]);
}

function isBlockOrNothing(value: Json | undefined): boolean {
  return value === undefined || isObject(value);
}

function keysOf(value: Json | undefined): readonly string[] {
  return typeof value === "object" && value !== null ? Object.keys(value) : [];
}

function valueAt(value: Json | undefined, key: string): Json | undefined {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as JsonObject)[key]
    : undefined;
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = keysOf(a);
  return (
    keys.length === keysOf(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(valueAt(a, key), valueAt(b, key)))
  );
}

/**
 * RFC 7396: null removes, objects merge, anything else replaces. A key that would reach a prototype stays an
 * ordinary key.
 */
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
