// Turns an answer's content into platform messages, by the capabilities of the channel it goes to. A delivery
// is rendered and split once, when it is first sent: a repeat after a crash is the same messages with the
// same keys (I4, I5). A reply that is late says so.
import {
  healPartial,
  renderFinal,
  renderMarkdown,
  type Channel,
  type MarkdownOptions,
} from "@parley/channels";
import {
  formatContent,
  parseContent,
  type Meant,
  type Part,
  type RenderedPart,
  type RenderedText,
} from "@parley/protocol";
import type { DeliveryView, NewDelivery, PartView } from "@parley/store";

export type RenderMeant = (content: Meant, channel: Channel, lateMs: number) => readonly RenderedPart[];

export interface PlannedParts {
  /** The parts as they will be sent. */
  readonly parts: readonly PartView[];
  /** The split to journal with the first `sending`; null when it is journaled already. */
  readonly split: readonly RenderedPart[] | null;
}

/** A reply older than this says that it is late. */
const lateAfterMs = 15 * 60_000;

/** Renders and splits a delivery; one that has begun keeps its split. */
export function plannedParts(
  render: RenderMeant,
  channel: Channel,
  delivery: DeliveryView,
  nowMs: number,
): PlannedParts {
  const [first] = delivery.parts;
  if (delivery.split || first === undefined) return { parts: delivery.parts, split: null };
  const content = parseContent(first.content);
  if (content.kind !== "reply" && content.kind !== "preview") return { parts: delivery.parts, split: null };
  const rendered = render(content, channel, lateMs(delivery, nowMs));
  const parts = rendered.map((part, index) => ({
    ...first,
    ...(index === 0 ? {} : { intoReceipt: null }),
    content: formatContent({ v: 1, kind: "rendered", part }),
  }));
  return { parts, split: rendered };
}

/** Returns 0 while the delivery is on time. */
export function lateMs(delivery: DeliveryView, nowMs: number): number {
  const ageMs = nowMs - delivery.createdAtMs;
  return ageMs > lateAfterMs ? ageMs : 0;
}

/** Lets the first message take the place of the preview, if the delivery edits one. */
export function splitPart(
  delivery: DeliveryView,
  part: RenderedPart,
  index: number,
): NewDelivery["parts"][number] {
  const into = index === 0 ? delivery.parts[0]?.into : undefined;
  return {
    content: formatContent({ v: 1, kind: "rendered", part }),
    ...(into === undefined ? {} : { into }),
  };
}

/**
 * `lateMs` is 0 for a reply that is on time. The first message carries the quote, the last one the buttons.
 */
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

/**
 * Markup takes more room than what it shows: this many message lengths are parsed to fill the first message.
 */
const markupShare = 4;

/** Renders the first message of a text that is still growing; null while there is nothing to see. */
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

const lateMark = "(delayed by ";

/** Says in words how late a message is. */
function delayedBy(lateMs: number): string {
  const minutes = Math.round(lateMs / 60_000);
  return `${lateMark}${minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`})`;
}

/**
 * Marks a part that was split while it was still on time, because the platform was away in between.
 * `textChars` is the platform's limit in UTF-16 units. Returns the part unchanged if it is marked already or
 * has no room.
 */
export function markedLate(part: RenderedPart, lateMs: number, textChars: number): RenderedPart {
  if (part.kind !== "text" || part.plain.startsWith(lateMark)) return part;
  const mark = `${delayedBy(lateMs)}\n\n`;
  if (mark.length + part.text.length > textChars) return part;
  const entities = part.entities.map((entity) => ({ ...entity, offset: entity.offset + mark.length }));
  return { ...part, text: mark + part.text, plain: mark + part.plain, entities };
}
