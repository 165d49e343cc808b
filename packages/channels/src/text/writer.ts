// Writes a document front to back: text, spans, line breaks that wait until something follows them, and the
// prefixes of lines in list items and inner quotes.
import { cleanText } from "./characters.ts";
import { isInline, type Document, type Mark } from "./document.ts";

/** The prefix of lines while it is in force: `first` once, `rest` from then on. */
export interface LinePrefix {
  readonly first?: { readonly text: string; readonly discord: string };
  readonly rest: { readonly text: string; readonly discord: string };
}

export interface Writer {
  open(mark: Mark): void;
  /** Ends the span that was opened last. */
  close(): void;
  /** Writes running text; a line end in it is a space. */
  write(text: string): void;
  /** Ends the line when it holds only an item's bullet, because what follows needs a line of its own. */
  startFresh(): void;
  /** Writes lines without prefixes, for code and tables. */
  writeLines(text: string): void;
  ornament(text: string, discord?: string): void;
  /** Requests at least this many line ends before the next text; none at the start of the document. */
  breakLine(count: 1 | 2): void;
  pushPrefix(prefix: LinePrefix): void;
  /** Returns true when `first` was not written yet; it is written now, for an empty item. */
  popPrefix(): boolean;
  /** Inserts the whole of another document. */
  append(document: Document): void;
  finish(): Document;
}

export function documentWriter(): Writer {
  let text = "";
  let atLineStart = true;
  let waitingBreaks = 0;
  let writtenBreaks = 0;
  const spans: { start: number; end: number; depth: number; mark: Mark }[] = [];
  const unclosed: number[] = [];
  const prefixes: { prefix: LinePrefix; begun: boolean }[] = [];

  const put = (piece: string): void => {
    if (piece === "") return;
    text += piece;
    writtenBreaks = 0;
    atLineStart = false;
  };
  const flushBreaks = (): void => {
    if (waitingBreaks === 0) return;
    text += "\n".repeat(waitingBreaks);
    writtenBreaks += waitingBreaks;
    waitingBreaks = 0;
    atLineStart = true;
  };
  const putOrnament = (piece: string, discord: string | undefined): void => {
    if (piece === "") return;
    const mark: Mark = discord === undefined ? { kind: "ornament" } : { kind: "ornament", discord };
    spans.push({ start: text.length, end: text.length + piece.length, depth: unclosed.length, mark });
    put(piece);
  };
  const beginLine = (): void => {
    flushBreaks();
    if (!atLineStart) return;
    for (const entry of prefixes) {
      const part = entry.begun || entry.prefix.first === undefined ? entry.prefix.rest : entry.prefix.first;
      entry.begun = true;
      putOrnament(part.text, part.discord);
    }
    atLineStart = false;
  };
  const hasUnbegunItem = (): boolean =>
    prefixes.some(({ prefix, begun }) => !begun && prefix.first !== undefined);

  const writer: Writer = {
    open(mark) {
      // A bullet stands before what it introduces, not in it, so that a bold first word does not make it
      // bold.
      if (isInline(mark.kind) || mark.kind === "paragraph" || mark.kind === "heading") beginLine();
      else flushBreaks();
      unclosed.push(spans.length);
      spans.push({ start: text.length, end: text.length, depth: unclosed.length - 1, mark });
    },
    close() {
      const span = spans[unclosed.pop() ?? -1];
      if (span !== undefined) span.end = text.length;
    },
    write(piece) {
      const clean = cleanText(piece).replaceAll("\n", " ");
      if (clean === "") return;
      beginLine();
      put(clean);
    },
    startFresh() {
      if (!hasUnbegunItem()) return;
      beginLine();
      writer.breakLine(1);
    },
    writeLines(piece) {
      flushBreaks();
      if (piece === "") return;
      put(cleanText(piece));
    },
    ornament(piece, discord) {
      beginLine();
      putOrnament(cleanText(piece), discord);
    },
    breakLine(count) {
      if (text === "") return;
      if (hasUnbegunItem() && atLineStart) return;
      waitingBreaks = Math.max(waitingBreaks, count - writtenBreaks);
    },
    pushPrefix(prefix) {
      prefixes.push({ prefix, begun: false });
    },
    popPrefix() {
      const unbegun = prefixes.at(-1)?.begun === false && prefixes.at(-1)?.prefix.first !== undefined;
      if (unbegun) beginLine();
      prefixes.pop();
      return unbegun;
    },
    append(document) {
      const offset = text.length;
      for (const { start, end, depth, mark } of document.spans) {
        spans.push({ start: start + offset, end: end + offset, depth: depth + unclosed.length, mark });
      }
      put(document.text);
    },
    finish: () => ({ text, spans }),
  };
  return writer;
}
