// Setup without a person: what the flags say, and what is missing, in words that name the flag.
import type { Env } from "@parley/config";
import { CommandFailure, exitCodes } from "../exit.ts";
import {
  givenSecret,
  knownProviders,
  type BotAnswer,
  type Known,
  type ModelAnswer,
  type SetupAnswers,
  type SetupFlags,
} from "./answers.ts";

export interface FlagReading {
  readonly answers: SetupAnswers;
  /** Without these nothing can be written. */
  readonly missing: readonly string[];
}

export function answersFromFlags(flags: SetupFlags, env: Env, current: Known): FlagReading {
  const missing: string[] = [];
  const bot = (
    channel: "telegram" | "discord",
    token: string | undefined,
    apiRoot: string | undefined,
  ): BotAnswer | null => {
    if (token !== undefined) return { token: givenSecret(token), apiRoot: apiRoot ?? null };
    if (apiRoot === undefined) return null;
    if (current[channel]) return { token: null, apiRoot };
    missing.push(`--${channel}-token: the bot that --${channel}-api-root is for`);
    return null;
  };
  const model = modelOf(flags, env, current.model, missing);
  return {
    answers: {
      model,
      telegram: bot("telegram", flags.telegramToken, flags.telegramApiRoot),
      discord: bot("discord", flags.discordToken, flags.discordApiRoot),
      owners: flags.owner ?? [],
      port: flags.port === undefined ? null : portOf(flags.port),
    },
    missing,
  };
}

function modelOf(flags: SetupFlags, env: Env, current: string | null, missing: string[]): ModelAnswer | null {
  const before = missing.length;
  const [named, id] = splitModel(flags.model, flags.provider);
  const says = flags.model ?? flags.apiKey ?? flags.baseUrl;
  const name = flags.provider ?? named ?? (says === undefined ? null : "");
  if (name === null) {
    if (current === null)
      missing.push("a model: --provider with --api-key, or --provider rehearsal to try Parley without one");
    return null;
  }
  if (name === "") {
    missing.push("--provider: whose key, address or model this is");
    return null;
  }
  const known = knownProviders.find((each) => each.name === name);
  const model = id ?? known?.model ?? null;
  const key = flags.apiKey === undefined ? null : givenSecret(flags.apiKey);
  const inEnv = known?.env !== undefined && known.env !== null && (env[known.env] ?? "") !== "";
  if (model === null) missing.push(`--model: which model of ${name}`);
  if (known?.needsKey === true && key === null && !inEnv)
    missing.push(
      `--api-key: the key of ${name}${known.env === null ? "" : `, or ${known.env} in the environment`}`,
    );
  if (known === undefined && flags.baseUrl === undefined)
    missing.push(
      `--base-url: where ${name} is; well known are ${knownProviders.map((each) => each.name).join(", ")}`,
    );
  if (model === null || missing.length > before) return null;
  return {
    provider: name,
    model,
    key,
    baseUrl: flags.baseUrl ?? null,
    api: flags.api ?? (known === undefined ? "openai-completions" : null),
  };
}

/** PROVIDER/MODEL, or the id at the provider that is named beside it. */
export function splitModel(
  model: string | undefined,
  provider: string | undefined,
): readonly [string | undefined, string | undefined] {
  if (model === undefined) return [undefined, undefined];
  const slash = model.indexOf("/");
  const first = model.slice(0, Math.max(0, slash));
  if (provider === undefined && slash > 0) return [first, model.slice(slash + 1)];
  return [undefined, slash > 0 && first === provider ? model.slice(slash + 1) : model];
}

function portOf(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new CommandFailure(
    "invalid",
    `--port takes a number from 1 to 65535, not "${text}"`,
    exitCodes.usage,
  );
}
