import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { virtualClock } from "@parley/testkit";
import { webSearch, type NamedProvider, type WebSearchOptions } from "../src/search/web-search.ts";
import { site } from "./site.ts";

interface Answered {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body: string | object;
}

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

const query = { query: "quiet engines", count: 5 };
const signal = new AbortController().signal;

/** A vendor that answers by its first words of the path: `/brave/...`. */
async function vendors(answers: { readonly [name: string]: Answered | (() => Answered) }) {
  const asked: Asked[] = [];
  const server = await site((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "";
      asked.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const known = answers[path.split("/")[1] ?? ""] ?? { status: 404, body: "" };
      const { status = 200, headers = {}, body } = typeof known === "function" ? known() : known;
      response.writeHead(status, headers);
      response.end(typeof body === "string" ? body : JSON.stringify(body));
    });
  });
  const clock = virtualClock();
  const searching = (
    names: readonly NamedProvider["name"][],
    options: Partial<WebSearchOptions> = {},
  ): ReturnType<typeof webSearch> => {
    const [first = "brave", ...others] = names;
    const of = (name: NamedProvider["name"]): NamedProvider => ({
      name,
      apiKey: `key-${name}`,
      baseUrl: `${server.at("127.0.0.1")}/${name}/`,
    });
    return webSearch({
      providers: [of(first), ...others.map(of)],
      timeoutMs: 30_000,
      cacheMs: 900_000,
      clock,
      ...options,
    });
  };
  return { asked, searching, clock };
}

const one = { url: "https://example.org/a", title: "A", snippet: "words" };
const ddgPage = `<div class="result results_links result--ad"><a class="result__a" href="https://ads.example/">Ad</a></div>
<div class="result results_links web-result"><h2 class="result__title"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fa&amp;rut=1">A</a></h2>
<a class="result__snippet" href="//duckduckgo.com/l/?uddg=x">wor<b>ds</b></a></div>`;

const shapes: readonly (readonly [NamedProvider["name"], Answered["body"], path: RegExp, sent: RegExp])[] = [
  [
    "brave",
    { web: { results: [{ url: one.url, title: "A", description: "words" }] } },
    /^\/brave\/res\/v1\/web\/search\?q=quiet\+engines&count=5&text_decorations=false$/,
    /"x-subscription-token":"key-brave"/,
  ],
  [
    "tavily",
    { results: [{ url: one.url, title: "A", content: "words" }] },
    /\/search$/,
    /Bearer key-tavily.*max_results/,
  ],
  [
    "exa",
    { results: [{ url: one.url, title: "A", highlights: ["words"] }] },
    /\/search$/,
    /"x-api-key":"key-exa".*contents/,
  ],
  [
    "perplexity",
    { results: [{ url: one.url, title: "A", snippet: "words" }] },
    /\/search$/,
    /Bearer key-perplexity.*max_results/,
  ],
  [
    "searxng",
    { results: [{ url: one.url, title: "A", content: "words" }] },
    /\/search\?q=quiet\+engines&format=json$/,
    /./,
  ],
  ["duckduckgo", ddgPage, /\/html\/$/, /q=quiet\+engines/],
];

describe("one shape of results", () => {
  it.each(shapes)("comes from %s", async (name, body, path, sent) => {
    const { asked, searching } = await vendors({ [name]: { body } });
    const found = await searching([name]).search(query, signal);
    expect(found.results).toEqual([one]);
    expect(found.failed).toEqual([]);
    expect(asked[0]?.path).toMatch(path);
    expect(JSON.stringify(asked[0])).toMatch(sent);
  });

  it("comes with an answer from models that search", async () => {
    const { asked, searching } = await vendors({
      openai: {
        body: {
          usage: { input_tokens: 900, output_tokens: 40 },
          output: [
            { type: "web_search_call" },
            {
              type: "message",
              content: [
                {
                  type: "output_text",
                  text: "Engines.",
                  annotations: [{ type: "url_citation", url: one.url, title: "A" }],
                },
              ],
            },
          ],
        },
      },
      anthropic: {
        body: {
          usage: { input_tokens: 900, output_tokens: 40 },
          content: [
            { type: "server_tool_use" },
            {
              type: "web_search_tool_result",
              content: [{ type: "web_search_result", url: one.url, title: "A", encrypted_content: "x" }],
            },
            { type: "text", text: "Engines." },
          ],
        },
      },
      gemini: {
        body: {
          usageMetadata: { promptTokenCount: 900, candidatesTokenCount: 30, thoughtsTokenCount: 10 },
          candidates: [
            {
              content: { parts: [{ text: "Engines." }] },
              groundingMetadata: { groundingChunks: [{ web: { uri: one.url, title: "A" } }] },
            },
          ],
        },
      },
    });
    for (const name of ["openai", "anthropic", "gemini"] as const) {
      const searcher = searching([name]);
      const { answer, results, used } = await searcher.search(query, signal);
      expect(used).toEqual({ model: expect.any(String), inputTokens: 900, outputTokens: 40 });
      // Nobody pays for an answer that is kept.
      expect(await searcher.search(query, signal)).not.toHaveProperty("used");
      expect([name, answer, results]).toEqual([
        name,
        "Engines.",
        [{ url: one.url, title: "A", snippet: "" }],
      ]);
    }
    expect(asked.map(({ path }) => path)).toEqual([
      "/openai/responses",
      "/anthropic/messages",
      "/gemini/models/gemini-2.5-flash:generateContent",
    ]);
  });

  it("leaves out what has no address, repeats, and more than was asked for", async () => {
    const urls = [
      "javascript:alert(1)",
      "https://a.test/",
      "https://a.test/",
      "https://b.test/",
      "https://c.test/",
      5,
    ];
    const { searching } = await vendors({
      tavily: { body: { results: urls.map((url) => ({ url, title: 7 })) } },
    });
    const { results } = await searching(["tavily"]).search({ ...query, count: 2 }, signal);
    expect(results.map(({ url, title }) => [url, title])).toEqual([
      ["https://a.test/", ""],
      ["https://b.test/", ""],
    ]);
  });
});

