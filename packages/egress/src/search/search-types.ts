// Defines what a search is, whoever answers it: one question, one shape of results. A provider writes its own
// request and reads its own answer; everything else (order, cache, cool-downs) is the searcher's.

export interface SearchQuery {
  readonly query: string;
  readonly count: number;
  readonly freshness?: "day" | "week" | "month" | "year" | undefined;
  /** Two letters, as ISO 3166 has them. */
  readonly country?: string | undefined;
  /** Two letters, as ISO 639-1 has them. */
  readonly language?: string | undefined;
}

export interface SearchResult {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  /** As the provider says it: a date, or "3 days ago". */
  readonly age?: string;
}

export interface SearchAnswer {
  readonly results: readonly SearchResult[];
  /** Of providers that write one from what they found. */
  readonly answer?: string;
  /** By the model that searched, where one did. */
  readonly used?: SearchUsage;
}

export interface SearchUsage {
  readonly model: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface ProviderSettings {
  readonly apiKey?: string;
  /** An operator's own address, which is dialled as it stands. */
  readonly baseUrl?: string;
  /** Of providers that search with a model. */
  readonly model?: string;
}

/** One request, and how to read its answer. `read` throws Fault for an answer that holds no results. */
export interface SearchCall {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  read(answer: { readonly status: number; readonly text: string }): SearchAnswer | Promise<SearchAnswer>;
}

export interface SearchProvider {
  /** For people: "Brave Search". */
  readonly title: string;
  readonly baseUrl: string;
  call(query: SearchQuery, settings: ProviderSettings & { readonly baseUrl: string }): SearchCall;
}
