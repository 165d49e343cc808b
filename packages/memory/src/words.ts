// Splits text into words for FTS5, the same way for what is indexed and what is asked. FTS5 has no word
// boundaries for scripts without spaces, so Intl.Segmenter puts spaces in before SQLite's tokenizer sees the
// text; emoji stand alone.

const noSpaces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const runs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{M}ー々〆ヶ]+/gu;
const emoji = /\p{Extended_Pictographic}/u;
const emojis = /(?![0-9#*©®™])\p{Extended_Pictographic}/gu;
/** Emoji are joined and coloured by characters that no tokenizer needs. */
const joiners = /\u200d|\ufe0e|\ufe0f|[\u{1f3fb}-\u{1f3ff}]/gu;

let segmenter: Intl.Segmenter | undefined;

function segmented(run: string): string {
  segmenter ??= new Intl.Segmenter("und", { granularity: "word" });
  const words = Array.from(segmenter.segment(run), ({ segment }) => segment.trim());
  return ` ${words.filter((word) => word !== "").join(" ")} `;
}

const isAscii = /^[\u0000-\u007f]*$/;

/** Text as FTS5 indexes it: one form of each character, spaces between words. */
export function spaced(text: string): string {
  if (isAscii.test(text)) return text;
  let plain = text.normalize("NFKC");
  if (emoji.test(plain)) plain = plain.replace(joiners, "").replace(emojis, (one) => ` ${one} `);
  return noSpaces.test(plain) ? plain.replace(runs, segmented) : plain;
}

/** Words that stand in so many sentences that they find nothing. A query of nothing else keeps them. */
const stopWords = new Set(
  (
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in into is it its me my no not of on or our " +
    "she should so some tell than that the their them then there they this to us was we were what when where which who whom why will with would you your"
  ).split(" "),
);

/** More words make no better question, and each costs a look into the index. */
const mostWords = 32;
/** A question longer than this is a document: its beginning is asked. */
const mostQueryChars = 4_000;
const word = /[\p{L}\p{N}\p{Co}][\p{L}\p{N}\p{M}\p{Co}]*(?:[._@/'’-][\p{L}\p{N}\p{M}\p{Co}]+)*|\p{So}/gu;
/** The same for text without accents, of which most is. */
const asciiWord = /[a-z0-9]+(?:[._@/'-][a-z0-9]+)*/gi;

/** The distinct words of a question, in its order. Empty when there is nothing to look for. */
export function queryWords(query: string): readonly string[] {
  const text = spaced(query.slice(0, mostQueryChars).toWellFormed()).toLowerCase();
  const all = new Set<string>();
  for (const [found] of text.matchAll(word)) {
    all.add(found);
    if (all.size > mostWords * 4) break;
  }
  const telling = [...all].filter((each) => !stopWords.has(each));
  return (telling.length > 0 ? telling : [...all]).slice(0, mostWords);
}

/** A word as FTS5 is asked for it: quoted, so that nothing in it is an operator. */
export function matchTerm(each: string): string {
  const quoted = `"${each.replaceAll('"', '""')}"`;
  // Korean words carry their particles, and segments of Chinese and Japanese may be longer in the text.
  return /^[\p{Script=Hangul}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+$/u.test(each)
    ? `${quoted} *`
    : quoted;
}

/** A rough stem, to tell which words of a question a text has; the index itself uses Porter's. */
function stem(text: string): string {
  const plain = isAscii.test(text)
    ? text.toLowerCase()
    : text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  if (plain.length < 4 || !/^[a-z'’]+$/.test(plain)) return plain;
  return plain
    .replace(/['’]s$/, "")
    .replace(/(?:ies|ied)$/, "y")
    .replace(/(?:ing|ed|ly|es|s|e)$/, "");
}

/** A search looks at the same passages for their words and for their likeness. */
const stemmed = new Map<string, ReadonlySet<string>>();
const mostStemmed = 256;

/** The words of a text as stems. */
export function stemsOf(text: string): ReadonlySet<string> {
  const known = stemmed.get(text);
  if (known !== undefined) return known;
  const made = freshStems(text);
  const [oldest] = stemmed.keys();
  if (stemmed.size >= mostStemmed && oldest !== undefined) stemmed.delete(oldest);
  stemmed.set(text, made);
  return made;
}

function freshStems(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const words = new Set(
    spaced(text)
      .toLowerCase()
      .match(isAscii.test(text) ? asciiWord : word),
  );
  for (const each of words) {
    found.add(stem(each));
    // A compound is also its parts, as it is for the index.
    if (/[._@/'’-]/.test(each)) for (const part of each.split(/[._@/'’-]+/)) found.add(stem(part));
  }
  return found;
}

/** The share of the question's words that a text has, 0 to 1. */
export function coverage(words: readonly string[], text: string, heading = ""): number {
  if (words.length === 0) return 0;
  const stems = stemsOf(text);
  const above = heading === "" ? null : stemsOf(heading);
  const has = (each: string): boolean =>
    stems.has(stem(each)) ||
    above?.has(stem(each)) === true ||
    (/[._@/'’-]/.test(each) && each.split(/[._@/'’-]+/).every((part) => stems.has(stem(part)))) ||
    (noSpaces.test(each) && text.normalize("NFKC").includes(each));
  return words.filter(has).length / words.length;
}
