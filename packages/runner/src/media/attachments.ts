// Fetches the attachments of a turn's messages before the model is called, and adds them to the words they
// came with.
import type { ToldMessage } from "@parley/agent";
import {
  type Attachment,
  type ImageContent,
  type Inbound,
  deadline,
  parseRowPayload,
} from "@parley/protocol";
import type { Row } from "@parley/store";
import { documentChars, type Reading } from "./read-attachment.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

/** A message as the model reads it. */
export interface ReadMessage {
  readonly inbound: ToldMessage;
  readonly images: readonly ImageContent[];
  /** Attached documents that are plain text. */
  readonly documents?: readonly { readonly name: string; readonly text: string }[];
}

export interface TurnMedia {
  /** Fetches the attachments of these rows. Rejects only when the signal aborted. */
  prepare(rows: readonly Row[]): Promise<void>;
  /** Returns the message of a prepared row with its files, and that of any other row in words alone. */
  read(row: Row): ReadMessage;
}

/** All documents of one message together: three long ones with the words of their cuts, or many short. */
const documentsChars = 3 * (documentChars + 100);
/** Files of one turn that are fetched at once. */
const atOnce = 4;
/**
 * The conversation waits this long for its files, however many there are, and then continues without the
 * rest.
 */
const fetchWithinMs = 28_000;

export function turnMedia(
  { readMedia, clock }: Pick<Services, "readMedia" | "clock">,
  { account, channel, signal }: Pick<TurnScope, "account" | "channel" | "signal">,
): TurnMedia {
  const readings = new Map<string, Reading>();
  return {
    async prepare(rows) {
      if (channel === null) return;
      const waiting = rows
        .flatMap((row) => parseRowPayload(row.payload).inbound.attachments)
        .filter(({ ref }) => !readings.has(ref));
      if (waiting.length === 0) return;
      const inTime = deadline(clock, fetchWithinMs, "fetching the files of a message");
      const next = async (): Promise<void> => {
        for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
          readings.set(one.ref, await readMedia(account, channel, one, signal, inTime.signal));
        }
      };
      try {
        await Promise.all(Array.from({ length: atOnce }, next));
      } finally {
        inTime.cancel();
      }
    },
    read: (row) => withReadings(parseRowPayload(row.payload).inbound, readings),
  };
}

function withReadings(inbound: Inbound, readings: ReadonlyMap<string, Reading>): ReadMessage {
  const images: ImageContent[] = [];
  const spoken: string[] = [];
  const unavailable: string[] = [];
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
    if (reading.kind === "picture")
      images.push({ type: "image", path: reading.path, mediaType: reading.mediaType });
    if (reading.kind === "spoken") spoken.push(reading.text);
    if (reading.kind === "unavailable") unavailable.push(reading.reason);
  }
  const missing = unavailable.length === 0 ? {} : { unavailable };
  return {
    inbound: {
      ...withSpoken(
        inbound,
        spoken.filter((words) => words !== ""),
      ),
      attachments,
      ...missing,
    },
    images,
    documents,
  };
}

/** Leaves a forwarded recording out, because the sender of the message did not speak in it. */
function withSpoken(inbound: Inbound, spoken: readonly string[]): Inbound {
  if (spoken.length === 0) return inbound;
  const { text, enclosed = [] } = inbound;
  if (!enclosed.some(({ kind }) => kind === "forward"))
    return { ...inbound, text: [text, ...spoken].filter((words) => words !== "").join("\n") };
  return {
    ...inbound,
    enclosed: enclosed.map((each) =>
      each.kind === "forward" ? { ...each, words: [...each.words, ...spoken] } : each,
    ),
  };
}

function described(attachment: Attachment, reading: Reading, isShown: boolean): Attachment {
  const more = isShown
    ? "its text stands below"
    : reading.kind === "file" || reading.kind === "text"
      ? `kept as ${reading.path}${reading.kind === "file" && reading.note !== undefined ? `, not shown: ${reading.note}` : ""}`
      : reading.kind === "spoken"
        ? reading.text === ""
          ? "nothing was said in it"
          : "the words above are its transcript"
        : null;
  if (more === null) return attachment;
  const { description } = attachment;
  return { ...attachment, description: description === undefined ? more : `${description}; ${more}` };
}
