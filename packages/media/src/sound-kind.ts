// Tells what a recording is by its first bytes, and turns what browsers make into what everybody takes.
import { oggOpusFile } from "./ogg-pages.ts";
import { isWebm, webmOpus } from "./webm-opus.ts";

export interface SoundKind {
  readonly mediaType: string;
  readonly extension: string;
}

export interface KnownSound extends SoundKind {
  readonly bytes: Uint8Array;
}

/** Null for anything else than the kinds that people and browsers record. */
export function soundKind(bytes: Uint8Array): SoundKind | null {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  if (head.startsWith("OggS")) return { mediaType: "audio/ogg", extension: "ogg" };
  if (isWebm(bytes)) return { mediaType: "audio/webm", extension: "webm" };
  if (head.slice(4, 8) === "ftyp") return { mediaType: "audio/mp4", extension: "m4a" };
  if (/^RIFF.{4}WAVE/s.test(head)) return { mediaType: "audio/wav", extension: "wav" };
  if (head.startsWith("fLaC")) return { mediaType: "audio/flac", extension: "flac" };
  if (head.startsWith("ID3") || /^\xff[\xe2-\xe7\xea-\xef\xf2-\xf7\xfa-\xff]/.test(head))
    return { mediaType: "audio/mpeg", extension: "mp3" };
  return null;
}

/** WebM with Opus as Ogg Opus, with the same packets; other recordings as they are. Null for no recording. */
export function knownSound(bytes: Uint8Array): KnownSound | null {
  const kind = soundKind(bytes);
  const opus = webmOpus(bytes);
  if (opus === null) return kind === null ? null : { ...kind, bytes };
  return { bytes: oggOpusFile(opus.packets, opus), mediaType: "audio/ogg", extension: "ogg" };
}
