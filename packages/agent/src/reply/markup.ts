// Defines patterns for what a model writes that is not for people: tags (read-tag.ts), fences of untrusted
// context, and reply tags.
import { fenceClose, fenceOpen } from "../untrusted.ts";
import { letters, pattern, type Pattern } from "./pattern.ts";
import { isTag, readTag } from "./read-tag.ts";

/** Tags of all families, open, closed or self-closed. */
const tags: Pattern = {
  whole(text, at) {
    const read = readTag(text, at);
    return isTag(read) ? text.slice(at, at + read.chars) : null;
  },
  begins(text, at) {
    const read = readTag(text, at);
    return read !== null && (!isTag(read) || at + read.chars === text.length);
  },
};

/** Fences of untrusted context, as a model may echo them. */
export const fences = pattern(
  [fenceOpen, fenceClose].map((head) => [...letters(head), String.raw`[^<>\n]{0,120}`, ">", ">", ">"]),
  "i",
);

/** Llama 2's `<<SYS>>`: the only token whose brackets are doubled. */
export const doubled = pattern([["<", "<", String.raw`\/?`, ...letters("SYS>>")]], "i");

/**
 * `[[reply_to_current]]`, `[[reply_to:<id>]]` and whatever else begins like them; `[[audio_as_voice]]`,
 * `[[tts]]` and `[[tts:...]]` for an answer that is to be spoken.
 */
export const replyTags = pattern(
  [
    [String.raw`\[`, String.raw`\[`, ...letters("audio_as_voice"), String.raw`\]`, String.raw`\]`],
    [
      String.raw`\[`,
      String.raw`\[`,
      String.raw`\/?`,
      ...letters("tts"),
      String.raw`(?::[^[\]\n]{0,160})?`,
      String.raw`\]`,
      String.raw`\]`,
    ],
    [
      String.raw`\[`,
      String.raw`\[`,
      String.raw`[ \t]{0,8}`,
      ...letters("reply_to"),
      String.raw`[^[\]\n]{0,160}`,
      String.raw`\]`,
      String.raw`\]`,
    ],
  ],
  "i",
);

export const markup = [tags, fences, doubled, replyTags] as const;

/**
 * The message id that a reply tag names, `current` for the triggering message, `voice` for a tag that asks
 * to be spoken, null for a tag that names nothing.
 */
export function readReplyTag(
  text: string,
): { readonly to: "current" | "voice" } | { readonly to: "id"; readonly id: string } | null {
  if (!/^\[\[\s*reply_to/iu.test(text)) return { to: "voice" };
  const inside = /^\[\[\s*reply_to(.*)\]\]$/iu.exec(text)?.[1] ?? "";
  if (/^_current\s*$/iu.test(inside)) return { to: "current" };
  const id = /^\s*:\s*(\S{1,128})\s*$/u.exec(inside)?.[1];
  return id === undefined ? null : { to: "id", id };
}
