// The providers against a server that we did not write (aimock), so that they do not lean on the habits of
// our own fakes.
import { LLMock } from "@copilotkit/aimock";
import { type Clock, silentLog, systemClock } from "@parley/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Model, type ModelApi, modelsFrom } from "../src/index.ts";
import { ask, asking, weatherTool } from "./collect.ts";

const mock = new LLMock({ port: 0 });
beforeAll(async () => {
  await mock.start();
});
afterAll(() => mock.stop());
beforeEach(() => {
  mock.clearFixtures();
  mock.clearRequests();
});

const clock: Clock = systemClock();
const model = (api: ModelApi, path: string): Promise<Model> =>
  modelsFrom({
    providers: {
      there: {
        api,
        baseUrl: mock.url + path,
        apiKey: "test",
        models: [{ id: "some-model", maxTokens: 1000 }],
      },
    },
    clock,
    log: silentLog,
  }).get("there/some-model");

describe.each([
  ["openai-completions", "/v1"],
  ["openai-responses", "/v1"],
  ["anthropic-messages", "/v1"],
  ["anthropic-messages", ""],
  ["google-generative-ai", "/v1beta"],
  ["google-generative-ai", ""],
  ["ollama", ""],
  ["ollama", "/v1"],
] as const)("%s at %j", (api, path) => {
  it("streams a text", async () => {
    mock.onMessage("hello", {
      content: "Hello there, 世界. How are you?",
      usage: { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 },
    });
    const got = await ask(await model(api, path));
    expect(got.text).toBe("Hello there, 世界. How are you?");
    expect(got.end.stop).toBe("stop");
    // It gives no counts in Ollama's own form: they are estimated.
    if (api === "ollama" && path === "")
      expect(got.end.usage).toMatchObject({ outputTokens: 9, estimated: true });
    else expect([got.end.usage.inputTokens, got.end.usage.outputTokens]).toEqual([11, 7]);
  });

  it("calls tools and goes on with their results", async () => {
    mock.on(
      { userMessage: "weather", hasToolResult: false },
      { toolCalls: [{ name: "weather", arguments: '{"city":"Oslo"}' }] },
    );
    mock.on({ userMessage: "weather", hasToolResult: true }, { content: "It rains." });
    const asked = await model(api, path);
    const first = await ask(asked, asking("weather?", { tools: [weatherTool] }));
    expect(first.calls).toMatchObject([{ name: "weather", args: { city: "Oslo" } }]);
    expect(first.end.stop).toBe("toolUse");
    const messages = [
      { role: "user", content: [{ type: "text", text: "weather?" }] },
      { role: "assistant", content: first.end.content },
      {
        role: "tool",
        callId: first.calls[0]?.id ?? "",
        name: "weather",
        content: [{ type: "text", text: "rain" }],
        isError: false,
      },
    ] as const;
    expect((await ask(asked, asking("", { tools: [weatherTool], messages }))).text).toBe("It rains.");
  });

  it("tells a rate limit and its wait", async () => {
    mock.onMessage("hello", {
      error: { message: "Rate limit reached", type: "rate_limit_error" },
      status: 429,
      retryAfter: 3,
    });
    expect((await ask(await model(api, path))).end.error).toMatchObject({
      kind: "rate_limited",
      status: 429,
      retryAfterMs: 3000,
    });
  });

  it("tells a stream that breaks off as torn", async () => {
    mock.onMessage(
      "hello",
      { content: "one two three four five six seven eight nine ten" },
      { chunkSize: 5, truncateAfterChunks: 5, latency: 5 },
    );
    const { end } = await ask(await model(api, path));
    expect(end.error?.kind).toBe("torn");
  });
});
