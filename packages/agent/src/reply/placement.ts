// Decides by a tag's position whether it was used or only mentioned. Models open a thought at the beginning
// of a message, line or sentence, or right against their text; a question about tags is answered with tags
// among words ("the <answer> element").
import type { Tag } from "./read-tag.ts";

/**
 * What stands before a tag: nothing on its line, the end of a sentence, a letter, a quotation mark or
 * bracket, or a word and a space.
 */
export type Before = "start" | "sentence" | "letter" | "quote" | "word";

/**
 * What follows it: nothing, a line break, a mark that ends a mention, a space and a word, or text right
 * against it.
 */
export interface After {
  readonly kind: "end" | "line" | "mark" | "word" | "text";
  /** The first character that is no space. */
  readonly first: string;
}

/**
 * `hide` and `open` act at once; with `paired` the tag counts only if it is closed later, and is text
 * otherwise.
 */
export type Verdict =
  | { readonly kind: "text" }
  | { readonly kind: "drop" }
  | { readonly kind: "hide" | "open"; readonly paired: boolean };

const text: Verdict = { kind: "text" };
const drop: Verdict = { kind: "drop" };
const hide: Verdict = { kind: "hide", paired: false };
const hidePaired: Verdict = { kind: "hide", paired: true };
const open: Verdict = { kind: "open", paired: false };
const openPaired: Verdict = { kind: "open", paired: true };

/** `line`: what stands before it on its line. */
export function beforeOf(line: string): Before {
  const said = line.trimEnd();
  if (said === "") return "start";
  const last = said.at(-1) ?? "";
  if (said.length === line.length) {
    if (/[\p{L}\p{N}_]/u.test(last)) return "letter";
    if (/[([{"'“‘«„/\\|=¿¡`]/u.test(last)) return "quote";
    return /[,-]/u.test(last) ? "word" : "sentence";
  }
  // Half a surrogate pair is half an emoji.
  return /[.!?…:;。！？：；)\]"”»*_~]|[\p{S}\ud800-\udfff]/u.test(last) && !/[|=+<>$]/u.test(last)
    ? "sentence"
    : "word";
}

const listNumber = /^\s*\d{1,3}[.)]\s+$/u;

/**
 * How many characters of emphasis stand on both sides of a tag among words or in a list ("- **<think>**
 * opens"): they make it no less a mention. `line`: what stands before it; null while it is not known yet.
 */
export function emphasisAround(line: string, rest: string, at: number, ended: boolean): number | null {
  const run = /(?:\*{1,3}|_{1,3})$/u.exec(line)?.[0] ?? "";
  const outside = line.slice(0, line.length - run.length);
  const place = beforeOf(outside);
  if (run === "" || (place !== "word" && place !== "quote" && !listNumber.test(outside))) return 0;
  const after = rest.slice(at, at + run.length);
  if (!ended && after.length < run.length && run.startsWith(after)) return null;
  return after === run ? run.length : 0;
}

const gap = /[^\S\n]{0,40}/uy;
const marks = /[,;:)\]}»”’，。、；：）」』]/u;

