// Wires the open web to the tools: one dialler, one reader of pages and one searcher for a config, made at
// the first call and made anew when the config's tools.web changed. Unused, nothing of it is loaded.
import type { Config } from "@parley/config";
import type {
  AddressRules,
  Dialler,
  DiallerOptions,
  PageFetcher,
  Refusal,
  SearchUsage,
  WebSearcher,
  WebSearchOptions,
} from "@parley/egress";
import { Fault, noUsage, type Clock, type Log, type Usage } from "@parley/protocol";
import type { MachinePorts } from "@parley/tools";
import { remade } from "./remade.ts";

type WebConfig = Config["tools"]["web"];

export interface WebWiring {
  /** The config of this moment, so that what an operator closes is closed at once. */
  readonly configNow: () => Pick<Config, "tools">;
  readonly clock: Clock;
  readonly log: Log;
  /** Counts a refused address by its reason. */
  readonly refused: (reason: Refusal["reason"]) => void;
  /** Default: the system's resolver, and the ports of the web. */
  readonly dialling?: Pick<DiallerOptions, "resolve"> & Pick<AddressRules, "allowedPorts">;
}

export interface WiredWeb {
  readonly port: NonNullable<MachinePorts["web"]>;
  /** For what is called for a job, by the same rules as pages. */
  readonly dial: Dialler["dial"];
  close(): Promise<void>;
}

interface Opened {
  readonly dialler: Dialler;
  readonly pages: PageFetcher;
}

export function wireWeb({ configNow, clock, log, refused, dialling = {} }: WebWiring): WiredWeb {
  const { resolve, allowedPorts = [] } = dialling;
  const settings = (): WebConfig => configNow().tools.web;
  const pagesOf = remade(
    ({ fetch, egress }: Pick<WebConfig, "fetch" | "egress">): Promise<Opened> => open(fetch, egress),
    ({ dialler, pages }) => Promise.all([pages.close(), dialler.close()]),
  );
  const searcherOf = remade(searcher, () => undefined);

  async function open(fetch: WebConfig["fetch"], egress: WebConfig["egress"]): Promise<Opened> {
    const { dialler: makeDialler, pageFetcher, rulesOf } = await import("@parley/egress");
    const dialler = makeDialler({
      clock,
      ...(resolve === undefined ? {} : { resolve }),
      rules: { ...rulesOf(egress), allowedPorts },
      limits: {
        totalMs: fetch.timeoutSeconds * 1_000,
        bodyBytes: fetch.maxBytes,
        redirects: fetch.maxRedirects,
      },
      refused({ host, reason }) {
        refused(reason);
        log.warn({ host, reason }, "an address was not dialled: it is closed to agents");
      },
    });
    const cache = { keptMs: fetch.cacheTtlMinutes * 60_000 };
    return { dialler, pages: pageFetcher({ dialler, clock, cache }) };
  }

  async function searcher(options: Omit<WebSearchOptions, "clock">): Promise<WebSearcher> {
    const { webSearch } = await import("@parley/egress");
    return webSearch({ ...options, clock });
  }

  return {
    port: webPort(settings, {
      async fetch(url, maxBytes, signal) {
        const { fetch, egress } = settings();
        const { dialler } = await pagesOf({ fetch, egress });
        const answer = await dialler.dial({ url, limits: { bodyBytes: maxBytes } }, signal);
        if (answer.status !== 200) {
          answer.discard();
          throw new Fault("unavailable", `${new URL(answer.url).host} answered ${answer.status}`);
        }
        return { url: answer.url, bytes: (await answer.bytes()).bytes };
      },
      async read(url, signal) {
        const { fetch, egress } = settings();
        const { pages } = await pagesOf({ fetch, egress });
        const { maxBytes: bodyBytes } = fetch;
        return pages.fetchPage(url, { limits: { bodyBytes } }, signal);
      },
      async search(query, signal) {
        const found = await searcherOf(searchOptions(settings().search));
        const { used, ...answer } = await found.search(query, signal);
        return used === undefined ? answer : { ...answer, usage: await costOf(used) };
      },
    }),
    async dial(request, signal) {
      const { fetch, egress } = settings();
      const { dialler } = await pagesOf({ fetch, egress });
      return dialler.dial(request, signal);
    },
    close: pagesOf.close,
  };
}

/** What a search by a model used, with its price where that is known. */
async function costOf({ model, inputTokens, outputTokens }: SearchUsage): Promise<Usage> {
  const { knownModel, priced } = await import("@parley/models");
  return priced({ ...noUsage, inputTokens, outputTokens }, knownModel(model).cost);
}

function searchOptions({ providers, timeoutSeconds, cacheTtlMinutes }: WebConfig["search"]) {
  const [first, ...others] = providers.map(({ apiKey, ...provider }) =>
    apiKey === undefined ? provider : { ...provider, apiKey: apiKey.reveal() },
  );
  if (first === undefined) throw new Fault("invalid", "no search provider has a key");
  return {
    providers: [first, ...others],
    timeoutMs: timeoutSeconds * 1_000,
    cacheMs: cacheTtlMinutes * 60_000,
  } satisfies Omit<WebSearchOptions, "clock">;
}

/** What the tools are told of the web where nothing is fetched: the same words (I12). */
export function idleWeb(config: Pick<Config, "tools">): WiredWeb["port"] {
  const refuse = async (): Promise<never> => {
    throw new Fault("unavailable", "pages are fetched in the daemon only");
  };
  return webPort(() => config.tools.web, { read: refuse, search: refuse, fetch: refuse });
}

type Read = Extract<ReturnType<WiredWeb["port"]["pages"]>, { readonly maxChars: number }>["read"];
type Fetch = Extract<ReturnType<WiredWeb["port"]["files"]>, { readonly fetch: unknown }>["fetch"];
type Search = Extract<ReturnType<WiredWeb["port"]["search"]>, { readonly maxResults: number }>["search"];

function webPort(
  settings: () => WebConfig,
  { read, search, fetch }: { readonly read: Read; readonly search: Search; readonly fetch: Fetch },
): WiredWeb["port"] {
  return {
    pages() {
      const { enabled, maxChars } = settings().fetch;
      return enabled ? { maxChars, read } : { unavailable: "tools.web.fetch.enabled is false" };
    },
    files: () => (settings().fetch.enabled ? { fetch } : { unavailable: "tools.web.fetch.enabled is false" }),
    search() {
      const { enabled, provider, maxResults, providers } = settings().search;
      if (!enabled) return { unavailable: "tools.web.search.enabled is false" };
      const [first] = providers;
      if (first === undefined)
        return { unavailable: `tools.web.search.provider is "${provider}", which has no apiKey` };
      return { provider: first.name, maxResults, search };
    },
  };
}
