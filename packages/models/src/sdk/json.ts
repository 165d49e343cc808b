// Parses untrusted JSON without throwing, and tells objects apart.
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
