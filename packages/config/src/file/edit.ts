// Changes the text of a config file and leaves everything else in it as a person wrote it: comments, order,
// quotes, blank lines. Works on the tree with positions, one change after the other; whether the new text
// says something sensible is for `validate` to judge.
import { parse, type ElementNode, type MemberNode, type Token, type ValueNode } from "@humanwhocodes/momoa";
import { Fault, type Json } from "@parley/protocol";
import { keyOf, parseDocument } from "./document.ts";
import { jsonText, keyText, type TextStyle } from "./json-text.ts";
import { ConfigFault, formatPath, type ConfigPath } from "../problem.ts";

export type ConfigChange =
  /** Blocks that are missing on the way are made; the index one past a list's end appends. */
  | { readonly set: ConfigPath; readonly to: Json }
  /** What is not there counts as removed. */
  | { readonly remove: ConfigPath };

/**
 * The new text. Throws ConfigFault for a text that cannot be read, Fault("invalid") for a place that cannot
 * be. `file`: for messages.
 */
export function editConfig(text: string, changes: readonly ConfigChange[], file = "the config file"): string {
  const start = text.trim() === "" ? "{\n}\n" : text;
  const { problems } = parseDocument(start);
  if (problems.length > 0) throw new ConfigFault(file, problems);
  return changes.reduce(
    (now, change) => ("set" in change ? set(now, change.set, change.to) : remove(now, change.remove)),
    start,
  );
}

/** A block or list of the file. */
interface Container {
  /** Offsets of its opening and closing bracket. */
  readonly open: number;
  readonly close: number;
  readonly items: readonly (MemberNode | ElementNode)[];
}

interface Source {
  readonly text: string;
  readonly body: ValueNode;
  readonly tokens: readonly Token[];
  readonly style: TextStyle;
}

function sourceOf(text: string): Source {
  const { body, tokens = [] } = parse(text, { mode: "json5", tokens: true });
  const first = body.type === "Object" ? body.members[0] : undefined;
  const indent = first === undefined ? null : ownIndent(text, first.loc.start.offset);
  return {
    text,
    body,
    tokens,
    style: { unit: indent === null || indent === "" ? "  " : indent, quoted: first?.name.type === "String" },
  };
}

function set(text: string, path: ConfigPath, to: Json): string {
  const source = sourceOf(text);
  let node = source.body;
  for (const [depth, step] of path.entries()) {
    const found = stepInto(node, step);
    if (found !== null) {
      node = found.value;
      continue;
    }
    const value = path
      .slice(depth + 1)
      .reduceRight<Json>((inner, outer) => (typeof outer === "number" ? [inner] : { [outer]: inner }), to);
    if (node.type === "Object") return insert(source, containerOf(node), String(step), value);
    if (node.type === "Array" && isIndex(step, node.elements.length))
      return insert(source, containerOf(node), null, value);
    if (node.type === "Array")
      throw noSuchPlace(path, `the list has ${node.elements.length} entries, so "${step}" is no place in it`);
    return replace(source, node, typeof step === "number" ? [value] : { [step]: value });
  }
  return replace(source, node, to);
}

function isIndex(step: string | number, index: number): boolean {
  return String(step) === String(index);
}

function noSuchPlace(path: ConfigPath, why: string): Fault {
  return new Fault("invalid", `${formatPath(path)}: ${why}`);
}

/** A number names a key too: ids of groups are keys. */
function stepInto(node: ValueNode, step: string | number): MemberNode | ElementNode | null {
  if (node.type === "Object") return node.members.find((member) => keyOf(member) === String(step)) ?? null;
  if (node.type === "Array") return node.elements.find((_, index) => isIndex(step, index)) ?? null;
  return null;
}

function containerOf(node: Extract<ValueNode, { type: "Object" | "Array" }>): Container {
  return {
    open: node.loc.start.offset,
    close: node.loc.end.offset - 1,
    items: node.type === "Object" ? node.members : node.elements,
  };
}

function replace({ text, style }: Source, node: ValueNode, to: Json): string {
  const { start, end } = node.loc;
  return (
    text.slice(0, start.offset) +
    asIn(text, jsonText(to, lineIndent(text, start.offset), style)) +
    text.slice(end.offset)
  );
}

