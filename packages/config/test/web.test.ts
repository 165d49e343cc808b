import { describe, expect, test } from "vitest";
import type { Env } from "../src/index.ts";
import { loadText, problemsOf } from "./load-text.ts";

async function chosen(search: string, env: Env = {}, more = ""): Promise<readonly unknown[]> {
  const { config } = await loadText(`{ tools: { web: { search: ${search} } }, ${more} }`, env);
  return config.tools.web.search.providers.map(({ name, apiKey, baseUrl }) =>
    [name, apiKey?.reveal(), baseUrl].filter((each) => each !== undefined).join(" "),
  );
}

describe("who is asked to search", () => {
  test("is who has a key or an address, and DuckDuckGo where nobody has", async () => {
    expect(await chosen("{}")).toEqual(["duckduckgo"]);
    expect(await chosen('{ tavily: { apiKey: "t" }, searxng: { baseUrl: "http://s.lan:8080" } }')).toEqual([
      "tavily t",
      "searxng http://s.lan:8080",
    ]);
    expect(await chosen("{}", { EXA_API_KEY: "e", BRAVE_API_KEY: "b" })).toEqual(["brave b", "exa e"]);
    expect(await chosen('{ apiKey: "b" }')).toEqual(["brave b"]);
  });

  test("is first whom the config names, with the key that it gives", async () => {
    expect(await chosen('{ provider: "exa", apiKey: "e" }', { BRAVE_API_KEY: "b" })).toEqual([
      "exa e",
      "brave b",
    ]);
    expect(await chosen('{ provider: "duckduckgo" }')).toEqual(["duckduckgo"]);
    expect(await chosen('{ provider: "brave" }', { TAVILY_API_KEY: "t" })).toEqual([]);
  });

  test("borrows a key of models only where it is named, and never for another address", async () => {
    const env = { OPENAI_API_KEY: "o" };
    expect(await chosen("{}", env)).toEqual(["duckduckgo"]);
    expect(await chosen('{ provider: "openai" }', env)).toEqual(["openai o"]);
    expect(await chosen('{ provider: "openai", openai: { baseUrl: "http://x.lan/v1" } }', env)).toEqual([]);
    expect(
      await chosen('{ provider: "brave", brave: { baseUrl: "http://x.lan" } }', { BRAVE_API_KEY: "b" }),
    ).toEqual([]);
  });
});

test("what cannot be meant is refused with the way to write it", async () => {
  for (const [written, says] of [
    ['{ search: { provider: "searxng" } }', /SearXNG/],
    ['{ egress: { allow: ["10.0.0.0/99"] } }', /no host and no network/],
    ['{ egress: { allow: ["http://wiki.corp/"] } }', /no host and no network/],
    ['{ egress: { allow: ["*.corp.example"] } }', /only exact hosts/],
    ['{ fetch: { userAgent: "x" } }', /userAgent/],
  ] as const)
    expect(JSON.stringify(await problemsOf(`{ tools: { web: ${written} } }`)), written).toMatch(says);
});

test("hosts and networks are written as people know them", async () => {
  const allow = [
    "wiki.corp.example",
    "wiki.corp.example:8443",
    "10.0.0.7:8080",
    "10.1.0.0/16",
    "fd00:12::/48",
    "[fd00::7]:80",
    "fd00::7",
    "localhost",
    "127.0.0.1:39123",
  ];
  const deny = ["*.example.org", "example.org", "203.0.113.0/24", "münchen.example"];
  const { config } = await loadText(JSON.stringify({ tools: { web: { egress: { allow, deny } } } }));
  expect(config.tools.web.egress).toEqual({ allow, deny });
});
