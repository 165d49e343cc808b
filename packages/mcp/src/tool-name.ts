// Spells a server's tool as models know it: `<server>__<tool>`, in the letters that every provider takes.
import { createHash } from "node:crypto";

/** OpenAI's and Anthropic's limit of a function's name. */
const mostChars = 64;
const hashChars = 6;

/**
 * A name that had to be changed or cut ends with a hash of the server's own spelling, so that no two collide.
 */
export function toolName(server: string, tool: string): string {
  const plain = `${server}__${tool.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
  if (plain === `${server}__${tool}` && plain.length <= mostChars) return plain;
  const hash = createHash("sha256").update(tool).digest("hex").slice(0, hashChars);
  return `${plain.slice(0, mostChars - hashChars - 1)}_${hash}`;
}
