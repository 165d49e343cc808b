// Reads one tag of a model: angle brackets, square ones, or the bars of chat templates, in every drawing of
// them. A tag has exactly this form: brackets, perhaps a slash and a prefix, a known name, perhaps
// attributes. `a <think and b>` is none (I8).
import { readAs } from "./look-alikes.ts";
import {
  beginsName,
  hasHalfBars,
  isTornName,
  meaningBetweenBars,
  meaningOfTag,
  type Family,
  type Meaning,
} from "./tag-names.ts";

export interface Tag {
  /** In the text, as it was written. */
  readonly chars: number;
  readonly form: "angle" | "square" | "bars";
  readonly family: Family;
  readonly block: string;
  /** Lower case, without its prefix. */
  readonly name: string;
  readonly closing: boolean;
  readonly selfClosing: boolean;
  readonly hasAttributes: boolean;
  /** How the name is written: `THINK`, `Think` or `think`. */
  readonly letters: "upper" | "capital" | "lower";
}

/** All that there is could become a tag. `torn`: where the stream ends here, it was one. */
export interface TagBeginning {
  readonly torn: boolean;
}

/** No tag is longer than this; it bounds what is held back. */
const longestChars = 400;
const entities: readonly (readonly [string, string])[] = [
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&#60;", "<"],
  ["&#62;", ">"],
  ["&#x3c;", "<"],
  ["&#x3e;", ">"],
  ["&#x3C;", "<"],
  ["&#x3E;", ">"],
];

