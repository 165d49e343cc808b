// First stage of the way out: takes thinking, internal blocks, template tokens and reply tags out of a
// stream, and leaves code alone. What follows from a text does not depend on how it was cut into pieces: a
// beginning is held back until it is decided (I8).
import { codeAt, codeSpanChars, fenceLine, type CodeFence } from "./code.ts";
import type { Cursor, Step } from "./cursor.ts";
import { closingAnswer, readHidden, type HiddenBlock } from "./hidden-block.ts";
import { doubled, fences, markup, readReplyTag, replyTags } from "./markup.ts";
import { endsInBeginning } from "./pattern.ts";
import {
  afterOf,
  beforeOf,
  emphasisAround,
  namesClosing,
  verdictOn,
  type Before,
  type Verdict,
} from "./placement.ts";
import { isTag, readTag, tagStarts, type Tag } from "./read-tag.ts";
import { beginsHeader, readHeader, type TemplateHeader } from "./template-header.ts";

export interface MarkupSink {
  /** `code`: part of a code span or block, to be left as it is. */
  text(text: string, code: boolean): void;
  replyTag(tag: NonNullable<ReturnType<typeof readReplyTag>>): void;
}

export interface MarkupFilter {
  push(delta: string): void;
  end(): void;
  /** What stood in think blocks so far. */
  thinking(): string;
}

