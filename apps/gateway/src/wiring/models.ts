// Makes the models of the config's providers, and what turns speech into words.
import type { Config, Env } from "@parley/config";
import type { Listener } from "@parley/media";
import {
  type Models,
  modelsFrom,
  transcriber,
  type Transcribe,
  type ModelsOptions,
  levelsOfEfforts,
} from "@parley/models";
import { type Clock, type Log, isFault } from "@parley/protocol";
import { type MediaHandling, mediaFolder } from "@parley/runner";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** `cacheSecret`: see `ModelsOptions`. */
export function wireModels(
  config: Config,
  folder: string,
  clock: Clock,
  log: Log,
  cacheSecret?: string,
): Models {
  const secret = cacheSecret === undefined ? {} : { cacheSecret };
  return modelsFrom({
    providers: providersOf(config),
    readImage: (path) => readFile(join(folder, path)),
    ...secret,
    clock,
    log,
  });
}

/** Throws Fault("invalid") when the provider that shall transcribe voice messages is unknown. */
export function wireMedia(
  config: Config,
  folder: string,
  { pictures, env, clock }: Pick<MediaHandling, "pictures"> & { readonly env: Env; readonly clock: Clock },
): MediaHandling {
  const { transcribe: model, cli } = config.messages.audio;
  const ways = [
    ...(model === undefined ? [] : [transcriber({ model, providers: providersOf(config), clock })]),
    ...(cli === undefined ? [] : [transcribeByProgram(cli, env, clock)]),
  ];
  const heard = inTurn(ways);
  return {
    folder: mediaFolder(folder),
    pictures,
    transcribe: heard === undefined ? undefined : asEverybodyTakesIt(heard),
  };
}

/** A browser's recording goes to services and programs as the Ogg Opus that they know from platforms. */
function asEverybodyTakesIt(transcribe: Transcribe): Transcribe {
  return async (speech, signal) => {
    const { knownSound } = await import("@parley/media");
    return transcribe(knownSound(speech.bytes) ?? speech, signal);
  };
}

/** The next way is tried when one fails; undefined where there is none. */
function inTurn(ways: readonly Transcribe[]): Transcribe | undefined {
  const [first, ...others] = ways;
  const next = others.length === 0 ? undefined : inTurn(others);
  if (first === undefined || next === undefined) return first;
  return async (speech, signal) => {
    try {
      return await first(speech, signal);
    } catch (error) {
      if (signal.aborted || !isFault(error)) throw error;
      return next(speech, signal);
    }
  };
}

function transcribeByProgram(
  { command, args }: { readonly command: string; readonly args: readonly string[] },
  env: Env,
  clock: Clock,
): Transcribe {
  const known = Object.entries(env).flatMap(([name, value]) =>
    programEnv.includes(name) && value !== undefined ? [[name, value] as const] : [],
  );
  let opened: Promise<Listener> | null = null;
  return async ({ bytes }, signal) => {
    opened ??= import("@parley/media").then(({ listener }) =>
      listener({ command, args, env: Object.fromEntries(known), clock }),
    );
    return (await opened).hear(bytes, signal);
  };
}

/** Of the environment, what a program for speech is told. */
const programEnv = ["PATH", "HOME", "LANG"];

function providersOf(config: Config): ModelsOptions["providers"] {
  return Object.fromEntries(
    Object.entries(config.models.providers).map(
      ([name, { apiKey, headers = {}, timers = {}, models, ...rest }]) => [
        name,
        {
          ...rest,
          ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
          headers: Object.fromEntries(
            Object.entries(headers).map(([header, value]) => [header, value.reveal()]),
          ),
          timers: Object.fromEntries(
            Object.entries(timers).map(([timer, seconds]) => [
              timer.replace("Seconds", "Ms"),
              seconds * 1_000,
            ]),
          ),
          models: models.map(({ compat, ...model }) => ({
            ...model,
            ...(compat?.supportedReasoningEfforts === undefined
              ? {}
              : { thinking: levelsOfEfforts(compat.supportedReasoningEfforts) }),
          })),
        },
      ],
    ),
  );
}
