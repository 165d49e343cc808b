// What each search provider is asked and what is taken of its answer, as whole tables: no field of a query is
// forgotten, and nothing that an answer lacks or gets wrong becomes a result.
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { searchProviders, type SearchProviderName } from "../src/search/providers.ts";
import type { SearchQuery } from "../src/search/search-types.ts";

const names = Object.keys(searchProviders) as readonly SearchProviderName[];
const queries: readonly SearchQuery[] = [
  { query: "tea & cake", count: 5 },
  { query: "tea", count: 20, freshness: "day" },
  { query: "tea", count: 21, freshness: "week", country: "de" },
  { query: "tea", count: 25, freshness: "month", language: "EN" },
  { query: "tea", count: 26, freshness: "year", country: "at", language: "de" },
];

test("what each provider is asked, for every field of a query", async () => {
  const rows = names.flatMap((name) => queries.map((query) => ({ name, query })));
  const table = answerTable(rows, ({ name, query }) => {
    const { read: _read, ...call } = searchProviders[name].call(query, {
      apiKey: "key",
      baseUrl: "https://b.test",
    });
    return call;
  });
  await expect(table).toMatchFileSnapshot("tables/search-calls.txt");
});

test("providers have their names, their own addresses and their own models", () => {
  const own = names.map((name) => {
    const { title, baseUrl, call } = searchProviders[name];
    const { url, body } = call({ query: "q", count: 1 }, { baseUrl, model: "chosen" });
    return [name, title, baseUrl, /chosen/.test(`${url} ${body ?? ""}`)];
  });
  expect(own).toEqual([
    ["brave", "Brave Search", "https://api.search.brave.com", false],
    ["tavily", "Tavily", "https://api.tavily.com", false],
    ["exa", "Exa", "https://api.exa.ai", false],
    ["perplexity", "Perplexity", "https://api.perplexity.ai", false],
    ["searxng", "SearXNG", "", false],
    ["gemini", "Gemini with Google Search", "https://generativelanguage.googleapis.com/v1beta", true],
    ["openai", "OpenAI web search", "https://api.openai.com/v1", true],
    ["anthropic", "Anthropic web search", "https://api.anthropic.com/v1", true],
    ["duckduckgo", "DuckDuckGo", "https://html.duckduckgo.com", false],
  ]);
});

test("Brave is asked at most 50 words and 400 signs", () => {
  const asked = (query: string): string =>
    new URL(
      searchProviders.brave.call({ query, count: 1 }, { baseUrl: "https://b.test" }).url,
    ).searchParams.get("q") ?? "";
  expect(asked("a ".repeat(60))).toBe("a ".repeat(50).trim());
  expect(asked("x".repeat(401))).toBe("x".repeat(400));
  expect(asked("one\n two")).toBe("one two");
});

const a = { url: "https://a.test/", title: "A" };
const result = (html: string): string =>
  `<div class="result"><a class="result__a" href="https://a.test/">A</a>${html}</div>`;
