// Names texts of prompts by their hash.
import { hash } from "node:crypto";

/** The first 16 hex digits of SHA-256: enough to tell prompts of one installation apart. */
export function hashOf(text: string): string {
  return hash("sha256", text, "hex").slice(0, 16);
}
