// Turns an answer's content into platform messages, by the capabilities of the channel it goes to. A reply
// that is late says so.
import {
  healPartial,
  renderFinal,
  renderMarkdown,
  type Channel,
  type MarkdownOptions,
} from "@parley/channels";
import {
  type Action,
  type MediaFile,
  type Meant,
  type OutboxAction,
  type Part,
  type RenderedPart,
  type RenderedText,
} from "@parley/protocol";
import type { DeliveryView } from "@parley/store";
import { degraded, escaped, tooLargeLine } from "./degrade.ts";

/** An answer whose quote is the platform's id. */
type Answer = Exclude<Meant, { kind: "action" }> & { readonly replyTo?: string };

export type RenderMeant = (content: Answer, channel: Channel, lateMs: number) => readonly RenderedPart[];

/** A reply older than this says that it is late. */
const lateAfterMs = 15 * 60_000;

/** Returns 0 while the delivery is on time. */
export function lateMs(delivery: DeliveryView, nowMs: number): number {
  const ageMs = nowMs - delivery.createdAtMs;
  return ageMs > lateAfterMs ? ageMs : 0;
}

/**
 * `lateMs` is 0 for a reply that is on time. The first message carries the quote, the last one the buttons.
 */
export function channelRender(content: Answer, channel: Channel, lateMs: number): readonly RenderedPart[] {
  if (content.kind === "preview") {
    const first = previewText(content.markdown, channel);
    const { replyTo } = content;
    return first === null ? [] : [{ kind: "text", ...first, ...(replyTo === undefined ? {} : { replyTo }) }];
  }
  const late = lateMs > 0 ? [{ kind: "text" as const, markdown: `_${delayedBy(lateMs)}_` }] : [];
  const loud = withLate(degraded(content.parts, channel.capabilities), late).flatMap((part) =>
    renderPart(part, channel),
  );
  const rendered = content.silent === true ? loud.map((part) => ({ ...part, silent: true as const })) : loud;
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
        ...(index === 0 ? {} : { continues: true as const }),
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
      const albums = albumsOf(part.files, channel).map((files, index): RenderedPart => ({
        kind: "media",
        media: part.media,
        files,
        ...(part.shape === undefined || files.length > 1 ? {} : { shape: part.shape }),
        ...(caption === undefined || index > 0 ? {} : { caption }),
      }));
      return [
        ...albums,
        ...rest.map((rendered): RenderedPart => ({ kind: "text", ...rendered, continues: true })),
      ];
    }
    case "voice":
    case "poll":
      return [part];
  }
}

/** Groups files in order, as few messages as the platform's count and bytes allow. */
function albumsOf(files: readonly MediaFile[], { capabilities }: Channel): readonly (readonly MediaFile[])[] {
  const { albumFiles = files.length, albumBytes = Number.POSITIVE_INFINITY } = capabilities;
  const albums: MediaFile[][] = [];
  let bytes = 0;
  for (const file of files) {
    const last = albums.at(-1);
    bytes += file.bytes;
    if (last !== undefined && last.length < albumFiles && bytes <= albumBytes) last.push(file);
    else {
      albums.push([file]);
      bytes = file.bytes;
    }
  }
  return albums;
}

/**
 * The words that take a file's place where only the platform knew that it is too large; null for a message
 * without files.
 */
export function wordsFor(part: RenderedPart, channel: Channel): RenderedPart | null {
  if (part.kind !== "media" && part.kind !== "voice") return null;
  const files = part.kind === "media" ? part.files : [part.file];
  const caption = part.kind === "media" ? (part.caption?.plain ?? "") : "";
  const lines = files.map((file) => tooLargeLine(file, null)).join("\n\n");
  const below = caption === "" ? "" : `\n\n${caption.split("\n").map(escaped).join("\n")}`;
  const [words] = text(lines + below, channel);
  return words === undefined
    ? null
    : {
        kind: "text",
        ...words,
        ...(part.replyTo === undefined ? {} : { replyTo: part.replyTo }),
        ...(part.silent === undefined ? {} : { silent: part.silent }),
      };
}

const cutMark = "\n[… the rest was cut]";

/**
 * Renders the new text of one message, as a caption where it stands beside a file. Null when nothing in it is
 * visible. An edit stays one message: what follows further down would be read as something new.
 */
export function editedText(
  { markdown, buttons = [] }: Extract<OutboxAction, { kind: "edit" }>,
  channel: Channel,
  isCaption: boolean,
): Pick<Extract<Action, { kind: "edit" }>, "text" | "buttons"> | null {
  const { capabilities } = channel;
  const limitChars = isCaption ? capabilities.captionChars : capabilities.textChars;
  const [part] = degraded([{ kind: "text", markdown, buttons }], capabilities);
  if (part?.kind !== "text") return null;
  const [whole, more] = text(part.markdown, channel, limitChars);
  if (whole === undefined) return null;
  const shown = { buttons: part.buttons ?? [] };
  if (more === undefined) return { text: whole, ...shown };
  const [beginning = whole] = text(part.markdown, channel, limitChars - cutMark.length);
  const cut = {
    ...beginning,
    text: beginning.text + cutMark,
    plain: beginning.plain + cutMark,
  };
  return { text: cut, ...shown };
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
