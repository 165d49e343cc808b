// Turns passages into vectors by a service that the operator chose: one contract over the wire shapes of
// OpenAI and its likes, Gemini, Voyage and Ollama. A failure is a Fault, and words are searched without it.
import { Fault } from "@parley/protocol";

export type EmbedProvider = "openai" | "openai-compatible" | "gemini" | "voyage" | "ollama";

export interface EmbedderSettings {
  readonly provider: EmbedProvider;
  readonly model: string;
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
}

export interface Embedder {
  /** Vectors of different ids are never compared. */
  readonly id: string;
  /** Texts of one request. */
  readonly batch: number;
  /** One vector of length 1 for each text. Throws Fault. */
  embed(
    texts: readonly string[],
    kind: "document" | "query",
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]>;
}

interface Wire {
  readonly path: (model: string) => string;
  readonly headers: (key: string | null) => { readonly [name: string]: string };
  readonly body: (model: string, texts: readonly string[], kind: "document" | "query") => object;
  readonly vectors: (answer: unknown) => readonly (readonly number[])[];
}

const bearer = (key: string | null): { readonly [name: string]: string } =>
  key === null ? {} : { authorization: `Bearer ${key}` };

/** Their `data` need not come in the order of what was asked. */
function openAiVectors(answer: unknown): readonly (readonly number[])[] {
  const { data } = answer as { readonly data: readonly { index?: number; embedding: readonly number[] }[] };
  return data
    .map((each, at) => ({ at: each.index ?? at, embedding: each.embedding }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ embedding }) => embedding);
}

const openAi: Wire = {
  path: () => "/embeddings",
  headers: bearer,
  body: (model, input) => ({ model, input, encoding_format: "float" }),
  vectors: openAiVectors,
};

const wires: { readonly [P in EmbedProvider]: Wire } = {
  openai: openAi,
  "openai-compatible": openAi,
  voyage: {
    ...openAi,
    body: (model, input, kind) => ({ model, input, input_type: kind }),
  },
  gemini: {
    path: (model) => `/models/${encodeURIComponent(model)}:batchEmbedContents`,
    headers: (key) => (key === null ? {} : { "x-goog-api-key": key }),
    body: (model, texts, kind) => ({
      requests: texts.map((text) => ({
        model: `models/${model}`,
        content: { parts: [{ text }] },
        taskType: kind === "query" ? "RETRIEVAL_QUERY" : "RETRIEVAL_DOCUMENT",
      })),
    }),
    vectors: (answer) =>
      (answer as { readonly embeddings: readonly { values: readonly number[] }[] }).embeddings.map(
        ({ values }) => values,
      ),
  },
  ollama: {
    path: () => "/api/embed",
    headers: () => ({}),
    body: (model, input) => ({ model, input, truncate: true }),
    vectors: (answer) => (answer as { readonly embeddings: readonly (readonly number[])[] }).embeddings,
  },
};

/** OpenAI takes 8,192 tokens a text; a passage is a tenth of it, but for a line without end. */
const mostTextChars = 16_000;
const mostAnswerBytes = 64 * 1024 * 1024;
const mostWaitMs = 600_000;

export function embedder({ provider, model, baseUrl, apiKey }: EmbedderSettings): Embedder {
  const wire = wires[provider];
  return {
    id: `${provider}/${model}@${baseUrl}`,
    batch: 32,
    async embed(texts, kind, signal) {
      const input = texts.map((text) =>
        text.trim() === "" ? "." : text.slice(0, mostTextChars).toWellFormed(),
      );
      const answer = await post(`${baseUrl}${wire.path(model)}`, {
        headers: { "content-type": "application/json", ...wire.headers(apiKey) },
        body: JSON.stringify(wire.body(model, input, kind)),
        signal,
      });
      const vectors = vectorsIn(wire, answer);
      if (vectors.length !== texts.length)
        throw new Fault(
          "unavailable",
          `${provider} answered ${vectors.length} vectors for ${texts.length} texts`,
        );
      return vectors.map((vector) => unit(vector, provider));
    },
  };
}

const noVectors = "the answer of the embedding service has no vectors";
const isListOfLists = (value: unknown): value is readonly (readonly number[])[] =>
  Array.isArray(value) && value.every((each) => Array.isArray(each));

function vectorsIn(wire: Wire, answer: unknown): readonly (readonly number[])[] {
  try {
    const vectors: unknown = wire.vectors(answer);
    if (isListOfLists(vectors)) return vectors;
  } catch (cause) {
    throw new Fault("unavailable", noVectors, { cause });
  }
  throw new Fault("unavailable", noVectors);
}

async function post(
  url: string,
  request: {
    readonly headers: { readonly [name: string]: string };
    readonly body: string;
    readonly signal: AbortSignal;
  },
): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, { method: "POST", redirect: "error", ...request });
    if (response.ok) {
      if (Number(response.headers.get("content-length") ?? 0) > mostAnswerBytes)
        throw new Fault("unavailable", "the answer of the embedding service is too large");
      return await response.json();
    }
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    if (request.signal.aborted) throw new Fault("aborted", "the embedding service did not answer in time");
    throw new Fault("unavailable", `the embedding service at ${new URL(url).host} cannot be reached`, {
      cause,
    });
  }
  // What it says may repeat the key that it was sent.
  await response.body?.cancel();
  const { status } = response;
  const who = `the embedding service at ${new URL(url).host}`;
  if (status === 429) {
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    const wait = Number.isFinite(seconds) ? { retryAfterMs: Math.min(mostWaitMs, seconds * 1_000) } : {};
    throw new Fault("rate_limited", `${who} is asked too often (429)`, wait);
  }
  if (status === 401 || status === 403) throw new Fault("denied", `${who} refuses the key (${status})`);
  if (status >= 500) throw new Fault("unavailable", `${who} failed (${status})`);
  throw new Fault("invalid", `${who} refuses the request (${status}); is the model right?`);
}

function unit(values: readonly number[], provider: string): Float32Array {
  const vector = Float32Array.from(values);
  let sum = 0;
  for (const value of vector) sum += value * value;
  const length = Math.sqrt(sum);
  if (vector.length === 0 || !Number.isFinite(length))
    throw new Fault("unavailable", `${provider} answered a vector that is none`);
  return length === 0 ? vector : vector.map((value) => value / length);
}
