// Cuts a document into messages that fit their surface after rendering. Every message has something to see, no character is
// cut that could be kept whole, and nothing but whitespace at the cuts is lost.
import type { RenderedText } from "@parley/protocol";
import { isBlank, isSpace } from "./characters.ts";
import { chooseCut, skipSpace } from "./cut.ts";
import { isVerbatim, type Document } from "./document.ts";
import { firstCharacterLength } from "./graphemes.ts";
import { documentReader, type Reader } from "./slice.ts";

export interface TextLimits {
  /** In UTF-16 units of the rendered text; an integer of at least 1. Below about 64, markup gives way to bare text. */
  readonly textChars: number;
  /** Most entities of one message; no limit when absent. */
  readonly textEntities?: number;
}

/** Renders one message: a pure function of its document. */
export type Render = (message: Document) => RenderedText;

/**
 * The messages of a document, in order; none when there is nothing to see in it. All are within the limits, except that a
 * code point is sent whole and unescaped even where `textChars` is too small for it.
 */
export function split(document: Document, limits: TextLimits, render: Render): readonly RenderedText[] {
  const { text } = document;
  const reader = documentReader(document);
  const messages: RenderedText[] = [];
  for (let start = resume(text, reader, 0); start < text.length;) {
    reader.advance(start);
    const { end, message } = nextMessage(text, start, limits, reader, render);
    if (message !== null) messages.push(message);
    start = resume(text, reader, end);
  }
  return messages;
}

/** Where the message after a cut starts. */
function resume(text: string, reader: Reader, cut: number): number {
  reader.advance(cut);
  const verbatim = reader.take(cut + 1).spans.some(({ mark }) => isVerbatim(mark.kind));
  return skipSpace(text, verbatim, cut);
}

/** The longest stretch from `start` that fits, found by trying less and less: rendering may lengthen a text at any place. */
function nextMessage(
  text: string,
  start: number,
  limits: TextLimits,
  reader: Reader,
  render: Render,
): { readonly end: number; readonly message: RenderedText | null } {
  for (let room = limits.textChars; ;) {
    const limit = start + room;
    const end = limit >= text.length ? text.length : chooseCut(text, reader.take(limit).spans, start, limit);
    const message = reader.take(endOfVisible(text, start, end));
    if (isBlank(message.text)) return { end, message: null };
    const rendered = render(message);
    const overflow = excess(rendered, limits);
    if (overflow <= 1) return { end, message: rendered };
    const firstCharacter = firstCharacterLength(text.slice(start, end));
    if (firstCharacter === end - start) {
      const bare = render(withoutMarkup(message));
      if (excess(bare, limits) <= 1) return { end, message: bare };
      const onlyCodePoint = String.fromCodePoint(text.codePointAt(start) ?? 0) === text.slice(start, end);
      if (onlyCodePoint) return { end, message: { text: message.text, entities: [], plain: message.text } };
    }
    const least = firstCharacter < end - start ? firstCharacter : 1;
    room = Math.max(least, Math.floor((end - start) * Math.min(0.95, 1 / overflow)));
  }
}

/** Above 1: by what factor a message is too large. */
function excess(rendered: RenderedText, limits: TextLimits): number {
  return Math.max(rendered.text.length / limits.textChars, rendered.entities.length / (limits.textEntities ?? Infinity));
}

function endOfVisible(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(text[last - 1])) last -= 1;
  return last;
}

function withoutMarkup({ text }: Document): Document {
  return { text, spans: [{ start: 0, end: text.length, depth: 0, mark: { kind: "paragraph", tight: true } }] };
}