/** `finalOnly`: the model was told to put its answer into `<final>`; nothing outside it is shown. */
export function markupFilter(finalOnly: boolean, sink: MarkupSink): MarkupFilter {
  const cursor: Cursor = { rest: "", at: 0, ended: false };
  /** The last line that was passed on, to know line starts and what a removal would join. */
  let line = "";
  /** Nothing but spaces since something was taken out. */
  let afterRemoved = false;
  let shown = !finalOnly;
  /** How those that are open were written: only the same closes them. */
  const wrappers: Tag["form"][] = [];
  let hidden: HiddenBlock | null = null;
  let header: TemplateHeader | null = null;
  let codeFence: CodeFence | null = null;
  let thoughts = "";
  /** Families that were mentioned as text, and up to where no doubtful opening of a block is closed. */
  const mentioned = new Set<string>();
  const neverClosed = new Map<string, number>();
  /** Characters of the stream before the cursor's text. */
  let base = 0;
  const starts = tagStarts();

  const emit = (text: string, code: boolean): void => {
    if (text === "") return;
    const lineBreak = text.lastIndexOf("\n");
    line = lineBreak === -1 ? line + text : text.slice(lineBreak + 1);
    if (line.length > codeSpanChars) line = line.slice(-codeSpanChars / 2);
    if (text.trim() !== "") afterRemoved = false;
    if (shown) sink.text(text, code);
  };

  /** After taking something out: what stands left of it must not join with what follows into a new item. */
  const removed = (): void => {
    if (shown && endsInBeginning(line, markup, starts)) emit("\n", false);
    afterRemoved = true;
  };

  const take = (chars: number): string => {
    const text = cursor.rest.slice(cursor.at, cursor.at + chars);
    cursor.at += chars;
    return text;
  };

  const before = (): Before => (afterRemoved ? "start" : beforeOf(line));

  const hide = (block: string, opening: string, more: Partial<HiddenBlock> = {}): void => {
    hidden = {
      block,
      opening,
      before: "start",
      form: "angle",
      paired: false,
      once: "drop",
      ...more,
      depth: 1,
      text: "",
      line: "",
    };
  };

  const tagStep = (tag: Tag): Step => {
    const end = cursor.at + tag.chars;
    const emphasis = afterRemoved ? 0 : emphasisAround(line, cursor.rest, end, cursor.ended);
    const after = emphasis === null ? null : afterOf(cursor.rest, end + emphasis, cursor.ended);
    if (emphasis === null || after === null) return "hold";
    const place = emphasis > 0 ? "word" : before();
    const isOpen = wrappers.at(-1) === tag.form && (shown || !finalOnly);
    if (tag.closing && tag.family === "final" && isOpen && !namesClosing(place, after)) {
      take(tag.chars);
      wrappers.pop();
      removed();
      if (finalOnly) shown = false;
      return "on";
    }
    const verdict = verdictOn(tag, { before: place, after, finalOnly, mentioned: mentioned.has(tag.family) });
    const written = take(tag.chars);
    if (
      verdict.kind === "text" ||
      (isPaired(verdict) && base + cursor.at <= (neverClosed.get(tag.block) ?? 0))
    ) {
      mentioned.add(tag.family);
      emit(written, false);
      return "on";
    }
    if (verdict.kind === "hide" || isPaired(verdict))
      hide(tag.block, written, {
        before: place,
        form: tag.form,
        paired: isPaired(verdict),
        once: verdict.kind === "open" ? "open" : "drop",
      });
    else if (verdict.kind === "open") unwrap(tag.form);
    else if (beginsHeader(tag))
      header = { names: tag.name === "channel" ? "channel" : "role", role: "", channel: "" };
    removed();
    return "on";
  };

  const unwrap = (form: Tag["form"]): void => {
    wrappers.push(form);
    shown = true;
  };

  /** One item, or one undecided beginning, at the cursor. */
  const itemStep = (): Step | null => {
    const { rest, at, ended } = cursor;
    const fence = fences.whole(rest, at);
    const reply = replyTags.whole(rest, at);
    const item = fence ?? reply ?? doubled.whole(rest, at);
    if (item !== null) {
      take(item.length);
      if (fence !== null && /BEGIN/iu.test(fence)) hide("fence", fence);
      const target = reply === null ? null : readReplyTag(reply);
      if (target !== null && shown) sink.replyTag(target);
      removed();
      return "on";
    }
    const read = readTag(rest, at);
    if (isTag(read)) return tagStep(read);
    const begun = [fences, replyTags, doubled].some((each) => each.begins(rest, at));
    if (read === null && !begun) return null;
    if (!ended) return "hold";
    // A torn item at the end of the stream; what is too short to be known as one is text.
    if (read?.torn !== true && !(begun && rest.length - at >= 4)) return null;
    take(rest.length - at);
    removed();
    return "on";
  };

  const hiddenStep = (block: HiddenBlock): Step => {
    const end = readHidden(cursor, block);
    if (typeof end === "string") return end;
    hidden = null;
    if (end.how === "none") return awaitedInVain(block);
    if (end.how === "named") {
      mentioned.add("think");
      emit(block.opening + block.text + end.closing, false);
      return "on";
    }
    if (end.how === "opened") {
      reread(block.text + end.closing);
      unwrap(block.form);
    } else if (block.block === "think") {
      thoughts += `${block.text}\n`;
    }
    removed();
    return "on";
  };

  const awaitedInVain = (block: HiddenBlock): Step => {
    neverClosed.set(block.block, base + cursor.at);
    mentioned.add("think");
    emit(block.opening, false);
    reread(block.text);
    return "on";
  };

  /** What was held back is read as what it turned out to be. */
  const reread = (text: string): void => {
    const from = cursor.at - text.length;
    if (from >= 0 && cursor.rest.startsWith(text, from)) {
      // Nothing is copied: a long text may hold very many of these.
      cursor.at = from;
      return;
    }
    cursor.rest = text + cursor.rest.slice(cursor.at);
    base += cursor.at - text.length;
    cursor.at = 0;
  };

  const headerStep = (open: TemplateHeader): Step => {
    const read = readHeader(cursor, open);
    if (typeof read === "string") return read;
    header = null;
    if (read.kind === "hidden") hide("channel", "");
    reread(read.text);
    return "on";
  };

  const fenceStep = (fence: CodeFence): Step => {
    const read = fenceLine(cursor, fence);
    if (read === "hold") return "hold";
    if (read.closes) codeFence = null;
    emit(take(read.chars), true);
    return "on";
  };

  const codeStep = (): Step => {
    const read = codeAt(cursor, line);
    if (read === "hold") return "hold";
    codeFence = read.fence ?? null;
    emit(take(read.chars), read.isCode);
    return "on";
  };

  const special = new RegExp(`${starts.source}|[\`~]`, "gu");
  const plainStep = (): Step => {
    special.lastIndex = cursor.at;
    const found = special.exec(cursor.rest);
    emit(take((found?.index ?? cursor.rest.length) - cursor.at), false);
    if (found === null) return "on";
    // Text that is not shown may hold half a fence; it must not swallow the tag that opens the answer.
    const isCode = found[0] === "`" || found[0] === "~";
    const step = isCode ? (shown ? codeStep() : null) : itemStep();
    if (step !== null) return step;
    emit(take(1), false);
    return "on";
  };

  const run = (): void => {
    while (cursor.at < cursor.rest.length) {
      const step =
        hidden !== null
          ? hiddenStep(hidden)
          : header !== null
            ? headerStep(header)
            : codeFence !== null
              ? fenceStep(codeFence)
              : plainStep();
      if (step === "hold") break;
    }
    cursor.rest = cursor.rest.slice(cursor.at);
    base += cursor.at;
    cursor.at = 0;
  };

  /** Blocks that were awaited in vain are text; a thought that never closed may end in a whole answer. */
  const unhide = (block: HiddenBlock): void => {
    hidden = null;
    const answer = block.block === "think" && !block.paired ? closingAnswer(block.text) : null;
    if (block.paired) {
      awaitedInVain(block);
    } else if (answer !== null) {
      shown = true;
      afterRemoved = true;
      reread(answer);
    }
    if (block.block === "think" && !block.paired) thoughts += block.text;
  };

  return {
    push(delta) {
      cursor.rest += delta;
      run();
    },
    end() {
      cursor.ended = true;
      run();
      while (hidden !== null) {
        unhide(hidden);
        run();
      }
    },
    thinking: () => thoughts.trim(),
  };
}

function isPaired(verdict: Verdict): boolean {
  return "paired" in verdict && verdict.paired;
}
