// Splits a document into messages that fit their surface after rendering. Every message shows something, no
// character is cut that could be kept whole, and only whitespace at the cuts is lost.
import type { RenderedText } from "@parley/protocol";
import { isBlank, isSpace } from "./characters.ts";
import { chooseCut, skipSpace } from "./cut.ts";
import { isVerbatim, type Document } from "./document.ts";
import { firstCharacterLength } from "./graphemes.ts";
import { documentReader, type Reader } from "./slice.ts";

/**
 * Markup that leaves its text less than this part of a message is dropped, which also bounds the number of
 * messages.
 */
const mostMarkupShare = 16;

export interface TextLimits {
  /**
   * In UTF-16 units of the rendered text; an integer of at least 1. Markup that does not fit gives way to
   * bare text.
   */
  readonly textChars: number;
  /** Most entities in one message; absent means no limit. */
  readonly textEntities?: number;
}

/** Renders one message as a pure function of its document. */
export type Render = (message: Document) => RenderedText;

/**
 * The messages of a document, in order; none when nothing in it is visible. All are within the limits, except
 * that a code point is sent whole and unescaped where `textChars` is too small for it.
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

/** The start of the message after a cut. */
function resume(text: string, reader: Reader, cut: number): number {
  reader.advance(cut);
  const verbatim = reader.take(cut + 1).spans.some(({ mark }) => isVerbatim(mark.kind));
  return skipSpace(text, verbatim, cut);
}

interface Stretch {
  readonly end: number;
  /** Null when nothing in it is visible. */
  readonly message: RenderedText | null;
}

/**
 * The message with its markup, or as bare text where the markup takes nearly all the room, as a link of a
 * thousand characters over one word does.
 */
function nextMessage(
  text: string,
  start: number,
  limits: TextLimits,
  reader: Reader,
  render: Render,
): Stretch {
  const unformatted: Render = (message) => render(withoutMarkup(message));
  const leastChars = limits.textChars / mostMarkupShare;
  return (
    longestFit(text, start, limits, reader, render, leastChars) ??
    longestFit(text, start, limits, reader, unformatted, 0)
  );
}

/**
 * The longest stretch from `start` that fits. It tries shorter and shorter ones, because rendering may
 * lengthen a text anywhere. Null when it would be shorter than `leastChars` or than one character.
 */
function longestFit(
  text: string,
  start: number,
  limits: TextLimits,
  reader: Reader,
  render: Render,
  leastChars: 0,
): Stretch;
function longestFit(
  text: string,
  start: number,
  limits: TextLimits,
  reader: Reader,
  render: Render,
  leastChars: number,
): Stretch | null;
function longestFit(
  text: string,
  start: number,
  limits: TextLimits,
  reader: Reader,
  render: Render,
  leastChars: number,
): Stretch | null {
  for (let room = limits.textChars; ;) {
    const limit = start + room;
    const end = limit >= text.length ? text.length : chooseCut(text, reader.take(limit).spans, start, limit);
    const message = reader.take(endOfVisible(text, start, end));
    if (isBlank(message.text)) return { end, message: null };
    const rendered = render(message);
    const overflow = excess(rendered, limits);
    if (overflow <= 1) return { end, message: rendered };
    const smaller = Math.floor((end - start) * Math.min(0.95, 1 / overflow));
    const firstCharacter = firstCharacterLength(text.slice(start, end));
    if (leastChars > 0 && (smaller < leastChars || smaller < firstCharacter)) return null;
    const onlyCodePoint = String.fromCodePoint(text.codePointAt(start) ?? 0) === text.slice(start, end);
    if (onlyCodePoint) return { end, message: { text: message.text, entities: [], plain: message.text } };
    room = Math.max(firstCharacter < end - start ? firstCharacter : 1, smaller);
  }
}

/** Above 1: the factor by which a message is too large. */
function excess(rendered: RenderedText, limits: TextLimits): number {
  return Math.max(
    rendered.text.length / limits.textChars,
    rendered.entities.length / (limits.textEntities ?? Infinity),
  );
}

function endOfVisible(text: string, start: number, end: number): number {
  let last = end;
  while (last > start && isSpace(text[last - 1])) last -= 1;
  return last;
}

function withoutMarkup({ text }: Document): Document {
  return {
    text,
    spans: [{ start: 0, end: text.length, depth: 0, mark: { kind: "paragraph", tight: true } }],
  };
}
