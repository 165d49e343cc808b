// What one attachment is to the model: a picture, words that were spoken, a kept file, or a reason why it is not there. Fetched once;
// the finding is a cell, so that a resumed turn reads the same.
import { createHash } from "node:crypto";
import type { Channel } from "@parley/channels";
import type { Transcribe } from "@parley/models";
import { Fault, isFault, label, sleep, type Attachment, type Clock, type Log } from "@parley/protocol";
import type { Cells } from "@parley/store";
import { extensionOf, type MediaFolder } from "./media-store.ts";
import { pictureKind } from "./media-type.ts";

export type Reading =
  | { readonly kind: "picture"; readonly path: string; readonly mediaType: string }
  | { readonly kind: "file"; readonly path: string }
  /** A document that is text: its beginning. */
  | { readonly kind: "text"; readonly path: string; readonly text: string }
  | { readonly kind: "spoken"; readonly text: string }
  | { readonly kind: "unavailable"; readonly reason: string; readonly mayPass?: true }
  /** Told by what the platform says about it. */
  | { readonly kind: "described" };

/** Where files of messages are kept, and who writes down what is spoken; without the latter voice messages are described. */
export interface MediaHandling {
  readonly folder: MediaFolder;
  readonly transcribe?: Transcribe | undefined;
}

/** `account` is `<channel>:<account>`. `inTime` ends the fetching alone, `signal` everything: rejects only when that one aborted. */
export type ReadMedia = (
  account: string,
  channel: Channel,
  attachment: Attachment,
  signal: AbortSignal,
  inTime: AbortSignal,
) => Promise<Reading>;

/** Providers take 5 MB in base64 (Anthropic's limit for one image). */
const pictureBytes = 3_750_000;
/** A turn that is resumed is resumed within a day, or buried. */
const findingLifeMs = 86_400_000;
/** What failed for now may be had when it is sent again. */
const passingLifeMs = 10 * 60_000;
const retryAfterMs = 1_000;
/** Of a document, in UTF-16 units: some eight pages. A person who sends more is asked for the part that counts. */
const documentChars = 16_000;

export function mediaReader(
  { folder, transcribe }: MediaHandling,
  cells: Pick<Cells, "get" | "put">,
  clock: Clock,
  log: Log,
): ReadMedia {
  return async (account, channel, attachment, signal, inTime) => {
    if (!isWorthFetching(attachment, transcribe !== undefined)) return { kind: "described" };
    const key = `media:${account}:${createHash("sha256").update(attachment.ref).digest("hex").slice(0, 32)}`;
    const known = await cells.get(key);
    if (known !== null) return JSON.parse(known.value) as Reading;
    const reading = await read(channel, attachment, signal, inTime);
    const mayPass = reading.kind === "unavailable" && reading.mayPass === true;
    await cells.put(key, JSON.stringify(reading), { ttlMs: mayPass ? passingLifeMs : findingLifeMs });
    return reading;
  };

  async function read(
    channel: Channel,
    attachment: Attachment,
    signal: AbortSignal,
    inTime: AbortSignal,
  ): Promise<Reading> {
    const limitBytes = channel.capabilities.downloadBytes;
    if (attachment.bytes !== undefined && attachment.bytes > limitBytes) {
      return unavailable(
        attachment,
        `${megabytes(attachment.bytes)}, and bots on ${channel.name} get at most ${megabytes(limitBytes)}`,
      );
    }
    try {
      const { bytes } = await download(
        channel,
        attachment.ref,
        limitBytes,
        AbortSignal.any([signal, inTime]),
      );
      if (attachment.kind === "voice") return await heard(bytes, attachment, signal);
      const picture = pictureKind(bytes);
      const path = await folder.keep(bytes, picture?.extension ?? extensionOf(attachment.name));
      if (picture !== null && bytes.length <= pictureBytes)
        return { kind: "picture", path, mediaType: picture.mediaType };
      const text = attachment.kind === "file" && picture === null ? textOf(bytes) : null;
      return text === null ? { kind: "file", path } : { kind: "text", path, text };
    } catch (error) {
      if (signal.aborted || !isFault(error)) throw error;
      log.warn(
        { kind: attachment.kind, code: error.code, reason: error.message },
        "a file could not be fetched",
      );
      const reason = inTime.aborted ? "it did not come in time" : reasons[error.code];
      return reason === undefined || inTime.aborted
        ? {
            ...unavailable(
              attachment,
              `${reason ?? "it could not be fetched"}; it may work when it is sent again`,
            ),
            mayPass: true,
          }
        : unavailable(attachment, reason);
    }
  }

  /** Reading again is safe, and a single lost connection is no reason to answer without the file. */
  async function download(
    channel: Channel,
    ref: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array }> {
    if (channel.download === undefined) throw new Fault("unsupported", `${channel.name} hands out no files`);
    try {
      return await channel.download(ref, limitBytes, signal);
    } catch (error) {
      if (signal.aborted || (!isFault(error, "unavailable") && !isFault(error, "rate_limited"))) throw error;
      await sleep(clock, Math.min(error.retryAfterMs ?? retryAfterMs, 10 * retryAfterMs), signal);
      return await channel.download(ref, limitBytes, signal);
    }
  }

  async function heard(bytes: Uint8Array, attachment: Attachment, signal: AbortSignal): Promise<Reading> {
    if (transcribe === undefined) return { kind: "described" };
    const mediaType = attachment.mediaType ?? "audio/ogg";
    try {
      return { kind: "spoken", text: (await transcribe({ bytes, mediaType }, signal)).trim() };
    } catch (error) {
      if (signal.aborted || !isFault(error)) throw error;
      log.warn({ code: error.code, reason: error.message }, "a voice message could not be transcribed");
      return { kind: "unavailable", reason: "voice message, it could not be transcribed" };
    }
  }
}

/** By content and not by name; null for what is no UTF-8 text. */
function textOf(bytes: Uint8Array): string | null {
  // A cut inside a character is the reader's doing, not the file's.
  const head = bytes.subarray(0, 4 * documentChars);
  if (head.includes(0)) return null;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(head, {
      stream: head.length < bytes.length,
    });
    const isCut = text.length > documentChars || head.length < bytes.length;
    return isCut
      ? `${text.slice(0, documentChars).toWellFormed()}\n[cut here; the file has ${bytes.length} bytes]`
      : text;
  } catch {
    return null; // Another encoding, or no text: told by its facts.
  }
}

/** Video and music are told in words; of stickers only still pictures are looked at. */
function isWorthFetching({ kind, mediaType }: Attachment, hears: boolean): boolean {
  if (kind === "voice") return hears;
  return kind === "image" || kind === "file" || (kind === "sticker" && mediaType === "image/webp");
}

/** For the model and so, perhaps, for people: plain words, nothing of the platform's own. */
const reasons: { readonly [code in Fault["code"]]?: string } = {
  invalid: "too large to be fetched",
  missing: "the platform no longer has it",
  unsupported: "this channel hands out no files",
};

function unavailable({ kind, name }: Attachment, reason: string): Extract<Reading, { kind: "unavailable" }> {
  return {
    kind: "unavailable",
    reason: `${kind}${name === undefined ? "" : ` "${label(name, 120)}"`}, ${reason}`,
  };
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
