// The process that turns a recording into a voice note, and a voice note into what programs hear: an hour of
// sound takes seconds of one core, which belong to nobody's conversation.
import { oggOpusFile, opusPacketsIn } from "./ogg-pages.ts";
import { opusRate, samplesOf, wavOf } from "./wav.ts";
import { webmOpus } from "./webm-opus.ts";

/** `wav`: to be made a voice note. `heard`: a recording to be made what programs hear. */
export type SoundTask = { readonly wav: Uint8Array } | { readonly heard: Uint8Array };

export type SoundReply = { readonly bytes: Uint8Array } | { readonly refused: string };

const frameSamples = 960;
/** For speech: clear, and a minute has 180 kB. */
const bitsPerSecond = 24_000;

/** What programs for speech recognition take. */
const heardRate = 16_000;
/** Telegram's voice notes have no limit but their size; this bounds the memory that one takes. */
const mostSeconds = 7_200;

async function decode(recording: Uint8Array): Promise<SoundReply> {
  const samples = samplesOf(recording);
  if (samples !== null) return { bytes: wavOf(slower(samples), heardRate) };
  const packets = opusPacketsIn(recording) ?? webmOpus(recording)?.packets ?? null;
  if (packets === null) return { refused: "it is neither Opus nor WAV" };
  const { Decoder } = await import("@evan/opus");
  const decoder = new Decoder({ channels: 1, sample_rate: heardRate });
  const chunks: Buffer[] = [];
  let bytes = 0;
  for (const packet of packets) {
    const chunk = Buffer.from(decoder.decode(packet));
    bytes += chunk.length;
    if (bytes > mostSeconds * heardRate * 2) return { refused: "it is longer than two hours" };
    chunks.push(chunk);
  }
  return { bytes: wavOf(Buffer.concat(chunks), heardRate) };
}

/** 48 kHz to 16 kHz: each three samples as their mean. */
function slower(samples: Int16Array): Buffer {
  const each = opusRate / heardRate;
  const fewer = Int16Array.from({ length: Math.floor(samples.length / each) }, (_, at) => {
    let sum = 0;
    for (let nth = 0; nth < each; nth += 1) sum += samples[at * each + nth] ?? 0;
    return Math.round(sum / each);
  });
  return Buffer.from(fewer.buffer);
}

async function encode(wav: Uint8Array): Promise<SoundReply> {
  const samples = samplesOf(wav);
  if (samples === null) return { refused: "it is no WAV with 8 or 16 bits a sample" };
  if (samples.length === 0) return { refused: "there is no sound in it" };
  const { Encoder } = await import("@evan/opus");
  const encoder = new Encoder({ channels: 1, sample_rate: 48_000, application: "voip" });
  encoder.bitrate = bitsPerSecond;
  const preSkip = (encoder as unknown as { readonly lookahead: number }).lookahead;
  const packets: Uint8Array[] = [];
  // The encoder is late by `preSkip` samples, so silence behind the end pushes the last of them out.
  for (let at = 0; at < samples.length + preSkip; at += frameSamples) {
    const frame = new Int16Array(frameSamples);
    frame.set(samples.subarray(Math.min(at, samples.length), at + frameSamples));
    packets.push(Uint8Array.from(encoder.encode(frame)));
  }
  return { bytes: oggOpusFile(packets, { preSkip, samples: samples.length }) };
}

process.on("disconnect", () => process.exit());
process.on("message", async (task: SoundTask) => {
  const reply = (message: SoundReply | { readonly ready: true }): void => void process.send?.(message);
  reply({ ready: true });
  try {
    reply(await ("wav" in task ? encode(task.wav) : decode(task.heard)));
  } catch {
    reply({ refused: "it is broken" });
  }
});