const answers: readonly (readonly [SearchProviderName, number, unknown])[] = [
  [
    "brave",
    200,
    {
      web: {
        results: [
          { ...a, description: "d", age: "2 days ago", page_age: "2026" },
          { url: "http://b.test/x", page_age: "2025" },
          { url: "ftp://c.test/" },
          null,
          "x",
        ],
      },
    },
  ],
  ["brave", 200, { results: [a] }],
  ["brave", 200, []],
  [
    "tavily",
    200,
    {
      results: [
        { ...a, content: "c", published_date: "2026" },
        { ...a, title: "again" },
        { url: "not an address" },
      ],
    },
  ],
  [
    "exa",
    200,
    {
      results: [
        { ...a, highlights: ["h1", "h2"], text: "t", publishedDate: "2026" },
        { url: "https://b.test", highlights: [], text: "t" },
        { url: "https://c.test", text: 5 },
      ],
    },
  ],
  ["perplexity", 200, { results: [{ ...a, snippet: "s", date: "2026" }] }],
  [
    "searxng",
    200,
    {
      results: [
        { ...a, content: "c", publishedDate: "2026" },
        { ...a, url: "https://b.test", publishedDate: null },
      ],
    },
  ],
  ["searxng", 403, "Forbidden"],
  ["searxng", 200, "<html>"],
  ["duckduckgo", 200, result('<a class="result__snippet">one <b>two</b>\n three</a>after')],
  [
    "duckduckgo",
    200,
    result("") +
      result("") +
      '<div class="result result--ad"><a class="result__a" href="https://ad.test/">Ad</a></div><div class="result"><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fb.test%2F%3Fq%3D1&rut=1">B</a></div>',
  ],
  [
    "duckduckgo",
    200,
    result('<a class="result__a" href="https://other.test/">again</a>') +
      ["links.duckduckgo.com", "notduckduckgo.com", "duckduckgo.com.b.test"]
        .map(
          (host) =>
            `<div class="result"><a class="result__a" href="//${host}/l/?uddg=https%3A%2F%2Fto.test%2F${host}">T</a></div>`,
        )
        .join(""),
  ],
  [
    "duckduckgo",
    200,
    '<a class="result__a" href="https://alone.test/">Alone</a><a class="result__snippet">s</a>',
  ],
  [
    "duckduckgo",
    200,
    '<div class="result"><a class="result__a" href="//duckduckgo.com/y.js?ad=1">own</a></div><div class="no-results">None</div>',
  ],
  ["duckduckgo", 200, '<div class="result--no-result">Nothing</div>'],
  ["duckduckgo", 200, "<p>No  results.</p>"],
  ["duckduckgo", 200, "<p>Welcome</p>"],
  ["duckduckgo", 202, result("")],
  ["duckduckgo", 200, '<form id="challenge-form">'],
  ["duckduckgo", 200, '<div class="anomaly-modal__title">'],
  [
    "openai",
    200,
    {
      output: [
        { type: "reasoning", content: [{ text: "no" }] },
        {
          type: "message",
          content: [{ text: "one", annotations: [{ ...a }, { ...a }, { url: "x" }] }, { text: "two" }],
        },
      ],
      usage: { input_tokens: 3, output_tokens: "x" },
    },
  ],
  ["openai", 200, { output: [], usage: { input_tokens: 0, output_tokens: 0 } }],
  [
    "anthropic",
    200,
    {
      content: [
        { type: "text", text: "one, " },
        { type: "web_search_tool_result", content: [{ ...a, page_age: "3 days" }] },
        { type: "web_search_tool_result", content: { error_code: "max_uses_exceeded" } },
        { type: "text", text: "two" },
      ],
      usage: { input_tokens: -5, output_tokens: 7 },
    },
  ],
  [
    "anthropic",
    200,
    { content: [{ type: "web_search_tool_result", content: { error_code: "too_many_requests" } }] },
  ],
  [
    "anthropic",
    200,
    { content: [{ type: "web_search_tool_result", content: { error_code: "unavailable" } }] },
  ],
  [
    "gemini",
    200,
    {
      candidates: [
        {
          content: { parts: [{ text: "one, " }, { thought: true }, { text: "two" }] },
          groundingMetadata: {
            groundingChunks: [
              { web: { uri: a.url, title: "A" } },
              { web: { uri: "https://b.test/", domain: "b.test" } },
              {},
            ],
          },
        },
        { content: { parts: [{ text: "second" }] } },
      ],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, thoughtsTokenCount: 1.5 },
    },
  ],
  ["gemini", 200, {}],
];

test("what is taken of each provider's answer", async () => {
  const table = await laterAnswerTable(answers, async ([name, status, answer]) =>
    searchProviders[name]
      .call({ query: "q", count: 5 }, { baseUrl: "https://b.test" })
      .read({ status, text: typeof answer === "string" ? answer : JSON.stringify(answer) }),
  );
  await expect(table).toMatchFileSnapshot("tables/search-answers.txt");
});