describe("a provider that fails", () => {
  it.each<[string, Answered, RegExp]>([
    ["is down", { status: 503, body: "" }, /answers 503/],
    ["limits us", { status: 429, headers: { "retry-after": "7" }, body: "" }, /429/],
    ["refuses the key", { status: 401, body: "" }, /answers 401: its key or its plan/],
    ["wants to be paid", { status: 402, body: "" }, /answers 402: its key or its plan/],
    ["forbids it", { status: 403, body: "" }, /answers 403: its key or its plan/],
    ["answers nonsense", { body: "<html>" }, /no JSON/],
    ["redirects", { status: 302, headers: { location: "http://169.254.169.254/" }, body: "" }, /redirect/],
    ["answers without end", { body: "x".repeat(3_000_000) }, /more than 2 MB/],
  ])("because it %s, is stood in for by the next, and flagged", async (_why, answer, reason) => {
    const { searching, asked } = await vendors({
      brave: answer,
      tavily: { body: { results: [{ url: one.url, title: "A", content: "words" }] } },
    });
    const searcher = searching(["brave", "tavily"]);
    const found = await searcher.search(query, signal);
    expect([found.provider, found.results]).toEqual(["Tavily", [one]]);
    expect(found.failed).toEqual([{ provider: "Brave Search", reason: expect.stringMatching(reason) }]);
    // It rests: the next question goes to the other at once.
    await searcher.search({ ...query, query: "another" }, signal);
    expect(asked.filter(({ path }) => path.startsWith("/brave")).length).toBe(1);
  });

  it("is asked again when its time is over", async () => {
    let calls = 0;
    const { searching, clock } = await vendors({
      brave: () =>
        (calls += 1) === 1
          ? { status: 429, headers: { "retry-after": "7" }, body: "" }
          : { body: { web: {} } },
    });
    const searcher = searching(["brave"]);
    await expect(searcher.search(query, signal)).rejects.toMatchObject({ code: "rate_limited" });
    await expect(searcher.search(query, signal)).rejects.toThrow(/429/);
    expect(calls).toBe(1);
    await clock.advance(7_000);
    expect((await searcher.search(query, signal)).results).toEqual([]);
  });

  it("shows a challenge of DuckDuckGo as an error and never as results", async () => {
    for (const answer of [
      { status: 202, body: ddgPage },
      { body: '<script src="/anomaly.js"></script>' },
      { body: "<html><body>Welcome</body></html>" },
    ]) {
      const { searching } = await vendors({ duckduckgo: answer });
      await expect(searching(["duckduckgo"]).search(query, signal)).rejects.toThrow(/DuckDuckGo/);
    }
  });

  it("says how SearXNG is opened for it", async () => {
    const { searching } = await vendors({ searxng: { status: 403, body: "Forbidden" } });
    await expect(searching(["searxng"]).search(query, signal)).rejects.toThrow(/search\.formats/);
  });
});

it("asks once for the same words, as long as they are kept", async () => {
  const { searching, asked, clock } = await vendors({ tavily: { body: { results: [] } } });
  const searcher = searching(["tavily"]);
  const cached = async (): Promise<boolean> => (await searcher.search(query, signal)).cached;
  expect([await cached(), await cached()]).toEqual([false, true]);
  await clock.advance(900_001);
  expect(await cached()).toBe(false);
  expect(asked.length).toBe(2);
});

it.each([
  ["without a word", {}, 60_000],
  ["for half a minute", { "retry-after": "30" }, 30_000],
  ["for two hours", { "retry-after": "7200" }, 3_600_000],
] as const)(
  "one that limits us %s is asked again when its time is over, an hour at most",
  async (_, headers, restMs) => {
    const v = await vendors({
      brave: { status: 429, headers, body: "" },
      searxng: { body: { results: [] } },
    });
    const search = v.searching(["brave", "searxng"], { cacheMs: 0 });
    const askedOf = async (): Promise<readonly string[]> => {
      const before = v.asked.length;
      await search.search(query, signal);
      return v.asked.slice(before).map(({ path }) => path.split("/")[1] ?? "");
    };
    expect(await askedOf()).toEqual(["brave", "searxng"]);
    await v.clock.advance(restMs - 1);
    expect(await askedOf()).toEqual(["searxng"]);
    await v.clock.advance(1);
    expect(await askedOf()).toEqual(["brave", "searxng"]);
  },
);

