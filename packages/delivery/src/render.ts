// From what is meant to platform messages, by the capabilities of the surface it goes to.
import {
  healPartial,
  renderFinal,
  renderMarkdown,
  type Channel,
  type MarkdownOptions,
} from "@parley/channels";
import type { Part, RenderedPart, RenderedText, Meant } from "@parley/protocol";
import { delayedBy } from "./late-mark.ts";

/** `lateMs` is 0 for a reply that is on time. The first message carries the quote, the last one the buttons. */
export function channelRender(content: Meant, channel: Channel, lateMs: number): readonly RenderedPart[] {
  if (content.kind === "preview") {
    const first = previewText(content.markdown, channel);
    const { replyTo } = content;
    return first === null ? [] : [{ kind: "text", ...first, ...(replyTo === undefined ? {} : { replyTo }) }];
  }
  const late = lateMs > 0 ? [{ kind: "text" as const, markdown: `_${delayedBy(lateMs)}_` }] : [];
  const rendered = withLate(content.parts, late).flatMap((part) => renderPart(part, channel));
  const { replyTo } = content;
  if (replyTo === undefined) return rendered;
  return rendered.map((part, index) => (index === 0 ? { ...part, replyTo } : part));
}

/** Markup may take more room than what it shows: so many times the length of a message are looked at for the first one. */
const markupShare = 4;

/** The first message of a text that is still growing; null while there is nothing to see. */
export function previewText(markdown: string, channel: Channel): RenderedText | null {
  const beginning = markdown.slice(0, channel.capabilities.textChars * markupShare);
  return renderMarkdown(healPartial(beginning), limitsOf(channel))[0] ?? null;
}

function withLate(parts: readonly Part[], late: readonly Extract<Part, { kind: "text" }>[]): readonly Part[] {
  const [mark] = late;
  const [first, ...rest] = parts;
  if (mark === undefined || first === undefined) return parts;
  return first.kind === "text"
    ? [{ ...first, markdown: `${mark.markdown}\n\n${first.markdown}` }, ...rest]
    : [mark, ...parts];
}

function renderPart(part: Part, channel: Channel): RenderedPart[] {
  switch (part.kind) {
    case "text":
      return text(part.markdown, channel).map((rendered, index, all) => ({
        kind: "text",
        ...rendered,
        ...(part.buttons === undefined || index < all.length - 1 ? {} : { buttons: part.buttons }),
      }));
    case "card":
      return renderPart(
        { kind: "text", markdown: `**${part.title}**\n\n${part.markdown}`, buttons: part.buttons },
        channel,
      );
    case "media": {
      const [caption, ...rest] =
        part.caption === undefined ? [] : text(part.caption, channel, channel.capabilities.captionChars);
      const { albumFiles = part.files.length } = channel.capabilities;
      const albums = Array.from(
        { length: Math.ceil(part.files.length / albumFiles) },
        (_, index): RenderedPart => {
          const files = part.files.slice(index * albumFiles, (index + 1) * albumFiles);
          return {
            kind: "media",
            media: part.media,
            files,
            ...(caption === undefined || index > 0 ? {} : { caption }),
          };
        },
      );
      return [...albums, ...rest.map((rendered): RenderedPart => ({ kind: "text", ...rendered }))];
    }
    case "voice":
    case "poll":
      return [part];
  }
}

function text(
  markdown: string,
  channel: Channel,
  textChars = channel.capabilities.textChars,
): readonly RenderedText[] {
  return renderFinal(markdown, { ...limitsOf(channel), textChars });
}

function limitsOf({ capabilities }: Channel): MarkdownOptions {
  const { dialect, textChars, textEntities } = capabilities;
  return { dialect, textChars, ...(textEntities === undefined ? {} : { textEntities }) };
}
