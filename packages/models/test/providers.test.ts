import { type FakeModels, fakeModels, type ModelStep } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { knownModel } from "../src/known.ts";
import { ask, asking, weatherTool, wires } from "./collect.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

describe.each(wires)("$name", ({ wire, model }) => {
  it("streams an answer word by word and counts what it used", async () => {
    server.script({ text: "Grüße, 世界! 👩‍👩‍👧", usage: { input: 10, output: 5, cacheRead: 30 } });
    const got = await ask(model(server.url));
    expect(got.text).toBe("Grüße, 世界! 👩‍👩‍👧");
    expect(got.events.filter((event) => event.type === "text").length).toBeGreaterThan(1);
    expect(got.end).toMatchObject({ stop: "stop", content: [{ type: "text", text: got.text }] });
    expect(got.end.usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cacheReadTokens: 30,
      cacheWriteTokens: 0,
      costUsd: 0.00005,
    });
  });

  it("survives any chunking of the bytes, and CRLF", async () => {
    const step: ModelStep = {
      text: "a 👩‍👩‍👧 family",
      toolCalls: [{ id: "c1", name: "weather", args: { city: "Köln" } }],
      crlf: true,
    };
    for (const chunkBytes of [1, 2, 3, 7, 64]) {
      server.script({ ...step, chunkBytes });
      const got = await ask(model(server.url), asking("hi", { tools: [weatherTool] }));
      expect(got.text).toBe("a 👩‍👩‍👧 family");
      expect(got.calls).toEqual([{ type: "toolCall", id: "c1", name: "weather", args: { city: "Köln" } }]);
      expect(got.end.stop).toBe("toolUse");
    }
  });

  it("hands a tool's result back under the id of its call", async () => {
    const call = { type: "toolCall", id: "c1", name: "weather", args: { city: "Oslo" } } as const;
    const request = asking("weather?", {
      tools: [weatherTool],
      messages: [
        { role: "user", content: [{ type: "text", text: "weather?" }] },
        { role: "assistant", content: [call] },
        {
          role: "tool",
          callId: "c1",
          name: "weather",
          content: [{ type: "text", text: "rain" }],
          isError: false,
        },
      ],
    });
    expect((await ask(model(server.url), request)).text).toBe("tool said: rain");
    expect(JSON.stringify(server.requests()[0]?.body)).toContain("c1");
    expect(server.requests()[0]?.tools).toEqual(["weather"]);
  });

  it("keeps the tools in a request that must be answered in words", async () => {
    await ask(model(server.url), asking("hi", { tools: [weatherTool], toolChoice: "none" }));
    const [request] = server.requests();
    expect(request?.tools).toEqual(["weather"]);
    expect(JSON.stringify(request?.body["tool_choice"])).toContain("none");
  });

  it("gives arguments that are no JSON object as a bad call, and never as a call", async () => {
    for (const args of [
      "",
      '{"city": "Os',
      "[1]",
      '"text"',
      "{'city': 1}",
      '{"a":'.repeat(200) + "1" + "}".repeat(200),
    ]) {
      server.script({ toolCalls: [{ id: "c1", name: "weather", args }] });
      const got = await ask(model(server.url), asking("hi", { tools: [weatherTool] }));
      if (args === "") expect(got.calls).toMatchObject([{ args: {} }]);
      else expect(got.calls).toEqual([]);
      expect(got.events.filter((event) => event.type === "badToolCall")).toHaveLength(args === "" ? 0 : 1);
    }
  });

  it("does not run what the length limit cut", async () => {
    server.script({
      text: "so",
      toolCalls: [{ id: "c1", name: "weather", args: '{"city": "Os' }],
      stop: "length",
    });
    const got = await ask(model(server.url), asking("hi", { tools: [weatherTool] }));
    expect(got.end.stop).toBe("length");
    expect(got.calls).toEqual([]);
    expect(got.end.content.filter((part) => part.type === "toolCall")).toEqual([]);
  });

  it("tells a withheld answer as refused", async () => {
    server.script({ text: "I", stop: "refusal" });
    expect((await ask(model(server.url))).end).toMatchObject({ stop: "error", error: { kind: "refused" } });
  });

  it("sends the system prompt with its stable zone first", async () => {
    await ask(model(server.url));
    expect(server.requests()[0]?.system).toMatch(/^You are Parley\.\s+Channel: test\.$/);
  });

  it("sends pictures that can be read and names those that cannot", async () => {
    const image = (path: string) => ({ type: "image", mediaType: "image/png", path }) as const;
    const request = asking("", {
      messages: [{ role: "user", content: [image("ab/seen.png"), image("ab/gone.png")] }],
    });
    const readImage = async (path: string): Promise<Uint8Array> => {
      if (path === "ab/gone.png") throw new Error("no such file");
      return new Uint8Array([137, 80, 78, 71]);
    };
    await ask(model(server.url, { more: { readImage } }), request);
    const body = JSON.stringify(server.requests()[0]?.body);
    expect(body).toContain("iVBORw==");
    expect(body).toContain("[image: gone.png, image/png]");
    expect(body).not.toContain("ab/");
  });

  it("hands thoughts back to the provider that signed them", async () => {
    const thinking = model(server.url, {
      modelId: { chat: "fake", responses: "gpt-5", anthropic: "claude-sonnet-4-5" }[wire],
      more: { facts: { contextWindow: 100_000, maxTokens: 8000, input: ["text"], reasoning: true } },
    });
    server.script({
      thinking: "let me see",
      toolCalls: [{ id: "c1", name: "weather", args: { city: "Rome" } }],
    });
    const first = await ask(thinking, asking("hi", { tools: [weatherTool], thinking: "medium" }));
    expect(first.thinking).toBe("let me see");
    const history = [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: first.end.content },
      {
        role: "tool",
        callId: "c1",
        name: "weather",
        content: [{ type: "text", text: "sun" }],
        isError: false,
      },
    ] as const;
    await ask(thinking, asking("hi", { tools: [weatherTool], thinking: "medium", messages: history }));
    const body = JSON.stringify(server.requests()[1]?.body);
    // A server of chat completions that nobody knows may refuse the field: see rules.test.ts.
    expect(body.includes("let me see")).toBe(wire !== "chat");
    if (wire !== "chat") expect(body).toContain("sealed-");
    // Another provider's model gets the words and the calls, not the thoughts.
    const other = wires.find((each) => each.wire !== wire);
    await ask(
      other?.model(server.url) ?? thinking,
      asking("hi", { tools: [weatherTool], messages: history }),
    );
    expect(JSON.stringify(server.requests()[2]?.body)).not.toContain("let me see");
  });
});