/** Everything a tag may begin with. Global; each user makes its own. */
export const tagStarts = (): RegExp => /[<[＜﹤◁⟨〈〈‹˂ᐸ❮❬⧼［【〔⟦&]/gu;

interface Plain {
  readonly at: number;
  /** As it reads: ASCII, without what is not seen. */
  readonly text: string;
  /** Where each character of it ends in the original. */
  readonly ends: readonly number[];
  /** False where the original goes on with something that is no part of a tag. */
  readonly toEnd: boolean;
}

export function readTag(text: string, at: number): Tag | TagBeginning | null {
  const plain = plainFrom(text, at);
  if (plain.text === "") return plain.toEnd && at < text.length ? { torn: false } : null;
  const read = plain.text.startsWith("[") ? square(plain) : (bars(plain) ?? angle(plain));
  if (read === null || "chars" in read) return read;
  return plain.toEnd ? read : null;
}

export function isTag(read: Tag | TagBeginning | null): read is Tag {
  return read !== null && "chars" in read;
}

function plainFrom(text: string, at: number): Plain {
  let plain = "";
  const ends: number[] = [];
  let position = at;
  while (position < text.length) {
    const code = text.codePointAt(position) ?? 0;
    const raw = String.fromCodePoint(code);
    if (position - at >= longestChars) return { at, text: plain, ends, toEnd: false };
    const entity = raw === "&" ? entityAt(text, position) : null;
    if (entity === "begins") return { at, text: plain, ends, toEnd: true };
    const reads = entity === null ? readAs(raw) : entity[1];
    position += entity === null ? raw.length : entity[0].length;
    if (reads === "&" && plain === "") return { at, text: "", ends, toEnd: false };
    // No tag holds another: what comes is judged by itself.
    if (plain !== "" && (reads === "<" || (reads === "[" && plain.startsWith("["))))
      return { at, text: plain, ends, toEnd: false };
    if (reads === "") continue;
    plain += reads;
    for (let unit = 0; unit < reads.length; unit += 1) ends.push(position);
    if (reads === ">" || (reads === "]" && plain.startsWith("[")))
      return { at, text: plain, ends, toEnd: position === text.length };
  }
  return { at, text: plain, ends, toEnd: true };
}

function entityAt(text: string, at: number): readonly [string, string] | "begins" | null {
  const found = entities.find(([entity]) => text.startsWith(entity, at));
  if (found !== undefined) return found;
  const rest = text.slice(at, at + 6);
  return text.length - at < 6 && entities.some(([entity]) => entity.startsWith(rest)) ? "begins" : null;
}

function tagOf(
  plain: Plain,
  plainChars: number,
  name: string,
  tag: Omit<Tag, "chars" | "letters" | "name">,
): Tag {
  const letters = name === name.toUpperCase() ? "upper" : /^[A-Z]/u.test(name) ? "capital" : "lower";
  return {
    ...tag,
    name: name.toLowerCase(),
    letters,
    chars: (plain.ends[plainChars - 1] ?? plain.at) - plain.at,
  };
}

const opening = /^< {0,8}\\?\/? {0,8}/u;
const prefix = /^(?:[A-Za-z][\w.-]{0,30}:|\|[A-Za-z]{1,12}\| {0,2})/u;
const nameThere = /^[A-Za-z][\w-]{0,40}(?: [A-Za-z]+(?=>))?/u;
/** Of `<inner monologue>`, whose first word alone is no name. */
const twoWordsBegun = /^[A-Za-z][\w-]{0,40} [A-Za-z]*$/u;
const attribute = /^ {1,8}[\w:-]{1,40} ?= ?(?:"[^"<>]{0,200}"|'[^'<>]{0,200}'|[^\s"'<>/]{1,100})/u;
const attributeBegun =
  /^ {1,8}(?:[\w:-]{1,40} ?(?:= ?(?:"[^"<>]{0,200}|'[^'<>]{0,200}|[^\s"'<>/]{0,100})?)?)?$/u;
const shut = /^ {0,8}\/? {0,8}>/u;
const shutBegun = /^ {0,8}\/? {0,8}$/u;

function angle(plain: Plain): Tag | TagBeginning | null {
  const head = opening.exec(plain.text)?.[0];
  if (head === undefined) return null;
  const body = plain.text.slice(head.length);
  if (body === "" || /^\|[A-Za-z]{0,12}$/u.test(body)) return { torn: false };
  const before = prefix.exec(body)?.[0] ?? "";
  const rest = body.slice(before.length);
  if (rest === "" || /^[A-Za-z][\w.-]{0,30}$/u.test(rest)) return named(before, rest);
  const name = nameThere.exec(rest)?.[0] ?? "";
  if (/^function=[\w.-]{0,64}$/u.test(rest)) return { torn: true };
  const meaning = meaningOfTag(name) ?? called(rest, head.includes("/"));
  if (meaning === null)
    return twoWordsBegun.test(rest) && beginsName(rest) ? { torn: isTornName(rest) } : null;
  let from = name.length + (/^=[\w.-]{1,64}/u.exec(rest.slice(name.length))?.[0].length ?? 0);
  for (let found = attribute.exec(rest.slice(from)); found !== null; found = attribute.exec(rest.slice(from)))
    from += found[0].length;
  const tail = rest.slice(from);
  const end = shut.exec(tail)?.[0];
  if (end === undefined) {
    const begun = tail === "=" || shutBegun.test(tail) || attributeBegun.test(tail);
    return begun ? { torn: true } : null;
  }
  const chars = head.length + before.length + from + end.length;
  return tagOf(plain, chars, name, {
    ...meaning,
    form: "angle",
    closing: meaning.closing || head.includes("/"),
    selfClosing: end.includes("/"),
    hasAttributes: from > name.length,
  });
}

/** Llama's `<function=name>` and what closes it. */
function called(rest: string, closing: boolean): Meaning | null {
  const isCall = closing ? /^function[ >]/u.test(rest) : /^function=[\w.-]{1,64}/u.test(rest);
  return isCall ? { family: "tools", block: "function", closing: false } : null;
}

/** A name that goes on to the end of what there is: it may still be a prefix, or grow. */
function named(before: string, rest: string): TagBeginning | null {
  if (rest === "" || beginsName(rest) || meaningOfTag(rest) !== null) return { torn: isTornName(rest) };
  return before === "" || "function=".startsWith(rest) ? { torn: false } : null;
}

const squareThere = /^\[ {0,4}(\/?) {0,4}([A-Za-z][\w-]{0,30}) {0,4}\]/u;
const squareBegun = /^\[ {0,4}\/? {0,4}([A-Za-z][\w-]{0,30})? {0,4}$/u;

function square(plain: Plain): Tag | TagBeginning | null {
  const found = squareThere.exec(plain.text);
  const name = found?.[2] ?? "";
  const meaning = meaningOfTag(name);
  if (found === null) {
    const begun = squareBegun.exec(plain.text);
    if (begun === null) return null;
    const start = begun[1] ?? "";
    return start === "" || beginsName(start)
      ? { torn: isTornName(start) && start === start.toUpperCase() }
      : null;
  }
  if (meaning === null) return null;
  const closing = meaning.closing || found[1] === "/";
  return tagOf(plain, found[0].length, name, {
    ...meaning,
    form: "square",
    closing,
    selfClosing: false,
    hasAttributes: false,
  });
}

const barsThere = /^< ?(\/?)\|(\/?)([\p{L}\p{N}_.:=-][\p{L}\p{N}_.:/=-]{0,60})\|>/u;
const spacedBars = /^< {0,2}(\/?)\| {0,4}(\/?) {0,2}([A-Za-z_]{2,40}) {0,4}\| {0,2}>/u;
const halfBars = /^<(?:(\|)([a-z_]{2,20})|([a-z_]{2,20})\|)>/u;
const barsBegun =
  /^< {0,2}\/?(?:\| {0,4}\/? {0,2}[\p{L}\p{N}_.:/=-]{0,61}|[a-z_]{2,20}) {0,4}(?:\| {0,2})?$/u;

function bars(plain: Plain): Tag | TagBeginning | null {
  const { text } = plain;
  if (text === "<") return { torn: false };
  const exact = barsThere.exec(text);
  const spaced = exact === null ? spacedBars.exec(text) : null;
  const found = exact ?? (spaced !== null && meaningOfTag(spaced[3] ?? "") !== null ? spaced : null);
  if (found !== null)
    return barred(plain, found[0].length, found[3] ?? "", (found[1] ?? "") !== "" || (found[2] ?? "") !== "");
  const half = halfBars.exec(text);
  const name = half?.[2] ?? half?.[3] ?? "";
  if (half !== null && hasHalfBars(name)) return barred(plain, half[0].length, name, half[1] === undefined);
  return barsBegun.test(text) && text.includes("|") ? { torn: /\|[A-Za-z_]{3}/u.test(text) } : null;
}

function barred(plain: Plain, chars: number, name: string, slashed: boolean): Tag {
  const meaning = meaningBetweenBars(name);
  const closing = meaning.closing || slashed;
  return tagOf(plain, chars, name, {
    ...meaning,
    form: "bars",
    closing,
    selfClosing: false,
    hasAttributes: false,
  });
}
