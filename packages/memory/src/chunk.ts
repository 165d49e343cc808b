// Cuts a Markdown file into chunks of about 400 tokens that overlap by about 80, on line ends, each with its
// line range and the headings that it stands under. The same text gives the same chunks.

export interface ChunkSettings {
  readonly tokens: number;
  readonly overlap: number;
}

export interface Chunk {
  /** Counted from 1, both inclusive. */
  readonly startLine: number;
  readonly endLine: number;
  /** "Projects > Parley"; empty above the first heading. */
  readonly heading: string;
  readonly text: string;
}

/** A line longer than this is cut, because one line may be a whole file. */
const mostLineChars = 4_000;
const headingChars = 200;
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/gu;
const isAscii = /^[\u0000-\u007f]*$/;

/** About four letters are a token; a sign of Chinese or Japanese is one by itself. */
export function tokensOf(text: string): number {
  const signs = isAscii.test(text) ? 0 : (text.match(wide)?.length ?? 0);
  return signs + Math.ceil((text.length - signs) / 4);
}

interface Line {
  readonly number: number;
  readonly text: string;
  readonly tokens: number;
  readonly heading: string;
  readonly isHeading: boolean;
}

export function chunksOf(text: string, { tokens: most, overlap }: ChunkSettings): readonly Chunk[] {
  const chunks: Chunk[] = [];
  let open: Line[] = [];
  let openTokens = 0;
  let fresh = 0;

  const close = (): void => {
    if (fresh > 0 && open.some((line) => line.text.trim() !== "")) chunks.push(chunkOf(open));
    // The end of this chunk is repeated at the beginning of the next one.
    let keptTokens = 0;
    let from = open.length;
    while (from > 1 && keptTokens + (open[from - 1]?.tokens ?? 0) <= overlap) {
      from -= 1;
      keptTokens += open[from]?.tokens ?? 0;
    }
    open = open.slice(from);
    openTokens = keptTokens;
    fresh = 0;
  };

  for (const line of linesOf(text, most)) {
    // A section of its own begins a chunk, once the one before is worth one.
    const isNewSection = line.isHeading && openTokens * 2 >= most;
    if (fresh > 0 && (openTokens + line.tokens > most || isNewSection)) close();
    if (isNewSection) [open, openTokens] = [[], 0];
    open.push(line);
    openTokens += line.tokens;
    fresh += 1;
  }
  if (fresh > 0 && open.some((line) => line.text.trim() !== "")) chunks.push(chunkOf(open));
  return chunks;
}

function chunkOf(lines: readonly Line[]): Chunk {
  const filled = lines.filter((line) => line.text.trim() !== "");
  const [first, last] = [filled[0], filled.at(-1)];
  const within = lines.filter(
    ({ number }) => number >= (first?.number ?? 0) && number <= (last?.number ?? 0),
  );
  return {
    startLine: first?.number ?? 1,
    endLine: last?.number ?? 1,
    heading: first?.heading ?? "",
    // Pieces of one line are that line again, so that the text has as many lines as the range says.
    text: within
      .map(({ number, text }, at) => (at > 0 && within[at - 1]?.number !== number ? `\n${text}` : text))
      .join(""),
  };
}

function* linesOf(text: string, most: number): Generator<Line> {
  const path: { readonly level: number; readonly title: string }[] = [];
  let fence: string | null = null;
  let number = 0;
  for (const raw of text.split("\n")) {
    number += 1;
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const mark = /^ {0,3}(```+|~~~+)/.exec(line)?.[1];
    if (mark !== undefined && (fence === null || mark.startsWith(fence)))
      fence = fence === null ? mark : null;
    const heading = fence === null ? /^ {0,3}(#{1,6})[ \t]+(.{1,400})/.exec(line) : null;
    if (heading !== null) {
      const level = heading[1]?.length ?? 1;
      while ((path.at(-1)?.level ?? 0) >= level) path.pop();
      path.push({ level, title: (heading[2] ?? "").replace(/[ \t]+#*[ \t]*$/, "").trim() });
    }
    const under = path
      .map(({ title }) => title)
      .join(" > ")
      .slice(0, headingChars)
      .toWellFormed();
    for (const piece of pieces(line, Math.min(mostLineChars, Math.max(400, most * 4))))
      yield { number, text: piece, tokens: tokensOf(piece) + 1, heading: under, isHeading: heading !== null };
  }
}

function pieces(line: string, mostChars: number): readonly string[] {
  if (line.length <= mostChars) return [line];
  const cut: string[] = [];
  for (let at = 0; at < line.length;) {
    let end = Math.min(line.length, at + mostChars);
    if (end < line.length) {
      const space = line.lastIndexOf(" ", end);
      if (space > at + mostChars / 2) end = space + 1;
      else if (/[\ud800-\udbff]/.test(line[end - 1] ?? "")) end -= 1;
    }
    cut.push(line.slice(at, end));
    at = end;
  }
  return cut;
}