/** Null while it is not known yet. */
export function afterOf(rest: string, at: number, ended: boolean): After | null {
  gap.lastIndex = at;
  const spaces = gap.exec(rest)?.[0].length ?? 0;
  const first = rest.charAt(at + spaces);
  if (first === "") return ended ? { kind: "end", first } : null;
  if (first === "\n") return { kind: "line", first };
  if (spaces > 0) return { kind: "word", first };
  if (marks.test(first)) return { kind: "mark", first };
  if (!/[.!?"'/|\-–]/u.test(first)) return { kind: "text", first };
  const second = rest.charAt(at + 1);
  if (second === "" && !ended) return null;
  return { kind: endsMention(first, second) ? "mark" : "text", first };
}

function endsMention(first: string, second: string): boolean {
  if (first === "/" || first === "|") return /[<[\s]/u.test(second) || second === "";
  if (first === "-" || first === "–") return /\p{L}/u.test(second);
  return second === "" || /[\s"'”’),;]/u.test(second) || (first !== "." && /[.!?]/u.test(second));
}

export interface Scene {
  readonly before: Before;
  readonly after: After;
  /** The model was told to answer inside `<final>`; what stands outside is not shown. */
  readonly finalOnly: boolean;
  /** The answer has mentioned tags of this kind before. */
  readonly mentioned: boolean;
}

export function verdictOn(tag: Tag, scene: Scene): Verdict {
  if (tag.form === "square" && scene.after.first === "(" && scene.after.kind === "text" && !tag.closing)
    return text;
  if (tag.closing) return strayClosing(scene);
  if (tag.family === "token" || tag.family === "channel" || tag.selfClosing) return loneTag(scene);
  const verdict =
    tag.family === "final"
      ? wrapper(tag, scene)
      : tag.family === "think"
        ? thought(tag, scene)
        : call(tag, scene);
  const isPlain = tag.form === "square" && (tag.letters !== "upper" || scene.before === "letter");
  return isPlain && "paired" in verdict ? { ...verdict, paired: true } : verdict;
}

function isAmongWords({ before, after }: Scene): boolean {
  return (before === "word" || before === "quote") && (after.kind === "word" || after.kind === "mark");
}

function loneTag(scene: Scene): Verdict {
  const { before, after } = scene;
  return isAmongWords(scene) || (before === "sentence" && after.kind === "mark") ? text : drop;
}

function strayClosing(scene: Scene): Verdict {
  const { before, after, mentioned } = scene;
  if (isAmongWords(scene) || (before !== "letter" && after.kind === "mark")) return text;
  return mentioned && before !== "start" && after.kind !== "text" ? text : drop;
}

/** Of the closing tag of what is open: it stands among the words of a sentence that goes on. */
export function namesClosing(before: Before, after: After): boolean {
  if (before !== "word" && before !== "quote") return false;
  return after.kind === "mark" || (after.kind === "word" && /\p{Ll}/u.test(after.first));
}

function thought(tag: Tag, { before, after }: Scene): Verdict {
  const { kind } = after;
  if (before === "start") return kind === "mark" ? hidePaired : hide;
  if (kind === "mark") return text;
  if (before === "sentence")
    return kind === "end" ? drop : kind === "word" && /\p{Ll}/u.test(after.first) ? hidePaired : hide;
  if (before === "letter") return tag.letters !== "capital" ? hide : kind === "text" ? hidePaired : text;
  if (kind === "word" || kind === "end") return text;
  return kind === "line" ? hidePaired : hide;
}

function call(tag: Tag, { before, after: { kind, first } }: Scene): Verdict {
  const holdsData = (kind === "text" ? /[{[<"]/u : /[{[]/u).test(first);
  if (kind === "mark") return text;
  if (before === "start" || before === "sentence") {
    if (kind === "end") return drop;
    return kind !== "word" || holdsData || tag.hasAttributes ? hide : hidePaired;
  }
  if (before === "letter" && tag.letters === "capital") return kind === "text" ? hidePaired : text;
  if (before === "letter") return kind === "word" && !holdsData ? hidePaired : hide;
  if (kind === "end") return text;
  if (kind === "word" && !holdsData) return tag.hasAttributes ? hidePaired : text;
  return holdsData || (kind === "text" && tag.hasAttributes) ? hide : hidePaired;
}

function wrapper(tag: Tag, { before, after: { kind, first }, finalOnly }: Scene): Verdict {
  if (finalOnly) {
    if (kind === "mark" && before !== "start") return text;
    return kind === "word" && (before === "word" || before === "quote") ? text : open;
  }
  if (tag.form === "bars" && before !== "word" && before !== "quote") return open;
  if (kind === "mark") return before === "start" ? openPaired : text;
  if (before === "start") return kind === "word" && /\p{Ll}/u.test(first) ? openPaired : open;
  if (before === "sentence") return kind === "end" ? drop : openPaired;
  return before === "letter" && tag.letters !== "capital" ? openPaired : text;
}

const onlyDots = /^[\s.…·]*$/u;
const onlyLinks = /^\s{1,4}(?:and|or|to|und|oder|et|ou|y|o|e|и|или|&|\+|\/|,|–|-|→|->)\s{1,4}$/iu;

/**
 * A pair that holds nothing: it was named, not used ("wrap it in <think>...</think>", "<think> and </think>
 * are tags").
 */
export function namesPair(content: string, before: Before, after: After): boolean {
  if (onlyLinks.test(content)) return true;
  if (!onlyDots.test(content)) return false;
  if (before === "word" || before === "quote") return true;
  return (
    content.trim() !== "" && (before === "sentence" || (after.kind === "word" && /\p{Ll}/u.test(after.first)))
  );
}
