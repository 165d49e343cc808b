// Takes stretches out of a document from front to back, each a document again: spans are closed at its end
// and opened again in the next. Styles never begin or end in whitespace, where platforms would not show them
// or would refuse them.
import { isBlank, isSpace } from "./characters.ts";
import { isInline, type Document, type Mark, type Span } from "./document.ts";

export interface Reader {
  /** The stretch from the reader's position to `end`. */
  take(end: number): Document;
  /** Moves to `offset`; never backwards. */
  advance(offset: number): void;
}

/** Visits each span once per stretch that it touches, so that reading a whole document is linear. */
export function documentReader(document: Document): Reader {
  const { text, spans } = document;
  let position = 0;
  let carried: readonly Span[] = [];
  let next = 0;
  return {
    take(end) {
      if (position === 0 && end >= text.length) return tidy(document);
      const taken: Span[] = [];
      for (const span of carried) pushClipped(taken, span, position, end);
      for (let index = next; index < spans.length; index += 1) {
        const span = spans[index];
        if (span === undefined || span.start >= end) break;
        pushClipped(taken, span, position, end);
      }
      return tidy({ text: text.slice(position, end), spans: taken });
    },
    advance(offset) {
      const still = carried.filter((span) => span.end > offset);
      for (; next < spans.length; next += 1) {
        const span = spans[next];
        if (span === undefined || span.start >= offset) break;
        if (span.end > offset) still.push(span);
      }
      carried = still;
      position = offset;
    },
  };
}

function pushClipped(into: Span[], span: Span, from: number, to: number): void {
  const start = Math.max(span.start, from);
  const end = Math.min(span.end, to);
  const empty = span.start === span.end;
  if (empty ? start <= from || end >= to : start >= end) return;
  const whole = start === span.start && end === span.end;
  const mark = whole ? span.mark : partOf(span.mark);
  into.push({ start: start - from, end: end - from, depth: span.depth, mark });
}

/** Half an ornament is no bullet, and half an address must not become an address of its own. */
function partOf(mark: Mark): Mark {
  if (mark.kind === "ornament") return { kind: "ornament" };
  return mark.kind === "link" && mark.form === "bare" ? { ...mark, form: "masked" } : mark;
}

/**
 * Shrinks styles to their visible text and drops empty spans; code keeps its spaces, a table its empty cells
 * and rows.
 */
function tidy(document: Document): Document {
  const { text } = document;
  const spans = document.spans.flatMap((span): Span[] => {
    if (span.start === span.end && span.mark.kind !== "cell" && span.mark.kind !== "row") return [];
    if (!isInline(span.mark.kind)) return [span];
    if (isBlank(text.slice(span.start, span.end))) return [];
    if (span.mark.kind === "code") return [span];
    let { start, end } = span;
    while (isSpace(text[start])) start += 1;
    while (isSpace(text[end - 1])) end -= 1;
    return [{ ...span, start, end }];
  });
  return { text, spans };
}
