// Walks a document as a sequence of open, text and close. Every renderer is a visitor of this walk.
import type { Document, Span } from "./document.ts";

export interface Visitor {
  open(span: Span, index: number): void;
  /** Never empty; `start` is its offset in the document. */
  text(text: string, start: number): void;
  close(span: Span): void;
}

export function walk(document: Document, visitor: Visitor): void {
  const { text, spans } = document;
  const enclosing: Span[] = [];
  let position = 0;
  const readTo = (offset: number): void => {
    if (offset > position) visitor.text(text.slice(position, offset), position);
    position = Math.max(position, offset);
  };
  const closeDownTo = (depth: number): void => {
    for (let last = enclosing.at(-1); last !== undefined && last.depth >= depth; last = enclosing.at(-1)) {
      readTo(last.end);
      visitor.close(last);
      enclosing.pop();
    }
  };
  spans.forEach((span, index) => {
    closeDownTo(span.depth);
    readTo(span.start);
    visitor.open(span, index);
    enclosing.push(span);
  });
  closeDownTo(0);
  readTo(text.length);
}
