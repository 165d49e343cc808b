// A block that is not for people while its end is awaited: a thought, a tool's call, an echoed fence, a
// channel of a chat template. Only what closes this very block counts in it, code or not: a stray backtick in
// a thought must not uncover the rest.
import type { Cursor, Step } from "./cursor.ts";
import { fences } from "./markup.ts";
import {
  afterOf,
  beforeOf,
  namesClosing,
  namesPair,
  verdictOn,
  type After,
  type Before,
} from "./placement.ts";
import { isTag, readTag, tagStarts, type Tag } from "./read-tag.ts";

export interface HiddenBlock {
  /** `fence`, or the block of a tag. */
  readonly block: string;
  /** The tag that opened it, as it was written, and what stood before. */
  readonly opening: string;
  readonly before: Before;
  readonly form: Tag["form"];
  /** It counts only if it closes, in the form in which it was opened; */
  readonly paired: boolean;
  /** What becomes of its content once it is closed. */
  readonly once: "drop" | "open";
  depth: number;
  text: string;
  /** The end of its last line; looking for it in a long text would cost the square of its length. */
  line: string;
}

/**
 * How the block ended: hidden, named without being used, opened to be read again, or never begun: another
 * begins where it should close.
 */
export type BlockEnd = { readonly how: "hidden" | "named" | "opened" | "none"; readonly closing: string };

const starts = tagStarts();
const lineChars = 400;
/** Ends a message of a template; the other tokens of its family begin the next one. */
const endsMessage = /^(?:end|return|call|im_end|eot_id|eom_id|end_of_turn|endoftext|turn)$/u;

/** Reads on inside the block; a `BlockEnd` when its closing was read. */
export function readHidden(cursor: Cursor, block: HiddenBlock): Step | BlockEnd {
  const { rest } = cursor;
  starts.lastIndex = cursor.at;
  const next = starts.exec(rest)?.index ?? rest.length;
  pass(cursor, block, next - cursor.at);
  if (next === rest.length) return "on";
  if (block.block === "fence") return readFenced(cursor, block);
  const read = readTag(rest, cursor.at);
  if (!isTag(read)) {
    if (read !== null && !cursor.ended) return "hold";
    return pass(cursor, block, 1);
  }
  if (block.block === "channel") {
    const ends = read.form === "bars" && (read.block === "channel" || endsMessage.test(read.name));
    if (!ends) return pass(cursor, block, read.chars);
    const begins = read.block === "channel" && !read.closing;
    const closing = begins ? "" : rest.slice(cursor.at, cursor.at + read.chars);
    cursor.at += closing.length;
    return { how: "hidden", closing };
  }
  return read.block === block.block ? readOwn(cursor, block, read) : pass(cursor, block, read.chars);
}

function readOwn(cursor: Cursor, block: HiddenBlock, tag: Tag): Step | BlockEnd {
  const after = afterOf(cursor.rest, cursor.at + tag.chars, cursor.ended);
  const isOther = block.paired && tag.form !== block.form && tag.closing;
  // A template may have opened the thought, and the model again.
  if (isOther || tag.selfClosing || (!tag.closing && isBlank(block))) return pass(cursor, block, tag.chars);
  if (after === null && (!tag.closing || block.paired)) return "hold";
  if (after !== null && !tag.closing) return readNested(cursor, block, tag, after);
  const isNamed = after !== null && block.paired && namesClosing(beforeOf(block.line), after);
  if (isNamed && !isPairNamed(block, after)) return pass(cursor, block, tag.chars);
  if (block.depth > 1) {
    block.depth -= 1;
    return pass(cursor, block, tag.chars);
  }
  const how = howEnded(block, after);
  if (how === null) return "hold";
  const closing = cursor.rest.slice(cursor.at, cursor.at + tag.chars);
  cursor.at += tag.chars;
  return { how, closing };
}

function readNested(cursor: Cursor, block: HiddenBlock, tag: Tag, after: After): Step | BlockEnd {
  const verdict = verdictOn(tag, { before: beforeOf(block.line), after, finalOnly: false, mentioned: false });
  // The nearest opening is what a closing belongs to.
  if (block.paired && (verdict.kind === "hide" || verdict.kind === "open"))
    return { how: "none", closing: "" };
  if (verdict.kind === "hide" && !verdict.paired) block.depth += 1;
  return pass(cursor, block, tag.chars);
}

/** Longer content names nothing, and is not looked through at every tag. */
const shortChars = 20;

function isBlank({ text }: HiddenBlock): boolean {
  return text.length <= shortChars && text.trim() === "";
}

function isPairNamed({ text, before }: HiddenBlock, after: After): boolean {
  return text.length <= shortChars && namesPair(text, before, after);
}

function howEnded(block: HiddenBlock, after: After | null): BlockEnd["how"] | null {
  if (block.text.length <= shortChars && after === null) return null;
  if (after !== null && isPairNamed(block, after)) return "named";
  return block.once === "open" ? "opened" : "hidden";
}

function readFenced(cursor: Cursor, block: HiddenBlock): Step | BlockEnd {
  const item = fences.whole(cursor.rest, cursor.at);
  if (item === null) {
    if (!cursor.ended && fences.begins(cursor.rest, cursor.at)) return "hold";
    return pass(cursor, block, 1);
  }
  block.depth += /BEGIN/iu.test(item) ? 1 : -1;
  pass(cursor, block, item.length);
  return block.depth === 0 ? { how: "hidden", closing: item } : "on";
}

function pass(cursor: Cursor, block: HiddenBlock, chars: number): Step {
  const text = cursor.rest.slice(cursor.at, cursor.at + chars);
  block.text += text;
  const lineBreak = text.lastIndexOf("\n");
  block.line = (lineBreak === -1 ? block.line + text : text.slice(lineBreak + 1)).slice(-lineChars);
  cursor.at += chars;
  return "on";
}

/** A thought that never closed but ends in a whole answer: the model forgot only the closing tag. */
export function closingAnswer(thought: string): string | null {
  const closing = /<\/(?:final|answer|final_answer)>\s*$/iu.exec(thought.slice(-200));
  if (closing === null) return null;
  const opening = [...thought.matchAll(/<(?:final|answer|final_answer)>/giu)].at(-1);
  const end = thought.length - closing[0].length;
  return opening === undefined || opening.index > end
    ? null
    : thought.slice(opening.index + opening[0].length, end);
}
