import { Fault, type JsonObject } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { webFetch } from "../src/tools/web-fetch.ts";
import { webSearch } from "../src/tools/web-search.ts";
import type { ToolContext, ToolResult, WebFindings, WebPage } from "../src/index.ts";
import { call, stage, type Stage } from "./stage.ts";

const page: WebPage = {
  url: "https://example.org/a",
  status: 200,
  contentType: "text/html",
  title: "A page",
  byline: null,
  text: "",
  truncated: false,
  cached: false,
};
const findings: WebFindings = { results: [], provider: "Brave Search", failed: [], cached: false };

const stages: Stage[] = [];
afterEach(async () => {
  for (const each of stages.splice(0)) await each.close();
});

async function context(shown: Partial<WebPage>, found: Partial<WebFindings> = {}): Promise<ToolContext> {
  const own = await stage({
    context: {
      web: {
        files: () => ({ unavailable: "no" }),
        pages: () => ({ maxChars: 20_000, read: async () => ({ ...page, ...shown }) }),
        search: () => ({ provider: "brave", maxResults: 5, search: async () => ({ ...findings, ...found }) }),
      },
    },
  });
  stages.push(own);
  return own.context;
}

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("web_fetch", () => {
  const fetch = async (shown: Partial<WebPage>, args: JsonObject = {}): Promise<ToolResult> =>
    call(webFetch(await context(shown)), { url: "https://example.org/a", ...args });

  test("shows a short page whole, as text of its host", async () => {
    const result = await fetch({ text: "Words." });
    expect(textOf(result)).toBe("URL: https://example.org/a\nTitle: A page\n\nWords.");
    expect(result.untrusted).toEqual({ source: "example.org" });
  });

  test("shows a long one in parts that join to the whole", async () => {
    const text = Array.from({ length: 6_000 }, (_each, index) => `é${index}`).join(" ");
    let joined = "";
    for (let parts = 0; joined.length < text.length; parts += 1) {
      expect(parts).toBeLessThan(20);
      const result = await fetch({ text }, { offset: joined.length });
      expect(Buffer.byteLength(textOf(result))).toBeLessThan(8_000);
      joined += textOf(result).split("\n\n").slice(1).join("\n\n");
      const next = /go on with offset=(\d+)\]$/.exec(result.untrusted?.note ?? "")?.[1];
      expect(next === undefined ? text.length : Number(next)).toBe(joined.length);
    }
    expect(joined).toBe(text);
  });

  test("shows as many characters as are asked for, within the operator's limit", async () => {
    const text = "x".repeat(50_000);
    expect(textOf(await fetch({ text }, { maxChars: 12_000 })).length).toBeGreaterThan(12_000);
    expect(textOf(await fetch({ text }, { maxChars: 40_000 })).length).toBeLessThan(20_200);
    await expect(fetch({ text }, { offset: 50_000 })).rejects.toThrow("50000 characters");
  });

  test("shows what the server of a page that is not there says, as an error with its status", async () => {
    const result = await fetch({ status: 404, title: null, text: "It moved to /b." });
    expect([textOf(result), result.isError]).toEqual([
      "URL: https://example.org/a\nStatus: 404\n\nIt moved to /b.",
      true,
    ]);
    expect(result.untrusted).toEqual({ source: "example.org" });
  });

  test("takes an address as people write it, and says how to write what is none", async () => {
    const asked: string[] = [];
    const own = await context({});
    const pages = () => ({
      maxChars: 1_000,
      read: async (url: string) => {
        asked.push(url);
        return URL.canParse(url) ? page : Promise.reject(new Fault("denied", "this text is no address"));
      },
    });
    const tool = webFetch({
      ...own,
      web: { pages, search: () => ({ unavailable: "no" }), files: () => ({ unavailable: "no" }) },
    });
    const urls = [
      "example.org",
      "example.org:8443/a?b",
      "EXAMPLE.org/x",
      "http://a.test/",
      "localhost:1/",
      "file:///x",
    ];
    for (const url of urls) await call(tool, { url });
    expect(asked).toEqual([
      "https://example.org",
      "https://example.org:8443/a?b",
      "https://EXAMPLE.org/x",
      ...urls.slice(3),
    ]);
    expect(textOf(await call(tool, { url: "the page" }))).toBe(
      "Not fetched: this text is no address. Write it whole, as https://example.org/page.",
    );
  });

  test("is not there where the config or the machine has no web", async () => {
    const { web: _web, ...without } = await context({});
    expect(webFetch(without)).toEqual({ unavailable: "there is no way to the open web here" });
    expect(webSearch(without)).toEqual({ unavailable: "there is no way to the open web here" });
  });

  test("says what was refused, in words", async () => {
    const own = await context({});
    const pages = () => ({
      maxChars: 1,
      read: async () => Promise.reject(new Fault("denied", "127.0.0.1 lies in a private network")),
    });
    const result = await call(
      webFetch({
        ...own,
        web: { pages, search: () => ({ unavailable: "no" }), files: () => ({ unavailable: "no" }) },
      }),
      {
        url: "http://127.0.0.1/",
      },
    );
    expect([textOf(result), result.isError]).toEqual([
      "Not fetched: 127.0.0.1 lies in a private network.",
      true,
    ]);
  });
});

describe("web_search", () => {
  const search = async (found: Partial<WebFindings>): Promise<ToolResult> =>
    call(webSearch(await context({}, found)), { query: "q" });

  test("lists results in one form, and says who stood in", async () => {
    const result = await search({
      results: [
        { title: "A <b>page</b>", url: "https://a.test/", snippet: "some\n words", age: "2 days ago" },
        { title: "", url: "https://b.test/", snippet: "" },
      ],
      provider: "Tavily",
      failed: [{ provider: "Brave Search", reason: "answers 503" }],
    });
    expect(textOf(result)).toBe(
      "1. A page (2 days ago)\n   https://a.test/\n   some words\n2. https://b.test/\n   https://b.test/",
    );
    expect(result.untrusted).toEqual({
      source: "a web search by Tavily",
      note: "[Tavily stood in: Brave Search answers 503]",
    });
  });

  test("gives an answer with its sources, and says when there is nothing", async () => {
    const results = [{ title: "A", url: "https://a.test/", snippet: "" }];
    expect(textOf(await search({ answer: "Yes.", results }))).toBe(
      "Yes.\nSources:\n1. A\n   https://a.test/",
    );
    expect(textOf(await search({}))).toBe("No results.");
  });
});
