// Decides which lines are forgotten, in notes and in what is stored of conversations: those with the words as
// they were written, or with all words of the question in any form. A whole line goes, because what is left
// of a sentence may say it again.
import { holdsWords, isOneToken } from "./stored-words.ts";
import { coverage, queryWords } from "../words.ts";

export interface Forgetting {
  readonly line: (text: string) => boolean;
  /** Text without these lines; null when it has none. */
  readonly text: (text: string) => string | null;
  /**
   * The same for a stored document, of which only what people and models wrote is touched: a record must
   * still be readable, whatever word somebody wants forgotten.
   */
  readonly json: (text: string) => string | null;
}

/** Shown where a line stood. */
const mark = "[forgotten]";
/** A shorter phrase stands inside other words. */
const leastPhraseChars = 4;
const wordless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Hangul}]/u;
/** Names of things in stored documents, never words of people: they hold the records together. */
const fixed = new Set(
  "id ids type kind channel account peer thread key session agent turn lane callId messageId model stop name role rows cause ticket mediaType sha256 url path outcome state status authority conversation row delivery source".split(
    " ",
  ),
);

const folded = (text: string): string => text.normalize("NFKC").toLowerCase().replaceAll(/\s+/gu, " ").trim();

/** Null for a question that says too little to decide by. */
export function forgetting(query: string): Forgetting | null {
  const words = queryWords(query);
  const phrase = folded(query);
  const isPhrase = phrase.length >= leastPhraseChars || wordless.test(phrase);
  if (words.length === 0 || (phrase.length < 3 && !wordless.test(phrase))) return null;
  const line = (text: string): boolean => {
    if (text.trim() === "" || text === mark) return false;
    return (isPhrase && folded(text).includes(phrase)) || coverage(words, text) === 1;
  };
  const text = (whole: string): string | null => {
    const lines = whole.split("\n");
    if (!lines.some(line)) return null;
    return lines.map((each) => (line(each) ? mark : each)).join("\n");
  };
  const within = (value: unknown, key: string, inArgs: boolean): unknown => {
    if (typeof value === "string") {
      if (!inArgs && fixed.has(key)) return value;
      // A document inside a document: rows and tool results carry some.
      if (/^\s*[[{]/.test(value)) {
        const inner = jsonOf(value);
        if (inner !== undefined) return JSON.stringify(within(inner, key, inArgs));
      }
      return !inArgs && !holdsWords(key) && isOneToken(value) ? value : (text(value) ?? value);
    }
    if (Array.isArray(value)) return value.map((each) => within(each, key, inArgs));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, within(each, name, inArgs || name === "args")]),
    );
  };
  return {
    line,
    text,
    json(stored) {
      const value = jsonOf(stored);
      // Compared as JSON, because the order of what is stored must not count as a change.
      if (value === undefined || typeof value !== "object") return isOneToken(stored) ? null : text(stored);
      const after = JSON.stringify(within(value, "", false));
      return after === JSON.stringify(value) ? null : after;
    },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Most texts are none.
    return undefined;
  }
}
