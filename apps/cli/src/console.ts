// Where a command reads and writes: results on standard output, everything else on standard error.
import type { Readable, Writable } from "node:stream";
import type { Env } from "@parley/config";

export interface Terminal extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface Console {
  readonly env: Env;
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly out: Terminal;
  readonly err: Terminal;
  /** One JSON document on standard output instead of text. */
  readonly json: boolean;
}

export function line(to: Writable, text: string): void {
  to.write(`${text}\n`);
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow";
const styleCodes: { readonly [style in Style]: number } = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };

/** Plain where nobody sees colour: no terminal, or NO_COLOR (no-color.org). */
export function styled(to: Terminal, env: Env, style: Style, text: string): string {
  const plain = to.isTTY !== true || (env["NO_COLOR"] ?? "") !== "";
  return plain ? text : `\u001B[${styleCodes[style]}m${text}\u001B[0m`;
}

/** What comes from other people may carry control sequences for the terminal: they are shown as dots. */
export function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what this removes
  return text.replace(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/g, "·");
}
