// Wires speech: which service or program speaks, tried in order, and the recordings in the media folder.
// The same words are not bought twice within a day, so a turn that resumes after a crash says what it had.
// Unused, nothing of it is loaded.
import { createHash } from "node:crypto";
import { accessSync, constants, statSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { Config } from "@parley/config";
import type { Speaker, SpeechEngine } from "@parley/media";
import { Fault, isFault, type Clock, type Log, type MediaFile } from "@parley/protocol";
import { mediaFolder } from "@parley/runner";
import type { Cells } from "@parley/store";
import type { Speech } from "@parley/tools";

type SpeechConfig = Pick<Config, "messages" | "models">;
type Env = { readonly [name: string]: string | undefined };

export interface SpeechWiring {
  readonly configNow: () => SpeechConfig;
  readonly mediaPath: string;
  readonly env: Env;
  readonly cells: Pick<Cells, "get" | "put">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface WiredSpeech {
  readonly port: Speech;
  close(): Promise<void>;
}

const keptMs = 86_400_000;
const openAiRoot = "https://api.openai.com/v1";

export function wireSpeech({ configNow, mediaPath, env, cells, clock, log }: SpeechWiring): WiredSpeech {
  const media = mediaFolder(mediaPath);
  const programs = Object.fromEntries(
    ["PATH", "HOME", "LANG"].flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  ) as { readonly [name: string]: string };
  let opened: Promise<Speaker> | null = null;

  async function open(): Promise<Speaker> {
    const { speaker } = await import("@parley/media");
    return speaker({ env: programs, clock });
  }

  /** Null where it was not said before, or where a file of it is gone. */
  async function again(key: string): Promise<readonly MediaFile[] | null> {
    const cell = await cells.get(key);
    if (cell === null) return null;
    const files = JSON.parse(cell.value) as readonly MediaFile[];
    const now = new Date(clock.now());
    const areThere = await Promise.all(files.map(({ path }) => utimes(join(mediaPath, path), now, now))).then(
      () => true,
      () => false,
    );
    return areThere ? files : null;
  }

  async function spoken(
    engine: SpeechEngine,
    text: string,
    signal: AbortSignal,
  ): Promise<readonly MediaFile[]> {
    const told = JSON.stringify([{ ...engine, apiKey: undefined }, text]);
    const key = `tts:${createHash("sha256").update(told).digest("hex").slice(0, 40)}`;
    const before = await again(key);
    if (before !== null) return before;
    const recordings = await (await (opened ??= open())).speak(engine, text, signal);
    const files: MediaFile[] = [];
    for (const { bytes, mediaType, extension } of recordings) {
      const path = await media.keep(bytes, extension);
      const name = recordings.length === 1 ? "voice" : `voice-${files.length + 1}`;
      files.push({ path, mediaType, bytes: bytes.length, name: `${name}.${extension}` });
    }
    await cells.put(key, JSON.stringify(files), { ttlMs: keptMs });
    return files;
  }

  return {
    port: speechPort(configNow, env, async (text, signal) => {
      let last: unknown = new Fault("unavailable", "nothing speaks here");
      for (const engine of enginesOf(configNow(), env)) {
        try {
          return await spoken(engine, text, signal);
        } catch (error) {
          if (!isFault(error) || signal.aborted) throw error;
          log.warn({ by: nameOf(engine), code: error.code, reason: error.message }, "speaking failed");
          last = error;
        }
      }
      throw last;
    }),
    close: async () => (await opened)?.close(),
  };
}

/** What the prompt and the tools are told where nothing is spoken: the same words (I12). */
export function idleSpeech(config: SpeechConfig, env: Env): Speech {
  return speechPort(
    () => config,
    env,
    async () => {
      throw new Fault("unavailable", "speech is made in the daemon only");
    },
  );
}

function speechPort(configNow: () => SpeechConfig, env: Env, speak: Speech["speak"]): Speech {
  return {
    voice() {
      const [first] = enginesOf(configNow(), env);
      return first === undefined
        ? { unavailable: "nothing speaks: set messages.tts.providers, or install espeak-ng" }
        : { name: nameOf(first) };
    },
    speak,
  };
}

const nameOf = (engine: SpeechEngine): string =>
  engine.kind === "cli" ? (engine.command[0] ?? "") : engine.kind;

type Name = "openai" | "elevenlabs" | "cli";

/** In the order in which they are tried: the one that is named, those set up, what is there anyway. */
function enginesOf({ messages, models }: SpeechConfig, env: Env): readonly SpeechEngine[] {
  const { provider, providers } = messages.tts;
  const names: readonly Name[] = ["openai", "elevenlabs", "cli"];
  const setUp = names.filter((name) => providers[name] !== undefined);
  const wanted = [...(provider === undefined ? [] : [provider]), ...setUp];
  const order = new Set(wanted.length > 0 ? wanted : names);
  const found = [...order].flatMap((name) => engineOf(name, { messages, models }, env) ?? []);
  return wanted.length > 0 ? found : found.slice(0, 1);
}

/** Null where it lacks a key or its program. */
function engineOf(name: Name, { messages, models }: SpeechConfig, env: Env): SpeechEngine | null {
  const { openai, elevenlabs, cli } = messages.tts.providers;
  if (name === "openai") {
    const known = models.providers["openai"];
    // A key is never sent to an address that it was not meant for.
    const key = openai?.apiKey ?? (openai?.baseUrl === undefined ? known?.apiKey : undefined);
    const baseUrl = openai?.baseUrl ?? known?.baseUrl ?? openAiRoot;
    if (key === undefined && openai?.baseUrl === undefined) return null;
    const { model = "gpt-4o-mini-tts", voice = "alloy", instructions, speed } = openai ?? {};
    return { kind: "openai", baseUrl, apiKey: key?.reveal(), model, voice, instructions, speed };
  }
  if (name === "elevenlabs") {
    const apiKey = elevenlabs?.apiKey?.reveal() ?? env["ELEVENLABS_API_KEY"];
    if (apiKey === undefined || apiKey === "") return null;
    const {
      baseUrl = "https://api.elevenlabs.io",
      voiceId: voice = "pMsXgVXv3BLzUgSXRplE",
      modelId: model = "eleven_multilingual_v2",
      languageCode,
    } = elevenlabs ?? {};
    return { kind: "elevenlabs", baseUrl, apiKey, voice, model, languageCode };
  }
  const { command = "espeak-ng", args = ["--stdin", "--stdout"] } = cli ?? {};
  return isThere(command, env["PATH"] ?? "/usr/bin:/bin")
    ? { kind: "cli", command: [command, ...args] }
    : null;
}

function isThere(command: string, path: string): boolean {
  const files = isAbsolute(command)
    ? [command]
    : path.split(delimiter).flatMap((folder) => (isAbsolute(folder) ? [join(folder, command)] : []));
  return files.some((file) => {
    // Every turn asks, and an exception costs ten times the look.
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
    try {
      accessSync(file, constants.X_OK);
      return true;
    } catch {
      return false; // Not there.
    }
  });
}
