// Parses untrusted JSON without throwing, tells objects apart, and says what is nested too deep.
import type { Json, JsonObject } from "@parley/protocol";

/** Undefined for a text that is not JSON, or only half of it. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * No tool needs deeper arguments. Code that validates, stores and redacts arguments walks them by recursion.
 */
export const mostLevels = 100;

export function nestsTooDeep(value: object): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth < mostLevels; depth += 1) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return level.some((each) => typeof each === "object" && each !== null);
}
