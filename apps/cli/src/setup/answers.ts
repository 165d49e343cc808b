// Collects setup's answers from flags, the environment, or a person at a terminal. Pure.
import type { Env } from "@parley/config";

export interface SetupFlags {
  readonly provider?: string;
  readonly model?: string;
  readonly apiKey?: string;
  readonly baseUrl?: string;
  readonly api?: string;
  readonly telegramToken?: string;
  readonly telegramApiRoot?: string;
  readonly discordToken?: string;
  readonly discordApiRoot?: string;
  readonly owner?: readonly string[];
  readonly port?: string;
  /** False with --no-check. */
  readonly check?: boolean;
  readonly nonInteractive?: boolean;
}

export interface KnownProvider {
  readonly name: string;
  readonly words: string;
  /** The variable that Parley reads by itself; null where there is none. */
  readonly env: string | null;
  readonly needsKey: boolean;
  /** Used when nobody names one. */
  readonly model: string | null;
}

/** As packages/config knows them; a provider of another name needs an address. */
export const knownProviders: readonly KnownProvider[] = [
  {
    name: "anthropic",
    words: "Anthropic (Claude)",
    env: "ANTHROPIC_API_KEY",
    needsKey: true,
    model: "claude-sonnet-4-5",
  },
  { name: "openai", words: "OpenAI (GPT)", env: "OPENAI_API_KEY", needsKey: true, model: "gpt-5" },
  {
    name: "google",
    words: "Google (Gemini)",
    env: "GEMINI_API_KEY",
    needsKey: true,
    model: "gemini-2.5-pro",
  },
  { name: "openrouter", words: "OpenRouter (many models)", env: null, needsKey: true, model: null },
  { name: "deepseek", words: "DeepSeek", env: null, needsKey: true, model: null },
  { name: "groq", words: "Groq", env: null, needsKey: true, model: null },
  { name: "mistral", words: "Mistral", env: null, needsKey: true, model: null },
  { name: "ollama", words: "Ollama (models on this machine)", env: null, needsKey: false, model: null },
  {
    name: "rehearsal",
    words: "none yet: the built-in rehearsal answers",
    env: null,
    needsKey: false,
    model: "rehearsal",
  },
];

/** A secret as it was given: itself, or the name of a variable that has it each time. */
export type GivenSecret = { readonly value: string } | { readonly env: string };

export function givenSecret(text: string): GivenSecret {
  return text.startsWith("env:") ? { env: text.slice("env:".length) } : { value: text.trim() };
}

/** What it is now; null when its variable is not set. */
export function revealed(given: GivenSecret, env: Env): string | null {
  if ("value" in given) return given.value;
  const found = env[given.env];
  return found === undefined || found === "" ? null : found;
}

export interface ModelAnswer {
  readonly provider: string;
  /** Without the provider's name. */
  readonly model: string;
  readonly key: GivenSecret | null;
  readonly baseUrl: string | null;
  readonly api: string | null;
}

export interface BotAnswer {
  /** Null: the one that the config has stays. */
  readonly token: GivenSecret | null;
  /** As the platform knows it, where it was asked. */
  readonly id?: string;
  readonly apiRoot: string | null;
}

/** What the config has already. */
export interface Known {
  /** Null for the rehearsal, which counts as none. */
  readonly model: string | null;
  readonly telegram: boolean;
  readonly discord: boolean;
}

export interface SetupAnswers {
  readonly model: ModelAnswer | null;
  readonly telegram: BotAnswer | null;
  readonly discord: BotAnswer | null;
  readonly owners: readonly string[];
  readonly port: number | null;
}
