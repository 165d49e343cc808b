// Shows the text of a config file as a person wrote it, with its secrets masked, and puts the secrets back
// into a text that comes back: byte for byte, so that what nobody changed stays as it was, comments too.
import { parse, type Token, type ValueNode } from "@humanwhocodes/momoa";
import type { Json } from "@parley/protocol";
import { withoutKeys } from "../credentials.ts";
import type { ConfigPath } from "../problem.ts";
import { redactFile } from "../redact.ts";
import { mask, secretWords } from "../secret.ts";
import { keyOf, parseDocument } from "./document.ts";
import { isMask, noSecretThere } from "./merge.ts";

interface Piece {
  readonly start: number;
  readonly end: number;
  readonly to: string;
}

interface Leaf extends Piece {
  readonly path: ConfigPath;
  readonly value: Json;
}

/** Null for a text that cannot be read: where its secrets are is not known. */
export function maskedText(text: string): string | null {
  if (parseDocument(text).problems.length > 0) return null;
  const { leaves, comments } = piecesOf(text);
  const shownAt = shownIn(text);
  const pieces = leaves.flatMap(({ path, value, start, end, to }) => {
    const shown = shownAt(path);
    if (shown === undefined || shown === value || Number.isNaN(value)) return [];
    const quoted = JSON.stringify(shown);
    const isSingle = to.startsWith("'");
    const inner = quoted
      .slice(1, -1)
      .replaceAll('\\"', '"')
      .replaceAll("'", String.raw`\'`);
    return [{ start, end, to: isSingle ? `'${inner}'` : quoted }];
  });
  return replaced(text, [...pieces, ...comments.map((each) => ({ ...each, to: maskedComment(each.to) }))]);
}

/**
 * `current`: the file's text with its secrets. Throws Fault("invalid") for a mask where it has none; a text
 * that cannot be read comes back as it is.
 */
export function unmaskedText(next: string, current: string): string {
  if (parseDocument(next).problems.length > 0) return next;
  const isKnown = parseDocument(current).problems.length === 0;
  const known = isKnown ? piecesOf(current) : { leaves: [], comments: [] };
  const shownAt = isKnown ? shownIn(current) : () => undefined;
  const raw = new Map(known.leaves.map((leaf) => [JSON.stringify(leaf.path), leaf]));
  const hidden = new Map<string, string[]>();
  for (const { to } of known.comments) {
    const shown = maskedComment(to);
    if (shown !== to) hidden.set(shown, [...(hidden.get(shown) ?? []), to]);
  }
  const { leaves, comments } = piecesOf(next);
  return replaced(next, [
    ...leaves.flatMap(({ path, value, start, end }) => {
      if (!isMask(value)) return [];
      const was = raw.get(JSON.stringify(path));
      if (was === undefined || shownAt(path) !== value) throw noSecretThere(path);
      return [{ start, end, to: was.to }];
    }),
    ...comments.flatMap(({ start, end, to }) => {
      const was = hidden.get(to);
      const first = was !== undefined && was.length > 1 ? was.shift() : was?.[0];
      return first === undefined ? [] : [{ start, end, to: first }];
    }),
  ]);
}

/** What is shown at a place. Of the whole file: the block around a text may say that it is no secret. */
function shownIn(text: string): (path: ConfigPath) => Json | undefined {
  const shown = redactFile(parseDocument(text).value as Json);
  return (path) =>
    path.reduce<Json | undefined>(
      (at, step) =>
        typeof at === "object" && at !== null && Object.hasOwn(at, step)
          ? (at as { readonly [key: string]: Json })[step]
          : undefined,
      shown,
    );
}

/** Texts and numbers with their places, and comments. */
function piecesOf(text: string): { readonly leaves: readonly Leaf[]; readonly comments: readonly Piece[] } {
  if (text.trim() === "") return { leaves: [], comments: [] };
  const { body, tokens = [] } = parse(text, { mode: "json5", tokens: true });
  const leaves: Leaf[] = [];
  const walk = (node: ValueNode, path: ConfigPath): void => {
    if (node.type === "Object") for (const each of node.members) walk(each.value, [...path, keyOf(each)]);
    else if (node.type === "Array")
      for (const [index, each] of node.elements.entries()) walk(each.value, [...path, index]);
    else if (node.type === "String" || node.type === "Number")
      leaves.push({ ...pieceOf(text, node.loc), path, value: node.value });
  };
  walk(body, []);
  const comments = tokens
    .filter(({ type }) => type === "LineComment" || type === "BlockComment")
    .map(({ loc }) => pieceOf(text, loc));
  return { leaves, comments };
}

function pieceOf(text: string, { start, end }: Pick<Token["loc"], "start" | "end">): Piece {
  return { start: start.offset, end: end.offset, to: text.slice(start.offset, end.offset) };
}

function replaced(text: string, pieces: readonly Piece[]): string {
  return pieces
    .toSorted((a, b) => b.start - a.start)
    .reduce((now, { start, end, to }) => now.slice(0, start) + to + now.slice(end), text);
}

const assigned = new RegExp(
  String.raw`((?:${secretWords})["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;}]+)`,
  "gi",
);
/** What was commented out may be a secret too. */
function maskedComment(comment: string): string {
  return withoutKeys(comment.replaceAll(assigned, `$1"${mask}"`));
}