describe("what each provider is sent", () => {
  it("marks Anthropic's tools, stable zone and history for the cache, and leaves the volatile zone unmarked", async () => {
    await ask(wires[2].model(server.url), asking("hi", { tools: [weatherTool] }));
    const body = server.requests()[0]?.body as {
      system: { text: string; cache_control?: unknown }[];
      tools: { cache_control?: unknown }[];
      messages: unknown;
    };
    expect(body.system.map((block) => [block.text, block.cache_control !== undefined])).toEqual([
      ["You are Parley.", true],
      ["Channel: test.", false],
    ]);
    expect(body.tools.at(-1)?.cache_control).toEqual({ type: "ephemeral" });
    expect(JSON.stringify(body.messages)).toContain('"cache_control":{"type":"ephemeral"}');
  });

  it("routes OpenAI's cache by the session and stores nothing there", async () => {
    await ask(wires[1].model(server.url), asking("hi"));
    expect(server.requests()[0]?.body).toMatchObject({
      prompt_cache_key: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      store: false,
    });
  });

  it("does not send the cache key to a server that may refuse what it does not know", async () => {
    await ask(wires[0].model(server.url), asking("hi"));
    expect(server.requests()[0]?.body).not.toHaveProperty("prompt_cache_key");
  });

  it.each([
    ["off", { thinking: { type: "disabled" } }, { reasoning: { effort: "minimal" } }],
    ["low", { thinking: { type: "enabled" } }, { reasoning: { effort: "low" } }],
    ["high", { thinking: { type: "enabled" } }, { reasoning: { effort: "high" } }],
  ] as const)("maps thinking %s to what the model takes", async (level, anthropic, openai) => {
    const facts = { contextWindow: 100_000, maxTokens: 8000, input: ["text"], reasoning: true } as const;
    await ask(
      wires[2].model(server.url, { modelId: "claude-sonnet-4-5", more: { facts } }),
      asking("hi", { thinking: level }),
    );
    await ask(
      wires[1].model(server.url, { modelId: "gpt-5", more: { facts } }),
      asking("hi", { thinking: level }),
    );
    expect(server.requests()[0]?.body).toMatchObject(anthropic);
    expect(server.requests()[1]?.body).toMatchObject(openai);
  });

  it("sends the most tokens of an answer where somebody set them, and Anthropic no more than that for thoughts and answer", async () => {
    const facts = { contextWindow: 100_000, maxTokens: 3000, input: ["text"], reasoning: true } as const;
    for (const { model } of wires)
      await ask(model(server.url, { more: { facts, limited: true } }), asking("hi", { thinking: "high" }));
    const [chat, responses, anthropic] = server.requests().map(({ body }) => body);
    expect(chat).toMatchObject({ max_tokens: 3000 });
    expect(responses).toMatchObject({ max_output_tokens: 3000 });
    expect(anthropic).toMatchObject({ max_tokens: 3000, thinking: { type: "enabled", budget_tokens: 1500 } });
    await ask(wires[0].model(server.url, { more: { facts } }), asking("hi"));
    expect(server.requests()[3]?.body).not.toHaveProperty("max_tokens");
  });

  it.each([
    ["o3", "off", "low"],
    ["gpt-5.1", "minimal", "low"],
    ["gpt-5.2", "off", "none"],
    ["gpt-5.2-codex", "off", "low"],
    ["gpt-5-pro", "low", "high"],
  ] as const)(
    "never asks %s for an effort that OpenAI refuses it: %s becomes %s",
    async (modelId, level, effort) => {
      await ask(
        wires[1].model(server.url, { modelId, more: { facts: knownModel(modelId) } }),
        asking("hi", { thinking: level }),
      );
      expect(server.requests()[0]?.body).toMatchObject({ reasoning: { effort } });
    },
  );

  it("never sends a thinking setting to a model that does not reason", async () => {
    for (const { model } of wires) await ask(model(server.url), asking("hi", { thinking: "high" }));
    for (const request of server.requests()) {
      expect(Object.keys(request.body)).not.toEqual(expect.arrayContaining(["thinking"]));
      expect(JSON.stringify(request.body)).not.toContain("effort");
    }
  });
});
