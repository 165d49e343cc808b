// Names texts of prompts by their hash.
import { hash } from "node:crypto";

/** Longer texts are mostly those of the turn before, and cost more to hash than to look up. */
const shortChars = 1_000;
const mostKnown = 16;
const known = new Map<string, string>();

/** The first 16 hex digits of SHA-256: enough to tell prompts of one installation apart. */
export function hashOf(text: string): string {
  if (text.length < shortChars) return fresh(text);
  const found = known.get(text);
  if (found !== undefined) return found;
  const [oldest] = known.keys();
  if (known.size >= mostKnown && oldest !== undefined) known.delete(oldest);
  const made = fresh(text);
  known.set(text, made);
  return made;
}

function fresh(text: string): string {
  return hash("sha256", text, "hex").slice(0, 16);
}
