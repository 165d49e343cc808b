import { isFault, silentLog } from "@parley/protocol";
import { type FakeModels, fakeModels, virtualClock } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DeclaredProvider, modelsFrom, priced } from "../src/index.ts";
import { ask } from "./collect.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
afterAll(() => server.close());

const models = (providers: { readonly [name: string]: DeclaredProvider }) =>
  modelsFrom({ providers, clock: virtualClock(), log: silentLog });

describe("the registry", () => {
  it("knows well-known models without a declaration", async () => {
    const claude = await models({ anthropic: { apiKey: "k" } }).get("anthropic/claude-sonnet-4-5-20250929");
    expect(claude).toMatchObject({
      id: "anthropic/claude-sonnet-4-5-20250929",
      contextWindow: 200_000,
      maxTokens: 64_000,
      vision: true,
      reasoning: true,
    });
    const proxied = await models({ openrouter: { apiKey: "k" } }).get(
      "openrouter/anthropic/claude-sonnet-4-5",
    );
    expect(proxied.contextWindow).toBe(200_000);
  });

  it("lets a declaration win over the table, and asks the declared address", async () => {
    const registry = models({
      mine: {
        api: "openai-completions",
        baseUrl: `${server.url}/v1/`,
        models: [{ id: "org/big:7b", contextWindow: 5000, cost: { input: 2, output: 4 } }],
      },
    });
    const model = await registry.get("mine/org/big:7b");
    expect(model).toMatchObject({ contextWindow: 5000, vision: false });
    const { text, end } = await ask(model);
    expect(text).toBe("echo: hello");
    expect(end.usage.costUsd).toBeGreaterThan(0);
    expect(server.requests()[0]?.model).toBe("org/big:7b");
    expect(await registry.get("mine/org/big:7b")).toBe(model);
  });

  it("has the rehearsal always, and lists what is declared", async () => {
    const registry = models({
      openai: { apiKey: "k", models: [{ id: "gpt-5" }] },
      anthropic: { models: [{ id: "claude-opus-4-5" }] },
    });
    expect((await registry.get("rehearsal")).id).toBe("rehearsal/rehearsal");
    const own = models({
      mine: { api: "rehearsal", baseUrl: "http://127.0.0.1:9", models: [{ id: "stand-in" }] },
    });
    expect((await own.get("mine/stand-in")).id).toBe("mine/stand-in");
    expect(registry.list().map(({ id, ready }) => [id, ready])).toEqual([
      ["openai/gpt-5", true],
      ["anthropic/claude-opus-4-5", false],
      ["rehearsal/rehearsal", true],
    ]);
  });

  it.each([
    ["gpt-5", /must be written <provider>\/<model>/],
    ["openai/", /must be written <provider>\/<model>/],
    ["nowhere/x", /declare models\.providers\.nowhere with an api and a baseUrl/],
    ["openai/gpt-5", /set models\.providers\.openai\.apiKey/],
    ["constructor/x", /there is no provider "constructor"/],
  ])("says what is missing for %s", async (id, message) => {
    const error: unknown = await models({})
      .get(id)
      .catch((reason: unknown) => reason);
    expect(isFault(error, "invalid")).toBe(true);
    expect(String(error)).toMatch(message);
  });

  it("reaches Ollama without a key", async () => {
    const model = await models({ ollama: { baseUrl: `${server.url}/v1` } }).get("ollama/llama3");
    expect((await ask(model)).text).toBe("echo: hello (2)");
  });
});

describe("a price", () => {
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cacheReadTokens: 2_000_000,
    cacheWriteTokens: 10_000,
  };
  it("is per million tokens, each kind at its own", () => {
    expect(priced(usage, { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }).costUsd).toBeCloseTo(
      3 + 1.5 + 0.6 + 0.0375,
      10,
    );
    expect(priced(usage, { input: 1, output: 0 }).costUsd).toBeCloseTo(3.01, 10);
  });
  it("that nobody knows is no cost, not a cost of nothing", () => {
    expect(priced(usage, undefined)).toEqual(usage);
  });
});
