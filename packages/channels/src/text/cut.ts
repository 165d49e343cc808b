// Chooses where to cut a text that is too long for one message: between paragraphs, else lines, sentences,
// words, characters. A finer kind of cut is taken only when the coarser one would leave the message too
// short.
import { isSpace } from "./characters.ts";
import { isVerbatim, type Span } from "./document.ts";
import { boundaryBefore, codePointBefore } from "./graphemes.ts";

/** The share of the room that a message must at least fill for this kind of cut. */
const leastFill = { paragraph: 0.3, line: 0.4, sentence: 0.5, word: 0.5 };
const sentenceEnd = /[.!?…]["'”’)\]]*(?=\s)|[。！？]["'”’」』）]*/g;

/**
 * The end of the next message, in `(start, end]`. `spans` are those of `text.slice(start, end)`, with offsets
 * in it. Only a character longer than `end - start` is cut inside, and then between code points. A surrogate
 * pair that alone exceeds the room is taken whole, one unit beyond `end`.
 */
export function chooseCut(text: string, spans: readonly Span[], start: number, end: number): number {
  const room = end - start;
  const isWhole = (cut: number): boolean => boundaryBefore(text, start, cut) === cut;
  const least = (share: number): number => start + Math.max(1, Math.ceil(room * share));
  const code = spans.filter(({ mark }) => isVerbatim(mark.kind) && mark.kind !== "code");
  const inCode = (cut: number): boolean =>
    code.some((span) => start + span.start <= cut && cut < start + span.end);
  const headingEnds = new Set(
    spans.filter(({ mark }) => mark.kind === "heading").map((span) => start + span.end),
  );

  // Searches only this stretch; looking back to the start of the text would make a long one quadratic.
  const reach = text.slice(start, end + 2);
  const lineEnd = (mark: string, from: number): number =>
    from < start ? -1 : start + reach.lastIndexOf(mark, from - start);

  for (let cut = lineEnd("\n\n", end); cut >= least(leastFill.paragraph); cut = lineEnd("\n\n", cut - 1)) {
    if (!inCode(cut) && !headingEnds.has(cut)) return cut;
  }
  for (let cut = lineEnd("\n", end); cut >= least(leastFill.line); cut = lineEnd("\n", cut - 1)) {
    if (!headingEnds.has(cut)) return cut;
  }
  const candidates = [
    lastSentence(text, least(leastFill.sentence), end),
    lastWord(text, start, least(leastFill.word), end),
  ];
  for (const candidate of candidates) {
    const cut = candidate === null ? null : beforeOrnament(candidate, spans, start);
    if (cut !== null && isWhole(cut)) return cut;
  }
  const whole = boundaryBefore(text, start, end);
  if (whole > start) return beforeOrnament(whole, spans, start) ?? whole;
  const part = codePointBefore(text, end);
  return part > start ? part : Math.min(start + 2, text.length);
}

/** The start of the next message. Line ends are dropped at a cut; in running text so is all whitespace. */
export function skipSpace(text: string, verbatim: boolean, cut: number): number {
  let start = cut;
  while (verbatim ? text[start] === "\n" : isSpace(text[start])) start += 1;
  return start > cut && start < text.length ? boundaryBefore(text, cut, start) : start;
}

function lastSentence(text: string, from: number, end: number): number | null {
  let last: number | null = null;
  for (const found of text.slice(from, end + 1).matchAll(sentenceEnd)) {
    const cut = from + found.index + found[0].length;
    if (cut <= end) last = cut;
  }
  return last;
}

/** Uses a small room only when the following word can then be kept whole. */
function lastWord(text: string, start: number, from: number, end: number): number | null {
  let cut = end;
  while (cut > start && !isSpace(text[cut])) cut -= 1;
  if (cut >= from) return cut;
  const room = end - start;
  let wordEnd = end;
  while (wordEnd < text.length && wordEnd <= cut + room && !isSpace(text[wordEnd])) wordEnd += 1;
  return cut > start && wordEnd - cut - 1 <= room ? cut : null;
}

/** Keeps a bullet or number with its item; null when it is the first thing in the message. */
function beforeOrnament(cut: number, spans: readonly Span[], start: number): number | null {
  const split = spans.find(
    (span) => span.mark.kind === "ornament" && start + span.start < cut && cut <= start + span.end,
  );
  if (split === undefined) return cut;
  return split.start > 0 ? start + split.start : null;
}
