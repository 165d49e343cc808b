// The files of the messages that a turn reads: fetched before the model is asked, then told with the words they came with.
import type { Channel } from "@parley/channels";
import type { Attachment, ImageContent, Inbound } from "@parley/protocol";
import type { Row } from "@parley/store";
import { parseRowPayload } from "../inbound/row-payload.ts";
import type { Reading, ReadMedia } from "./media-reader.ts";

/** A message as the model reads it. */
export interface ReadMessage {
  readonly inbound: Inbound;
  readonly images: readonly ImageContent[];
  /** Attached documents that are text. */
  readonly documents?: readonly { readonly name: string; readonly text: string }[];
}

export interface TurnMedia {
  /** Fetches what these rows carry. Rejects only when the signal aborted. */
  prepare(rows: readonly Row[]): Promise<void>;
  /** Of rows that were prepared; any other is told in words alone. */
  read(row: Row): ReadMessage;
}

export interface TurnMediaOptions {
  readonly account: string;
  readonly channel: Channel | null;
  readonly readMedia: ReadMedia;
  readonly signal: AbortSignal;
}

/** Text of all documents of one message: three long ones, or many short ones. */
const documentsChars = 48_000;
/** Files of one turn that are fetched at once. */
const atOnce = 4;

export function turnMedia({ account, channel, readMedia, signal }: TurnMediaOptions): TurnMedia {
  const readings = new Map<string, Reading>();
  return {
    async prepare(rows) {
      if (channel === null) return;
      const waiting = rows.flatMap((row) => parseRowPayload(row.payload).inbound.attachments).filter(({ ref }) => !readings.has(ref));
      const next = async (): Promise<void> => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
          readings.set(one.ref, await readMedia(account, channel, one, signal));
        }
      };
      await Promise.all(Array.from({ length: atOnce }, next));
    },
    read: (row) => withReadings(parseRowPayload(row.payload).inbound, readings),
  };
}

function withReadings(inbound: Inbound, readings: ReadonlyMap<string, Reading>): ReadMessage {
  const images: ImageContent[] = [];
  const words: string[] = [];
  const attachments: Attachment[] = [];
  const documents: { readonly name: string; readonly text: string }[] = [];
  let room = documentsChars;
  for (const attachment of inbound.attachments) {
    const reading = readings.get(attachment.ref) ?? { kind: "described" };
    const isShown = reading.kind === "text" && reading.text.length <= room;
    attachments.push(described(attachment, reading, isShown));
    if (isShown) {
      room -= reading.text.length;
      documents.push({ name: attachment.name ?? "document", text: reading.text });
    }
    if (reading.kind === "picture") images.push({ type: "image", path: reading.path, mediaType: reading.mediaType });
    if (reading.kind === "spoken") words.push(reading.text);
    if (reading.kind === "unavailable") words.push(`[media unavailable: ${reading.reason}]`);
  }
  const text = [inbound.text, ...words].filter((line) => line !== "").join("\n");
  return { inbound: { ...inbound, text, attachments }, images, documents };
}

function described(attachment: Attachment, reading: Reading, isShown: boolean): Attachment {
  const more = isShown
    ? "its text stands below"
    : reading.kind === "file" || reading.kind === "text"
      ? `kept as ${reading.path}`
      : reading.kind === "spoken"
        ? reading.text === ""
          ? "nothing was said in it"
          : "the words above are its transcript"
        : null;
  if (more === null) return attachment;
  const { description } = attachment;
  return { ...attachment, description: description === undefined ? more : `${description}; ${more}` };
}
