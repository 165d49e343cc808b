// Sends a recording as the voice note that it is to Telegram, and else as audio, which plays as well.
import type { MediaFile } from "@parley/protocol";
import { voiceNoteIn } from "../ogg-opus.ts";
import type { BotApi, grammySignal } from "./bot-api.ts";
import { refusalWords } from "./refusals.ts";

type Target = Omit<Parameters<BotApi["raw"]["sendVoice"]>[0], "voice">;
type Sent = Awaited<ReturnType<BotApi["raw"]["sendVoice" | "sendAudio"]>>;

/** Types that Telegram shows as a voice note beside Ogg Opus (Bot API, sendVoice). */
const voiceTypes = new Set(["audio/mpeg", "audio/mp3", "audio/mp4", "audio/x-m4a", "audio/m4a"]);

/** `path`: where the file lies on this machine. */
export async function sendVoice(
  { raw, file: upload }: BotApi,
  path: string,
  { name, mediaType }: MediaFile,
  target: Target,
  signal: ReturnType<typeof grammySignal>,
): Promise<Sent> {
  const asAudio = (): Promise<Sent> => raw.sendAudio({ ...target, audio: upload(path, name) }, signal);
  const note = await voiceNoteIn(path);
  if (note === null && !voiceTypes.has(mediaType)) return asAudio();
  const length = note === null ? {} : { duration: Math.max(1, Math.round(note.seconds)) };
  const sent: Promise<Sent> = raw.sendVoice({ ...target, voice: upload(path, name), ...length }, signal);
  return sent.catch((error: unknown) => {
    // Some people let nobody send them voice notes, and groups may forbid them.
    if (!/voice_messages_forbidden|voices_forbidden/i.test(refusalWords(error))) throw error;
    return asAudio();
  });
}
