// Decides which search providers are asked, and in which order: the one that the config names, then those
// that have a key or an address, so that nobody is sent a question whom nobody chose.
import type { Env } from "./home.ts";
import type { ConfigFile } from "./schema/root.ts";
import { webSearchProviders } from "./schema/web.ts";
import { secret, type Secret } from "./secret.ts";

type SearchName = (typeof webSearchProviders)[number];

export interface SearchProviderConfig {
  readonly name: SearchName;
  readonly apiKey?: Secret;
  readonly baseUrl?: string;
  readonly model?: string;
}

/** Of a provider of models. */
export interface LentKey {
  readonly apiKey?: Secret;
  readonly baseUrl?: string;
}

const variables: Partial<Record<SearchName, string>> = {
  brave: "BRAVE_API_KEY",
  tavily: "TAVILY_API_KEY",
  exa: "EXA_API_KEY",
  perplexity: "PERPLEXITY_API_KEY",
};
/** Whose key of models a search may use when the config names it. */
const ofModels: Partial<Record<SearchName, string>> = {
  gemini: "google",
  openai: "openai",
  anthropic: "anthropic",
};

/** None when the one that the config names has no key. */
export function searchProvidersOf(
  search: ConfigFile["tools"]["web"]["search"],
  models: { readonly [name: string]: LentKey },
  env: Env,
): readonly SearchProviderConfig[] {
  const { provider, apiKey } = search;
  const settingsOf = (name: SearchName): SearchProviderConfig => {
    const own: Omit<SearchProviderConfig, "name"> = search[name];
    const shared = name === (provider ?? "brave") ? apiKey : undefined;
    const model = models[ofModels[name] ?? ""];
    // A key is never sent to an address that it was not meant for.
    const lent = name === provider && own.baseUrl === undefined && model?.baseUrl === undefined;
    const found = env[variables[name] ?? ""];
    const inherited = lent ? model?.apiKey : undefined;
    const fromEnv =
      found === undefined || found === "" || own.baseUrl !== undefined ? undefined : secret(found);
    const key = own.apiKey ?? shared ?? fromEnv ?? inherited;
    return { ...own, name, ...(key === undefined ? {} : { apiKey: key }) };
  };
  const all = webSearchProviders.map(settingsOf);
  const first = all.filter((each) => each.name === provider);
  if (first.some(({ name, apiKey: key }) => key === undefined && !isKeyless(name))) return [];
  const others = all.filter(
    ({ name, apiKey: key, baseUrl }) =>
      name !== provider && (key !== undefined || (baseUrl !== undefined && isKeyless(name))),
  );
  const chosen = [...first, ...others];
  return chosen.length > 0 ? chosen : all.filter(({ name }) => name === "duckduckgo");
}

const isKeyless = (name: SearchName): boolean => name === "searxng" || name === "duckduckgo";
