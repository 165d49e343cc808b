// Writes a value as a person would write it into a JSON5 file.
import type { Json } from "@parley/protocol";

export interface TextStyle {
  /** One level of indentation. */
  readonly unit: string;
  /** Keys in quotes even where they need none, as the rest of the file has them. */
  readonly quoted: boolean;
}

/** A list of plain values that fits into this many characters stays on one line. */
const lineChars = 100;

/** `indent`: of the line that the value begins on. Lines end with a bare line feed. */
export function jsonText(value: Json, indent: string, style: TextStyle): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const inner = indent + style.unit;
  if (isList(value)) {
    const flat = `[${value.map((each) => jsonText(each, "", style)).join(", ")}]`;
    const plain = value.every((each) => typeof each !== "object" || each === null);
    if (plain && flat.length <= lineChars) return flat;
    return `[\n${value.map((each) => `${inner}${jsonText(each, inner, style)},\n`).join("")}${indent}]`;
  }
  const members = Object.entries(value).map(
    ([key, each]) => `${inner}${keyText(key, style)}: ${jsonText(each, inner, style)},\n`,
  );
  return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`;
}

export function keyText(key: string, { quoted }: TextStyle): string {
  return !quoted && /^[A-Za-z_$][\w$]*$/.test(key) && !words.has(key) ? key : JSON.stringify(key);
}

/** Some readers take these for values where a key is meant. */
const words: ReadonlySet<string> = new Set(["null", "true", "false", "NaN", "Infinity"]);

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
