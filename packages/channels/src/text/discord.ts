// Renders Discord Markdown that shows what the document means. Discord's parser is not CommonMark: italics
// with underscores need word edges, masked links need a label without an address, quotes are lines, headings
// have three sizes.
import type { RenderedText } from "@parley/protocol";
import { isVerbatim, type Document, type Span } from "./document.ts";
import { breakFences, breakMassMentions, delimiterGap, escapeDiscord, inlineCode } from "./escape-discord.ts";
import { walk } from "./walk.ts";

/** Discord shows `[label](address)` as plain text when the label could pass for another address. */
const addressLike = /https?:\/\/|www\.|discord\.gg/i;

export function renderDiscord(message: Document): RenderedText {
  return {
    text: breakMassMentions(markdownOf(message)),
    entities: [],
    plain: breakMassMentions(message.text),
  };
}

function markdownOf(message: Document): string {
  let out = "";
  let atLineStart = true;
  let afterDelimiter = false;
  let inQuote = false;
  let items = 0;
  let inBoldHeading = false;
  /** The span whose text its opening has written, or that is code. */
  let solid: Span | null = null;
  const closings = new Map<Span, string>();

  const put = (piece: string): void => {
    if (piece === "") return;
    out += inQuote ? piece.replaceAll("\n", "\n> ") : piece;
    atLineStart = piece.endsWith("\n");
    afterDelimiter = false;
  };
  const delimit = (span: Span, opening: string, closing: string): void => {
    if (afterDelimiter && out.endsWith(opening.charAt(0))) put(delimiterGap);
    put(opening);
    closings.set(span, closing);
  };
  const whole = (span: Span): string => message.text.slice(span.start, span.end);

  walk(message, {
    open(span) {
      const { mark } = span;
      if (solid !== null) return;
      switch (mark.kind) {
        case "bold":
          return inBoldHeading ? undefined : delimit(span, "**", "**");
        case "italic": {
          const delimiter = /\w$/.test(out) || /\w/.test(message.text.charAt(span.end)) ? "*" : "_";
          return delimit(span, delimiter, delimiter);
        }
        case "strike":
          return delimit(span, "~~", "~~");
        case "spoiler":
          return delimit(span, "||", "||");
        case "code":
          solid = span;
          return delimit(span, inlineCode(whole(span)), "");
        case "link": {
          if (mark.form === "spelled" || mark.url.startsWith("mailto:")) return;
          if (mark.form === "bare") {
            solid = span;
            return put(`<${mark.url}>`);
          }
          return addressLike.test(whole(span))
            ? delimit(span, "", ` (<${mark.url}>)`)
            : delimit(span, "[", `](<${mark.url}>)`);
        }
        case "heading":
          if (mark.level <= 3 && items === 0) return delimit(span, `${"#".repeat(mark.level)} `, "");
          inBoldHeading = true;
          return delimit(span, "**", "**");
        case "pre":
        case "table":
          solid = span;
          put(`\`\`\`${mark.kind === "pre" ? mark.language : ""}\n${breakFences(whole(span))}\n\`\`\``);
          return;
        case "ornament":
          if (mark.discord === undefined) return;
          solid = span;
          put(mark.discord);
          atLineStart = true;
          return;
        case "quote":
          if (mark.nested) return;
          put("> ");
          atLineStart = true;
          inQuote = true;
          return;
        case "item":
          items += 1;
          return;
        default:
          return;
      }
    },
    text(text) {
      if (solid === null) put(escapeDiscord(text, atLineStart));
    },
    close(span) {
      if (span.mark.kind === "quote" && !span.mark.nested) inQuote = false;
      if (span.mark.kind === "item") items -= 1;
      if (span.mark.kind === "heading") inBoldHeading = false;
      const closing = closings.get(span);
      if (closing !== undefined && closing !== "") put(closing);
      if (closing !== undefined || isVerbatim(span.mark.kind)) afterDelimiter = true;
      if (solid === span) solid = null;
    },
  });
  return out;
}
