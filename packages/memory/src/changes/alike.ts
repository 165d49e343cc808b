// Finds lines of the notes that may say the same, or the opposite, of the same thing: those that share their
// rare words. Only lines of one scope stand together, so that nothing of one person's notes is ever put
// beside another's. No model is asked here; most nights there is nothing to ask one about.
import { listFiles, readMemoryFile } from "../read-file.ts";
import type { MemoryScope } from "../scope.ts";
import { queryWords, stemsOf } from "../words.ts";

export interface NoteLine {
  readonly path: string;
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

export interface AlikeLines {
  readonly scope: MemoryScope;
  readonly lines: readonly NoteLine[];
}

const mostLines = 50_000;
const mostOfGroup = 6;
/** A word in more lines tells nothing of any of them. */
const mostSharing = 60;
const leastWords = 3;
const longestLine = 1_000;
/** Of the words of both lines together, and of the shorter line's. */
const leastJaccard = 0.4;
const leastShare = 0.6;
/** Lines that a person has settled already. */
const settled = /\[superseded \d{4}-\d{2}-\d{2}: /;

interface Known extends NoteLine {
  readonly words: ReadonlySet<string>;
}

/** The most alike first. */
export function alikeLines(workspace: string, mostGroups: number): readonly AlikeLines[] {
  const found = [...linesByScope(workspace)].flatMap(([scope, lines]) =>
    pairsOf(lines).map((pair) => ({ scope, ...pair })),
  );
  const groups: { scope: MemoryScope; lines: Set<Known> }[] = [];
  const inGroup = new Map<Known, { scope: MemoryScope; lines: Set<Known> }>();
  for (const { scope, one, other } of found.toSorted((a, b) => b.likeness - a.likeness)) {
    const [a, b] = [inGroup.get(one), inGroup.get(other)];
    if (a !== undefined && b !== undefined) continue;
    const group = a ?? b ?? { scope, lines: new Set<Known>() };
    if (a === undefined && b === undefined) {
      if (groups.length >= mostGroups) continue;
      groups.push(group);
    }
    if (group.lines.size >= mostOfGroup) continue;
    for (const each of [one, other]) {
      group.lines.add(each);
      inGroup.set(each, group);
    }
  }
  return groups.map(({ scope, lines }) => ({
    scope,
    lines: [...lines].map(({ path, line, text }) => ({ path, line, text })).toSorted(inOrder),
  }));
}

const inOrder = (a: NoteLine, b: NoteLine): number =>
  a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1;

function linesByScope(workspace: string): ReadonlyMap<MemoryScope, readonly Known[]> {
  const scopes = new Map<MemoryScope, Known[]>();
  let count = 0;
  for (const { path, scope } of listFiles(workspace).files) {
    const read = readMemoryFile(workspace, path);
    // What is not UTF-8 could not be written back as it is.
    if (read.state !== "read" || read.note !== null) continue;
    let isCode = false;
    for (const [at, raw] of read.text.split("\n").entries()) {
      const text = raw.replace(/\r$/, "");
      if (/^\s*(```|~~~)/.test(text)) isCode = !isCode;
      if (isCode || /^\s*(#|```|~~~|<!--|\||\[Notes on talk)/.test(text) || settled.test(text)) continue;
      if (text.length > longestLine || count >= mostLines) continue;
      const words = wordsOf(text);
      if (words.size < leastWords) continue;
      count += 1;
      const lines = scopes.get(scope) ?? [];
      lines.push({ path, line: at + 1, text, words });
      scopes.set(scope, lines);
    }
  }
  return scopes;
}

/** Stems without the words that stand everywhere. */
const wordsOf = (text: string): ReadonlySet<string> => stemsOf(queryWords(text).join(" "));

function pairsOf(
  lines: readonly Known[],
): readonly { readonly one: Known; readonly other: Known; readonly likeness: number }[] {
  const having = new Map<string, number[]>();
  for (const [at, { words }] of lines.entries())
    for (const word of words) {
      const known = having.get(word);
      if (known === undefined) having.set(word, [at]);
      else known.push(at);
    }
  const pairs: { one: Known; other: Known; likeness: number }[] = [];
  for (const [at, one] of lines.entries()) {
    const shared = new Map<number, number>();
    for (const word of one.words) {
      const others = having.get(word) ?? [];
      if (others.length > mostSharing) continue;
      for (const other of others) if (other > at) shared.set(other, (shared.get(other) ?? 0) + 1);
    }
    for (const [index, rare] of shared) {
      const other = lines[index];
      if (other === undefined || rare < 2) continue;
      const likeness = likenessOf(one.words, other.words);
      if (likeness > 0) pairs.push({ one, other, likeness });
    }
  }
  return pairs;
}

function likenessOf(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let both = 0;
  for (const word of a) if (b.has(word)) both += 1;
  const jaccard = both / (a.size + b.size - both);
  const share = both / Math.min(a.size, b.size);
  return jaccard >= leastJaccard || share >= leastShare ? Math.max(jaccard, share) : 0;
}
