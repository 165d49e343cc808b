// The registry of models: turns the config's providers into models named `<provider>/<model>`. Declared
// entries win over the built-in table, so a proxy, a new model or a local server needs a line of
// configuration and no code. It contacts nothing; drivers load on the first call.
import { type Clock, Fault, type Log } from "@parley/protocol";
import { knownModel, knownProvider, type ModelApi, type ModelFacts } from "./known.ts";
import type { Model } from "./model.ts";
import { anthropicMessages } from "./providers/anthropic-messages.ts";
import { google } from "./providers/google.ts";
import { ollama } from "./providers/ollama.ts";
import { openAiCompletions } from "./providers/openai-completions.ts";
import { openAiResponses } from "./providers/openai-responses.ts";
import type { ReadImage } from "./sdk/prompt.ts";
import type { ModelTimers, ProviderOptions } from "./provider.ts";
import { rehearsal } from "./rehearsal/rehearsal.ts";

/** A model as the config declares it; the built-in table fills the gaps. */
interface DeclaredModel extends Partial<ModelFacts> {
  /** The model's name as the provider spells it. */
  readonly id: string;
}

export interface DeclaredProvider {
  readonly api?: ModelApi;
  /** The address before the endpoint, for example `https://api.openai.com/v1`. */
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly headers?: { readonly [name: string]: string };
  readonly timers?: Partial<ModelTimers>;
  readonly models?: readonly DeclaredModel[];
}

export interface ModelsOptions {
  readonly providers: { readonly [name: string]: DeclaredProvider };
  /**
   * Reads the bytes of an image by its path under the media folder. Absent: models get images described in
   * words.
   */
  readonly readImage?: ReadImage;
  /** A secret of this installation, so that no provider can tell from a session's key whose session it is. */
  readonly cacheSecret?: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ModelCard extends ModelFacts {
  /** `<provider>/<model>`. */
  readonly id: string;
  readonly api: ModelApi;
  /** True when a call can be made: a key is set, or none is needed. */
  readonly ready: boolean;
}

export interface Models {
  /**
   * Returns the same object for the same id. Throws Fault("invalid") for a model that is not configured well
   * enough to call; the message says what to add.
   */
  get(id: string): Promise<Model>;
  /** The declared models, the named ones whose provider is known, and the rehearsal. */
  list(named?: readonly string[]): readonly ModelCard[];
}

export function modelsFrom(options: ModelsOptions): Models {
  const made = new Map<string, Model>();
  return {
    async get(id) {
      const model = made.get(id) ?? modelOf(id, options);
      made.set(id, model);
      return model;
    },
    list(named = []) {
      const declared = Object.entries(options.providers).flatMap(([name, { models = [] }]) =>
        models.map(({ id }) => `${name}/${id}`),
      );
      const facts: ModelFacts = { ...knownModel("rehearsal"), input: ["text", "image"], reasoning: true };
      return [
        ...[...new Set([...declared, ...named])].flatMap((id) => cardOf(id, options)),
        { ...facts, id: "rehearsal/rehearsal", api: "rehearsal", ready: true },
      ];
    },
  };
}

/** Empty for an unknown provider and for the rehearsal. */
function cardOf(id: string, { providers }: ModelsOptions): readonly ModelCard[] {
  const [name, modelId] = [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)];
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
  const known = knownProvider(name);
  const api = provider?.api ?? known?.api;
  if (api === undefined || name === "rehearsal") return [];
  const ready = provider?.apiKey !== undefined || known?.keyless === true || provider?.baseUrl !== undefined;
  return [{ ...factsOf(modelId, provider, api), id, api, ready }];
}

const factories: { readonly [api in Exclude<ModelApi, "rehearsal">]: (options: ProviderOptions) => Model } = {
  "openai-completions": openAiCompletions,
  "openai-responses": openAiResponses,
  "anthropic-messages": anthropicMessages,
  "google-generative-ai": google,
  ollama,
};

function modelOf(id: string, { providers, readImage, cacheSecret, clock, log }: ModelsOptions): Model {
  const slash = id.indexOf("/");
  const [name, modelId] = slash < 0 ? [id, id] : [id.slice(0, slash), id.slice(slash + 1)];
  if (name === "rehearsal") return rehearsal({ clock, id: "rehearsal/rehearsal" });
  if (slash < 1 || modelId === "") {
    throw new Fault(
      "invalid",
      `model "${id}" must be written <provider>/<model>, for example "anthropic/claude-sonnet-4-5"`,
    );
  }
  const declared = Object.hasOwn(providers, name) ? providers[name] : undefined;
  const own = declaredModel(modelId, declared);
  const known = knownProvider(name);
  const api = declared?.api ?? known?.api;
  const baseUrl = declared?.baseUrl ?? known?.baseUrl;
  if (api === undefined || baseUrl === undefined) {
    throw new Fault(
      "invalid",
      `model "${id}": there is no provider "${name}"; declare models.providers.${name} with an api and a baseUrl`,
    );
  }
  if (api === "rehearsal") return rehearsal({ clock, id });
  // A private server may need no key; a vendor's own address always does.
  if (declared?.apiKey === undefined && declared?.baseUrl === undefined && known?.keyless !== true) {
    throw new Fault("invalid", `model "${id}" needs an API key: set models.providers.${name}.apiKey`);
  }
  return factories[api]({
    id,
    modelId,
    baseUrl: rootOf(api, baseUrl.replace(/\/+$/, "")),
    facts: factsOf(modelId, declared, api),
    limited: own?.maxTokens !== undefined,
    declaredThinking: own?.thinking,
    clock,
    log: log.child({ model: id }),
    apiKey: declared?.apiKey,
    headers: declared?.headers,
    readImage,
    cacheSecret,
    timers: declared?.timers,
  });
}

/** Adds the version to the address for the two APIs that have one in it, also under a proxy's path. */
function rootOf(api: ModelApi, baseUrl: string): string {
  if (api === "anthropic-messages") return /\/v\d+$/.test(baseUrl) ? baseUrl : `${baseUrl}/v1`;
  return api === "google-generative-ai" && !/\/v\d+(?:alpha|beta)?\d*$/.test(baseUrl)
    ? `${baseUrl}/v1beta`
    : baseUrl;
}

/**
 * The context is allocated in memory of the person's own machine, so where the config sets no size no more
 * than this is asked for.
 */
const localContextWindow = 32_768;

function declaredModel(modelId: string, provider: DeclaredProvider | undefined): DeclaredModel | undefined {
  return provider?.models?.find((model) => model.id === modelId);
}

function factsOf(modelId: string, provider: DeclaredProvider | undefined, api: ModelApi): ModelFacts {
  const { id: _, ...declared } = declaredModel(modelId, provider) ?? { id: modelId };
  return {
    ...knownModel(modelId),
    ...(api === "ollama" ? { contextWindow: localContextWindow } : {}),
    ...declared,
  };
}
