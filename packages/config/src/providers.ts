// Decides which providers there are, and which model an agent uses when nobody chose one. A key in the
// environment is enough to use a provider.
import type { ModelChoice } from "./agent-config.ts";
import type { ProviderConfig } from "./config.ts";
import type { Env } from "./home.ts";
import type { ConfigFile } from "./schema/root.ts";
import { secret } from "./secret.ts";

interface KeyedProvider {
  readonly name: string;
  readonly env: string;
  /** Chosen when this is the first provider with a key. */
  readonly model: string;
}

/** In order of preference for the default model. */
const keyed: readonly KeyedProvider[] = [
  { name: "anthropic", env: "ANTHROPIC_API_KEY", model: "claude-sonnet-4-5" },
  { name: "openai", env: "OPENAI_API_KEY", model: "gpt-5" },
  { name: "google", env: "GEMINI_API_KEY", model: "gemini-2.5-pro" },
];

/** The models package knows API and address of these, so that a config entry needs neither. */
export const wellKnownProviders: ReadonlySet<string> = new Set([
  ...keyed.map((each) => each.name),
  "openrouter",
  "deepseek",
  "groq",
  "mistral",
  "ollama",
  "rehearsal",
]);

/** Answers without key or network: what is left when nothing is configured. */
const rehearsalModel = "rehearsal/rehearsal";

export function providersOf(file: ConfigFile, env: Env): { readonly [name: string]: ProviderConfig } {
  const providers: { [name: string]: ProviderConfig } = { ...file.models.providers };
  for (const { name, env: variable } of keyed) {
    const key = env[variable];
    if (key === undefined || key === "") continue;
    const entry = providers[name];
    // A key in the file wins, and a key is never sent to an address that it was not meant for.
    if (entry?.apiKey !== undefined || entry?.baseUrl !== undefined) continue;
    providers[name] = { ...(entry ?? { models: [] }), apiKey: secret(key) };
  }
  return providers;
}

export function defaultModel(providers: { readonly [name: string]: ProviderConfig }): string {
  for (const [name, { models }] of Object.entries(providers)) {
    const [first] = models;
    if (first !== undefined) return `${name}/${first.id}`;
  }
  const known = keyed.find(({ name }) => providers[name]?.apiKey !== undefined);
  return known === undefined ? rehearsalModel : `${known.name}/${known.model}`;
}

/** Null when the reference is usable, else what is wrong with it. */
export function modelTrouble(
  ref: string,
  providers: { readonly [name: string]: ProviderConfig },
): { readonly message: string; readonly fix: string } | null {
  const slash = ref.indexOf("/");
  const [name, model] = [ref.slice(0, slash), ref.slice(slash + 1)];
  if (ref === rehearsalModel) return null;
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (provider === undefined) {
    const variable = keyed.find((each) => each.name === name)?.env;
    const names = Object.keys(providers);
    return {
      message: `"${ref}" names the provider "${name}", which does not exist`,
      fix: [
        ...(variable === undefined
          ? [`Add it under models.providers.${name}`]
          : [`Set ${variable} in the environment`]),
        ...(names.length > 0 ? [`or use one of: ${names.join(", ")}`] : []),
      ].join(", "),
    };
  }
  if (provider.models.length === 0 || provider.models.some((each) => each.id === model)) return null;
  return {
    message: `"${ref}" is not among the models of "${name}"`,
    fix: `Add it to models.providers.${name}.models, or use one of: ${provider.models.map((each) => `${name}/${each.id}`).join(", ")}`,
  };
}

export function modelRefs(choice: ModelChoice): readonly string[] {
  return [choice.primary, ...choice.fallbacks];
}