const found = { results: [{ url: one.url, title: "A", content: "words" }] };

it("says of all that failed why, in the order in which they were asked, with the last one's reason", async () => {
  const { searching, asked } = await vendors({
    brave: { status: 503, body: "" },
    tavily: { status: 400, body: "" },
    exa: { status: 429, body: "" },
  });
  const searcher = searching(["brave", "tavily", "exa"]);
  const search = () => searcher.search(query, signal);
  const told =
    "The search failed: Brave Search answers 503; Tavily answers 400; Exa answers 429: too many searches.";
  await expect(search()).rejects.toMatchObject({ code: "rate_limited", message: told });
  expect(asked.map(({ path }) => path.split("/")[1])).toEqual(["brave", "tavily", "exa"]);
  // What one question was wrong for says nothing of the next; who is down or limits us is not asked again
  // yet.
  asked.length = 0;
  await expect(search()).rejects.toMatchObject({ code: "rate_limited", message: told });
  expect(asked.map(({ path }) => path.split("/")[1])).toEqual(["tavily"]);
});

it("asks those that are down once more when all of them rest, and none that asked for time", async () => {
  let isUp = false;
  const { searching, asked, clock } = await vendors({
    brave: { status: 429, headers: { "retry-after": "600" }, body: "" },
    tavily: () => (isUp ? { body: found } : { status: 500, body: "" }),
  });
  const searcher = searching(["brave", "tavily"], { cacheMs: 0 });
  const paths = (): readonly string[] => asked.splice(0).map(({ path }) => path.split("/")[1] ?? "");
  await expect(searcher.search(query, signal)).rejects.toMatchObject({ code: "unavailable" });
  expect(paths()).toEqual(["brave", "tavily"]);
  isUp = true;
  expect(await searcher.search(query, signal)).toEqual({
    results: [one],
    provider: "Tavily",
    failed: [{ provider: "Brave Search", reason: "answers 429: too many searches" }],
    cached: false,
  });
  expect(paths()).toEqual(["tavily"]);
  // One that answered rests no more, and goes on standing in.
  isUp = false;
  await expect(searcher.search(query, signal)).rejects.toMatchObject({ code: "unavailable" });
  expect(paths()).toEqual(["tavily"]);
  await clock.advance(600_000);
  isUp = true;
  await searcher.search(query, signal);
  expect(paths()).toEqual(["brave", "tavily"]);
});

it("waits so long for each and no longer, stops for its caller, and leaves no timer", async () => {
  const server = await site(() => {});
  const clock = virtualClock();
  const of = (name: NamedProvider["name"]): NamedProvider => ({
    name,
    apiKey: "k",
    baseUrl: server.at("127.0.0.1"),
  });
  const searcher = webSearch({ providers: [of("brave"), of("exa")], timeoutMs: 2_500, cacheMs: 0, clock });
  const seen = async (count: number): Promise<void> => {
    while (server.seen.length < count) await new Promise((next) => setImmediate(next));
  };
  const late = searcher
    .search(query, signal)
    .catch(({ code, message }: { code: string; message: string }) => [code, message]);
  for (const count of [1, 2]) {
    await seen(count);
    await clock.advance(2_500);
  }
  expect(await late).toEqual([
    "unavailable",
    "The search failed: Brave Search did not answer in 2.5 s; Exa did not answer in 2.5 s.",
  ]);
  expect(clock.armed()).toBe(0);
  const stop = new AbortController();
  const stopped = searcher
    .search(query, stop.signal)
    .catch(({ code, message }: { code: string; message: string }) => [code, message]);
  await seen(3);
  stop.abort();
  expect(await stopped).toEqual(["aborted", "the search was stopped"]);
  expect([clock.armed(), server.seen.length]).toEqual([0, 3]);
});

it("asks an operator's own address as it stands, with its name, and says when nobody is there", async () => {
  const { asked, searching } = await vendors({ tavily: { body: { results: [] } } });
  const searcher = searching(["tavily"]);
  expect(await searcher.search(query, signal)).toEqual({
    results: [],
    provider: "Tavily",
    failed: [],
    cached: false,
  });
  // Slashes at the end of an address are not doubled.
  expect([asked[0]?.path, asked[0]?.headers["user-agent"]]).toEqual(["/tavily/search", "Parley"]);
  expect(await searcher.search({ ...query, count: 6 }, signal)).toMatchObject({ cached: false });
  expect(await searcher.search({ ...query }, signal)).toMatchObject({ cached: true });
  const nowhere = webSearch({
    providers: [{ name: "searxng", baseUrl: "http://127.0.0.1:1" }],
    timeoutMs: 1_000,
    cacheMs: 0,
    clock: virtualClock(),
  });
  await expect(nowhere.search(query, signal)).rejects.toMatchObject({
    code: "unavailable",
    message: "The search failed: SearXNG cannot be reached.",
  });
});
