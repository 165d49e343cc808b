// Speaks: text to a recording that platforms show as a voice note, by a service or by a program of this
// machine. One call without a repeat; the caller decides whether words alone will do.
import { Fault, type Clock, type FaultCode } from "@parley/protocol";
import { runProgram } from "./run-program.ts";
import { atSentences } from "./sentences.ts";
import { knownSound, type KnownSound } from "./sound-kind.ts";
import { soundProcess } from "./sound-process.ts";

export type SpeechEngine =
  | {
      readonly kind: "openai";
      /** Before the endpoint: `https://api.openai.com/v1`, or of a server that speaks the same. */
      readonly baseUrl: string;
      readonly apiKey?: string | undefined;
      readonly model: string;
      readonly voice: string;
      readonly instructions?: string | undefined;
      readonly speed?: number | undefined;
    }
  | {
      readonly kind: "elevenlabs";
      readonly baseUrl: string;
      readonly apiKey: string;
      readonly voice: string;
      readonly model: string;
      readonly languageCode?: string | undefined;
    }
  /** Reads the text and writes a WAV. */
  | { readonly kind: "cli"; readonly command: readonly string[] };

interface Recording {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly extension: string;
}

export interface Speaker {
  /** One recording, or several of a text that is too long for one. Throws Fault. */
  speak(engine: SpeechEngine, text: string, signal: AbortSignal): Promise<readonly Recording[]>;
  close(): Promise<void>;
}

export interface SpeakerOptions {
  /** For programs: PATH and HOME. */
  readonly env: { readonly [name: string]: string };
  readonly clock: Clock;
}

/** OpenAI takes 4,096 characters a call (its API reference); the others take more. */
const pieceChars = 4_000;
const timeoutMs = 60_000;
/** Ten minutes of the largest WAV that a speech program writes. */
const recordingBytes = 60_000_000;

/** What platforms take as it is; a WAV is encoded first. */
function isVoiceNote({ mediaType, bytes }: KnownSound): boolean {
  if (mediaType === "audio/ogg") return Buffer.from(bytes.subarray(0, 64)).includes("OpusHead");
  return mediaType === "audio/mpeg" || mediaType === "audio/mp4";
}

export function speaker({ env, clock }: SpeakerOptions): Speaker {
  const worker = soundProcess(clock);

  async function said(engine: SpeechEngine, text: string, signal: AbortSignal): Promise<Uint8Array> {
    if (engine.kind !== "cli") return fetched(requestOf(engine, text), clock, signal);
    const { command } = engine;
    return runProgram({ command, input: text, env, timeoutMs, mostBytes: recordingBytes }, clock, signal);
  }

  async function recordingOf(bytes: Uint8Array, signal: AbortSignal): Promise<Recording> {
    const known = knownSound(bytes);
    if (known !== null && isVoiceNote(known)) return known;
    const reply = await worker.run({ wav: bytes }, signal);
    if ("refused" in reply) throw new Fault("unsupported", `the recording cannot be used: ${reply.refused}`);
    return { bytes: reply.bytes, mediaType: "audio/ogg", extension: "ogg" };
  }

  return {
    async speak(engine, text, signal) {
      const pieces = engine.kind === "cli" ? [text] : atSentences(text, pieceChars);
      const recordings: Recording[] = [];
      for (const piece of pieces)
        recordings.push(await recordingOf(await said(engine, piece, signal), signal));
      return recordings;
    },
    close: worker.close,
  };
}

interface SpeechRequest {
  readonly host: string;
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: object;
}

function requestOf(engine: Exclude<SpeechEngine, { kind: "cli" }>, text: string): SpeechRequest {
  const root = engine.baseUrl.replace(/\/+$/, "");
  const host = URL.parse(root)?.host ?? "the speech service";
  if (engine.kind === "elevenlabs") {
    const { languageCode } = engine;
    return {
      host,
      url: `${root}/v1/text-to-speech/${encodeURIComponent(engine.voice)}?output_format=opus_48000_64`,
      headers: { "xi-api-key": engine.apiKey },
      body: {
        text,
        model_id: engine.model,
        ...(languageCode === undefined ? {} : { language_code: languageCode }),
      },
    };
  }
  const { apiKey, model, voice, instructions, speed } = engine;
  return {
    host,
    url: `${root}/audio/speech`,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body: {
      model,
      voice,
      input: text,
      response_format: "opus",
      ...(instructions === undefined ? {} : { instructions }),
      ...(speed === undefined ? {} : { speed }),
    },
  };
}

async function fetched(
  { host, url, headers, body }: SpeechRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const giveUp = new AbortController();
  const timer = clock.after(timeoutMs, () => giveUp.abort());
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      redirect: "error",
      signal: AbortSignal.any([signal, giveUp.signal]),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new Fault(codeOf(response.status), `${host} answered ${response.status} to a text to be spoken`);
    }
    const bytes = await bounded(response, host);
    if (bytes.length === 0) throw new Fault("unavailable", `${host} answered with an empty recording`);
    return bytes;
  } catch (error) {
    if (error instanceof Fault) throw error;
    if (signal.aborted) throw new Fault("aborted", "speaking was stopped", { cause: error });
    throw new Fault("unavailable", `${host} could not be reached to speak`, { cause: error });
  } finally {
    timer.cancel();
  }
}

async function bounded({ body }: Response, host: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > recordingBytes) throw new Fault("unsupported", `${host} answered with too long a recording`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function codeOf(status: number): FaultCode {
  if (status === 429) return "rate_limited";
  if (status === 401 || status === 403) return "denied";
  return status >= 500 ? "unavailable" : "invalid";
}
