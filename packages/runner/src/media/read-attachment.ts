// Turns one attachment into what the model gets: a picture, transcribed speech, a stored file, or the reason
// why it is missing. The finding is stored in a cell, so that a resumed turn reads the same without fetching
// again.
import { createHash } from "node:crypto";
import type { Channel } from "@parley/channels";
import type { Transcribe } from "@parley/models";
import { Fault, isFault, label, sleep, type Attachment, type Clock, type Log } from "@parley/protocol";
import type { Cells } from "@parley/store";
import type { Pictures } from "@parley/tools";
import { extensionOf, type MediaFolder } from "./media-store.ts";
import { looksLikePicture } from "./media-type.ts";

export type Reading =
  | { readonly kind: "picture"; readonly path: string; readonly mediaType: string }
  /** `note`: why a picture is only kept. */
  | { readonly kind: "file"; readonly path: string; readonly note?: string }
  /** The beginning of a document that is plain text. */
  | { readonly kind: "text"; readonly path: string; readonly text: string }
  | { readonly kind: "spoken"; readonly text: string }
  | { readonly kind: "unavailable"; readonly reason: string; readonly mayPass?: true }
  /** The model gets only the platform's description of it. */
  | { readonly kind: "described" };

/** The folder for files of messages, and the transcriber; without one, voice messages are only described. */
export interface MediaHandling {
  readonly folder: MediaFolder;
  /** Absent: no pictures are shown. */
  readonly pictures?: Pictures | undefined;
  readonly transcribe?: Transcribe | undefined;
}

/**
 * `account` is `<channel>:<account>`. `inTime` ends only the fetching; the promise rejects only when `signal`
 * aborts.
 */
export type ReadMedia = (
  account: string,
  channel: Channel,
  attachment: Attachment,
  signal: AbortSignal,
  inTime: AbortSignal,
) => Promise<Reading>;

/** A turn is resumed or buried within a day. */
const findingLifeMs = 86_400_000;
/** A fetch that failed for now may succeed when the person sends the file again. */
const passingLifeMs = 10 * 60_000;
const retryAfterMs = 1_000;
/**
 * A document's share in UTF-16 units, some eight pages. The model asks a person who sends more for the part
 * that counts.
 */
export const documentChars = 16_000;

export function mediaReader(
  { folder, pictures, transcribe }: MediaHandling,
  cells: Pick<Cells, "get" | "put">,
  clock: Clock,
  log: Log,
): ReadMedia {
  return async (account, channel, attachment, signal, inTime) => {
    if (!isWorthFetching(attachment, transcribe !== undefined)) return { kind: "described" };
    const known = await knownReading(cells, account, attachment);
    if (known !== null) return known;
    const reading = await read(channel, attachment, signal, inTime);
    const mayPass = reading.kind === "unavailable" && reading.mayPass === true;
    await cells.put(cellKey(account, attachment), JSON.stringify(reading), {
      ttlMs: mayPass ? passingLifeMs : findingLifeMs,
    });
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
      const isDocument = attachment.kind === "file" && !looksLikePicture(bytes);
      if (!isDocument) return await seen(bytes, attachment, signal);
      const path = await folder.keep(bytes, extensionOf(attachment.name));
      const text = textOf(bytes);
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

  /** A picture that no model is shown is kept as it is, and named with the reason. */
  async function seen(bytes: Uint8Array, attachment: Attachment, signal: AbortSignal): Promise<Reading> {
    const shown = (await pictures?.keep(bytes, signal)) ?? { refused: "pictures are not shown here" };
    if (!("refused" in shown)) return { kind: "picture", path: shown.path, mediaType: shown.mediaType };
    log.warn({ kind: attachment.kind, reason: shown.refused }, "a picture is not shown");
    const path = await folder.keep(bytes, extensionOf(attachment.name));
    return { kind: "file", path, note: shown.refused };
  }

  /**
   * Retries, because reading again is safe and a single lost connection is no reason to answer without the
   * file.
   */
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

/** What was found of an attachment before; null where nothing was. */
export async function knownReading(
  cells: Pick<Cells, "get">,
  account: string,
  attachment: Attachment,
): Promise<Reading | null> {
  const known = await cells.get(cellKey(account, attachment));
  return known === null ? null : (JSON.parse(known.value) as Reading);
}

function cellKey(account: string, { ref }: Attachment): string {
  return `media:${account}:${createHash("sha256").update(ref).digest("hex").slice(0, 32)}`;
}

/** Detects text by content and not by name; null when the bytes are no UTF-8 text. */
function textOf(bytes: Uint8Array): string | null {
  // Our own cut may split a character, so a broken last one does not make the file binary.
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
    return null; // The model is told a file in another encoding by its description.
  }
}

/** Skips video and music, which the model gets as words, and every sticker but still pictures. */
function isWorthFetching({ kind, mediaType }: Attachment, hears: boolean): boolean {
  if (kind === "voice") return hears;
  return kind === "image" || kind === "file" || (kind === "sticker" && mediaType === "image/webp");
}

/** Plain words without platform terms, because the model may repeat them to people. */
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
