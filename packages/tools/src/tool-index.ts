// Finds tools by words: BM25 over their names and descriptions, where a word of the name counts more. A pure
// function, so the same question finds the same tools after a restart.
import type { Tool } from "./tool.ts";

const k1 = 1.2;
const b = 0.75;
const nameWeight = 3;
/** A word that only begins like the asked one. */
const beginsWeight = 0.5;

/** The best first; at most `limit`. */
export function findTools(tools: readonly Tool[], query: string, limit: number): readonly Tool[] {
  const asked = [...new Set(wordsOf(query))];
  const documents = tools.map((tool) => counted(tool));
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length);
  const rarity = new Map(
    asked.map((word) => {
      const having = documents.filter(({ counts }) => countOf(counts, word) > 0).length;
      return [word, Math.log(1 + (tools.length - having + 0.5) / (having + 0.5))] as const;
    }),
  );
  const scored = documents.map(({ tool, counts, length }) => {
    const score = asked.reduce((sum, word) => {
      const count = countOf(counts, word);
      return (
        sum + (rarity.get(word) ?? 0) * ((count * (k1 + 1)) / (count + k1 * (1 - b + (b * length) / mean)))
      );
    }, 0);
    return { tool, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.tool.name < other.tool.name ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool);
}

function counted(tool: Tool) {
  const counts = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + weight);
  };
  add(tool.name, nameWeight);
  add(tool.description, 1);
  return { tool, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

function countOf(counts: ReadonlyMap<string, number>, word: string): number {
  const exact = counts.get(word);
  if (exact !== undefined || word.length < 3) return exact ?? 0;
  let most = 0;
  for (const [other, count] of counts)
    if (other.startsWith(word) || (other.length > 3 && word.startsWith(other))) most = Math.max(most, count);
  return most * beginsWeight;
}

function wordsOf(text: string): readonly string[] {
  return (
    text
      .replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
