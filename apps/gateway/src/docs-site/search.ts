// Searches the pages of docs/ by words: a section is found that has all of them, and one whose heading or
// page names them comes first.
import type { DocsPage } from "./render.ts";

export interface Found {
  /** As `DocsPage` was named. */
  readonly page: string;
  readonly title: string;
  readonly heading: string;
  readonly id: string;
  /** Around the first of the words. */
  readonly excerpt: string;
}

const mostFound = 30;
const mostWords = 12;
const excerptChars = 240;

export function searchPages(pages: ReadonlyMap<string, DocsPage>, query: string): readonly Found[] {
  const words = wordsOf(query).slice(0, mostWords);
  if (words.length === 0) return [];
  const found: (Found & { readonly score: number })[] = [];
  for (const [page, { title, sections }] of pages)
    for (const { heading, id, text } of sections) {
      const [inTitle, inHeading, inText] = [title, heading, text].map((each) => each.toLowerCase());
      if (!words.every((word) => [inTitle, inHeading, inText].some((each) => each?.includes(word)))) continue;
      const hits = (where: string | undefined): number =>
        words.filter((word) => where?.includes(word) === true).length;
      // A page that names all words in its title is meant as a whole, not by each of its sections.
      if (hits(inHeading) + hits(inText) === 0 && id !== "") continue;
      const score = 4 * hits(inHeading) + 3 * hits(inTitle) + hits(inText) + (id === "" ? 1 : 0);
      found.push({ page, title, heading, id, excerpt: excerptOf(text, words), score });
    }
  return found
    .toSorted((one, other) => other.score - one.score)
    .slice(0, mostFound)
    .map(({ score: _score, ...each }) => each);
}

function wordsOf(query: string): readonly string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_.:-]+/gu) ?? [])];
}

function excerptOf(text: string, words: readonly string[]): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const lower = line.toLowerCase();
  const at = Math.max(0, Math.min(...words.map((word) => lower.indexOf(word)).filter((each) => each >= 0)));
  const from = Number.isFinite(at) ? Math.max(0, at - excerptChars / 3) : 0;
  const cut = line.slice(from, from + excerptChars);
  return `${from > 0 ? "… " : ""}${cut}${from + excerptChars < line.length ? " …" : ""}`;
}
