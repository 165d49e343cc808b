// Makes a Discord voice message of an Ogg Opus recording. Discord shows one only with its length and
// waveform, and only as the sole content of a message; any other recording is a plain file, which plays as
// well.
import { join } from "node:path";
import type { MediaFile } from "@parley/protocol";
import { voiceNoteIn } from "../ogg-opus.ts";
import { suppressNotifications } from "./body.ts";
import { isRefusal } from "./refusals.ts";

const isVoiceMessage = 1 << 13;
/** Limits of the waveform: at most 256 points, one each 100 ms or rarer. */
const mostPoints = 256;
const leastMsPerPoint = 100;

/** The fields that make a message with this one file a voice message; null for another kind of recording. */
export async function voiceFields(
  { file, silent }: { readonly file: MediaFile; readonly silent?: true },
  mediaFolder: string,
): Promise<Readonly<Record<string, unknown>> | null> {
  // A file that cannot be read is reported when it is sent.
  const note = await voiceNoteIn(join(mediaFolder, file.path)).catch(() => null);
  if (note === null) return null;
  const waveform = Buffer.from(note.waveform(mostPoints, leastMsPerPoint)).toString("base64");
  return {
    flags: isVoiceMessage | (silent === true ? suppressNotifications : 0),
    attachments: [{ id: 0, filename: file.name, duration_secs: note.seconds, waveform }],
  };
}

/** True when this place takes no voice messages, or not this one. Nothing was sent. */
export function isVoiceRefused(error: unknown): boolean {
  return isRefusal(error, "voiceWithContent", "voiceWithoutAudio", "voiceWithoutFacts", "voiceForbidden");
}
