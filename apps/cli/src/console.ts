// Gives commands their input and output: results go to standard output, everything else to standard error.
import type { Readable, Writable } from "node:stream";
import type { Env } from "@parley/config";
import { printable, systemIds } from "@parley/protocol";

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

/**
 * Words for people. The one place where they leave: whoever wrote them, they steer no terminal, reorder no
 * line and hide nothing.
 */
export function words(to: Terminal, text: string): void {
  to.write(`${harmless(text)}\n`);
}

/** One line of them: a line break in a name would look like another row. */
export function line(to: Terminal, text: string): void {
  words(to, text.replaceAll("\n", String.raw`\u{a}`));
}

/** For programs: exactly what it is. */
export function document(to: Writable, value: unknown): void {
  to.write(`${JSON.stringify(value)}\n`);
}

/** The document with --json, the words without. */
export function result({ json, out }: Pick<Console, "json" | "out">, value: unknown, said: string): void {
  if (json) document(out, value);
  else line(out, said);
}

export type Style = "bold" | "dim" | "red" | "green" | "yellow";
const styleCodes: { readonly [style in Style]: number } = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 };
/** Stands in our own control sequences until they are written, so that nobody else's pass for ours. */
const seal = systemIds().uuid();

/** Plain where nobody sees colour: no terminal, or NO_COLOR (no-color.org). */
export function styled(to: Terminal, env: Env, style: Style, text: string): string {
  const isPlain = to.isTTY !== true || (env["NO_COLOR"] ?? "") !== "";
  return isPlain ? text : `<${seal}${styleCodes[style]}m>${text}<${seal}0m>`;
}

const sealed = new RegExp(`<${seal}(\\d+m)>`, "g");

/** What others wrote may carry control sequences and characters that nobody sees: they are written out. */
export function harmless(text: string): string {
  return printable(text).replaceAll(sealed, "\u001B[$1");
}
