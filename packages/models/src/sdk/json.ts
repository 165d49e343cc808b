// JSON from outside: parsed without a throw, and told apart.
import type { Json, JsonObject } from "@parley/protocol";

/** Undefined for what is no JSON: half of it, or something else. */
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
