// What an operator is told of models: those of the config with who uses them, and what one small real call
// came to.
import { loadConfig } from "@parley/config";
import { modelsFrom, thinkingLevelsOf } from "@parley/models";
import { Fault, noUsage, silentLog, systemClock } from "@parley/protocol";
import { fakeModels, virtualClock, type FakeModels } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { testModel } from "../../src/operator/agent/test-model.ts";
import { modelMethods } from "../../src/operator/agent/models.ts";
import { wireModels } from "../../src/wiring/models.ts";

let server: FakeModels;
beforeAll(async () => {
  server = await fakeModels();
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const clock = systemClock();
async function methods() {
  const file = {
    models: {
      providers: {
        lab: {
          api: "openai-completions",
          baseUrl: `${server.url}/v1`,
          apiKey: "sk-very-secret",
          headers: { "x-team": "blue" },
          models: [
            { id: "fast", contextWindow: 9_000, cost: { input: 1, output: 2 } },
            { id: "deep", reasoning: true, compat: { supportedReasoningEfforts: ["none", "low", "xhigh"] } },
          ],
        },
      },
    },
    agents: {
      defaults: {
        model: { primary: "lab/fast", fallbacks: ["lab/deep"] },
        models: { "lab/fast": { alias: "quick" } },
        spend: { dayUsd: 1 },
      },
    },
  };
  const { config } = await loadConfig({
    env: {},
    home: "/nowhere",
    readFile: async () => JSON.stringify(file),
  });
  return modelMethods({ config, models: wireModels(config, "/nowhere", clock, silentLog), clock });
}

test("the list says what each can do, what it costs and who uses it", async () => {
  const { models } = await (await methods())["models.list"]();
  expect(models.map(({ id, usedBy }) => [id, usedBy])).toEqual([
    ["lab/fast", ["main: primary"]],
    ["lab/deep", ["main: fallback 1"]],
    ["rehearsal/rehearsal", []],
  ]);
  expect(models[0]).toMatchObject({
    alias: "quick",
    contextWindow: 9_000,
    price: { input: 1, output: 2 },
    trouble: null,
  });
  expect(models[1]).toMatchObject({ thinking: ["off", "low", "xhigh"], price: null });
  // A limit in dollars holds only what has a price; the rehearsal costs nothing.
  expect(models.map(({ uncappedFor }) => uncappedFor)).toEqual([[], ["main"], []]);
});

test("each model is told whole, the most used first, with why one cannot be called; other failures are no answer", async () => {
  const card = (id: string, more: object = {}) => ({
    id,
    api: "openai-completions",
    contextWindow: 1_000,
    maxTokens: 100,
    input: ["text"],
    reasoning: false,
    thinking: undefined,
    cost: undefined,
    ...more,
  });
  const agent = (id: string, primary: string, ...fallbacks: readonly string[]) => ({
    id,
    model: { primary, fallbacks },
    spend: {},
  });
  const asked: unknown[] = [];
  const failing = new Map<string, Error>([["b/two", new Fault("invalid", "its key is missing")]]);
  const cards = [
    card("a/one"),
    card("b/two", {
      contextWindow: 2_000,
      maxTokens: 200,
      input: ["text", "image"],
      cost: { input: 1, output: 2 },
    }),
    card("c/three", { api: "anthropic-messages", reasoning: true, thinking: ["off", "high"] }),
  ];
  const list = modelMethods({
    config: {
      agents: {
        defaults: { models: { "b/two": { alias: "deux" }, "c/three": {} }, spend: {} },
        list: [agent("main", "c/three", "b/two", "c/three"), agent("other", "b/two", "a/one", "c/three")],
      },
    },
    models: {
      list: (named: readonly string[]) => (asked.push(named), cards),
      get: async (id: string) => {
        const failure = failing.get(id);
        if (failure !== undefined) throw failure;
        // What a server says of itself comes before the card.
        return { id, contextWindow: 77_000, maxTokens: 7_700 };
      },
    },
    clock,
  } as never)["models.list"];
  const shown = (id: string, more: object) => ({
    id,
    alias: null,
    api: "openai-completions",
    trouble: null,
    contextWindow: 77_000,
    maxTokens: 7_700,
    vision: false,
    reasoning: false,
    thinking: [...thinkingLevelsOf({})],
    price: null,
    uncappedFor: [],
    ...more,
  });
  expect(await list()).toEqual({
    models: [
      shown("c/three", {
        api: "anthropic-messages",
        reasoning: true,
        thinking: ["off", "high"],
        usedBy: ["main: primary", "main: fallback 2", "other: fallback 2"],
      }),
      shown("b/two", {
        alias: "deux",
        trouble: "its key is missing",
        contextWindow: 2_000,
        maxTokens: 200,
        vision: true,
        price: { input: 1, output: 2 },
        usedBy: ["main: fallback 1", "other: primary"],
      }),
      shown("a/one", { usedBy: ["other: fallback 1"] }),
    ],
  });
  expect(asked).toEqual([["c/three", "b/two", "c/three", "b/two", "a/one", "c/three", "b/two", "c/three"]]);
  failing.set("a/one", new Fault("unavailable", "the disk is full"));
  await expect(list()).rejects.toThrow("the disk is full");
});

test("a test thinks as configured, calls a tool and goes on with its result, by alias too", async () => {
  server.script({
    toolCalls: [{ id: "c", name: "answer", args: { word: "parley" } }],
    usage: { input: 10, output: 5 },
  });
  server.script({ text: "harbour", usage: { input: 20, output: 5 } });
  const test = (await methods())["models.test"];
  expect(await test({ id: "QUICK" })).toMatchObject({
    id: "lab/fast",
    ok: true,
    toolCalling: true,
    roundTrip: true,
    usesTools: true,
    thinking: { level: "off", works: true },
    inputTokens: 30,
    costUsd: 0.00005,
  });
  expect(server.requests().map(({ lastToolResult }) => lastToolResult)).toEqual([null, "harbour"]);
  server.script({ text: "I have no tools" });
  expect(await test({})).toMatchObject({
    ok: true,
    toolCalling: false,
    roundTrip: null,
    text: "I have no tools",
  });
});

test("thinking that the server refuses is told as that, and the tools are tried without it", async () => {
  server.script({
    status: 400,
    body: JSON.stringify({ error: { message: "reasoning_effort is not supported with this model" } }),
  });
  server.script({ toolCalls: [{ id: "c", name: "answer", args: { word: "parley" } }] }, { text: "harbour" });
  const told = await (await methods())["models.test"]({ id: "lab/deep" });
  expect(told).toMatchObject({
    ok: true,
    toolCalling: true,
    roundTrip: true,
    thinking: { level: "low", works: false },
  });
  expect(told.error?.message).toContain("reasoning_effort");
  expect(server.requests().map(({ body }) => body["reasoning_effort"])).toEqual(["low", "none", "none"]);
});

test("a failure is told with its kind, and never with the key", async () => {
  server.script({ status: 401, body: JSON.stringify({ error: { message: "wrong key sk-very-secret" } }) });
  const told = await (await methods())["models.test"]({ id: "lab/deep" });
  expect(told).toMatchObject({
    ok: false,
    toolCalling: false,
    thinking: { works: false },
    error: { kind: "auth", status: 401 },
  });
  expect(JSON.stringify(told)).not.toContain("very-secret");
  await expect((await methods())["models.test"]({ id: "nobody/x" })).rejects.toThrow(/no provider "nobody"/);
});

test("the model that is tested is the first agent's where none is named, and else the one of that alias or name", async () => {
  const asked: string[] = [];
  const { "models.test": tested } = modelMethods({
    config: {
      agents: {
        defaults: { models: { "a/one": {}, "b/two": { alias: "Deux" }, "c/three": { alias: "trois" } } },
        list: [
          { id: "second", model: { primary: "b/two", fallbacks: [] } },
          { id: "main", model: { primary: "a/one", fallbacks: [] } },
        ],
      },
    },
    models: {
      get: async (id: string) => {
        asked.push(id);
        throw new Fault("missing", "enough is known");
      },
    },
    clock,
  } as never);
  for (const id of [undefined, "deux", "TROIS", "c/three", "a/ONE"])
    await expect(tested(id === undefined ? {} : { id })).rejects.toThrow("enough is known");
  expect(asked).toEqual(["b/two", "b/two", "c/three", "c/three", "a/ONE"]);
});

test("the rehearsal passes its own test without a network", async () => {
  const models = modelsFrom({ providers: {}, clock, log: silentLog });
  const { config } = await loadConfig({ env: {}, home: "/nowhere", readFile: async () => "{}" });
  expect(await modelMethods({ config, models, clock })["models.test"]({})).toMatchObject({
    ok: true,
    toolCalling: true,
  });
});

test("the time to the first token is that of the first word or thought of the first answer, not of its end", async () => {
  const virtual = virtualClock();
  const { config } = await loadConfig({ env: {}, home: "/nowhere", readFile: async () => "{}" });
  const call = { id: "1", name: "answer", args: { word: "parley" } };
  const usage = {
    ...noUsage,
    inputTokens: 5,
    cacheReadTokens: 3,
    cacheWriteTokens: 2,
    outputTokens: 7,
    costUsd: 0.5,
  };
  const end = (content: readonly object[]) => ({ type: "end", stop: "stop", usage, content });
  const says = async (answers: readonly (readonly (readonly [afterMs: number, event: object])[])[]) => {
    let nth = 0;
    const model = {
      id: "lab/x",
      maxTokens: 1_000,
      reasoning: false,
      async *stream() {
        for (const [afterMs, event] of answers[(nth += 1) - 1] ?? []) {
          await virtual.advance(afterMs);
          // What the clock on the wall does meanwhile is no time that the model took.
          virtual.jumpWall(-3_600_000);
          yield event;
        }
      },
    };
    return testModel(model as never, config, virtual);
  };
  const calling = [
    [40, { type: "thinking", delta: "hm" }],
    [50, { type: "text", delta: "I call" }],
    [60, { type: "toolCall", ...call }],
    [70, end([{ type: "toolCall", ...call }])],
  ] as const;
  expect(
    await says([
      calling,
      [
        [100, { type: "text", delta: "harbour" }],
        [5, end([])],
      ],
    ]),
  ).toMatchObject({
    ok: true,
    firstTokenMs: 40,
    totalMs: 325,
    toolCalling: true,
    roundTrip: true,
    text: "I call",
    thinking: { shown: true },
    inputTokens: 20,
    outputTokens: 14,
    costUsd: 1,
  });
  expect(
    await says([
      [
        [90, { type: "toolCall", ...call }],
        [1, end([{ type: "toolCall", ...call }])],
      ],
      [[9, end([])]],
    ]),
  ).toMatchObject({
    firstTokenMs: 90,
    totalMs: 100,
    roundTrip: false,
  });
  const wrong = { ...call, args: { word: "harbour" } };
  expect(await says([[[30, end([{ type: "toolCall", ...wrong }])]]])).toMatchObject({
    firstTokenMs: null,
    totalMs: 30,
    toolCalling: false,
    roundTrip: null,
  });
});
