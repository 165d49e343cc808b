// Measures how much of a window something takes: in characters, which define the pruning ratios, and in
// tokens, estimated from UTF-8 bytes, because four characters a token fits English and is far too few for
// Chinese or Cyrillic.
import type { AssistantContent, Entry, ImageContent, TextContent } from "@parley/protocol";

export const charsPerToken = 4;
/** Characters that an image counts for: providers charge 1,000 to 2,000 tokens for a usual one. */
export const imageChars = 8_000;

type Part = TextContent | ImageContent | AssistantContent;

/** Estimates the tokens of plain text. */
export function tokensOfText(text: string): number {
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Estimates the tokens of what so many bytes of UTF-8 take. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / charsPerToken);
}

/** Counts the characters that a model reads of an entry; notices are for people. */
export function charsOf(entry: Entry): number {
  return measure(entry, (text) => text.length);
}

/** Entries never change, and a long conversation is measured at every model call. */
const measured = new WeakMap<Entry, number>();

export function tokensOf(entry: Entry): number {
  const known = measured.get(entry);
  if (known !== undefined) return known;
  const tokens = Math.ceil(measure(entry, (text) => Buffer.byteLength(text)) / charsPerToken);
  measured.set(entry, tokens);
  return tokens;
}

export function tokensOfAll(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + tokensOf(entry), 0);
}

export function charsOfAll(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + charsOf(entry), 0);
}

function measure(entry: Entry, sizeOf: (text: string) => number): number {
  if (entry.type === "notice") return 0;
  if (entry.type === "summary") return sizeOf(entry.text);
  const parts: readonly Part[] = entry.content;
  return parts.reduce((sum, part) => sum + partSize(part, sizeOf), 0);
}

function partSize(part: Part, sizeOf: (text: string) => number): number {
  if (part.type === "image") return imageChars;
  if (part.type === "toolCall") return sizeOf(part.name) + sizeOf(JSON.stringify(part.args));
  return sizeOf(part.text);
}
