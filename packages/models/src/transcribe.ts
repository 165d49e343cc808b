// Transcribes speech through an OpenAI-compatible /audio/transcriptions, which OpenAI, Groq and most
// self-hosted servers have. Makes one call without a repeat; the caller knows whether a message is worth a
// second one.
import { Fault, type Clock, type FaultCode } from "@parley/protocol";
import { knownProvider } from "./known.ts";
import type { DeclaredProvider } from "./registry.ts";

interface Speech {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
}

/** The text, empty when nobody spoke. Throws Fault. */
export type Transcribe = (speech: Speech, signal: AbortSignal) => Promise<string>;

export interface TranscriberOptions {
  /** `<provider>/<model>`. */
  readonly model: string;
  readonly providers: { readonly [name: string]: DeclaredProvider };
  readonly clock: Clock;
}

/** A minute of speech takes a few seconds. */
const deadlineMs = 60_000;
/** An hour of speech is about 60,000 characters. */
const longestAnswerChars = 500_000;

/**
 * Throws Fault("invalid") when the config has no callable provider of that name; the message says what to
 * add.
 */
export function transcriber({ model, providers, clock }: TranscriberOptions): Transcribe {
  const name = model.slice(0, model.indexOf("/"));
  const provider = providers[name];
  const baseUrl = provider?.baseUrl ?? knownProvider(name)?.baseUrl;
  if (provider === undefined || baseUrl === undefined || baseUrl === "") {
    throw new Fault(
      "invalid",
      `nothing is known about the provider of "${model}": add models.providers.${name} with its baseUrl and apiKey`,
    );
  }
  const url = `${baseUrl.replace(/\/+$/, "")}/audio/transcriptions`;
  const headers = {
    ...provider.headers,
    ...(provider.apiKey === undefined ? {} : { authorization: `Bearer ${provider.apiKey}` }),
  };

  return async ({ bytes, mediaType }, signal) => {
    const giveUp = new AbortController();
    const timer = clock.after(deadlineMs, () => giveUp.abort());
    try {
      const form = new FormData();
      form.set("model", model.slice(name.length + 1));
      form.set("response_format", "json");
      form.set(
        "file",
        new Blob([new Uint8Array(bytes)], { type: mediaType }),
        `voice.${extension(mediaType)}`,
      );
      // A form that is sent with a signal that has aborted rejects in Node where nobody can catch it.
      signal.throwIfAborted();
      const response = await fetch(url, {
        method: "POST",
        headers,
        body: form,
        signal: AbortSignal.any([signal, giveUp.signal]),
      });
      const body = (await response.text()).slice(0, longestAnswerChars);
      if (!response.ok)
        throw new Fault(codeOf(response.status), `the transcription answered ${response.status}`);
      return textIn(body);
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (signal.aborted) throw new Fault("aborted", "the transcription was stopped", { cause: error });
      throw new Fault("unavailable", "the transcription could not be reached", { cause: error });
    } finally {
      timer.cancel();
    }
  };
}

function textIn(body: string): string {
  try {
    const { text } = JSON.parse(body) as { readonly text?: unknown };
    if (typeof text === "string") return text;
  } catch {
    // Not JSON; reported below like any other answer without a text.
  }
  throw new Fault("unavailable", "the transcription answered without a text");
}

function codeOf(status: number): FaultCode {
  if (status === 429) return "rate_limited";
  if (status === 401 || status === 403) return "denied";
  return status >= 500 ? "unavailable" : "invalid";
}

/** Servers tell formats by the file name. Telegram's voice messages are Opus in Ogg. */
function extension(mediaType: string): string {
  const subtype = /\/(?:x-)?([a-z0-9]+)/.exec(mediaType.toLowerCase())?.[1] ?? "ogg";
  return { mpeg: "mp3", mp4: "m4a", wave: "wav", opus: "ogg" }[subtype] ?? subtype;
}
