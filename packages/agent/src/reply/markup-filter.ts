// First stage of the way out: takes thinking, internal blocks, template tokens and reply tags out of a stream, and leaves code alone.
// What follows from a text does not depend on how it was cut into pieces: a beginning is held back until it is decided (I8).
import { chatTokens, fences, markup, markupStarts, readReplyTag, readTag, replyTags, tags } from "./markup.ts";
import { endsInBeginning } from "./pattern.ts";

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

/** A code span must close on its line within this distance; what does not is no code, so tags in it count. */
const codeSpanChars = 1_000;
const backtickRun = 64;
const fenceInfoChars = 200;
/** An undecided rest of this length at the end of a stream is a torn item and is dropped; a shorter one is taken for text. */
const tornChars = 4;

type Step = "on" | "hold";

/** `finalOnly`: the model was told to put its answer into `<final>`; nothing outside it is shown. */
export function markupFilter(finalOnly: boolean, sink: MarkupSink): MarkupFilter {
  let rest = "";
  let at = 0;
  let ended = false;
  /** The last line that went out, to know line starts and what a removal would join. */
  let line = "";
  let shown = !finalOnly;
  let hidden: { readonly family: string; depth: number; text: string } | null = null;
  let codeFence: { readonly char: string; readonly length: number; midLine: boolean } | null = null;
  let thoughts = "";
  const starts = markupStarts();

  const emit = (text: string, code: boolean): void => {
    if (text === "" || !shown) return;
    const lineBreak = text.lastIndexOf("\n");
    line = lineBreak === -1 ? line + text : text.slice(lineBreak + 1);
    if (line.length > codeSpanChars) line = line.slice(-codeSpanChars / 2);
    sink.text(text, code);
  };

  /** After taking something out: what stands left of it must not join with what follows into a new item. */
  const mend = (): void => {
    if (endsInBeginning(line, markup, starts)) emit("\n", false);
  };

  const take = (chars: number): void => {
    at += chars;
  };

  const hide = (family: string): void => {
    hidden = { family, depth: 1, text: "" };
  };

  const onTag = (item: string): void => {
    const { family, closing, selfClosing } = readTag(item);
    if (family === "final") {
      if (finalOnly) shown = !closing && !selfClosing;
    } else if (!closing && !selfClosing) {
      hide(family);
    }
  };

  /** One item, or one undecided beginning, at `at`. */
  const itemStep = (): Step | null => {
    const tag = tags.whole(rest, at);
    const fence = tag === null ? fences.whole(rest, at) : null;
    const reply = tag === null && fence === null ? replyTags.whole(rest, at) : null;
    const item = tag ?? fence ?? reply ?? chatTokens.whole(rest, at);
    if (item !== null) {
      take(item.length);
      if (tag !== null) onTag(tag);
      else if (fence !== null && /BEGIN/iu.test(fence)) hide("fence");
      const target = reply === null ? null : readReplyTag(reply);
      if (target !== null) sink.replyTag(target);
      mend();
      return "on";
    }
    if (!markup.some((each) => each.begins(rest, at))) return null;
    if (!ended) return "hold";
    if (rest.length - at < tornChars) return null;
    take(rest.length - at);
    mend();
    return "on";
  };

  /** Inside a hidden block only its own family counts, code or not: a stray backtick in a thought must not uncover the rest. */
  const hiddenStep = (block: NonNullable<typeof hidden>): Step => {
    const next = rest.indexOf("<", at);
    const passed = rest.slice(at, next === -1 ? undefined : next);
    block.text += passed;
    take(passed.length);
    if (next === -1) return "on";
    const [kind, other] = block.family === "fence" ? [fences, false] : [tags, true];
    const item = kind.whole(rest, at);
    if (item === null) {
      if (!ended && kind.begins(rest, at)) return "hold";
      block.text += "<";
      take(1);
      return "on";
    }
    take(item.length);
    const tag = other ? readTag(item) : { family: "fence", closing: !/BEGIN/iu.test(item), selfClosing: false };
    if (tag.family === block.family && !tag.selfClosing) block.depth += tag.closing ? -1 : 1;
    else block.text += item;
    if (block.depth === 0) {
      if (block.family === "think") thoughts += `${block.text}\n`;
      hidden = null;
      mend();
    }
    return "on";
  };

  const fenceStep = (fence: NonNullable<typeof codeFence>): Step => {
    const lineBreak = rest.indexOf("\n", at);
    const text = rest.slice(at, lineBreak === -1 ? undefined : lineBreak + 1);
    if (!fence.midLine) {
      const closing = /^[ \t>]*(`+|~+)[ \t]*\n?$/u.exec(text)?.[1] ?? "";
      const closes = closing.startsWith(fence.char) && closing.length >= fence.length;
      if (closes && (lineBreak !== -1 || ended)) codeFence = null;
      else if (lineBreak === -1 && !ended && text.length < fenceInfoChars && /^[ \t>]*[`~]*[ \t]*$/u.test(text)) return "hold";
    }
    fence.midLine = lineBreak === -1;
    emit(text, true);
    take(text.length);
    return "on";
  };

  const codeStep = (): Step | null => {
    const char = rest.charAt(at);
    const atLineStart = /^[ \t>]*$/u.test(line);
    let length = 0;
    while (length < backtickRun && rest.charAt(at + length) === char) length += 1;
    if (at + length === rest.length && !ended && length < backtickRun) return "hold";
    const lineBreak = rest.indexOf("\n", at);
    const info = rest.slice(at + length, lineBreak === -1 ? undefined : lineBreak);
    if (atLineStart && length >= 3 && info.length <= fenceInfoChars && !info.includes("`")) {
      if (lineBreak === -1 && !ended) return "hold";
      if (lineBreak !== -1) {
        codeFence = { char, length, midLine: false };
        emit(rest.slice(at, lineBreak + 1), true);
        take(lineBreak + 1 - at);
        return "on";
      }
    }
    if (char !== "`" || length === backtickRun) {
      emit(char.repeat(length), false);
      take(length);
      return "on";
    }
    return spanStep(length, lineBreak);
  };

  const spanStep = (length: number, lineBreak: number): Step => {
    const from = at + length;
    const limit = Math.min(lineBreak === -1 ? rest.length : lineBreak, from + codeSpanChars);
    const runs = /`+/gu;
    runs.lastIndex = from;
    for (let run = runs.exec(rest); run !== null && run.index < limit; run = runs.exec(rest)) {
      const end = run.index + run[0].length;
      if (end === rest.length && !ended) return "hold";
      if (run[0].length === length) {
        emit(rest.slice(at, end), true);
        take(end - at);
        return "on";
      }
    }
    if (lineBreak === -1 && rest.length < from + codeSpanChars && !ended) return "hold";
    emit("`".repeat(length), false);
    take(length);
    return "on";
  };

  const special = /[<[`~]/gu;
  const plainStep = (): Step => {
    special.lastIndex = at;
    const found = special.exec(rest);
    const passed = rest.slice(at, found?.index);
    emit(passed, false);
    take(passed.length);
    if (found === null) return "on";
    // Text that is not shown may hold half a fence; it must not swallow the tag that opens the answer.
    const isCode = found[0] === "`" || found[0] === "~";
    const step = isCode ? (shown ? codeStep() : null) : itemStep();
    if (step !== null) return step;
    emit(found[0], false);
    take(1);
    return "on";
  };

  const run = (): void => {
    while (at < rest.length) {
      const step = hidden !== null ? hiddenStep(hidden) : codeFence !== null ? fenceStep(codeFence) : plainStep();
      if (step === "hold") break;
    }
    rest = rest.slice(at);
    at = 0;
  };

  return {
    push(delta) {
      rest += delta;
      run();
    },
    end() {
      ended = true;
      run();
      // A thought that never closed but ends in a whole answer: the model forgot only the closing tag.
      const answer = hidden === null || hidden.family !== "think" ? null : closingAnswer(hidden.text);
      if (hidden?.family === "think") thoughts += hidden.text;
      if (answer === null) return;
      hidden = null;
      shown = true;
      rest = answer;
      run();
    },
    thinking: () => thoughts.trim(),
  };
}

function closingAnswer(thought: string): string | null {
  const closing = /<\/(?:final|answer|final_answer)>\s*$/iu.exec(thought.slice(-200));
  if (closing === null) return null;
  const opening = [...thought.matchAll(/<(?:final|answer|final_answer)>/giu)].at(-1);
  const end = thought.length - closing[0].length;
  return opening === undefined || opening.index > end ? null : thought.slice(opening.index + opening[0].length, end);
}