/** `key`: null in a list. Behind the last item, and behind the comment that stands on its line. */
function insert(
  { text, tokens, style }: Source,
  { open, close, items }: Container,
  key: string | null,
  value: Json,
): string {
  const last = items.at(-1);
  const isInline = last !== undefined && !text.slice(open, close).includes("\n");
  const outer = lineIndent(text, open);
  const indent = (last === undefined ? null : ownIndent(text, last.loc.start.offset)) ?? outer + style.unit;
  const entry = `${key === null ? "" : `${keyText(key, style)}: `}${jsonText(value, isInline ? "" : indent, style)}`;
  const lastEnd = last?.loc.end.offset ?? open + 1;
  if (isInline) return text.slice(0, lastEnd) + asIn(text, `, ${entry}`) + text.slice(lastEnd);

  const behind = tokens.filter(({ loc }) => loc.start.offset >= lastEnd && loc.end.offset <= close);
  const isSeparated = last === undefined || behind.some(isComma);
  let at = lastEnd;
  for (const token of behind) {
    // In a block without items every comment stays above what is put in.
    const isOnLine = last === undefined || !text.slice(at, token.loc.start.offset).includes("\n");
    if (isOnLine || isComma(token) || behind.some((each) => isComma(each) && each.loc.start.offset > at))
      at = token.loc.end.offset;
    else break;
  }
  const before = isSeparated ? text.slice(0, at) : `${text.slice(0, lastEnd)},${text.slice(lastEnd, at)}`;
  const closesHere = !text.slice(at, close).includes("\n") && text.slice(at, close).trim() === "";
  return (
    before +
    asIn(text, `\n${indent}${entry},${closesHere ? `\n${outer}` : ""}`) +
    text.slice(closesHere ? close : at)
  );
}

function remove(text: string, path: ConfigPath): string {
  const { body, tokens } = sourceOf(text);
  let item: MemberNode | ElementNode | null = null;
  for (const step of path) {
    item = stepInto(item?.value ?? body, step);
    if (item === null) return text;
  }
  if (item === null) throw noSuchPlace(path, "the whole file cannot be removed");
  const start = item.loc.start.offset;
  const end = item.loc.end.offset;
  const comma = tokens.find((token) => token.loc.start.offset >= end && !isComment(token));
  const after = comma !== undefined && isComma(comma) ? comma.loc.end.offset : end;
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const tail = lineTail(text, tokens, after);
  // Alone on its lines: they go, with the comment behind it.
  if (tail !== null && text.slice(lineStart, start).trim() === "")
    return text.slice(0, lineStart) + text.slice(tail);
  if (after > end) return text.slice(0, start) + text.slice(after).replace(/^[^\S\n]+/, "");
  const before = tokens.findLast((token) => token.loc.end.offset <= start);
  const from = before !== undefined && isComma(before) ? before.loc.start.offset : start;
  return text.slice(0, from) + text.slice(end);
}

/** Where the next line begins when nothing but comments follows on this one; null otherwise. */
function lineTail(text: string, tokens: readonly Token[], from: number): number | null {
  let at = from;
  for (const token of tokens) {
    if (token.loc.start.offset < at) continue;
    if (text.slice(at, token.loc.start.offset).includes("\n")) break;
    if (!isComment(token) || token.loc.start.line !== token.loc.end.line) return null;
    at = token.loc.end.offset;
  }
  const newline = text.indexOf("\n", at);
  return newline < 0 ? null : newline + 1;
}

function isComma(token: Token): boolean {
  return token.type === "Comma";
}

function isComment({ type }: Token): boolean {
  return type === "LineComment" || type === "BlockComment";
}

function lineIndent(text: string, offset: number): string {
  return /^[^\S\n]*/.exec(text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset))?.[0] ?? "";
}

/** The indentation of what stands first on its line; null for what does not. */
function ownIndent(text: string, offset: number): string | null {
  const before = text.slice(text.lastIndexOf("\n", offset - 1) + 1, offset);
  return before.trim() === "" && offset > before.length ? before : null;
}

/** With the line ends of the file. */
function asIn(text: string, piece: string): string {
  return text.includes("\r\n") ? piece.replaceAll("\n", "\r\n") : piece;
}
