// Completes how an agent's memory is searched: its own settings, then the defaults', then Parley's.
import type { ConfigFile } from "./schema/root.ts";
import type { Env } from "./home.ts";
import { memorySearchDefaults, type embedProviders, type memorySources } from "./schema/memory.ts";
import { secret, type Secret } from "./secret.ts";

type MemorySearchFile = ConfigFile["agents"]["list"][number]["memorySearch"];

type EmbedProvider = (typeof embedProviders)[number];

export interface MemorySearchConfig {
  readonly enabled: boolean;
  readonly sources: readonly (typeof memorySources)[number][];
  /** Null: words alone are searched. */
  readonly embedder: {
    readonly provider: EmbedProvider;
    readonly model: string;
    readonly baseUrl: string;
    readonly apiKey: Secret | null;
  } | null;
  readonly query: {
    readonly maxResults: number;
    readonly minScore: number;
    readonly hybrid: {
      readonly vectorWeight: number;
      readonly textWeight: number;
      readonly candidateMultiplier: number;
      readonly mmr: { readonly enabled: boolean; readonly lambda: number };
      readonly temporalDecay: { readonly enabled: boolean; readonly halfLifeDays: number };
    };
  };
  readonly chunking: { readonly tokens: number; readonly overlap: number };
  readonly sync: { readonly onSearch: boolean };
  readonly upkeep: {
    readonly enabled: boolean;
    /** "03:30". */
    readonly at: string;
    readonly model?: string;
    readonly mostTokensPerDay: number;
  };
}

interface Service {
  readonly model: string;
  readonly baseUrl: string;
  /** Its entry under models.providers, whose key and address are used. */
  readonly entry: string;
}

const services: { readonly [P in EmbedProvider]: Service } = {
  openai: { model: "text-embedding-3-small", baseUrl: "https://api.openai.com/v1", entry: "openai" },
  "openai-compatible": { model: "", baseUrl: "", entry: "" },
  gemini: {
    model: "gemini-embedding-001",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    entry: "google",
  },
  voyage: { model: "voyage-3.5", baseUrl: "https://api.voyageai.com/v1", entry: "voyage" },
  ollama: { model: "nomic-embed-text", baseUrl: "http://127.0.0.1:11434", entry: "ollama" },
};

interface MemorySources {
  readonly providers: ConfigFile["models"]["providers"];
  readonly env: Env;
}

/** An own address has its own key: what is set for one place is not sent to another. */
function embedderOf(
  own: MemorySearchFile,
  ofAll: MemorySearchFile,
  { providers, env }: MemorySources,
): MemorySearchConfig["embedder"] {
  const provider = own?.provider ?? ofAll?.provider ?? memorySearchDefaults.provider;
  if (provider === "none") return null;
  const inherited = own?.provider === undefined || own.provider === ofAll?.provider ? ofAll : undefined;
  const { model, baseUrl, entry } = services[provider];
  const known = Object.hasOwn(providers, entry) ? providers[entry] : undefined;
  const sameAddress = own?.remote?.baseUrl === undefined || own.remote.baseUrl === inherited?.remote?.baseUrl;
  const remote = { ...(sameAddress ? inherited?.remote : {}), ...own?.remote };
  const ofEntry = remote.baseUrl === undefined ? known?.apiKey : undefined;
  const address = remote.baseUrl ?? known?.baseUrl ?? baseUrl;
  const isVoyage = provider === "voyage" && isAtOriginOf(address, baseUrl);
  const voyage = isVoyage ? (env["VOYAGE_API_KEY"] ?? "") : "";
  const fromEnv = voyage === "" ? undefined : secret(voyage);
  return {
    provider,
    model: own?.model ?? inherited?.model ?? model,
    baseUrl: (provider === "ollama" ? address.replace(/\/(?:api|v1)\/?$/, "") : address).replace(/\/+$/, ""),
    apiKey: remote.apiKey ?? ofEntry ?? fromEnv ?? null,
  };
}

/** On the same host, by the same protocol and port. */
function isAtOriginOf(address: string, baseUrl: string): boolean {
  return URL.parse(address)?.origin === new URL(baseUrl).origin;
}

export function memorySearchOf(
  own: MemorySearchFile,
  ofAll: MemorySearchFile,
  known: MemorySources,
): MemorySearchConfig {
  const { enabled, sources, query, chunking, sync, upkeep } = memorySearchDefaults;
  const [mine, theirs] = [own?.query, ofAll?.query];
  const [mix, mixOfAll] = [mine?.hybrid, theirs?.hybrid];
  const isHybrid = mix?.enabled ?? mixOfAll?.enabled ?? query.hybrid.enabled;
  const { tokens, overlap } = { ...chunking, ...ofAll?.chunking, ...own?.chunking };
  return {
    sources: own?.sources ?? ofAll?.sources ?? sources,
    enabled: own?.enabled ?? ofAll?.enabled ?? enabled,
    embedder: isHybrid ? embedderOf(own, ofAll, known) : null,
    query: {
      maxResults: mine?.maxResults ?? theirs?.maxResults ?? query.maxResults,
      minScore: mine?.minScore ?? theirs?.minScore ?? query.minScore,
      hybrid: {
        vectorWeight: mix?.vectorWeight ?? mixOfAll?.vectorWeight ?? query.hybrid.vectorWeight,
        textWeight: mix?.textWeight ?? mixOfAll?.textWeight ?? query.hybrid.textWeight,
        candidateMultiplier:
          mine?.hybrid?.candidateMultiplier ??
          theirs?.hybrid?.candidateMultiplier ??
          query.hybrid.candidateMultiplier,
        mmr: { ...query.hybrid.mmr, ...theirs?.hybrid?.mmr, ...mine?.hybrid?.mmr },
        temporalDecay: {
          ...query.hybrid.temporalDecay,
          ...theirs?.hybrid?.temporalDecay,
          ...mine?.hybrid?.temporalDecay,
        },
      },
    },
    sync: { ...sync, ...ofAll?.sync, ...own?.sync },
    upkeep: { ...upkeep, ...ofAll?.upkeep, ...own?.upkeep },
    chunking: { tokens, overlap: Math.min(overlap, Math.floor(tokens / 2)) },
  };
}
