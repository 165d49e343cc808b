// Renders Telegram text with entities, so nothing needs escaping and no markup can be rejected. Rules of the
// Bot API ("Formatting options"): code and pre hold nothing and lie in no style, block quotes do not nest,
// links hold no code.
import type { RenderedText, TextEntity } from "@parley/protocol";
import { isBlank, isSpace } from "./characters.ts";
import { isVerbatim, type Document, type Mark, type MarkKind, type Span } from "./document.ts";
import { walk } from "./walk.ts";

/** Styles that may hold anything but code and lie in anything but code. */
const styleTypes: { readonly [kind in MarkKind]?: string } = {
  bold: "bold",
  heading: "bold",
  italic: "italic",
  strike: "strikethrough",
  spoiler: "spoiler",
};

export function renderTelegram(message: Document): RenderedText {
  return { text: message.text, entities: entitiesOf(message), plain: message.text };
}

/**
 * Sorted by offset, outer before inner. Each lies within the text and does not end in whitespace; none begins
 * with it, except pre and the quotes around pre.
 */
function entitiesOf({ text, spans }: Document): TextEntity[] {
  const entities: TextEntity[] = [];
  const styles: { readonly span: Span; readonly type: string; start: number }[] = [];
  let within: Span | null = null;

  const add = (entity: TextEntity | null): void => {
    if (entity !== null) entities.push(entity);
  };
  // Code lies in no style, so the styles around it end where it starts and go on after it.
  const endStyles = (at: number): void => {
    for (const style of styles.toReversed())
      add(trimmed(text, { type: style.type, offset: style.start, length: at - style.start }));
  };
  const continueStyles = (at: number): void => {
    for (const style of styles) style.start = at;
  };

  walk(
    { text, spans },
    {
      open(span) {
        if (within !== null && isVerbatim(within.mark.kind)) return;
        const type = styleTypes[span.mark.kind];
        if (type !== undefined && styles.every((style) => style.type !== type))
          styles.push({ span, type, start: span.start });
        if (
          within === null &&
          isSolid(span.mark) &&
          !(span.mark.kind === "code" && styles.some((style) => style.type === "spoiler"))
        ) {
          within = span;
          if (isVerbatim(span.mark.kind)) endStyles(span.start);
        }
      },
      text() {},
      close(span) {
        if (styles.at(-1)?.span === span) {
          const { type, start } = styles.pop() ?? { type: "", start: span.end };
          add(trimmed(text, { type, offset: start, length: span.end - start }));
        }
        if (span.mark.kind === "quote" && !span.mark.nested) add(trimmed(text, entityOf(span)));
        if (within !== span) return;
        within = null;
        add(trimmed(text, entityOf(span)));
        if (isVerbatim(span.mark.kind)) continueStyles(span.end);
      },
    },
  );
  // Inner entities were closed first; of two with the same extent the outer has to come first.
  return entities.reverse().sort((a, b) => a.offset - b.offset || b.length - a.length);
}

/**
 * True for marks that hold no other such mark. A bare address needs no entity, because Telegram finds it by
 * itself.
 */
function isSolid(mark: Mark): boolean {
  return isVerbatim(mark.kind) || (mark.kind === "link" && mark.form === "masked");
}

function entityOf({ start, end, mark }: Span): TextEntity {
  const place = { offset: start, length: end - start };
  if (mark.kind === "link") return { type: "text_link", ...place, url: mark.url };
  if (mark.kind === "code") return { type: "code", ...place };
  if (mark.kind === "quote") return { type: "blockquote", ...place };
  return {
    type: "pre",
    ...place,
    ...(mark.kind === "pre" && mark.language !== "" ? { language: mark.language } : {}),
  };
}

/**
 * Null when nothing of it is visible. Code keeps its indentation, and so does a quote that begins with code.
 */
function trimmed(text: string, entity: TextEntity): TextEntity | null {
  let start = entity.offset;
  let end = start + entity.length;
  if (isBlank(text.slice(start, end))) return null;
  while (isSpace(text[end - 1])) end -= 1;
  if (entity.type !== "pre" && entity.type !== "blockquote") while (isSpace(text[start])) start += 1;
  return { ...entity, offset: start, length: end - start };
}
