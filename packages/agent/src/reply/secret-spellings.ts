// Finds a secret in all its spellings: as it is, inside JSON, in a URL, in hex, and in base64 at each of its
// three alignments, alone or inside more, also where lines of base64 were wrapped. Logs, answers and tool
// results share this list (I8).
import { literal, type Pattern } from "./pattern.ts";

/** Shorter strings would blank out ordinary words. */
const shortestSecretChars = 6;

export interface Spelling extends Pattern {
  readonly text: string;
  /** A line may end inside it. */
  readonly wraps: boolean;
}

/**
 * Whether any of them stands in the text: many times quicker than to look for where, and mostly none does.
 */
export function standsIn(text: string, spellings: readonly Spelling[]): boolean {
  if (spellings.some((each) => text.includes(each.text))) return true;
  if (!/[\n\\]/.test(text)) return false;
  const unwrapped = text.replaceAll(anyLineEnd, "");
  return spellings.some((each) => each.wraps && unwrapped.includes(each.text));
}

/** The longest first, so that none is hidden in part. */
export function spellingsOf(secrets: readonly string[]): readonly Spelling[] {
  const hidden = secrets.filter((secret) => secret.length >= shortestSecretChars);
  const plain = new Set(hidden.flatMap(plainSpellings));
  const base64 = new Set(hidden.flatMap(base64Spellings).filter((word) => !plain.has(word)));
  return [
    ...[...plain].map((text): Spelling => ({ ...literal(text), text, wraps: false })),
    ...[...base64].map((text): Spelling => ({ ...wrapped(text), text, wraps: true })),
  ].toSorted((a, b) => b.text.length - a.text.length);
}

function plainSpellings(secret: string): readonly string[] {
  const quoted = JSON.stringify(secret).slice(1, -1);
  const inUrl = encodeURIComponent(secret.toWellFormed());
  const hex = Buffer.from(secret).toString("hex");
  return [
    secret,
    quoted,
    // JSON inside JSON, as an error that quotes a body.
    JSON.stringify(quoted).slice(1, -1),
    inUrl,
    inUrl.replaceAll(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase()),
    inUrl.replaceAll("%20", "+"),
    hex,
    hex.toUpperCase(),
  ];
}

/**
 * Four characters carry three bytes, so a secret has three spellings, by how many bytes stand before it.
 * Those at its ends also carry bits of what stands beside it and are left: they tell at most six bits of it.
 */
function base64Spellings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const inner = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  const padded = bytes.toString("base64");
  const all = [padded, padded.replace(/=+$/, ""), ...inner];
  return [...all, ...all.map((word) => word.replaceAll("+", "-").replaceAll("/", "_"))];
}

/**
 * One end of a line, also as JSON or JSON inside JSON writes it. Bounded, so that little of a stream is ever
 * held back.
 */
const lineEnd = /\r?\n|(?:\\{1,4}r)?\\{1,4}n/y;
const anyLineEnd = new RegExp(lineEnd.source, "g");
const lineEndBegun = /(?:\r|\\{1,4}r?\\{0,4})$/y;

/** The word, with at most one line end between two of its characters. */
function wrapped(word: string): Pattern {
  /**
   * Where it ends; "begun" when the text ends first, null when it is another text. Its first character stands
   * at `at`: words are looked for by it.
   */
  function walk(text: string, at: number): number | "begun" | null {
    let here = at + 1;
    for (let index = 1; index < word.length; index += 1) {
      if (text.charAt(here) !== word.charAt(index)) {
        lineEnd.lastIndex = here;
        here += lineEnd.exec(text)?.[0].length ?? 0;
      }
      if (here >= text.length) return "begun";
      if (text.charAt(here) === word.charAt(index)) here += 1;
      else {
        lineEndBegun.lastIndex = here;
        return lineEndBegun.test(text) ? "begun" : null;
      }
    }
    return here;
  }
  return {
    whole(text, at) {
      const end = walk(text, at);
      return typeof end === "number" ? text.slice(at, end) : null;
    },
    begins: (text, at) => {
      const end = walk(text, at);
      return end === "begun" || end === text.length;
    },
  };
}
