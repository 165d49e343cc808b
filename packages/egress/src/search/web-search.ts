// Asks the search providers that the config names, in its order. One that is down, refuses or limits us falls
// to the next, which the answer says; whoever failed rests for a while. Answers are kept for some minutes.
// The addresses are the operator's own choice, so they are dialled as they stand (DESIGN 10.4), but no
// redirect is followed, which would carry the key elsewhere.
import { deadline, Fault, isFault, type Clock } from "@parley/protocol";
import { fetchCache } from "../fetch-cache.ts";
import { searchProviders, type SearchProviderName } from "./providers.ts";
import type { ProviderSettings, SearchAnswer, SearchCall, SearchQuery } from "./search-types.ts";

export interface NamedProvider extends ProviderSettings {
  readonly name: SearchProviderName;
}

export interface WebSearchOptions {
  /** The first is the one to ask; the others stand in for it. */
  readonly providers: readonly [NamedProvider, ...NamedProvider[]];
  readonly timeoutMs: number;
  /** 0: nothing is kept. */
  readonly cacheMs: number;
  readonly clock: Clock;
}

interface Failed {
  /** For people. */
  readonly provider: string;
  readonly reason: string;
}

interface FoundOnWeb extends SearchAnswer {
  readonly provider: string;
  /** Those that were asked before and failed. */
  readonly failed: readonly Failed[];
  readonly cached: boolean;
}

export interface WebSearcher {
  /** Throws Fault when nobody answers. */
  search(query: SearchQuery, signal: AbortSignal): Promise<FoundOnWeb>;
}

const answerBytes = 2_000_000;
/** After a failure without a word for how long. */
const restMs = 60_000;
const longestRestMs = 3_600_000;

export function webSearch({ providers, timeoutMs, cacheMs, clock }: WebSearchOptions): WebSearcher {
  const kept = fetchCache<FoundOnWeb>(clock, { keptMs: cacheMs, entries: 100, chars: 1_000_000 });
  const resting = new Map<SearchProviderName, { readonly untilMono: number; readonly fault: Fault }>();
  const restOf = (name: SearchProviderName): Fault | null => {
    const rest = resting.get(name);
    return rest !== undefined && rest.untilMono > clock.mono() ? rest.fault : null;
  };

  const askOne = async (
    { name, ...settings }: NamedProvider,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<SearchAnswer> => {
    const provider = searchProviders[name];
    const baseUrl = (settings.baseUrl ?? provider.baseUrl).replace(/\/+$/, "");
    const call = provider.call(query, { ...settings, baseUrl });
    const limit = deadline(clock, timeoutMs, provider.title);
    try {
      const { status, text, retryAfterMs } = await send(call, AbortSignal.any([signal, limit.signal]));
      if (status >= 400) await refusalIn(call, status, text, retryAfterMs);
      const answer = await call.read({ status, text });
      return { ...answer, results: answer.results.slice(0, query.count) };
    } catch (error) {
      if (signal.aborted) throw new Fault("aborted", "the search was stopped");
      if (limit.signal.aborted) throw new Fault("unavailable", `did not answer in ${timeoutMs / 1000} s`);
      throw isFault(error) ? error : new Fault("unavailable", "cannot be reached", { cause: error });
    } finally {
      limit.cancel();
    }
  };

  return {
    async search(query, signal) {
      const key = JSON.stringify(query);
      const known = kept.get(key);
      if (known !== null) {
        const { used: _paid, ...rest } = known;
        return { ...rest, cached: true };
      }
      const failed: Failed[] = [];
      let last: Fault | undefined;
      // Where all of them failed a moment ago, those that did not ask for time are asked again.
      const allRest = providers.every(({ name }) => restOf(name) !== null);
      for (const provider of providers) {
        const { title } = searchProviders[provider.name];
        const rest = restOf(provider.name);
        if (rest !== null && (!allRest || rest.code === "rate_limited")) {
          last = rest;
          failed.push({ provider: title, reason: rest.message });
          continue;
        }
        try {
          const answer = await askOne(provider, query, signal);
          resting.delete(provider.name);
          const found = { ...answer, provider: title, failed, cached: false };
          kept.put(key, found, JSON.stringify(found).length);
          return found;
        } catch (error) {
          if (!isFault(error) || error.code === "aborted") throw error;
          last = error;
          failed.push({ provider: title, reason: error.message });
          // What it cannot do with one query says nothing about the next.
          if (error.code === "invalid") continue;
          const forMs = Math.min(error.retryAfterMs ?? restMs, longestRestMs);
          resting.set(provider.name, { untilMono: clock.mono() + forMs, fault: error });
        }
      }
      const told = failed.map(({ provider, reason }) => `${provider} ${reason}`).join("; ");
      throw new Fault(last?.code ?? "rate_limited", `The search failed: ${told}.`);
    },
  };
}

async function send(
  { url, method, headers, body }: SearchCall,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string; readonly retryAfterMs: number | undefined }> {
  const response = await fetch(url, {
    method,
    headers: { "user-agent": "Parley", ...headers },
    ...(body === undefined ? {} : { body }),
    redirect: "manual",
    signal,
  });
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > answerBytes)
      throw new Fault("unsupported", `answers with more than ${answerBytes / 1_000_000} MB`);
    chunks.push(chunk);
  }
  if (response.status >= 300 && response.status < 400)
    throw new Fault("unavailable", `answers with a redirect (${response.status}), which is not followed`);
  const seconds = Number(response.headers.get("retry-after"));
  return {
    status: response.status,
    text: Buffer.concat(chunks).toString("utf8"),
    retryAfterMs: seconds > 0 ? seconds * 1_000 : undefined,
  };
}

/** Throws what a status of 400 and above says; a provider may know more about its own statuses. */
async function refusalIn(
  call: SearchCall,
  status: number,
  text: string,
  retryAfterMs: number | undefined,
): Promise<never> {
  if (status === 429)
    throw new Fault(
      "rate_limited",
      "answers 429: too many searches",
      retryAfterMs === undefined ? {} : { retryAfterMs },
    );
  if (status === 401 || status === 402 || status === 403) {
    const own = await Promise.resolve()
      .then(() => call.read({ status, text }))
      .then(
        () => null,
        (error: unknown) => (isFault(error, "denied") ? error : null),
      );
    throw own ?? new Fault("denied", `answers ${status}: its key or its plan does not allow it`);
  }
  throw new Fault(status >= 500 ? "unavailable" : "invalid", `answers ${status}`);
}
