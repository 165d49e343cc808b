// Every row of the differences between servers, over all efforts and by every way to know a vendor; the
// registry's cards; and the words by which servers end an answer.
import { silentLog, type ThinkingLevel } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { modelsFrom, type DeclaredProvider } from "../src/registry.ts";
import { mendCompletions, reasoningDetails } from "../src/providers/completions-events.ts";
import { dialectOf, modelName, type Dialect } from "../src/providers/dialects.ts";

const elsewhere = "https://models.test/v1";
const of = (id: string, modelId = "m", baseUrl = elsewhere): Dialect => dialectOf({ id, modelId, baseUrl });
const hosts: readonly (readonly [vendor: string, host: string])[] = [
  ["openai", "api.openai.com"],
  ["openrouter", "openrouter.ai"],
  ["groq", "api.groq.com"],
  ["mistral", "api.mistral.ai"],
  ["deepseek", "api.deepseek.com"],
  ["moonshot", "api.moonshot.ai"],
  ["zai", "api.z.ai"],
  ["cerebras", "api.cerebras.ai"],
];

test("a vendor is known by its host before its name, and by nothing that only looks like it", () => {
  const dialects = hosts.map(([vendor, host]) => [of(`${vendor}/m`), of("own/m", "m", `https://${host}/v1`)]);
  for (const [byName, byHost] of dialects) expect(byName).toBe(byHost);
  expect(new Set(dialects.map(([dialect]) => dialect)).size).toBe(hosts.length);
  const [openai, openrouter, , , , moonshot, zai, plain] = dialects.map(([dialect]) => dialect);
  expect([
    of("openai/m", "m", "https://openrouter.ai/api/v1") === openrouter,
    of("kimi/m") === moonshot,
    of("own/m", "m", "https://api.moonshot.cn/v1") === moonshot,
    of("z-ai/m") === zai,
    of("zhipu/m") === zai,
    of("bigmodel/m") === zai,
    of("own/m", "m", "https://open.bigmodel.cn/api") === zai,
    of("own/m", "m", "https://openai.com.evil.test/v1") === plain,
    of("own/m", "m", "https://notopenai.com/v1") === plain,
    of("openai2/m") === plain,
    of("openai") === plain,
    of("own/openai") === plain,
    of("own/m", "m", "https://openai.com/v1") === openai,
  ]).toEqual(Array(13).fill(true));
});

test("on an unknown server a model's family decides, whatever stands before its name", () => {
  const rows: readonly (readonly [model: string, vendor: string | null])[] = [
    ["deepseek-v4-flash", "deepseek"],
    ["org/DeepSeek-V4", "deepseek"],
    ["deepseek-v3", null],
    ["kimi-k2-thinking", "moonshot"],
    ["kimi-k1", null],
    ["glm-5", "zai"],
    ["glm", null],
    ["my-glm-5", null],
    ["llama-4", null],
  ];
  const found = rows.map(([model]) => {
    const vendor = hosts.find(([name]) => name !== "cerebras" && of(`${name}/m`) === of("own/m", model));
    return [model, vendor?.[0] ?? null];
  });
  expect(found).toEqual(rows);
  for (const model of [
    "mistral-x",
    "mixtral",
    "ministral",
    "magistral",
    "codestral",
    "devstral",
    "pixtral",
  ]) {
    const dialect = of("own/m", `some/${model}`);
    expect([model, dialect.callId?.("call_1"), dialect.thoughts, dialect.afterTools]).toEqual([
      model,
      of("mistral/m").callId?.("call_1"),
      "none",
      undefined,
    ]);
  }
  // A vendor's own table wins over the family that it serves.
  expect(of("openrouter/m", "glm-5")).toBe(of("openrouter/m"));
  expect([modelName("A/b/C-1"), modelName("C")]).toEqual(["c-1", "c"]);
});

test("what each vendor is sent beside the effort", () => {
  const shown = hosts.map(([vendor]) => {
    const { effort: _effort, callId, ...rest } = of(`${vendor}/m`);
    return [vendor, callId !== undefined, rest];
  });
  expect(shown).toEqual([
    ["openai", false, { thoughts: "none", cacheKey: true, limit: "max_completion_tokens" }],
    ["openrouter", false, { thoughts: "reasoning_details" }],
    ["groq", false, { thoughts: "none" }],
    ["mistral", true, { thoughts: "none", afterTools: "I have read the results.", asksUsage: false }],
    ["deepseek", false, { thoughts: "beside calls" }],
    ["moonshot", false, { thoughts: "beside calls" }],
    ["zai", false, { thoughts: "reasoning_content" }],
    ["cerebras", false, { thoughts: "none" }],
  ]);
  const { callId } = of("mistral/m");
  expect(callId?.("aB3dE6gH9")).toBe("aB3dE6gH9");
  for (const id of ["", "aB3dE6gH", "aB3dE6gH90", "call_abcd", "ünïcödé12"]) {
    expect([id, callId?.(id)]).toEqual([id, expect.stringMatching(/^[a-f0-9]{9}$/)]);
    expect(callId?.(id)).toBe(callId?.(id));
  }
  expect(callId?.("a")).not.toBe(callId?.("b"));
});

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
function asked(vendor: string, model: string, thinking?: readonly ThinkingLevel[]): readonly unknown[] {
  const facts = (thinking === undefined ? {} : { thinking }) as Parameters<Dialect["effort"]>[0]["facts"];
  return efforts.map((effort) => of(`${vendor}/m`).effort({ effort, model, facts }));
}
const words = (...each: readonly (string | null)[]): readonly unknown[] =>
  each.map((reasoningEffort) => (reasoningEffort === null ? {} : { reasoningEffort }));
const switches = (type: "disabled" | "enabled") => ({ thinking: { type } });

test("how much a model is to think, in each vendor's words", () => {
  const usual = words(null, "low", "low", "medium", "high", "xhigh");
  const all = words("none", "minimal", "low", "medium", "high", "xhigh");
  const noOff = words(null, "minimal", "low", "medium", "high", "xhigh");
  const onOff = [switches("disabled"), ...Array(5).fill(switches("enabled"))];
  expect(asked("cerebras", "m")).toEqual(usual);
  expect(asked("cerebras", "m", ["off"])).toEqual(words("none", "low", "low", "medium", "high", "xhigh"));
  expect(asked("cerebras", "m", ["minimal"])).toEqual(noOff);
  for (const model of ["gpt-5", "gpt-5-mini", "gpt-4.1", "o3", "my-gpt-6"])
    expect([model, asked("openai", model)]).toEqual([model, noOff]);
  for (const model of ["gpt-5.1", "gpt-6", "gpt-9-mini"])
    expect([model, asked("openai", model)]).toEqual([model, all]);
  expect(asked("openai", "o3", ["off"])).toEqual(all);
  expect(asked("openrouter", "m")).toEqual(efforts.map((effort) => ({ reasoning: { effort } })));
  expect(asked("groq", "qwen3-32b")).toEqual(words("none", ...Array<string>(5).fill("default")));
  expect(asked("groq", "gpt-oss")).toEqual(usual);
  expect(asked("mistral", "magistral-medium", ["off", "minimal"])).toEqual(Array(6).fill({}));
  expect(asked("mistral", "mistral-medium")).toEqual(words("none", ...Array<string>(5).fill("high")));
  expect(asked("mistral", "mistral-medium", ["off", "minimal"])).toEqual(all);
  expect(asked("deepseek", "deepseek-v3")).toEqual(usual);
  expect(asked("deepseek", "deepseek-v4-pro")).toEqual([
    switches("disabled"),
    ...words("high", "high", "high", "high", "max"),
  ]);
  expect(asked("moonshot", "kimi-k2")).toEqual(onOff);
  expect(asked("zai", "glm-5")).toEqual(onOff);
});

const registry = (providers: { readonly [name: string]: DeclaredProvider }) =>
  modelsFrom({ providers, clock: virtualClock(), log: silentLog });

test("cards: what is declared first, then what is named and known, each once, and the rehearsal last", () => {
  const models = registry({
    own: {
      api: "openai-completions",
      baseUrl: elsewhere,
      models: [{ id: "b", contextWindow: 5 }, { id: "a/x" }],
    },
    anthropic: { models: [{ id: "claude-sonnet-4-5" }] },
    openai: { apiKey: "k" },
    unclear: { baseUrl: elsewhere, models: [{ id: "m" }] },
    local: {
      api: "ollama",
      baseUrl: elsewhere,
      models: [{ id: "small" }, { id: "large", contextWindow: 99_000 }],
    },
  });
  const named = [
    "own/b",
    "openai/gpt-5",
    "nobody/m",
    "rehearsal/x",
    "ollama/q",
    "google/gemini-x",
    "toString/m",
  ];
  const cards = models
    .list(named)
    .map(({ id, api, ready, contextWindow }) => [id, api, ready, contextWindow]);
  const window = expect.any(Number);
  expect(cards).toEqual([
    ["own/b", "openai-completions", true, 5],
    ["own/a/x", "openai-completions", true, window],
    ["anthropic/claude-sonnet-4-5", "anthropic-messages", false, window],
    ["local/small", "ollama", true, 32_768],
    ["local/large", "ollama", true, 99_000],
    ["openai/gpt-5", expect.any(String), true, window],
    ["ollama/q", "ollama", true, 32_768],
    ["google/gemini-x", "google-generative-ai", false, window],
    ["rehearsal/rehearsal", "rehearsal", true, window],
  ]);
  expect(models.list().map(({ id }) => id)).toEqual([
    "own/b",
    "own/a/x",
    "anthropic/claude-sonnet-4-5",
    "local/small",
    "local/large",
    "rehearsal/rehearsal",
  ]);
});

test("what is missing of a model is said with what to add, and the same id is the same model", async () => {
  const models = registry({
    own: { api: "openai-completions" },
    far: { baseUrl: elsewhere },
    proxied: { api: "anthropic-messages", baseUrl: elsewhere },
    keyed: { api: "openai-completions", apiKey: "k", baseUrl: elsewhere },
    // What is declared of a provider that is known counts before what is known of it.
    groq: { api: "rehearsal" },
    mistral: { baseUrl: elsewhere },
  });
  const why = async (id: string) =>
    models.get(id).then(
      ({ id: made }) => made,
      (error: Error) => error.message,
    );
  const spelled = (id: string) =>
    `model "${id}" must be written <provider>/<model>, for example "anthropic/claude-sonnet-4-5"`;
  const undeclared = (id: string, name: string) =>
    `model "${id}": there is no provider "${name}"; declare models.providers.${name} with an api and a baseUrl`;
  const rows: readonly (readonly [string, string])[] = [
    ["gpt", spelled("gpt")],
    ["", spelled("")],
    ["/m", spelled("/m")],
    ["own/", spelled("own/")],
    ["own/m", undeclared("own/m", "own")],
    ["far/m", undeclared("far/m", "far")],
    ["constructor/m", undeclared("constructor/m", "constructor")],
    ["openai/gpt-5", 'model "openai/gpt-5" needs an API key: set models.providers.openai.apiKey'],
    ["proxied/m", "proxied/m"],
    ["keyed/a/b", "keyed/a/b"],
    ["ollama/m", "ollama/m"],
    ["groq/m", "groq/m"],
    ["mistral/m", "mistral/m"],
    ["rehearsal", "rehearsal/rehearsal"],
    ["rehearsal/any", "rehearsal/rehearsal"],
  ];
  const found: (readonly string[])[] = [];
  for (const [id] of rows) found.push([id, await why(id)]);
  expect(found).toEqual(rows);
  expect(await models.get("keyed/m")).toBe(await models.get("keyed/m"));
});

const end = (finish_reason: unknown) => mendCompletions().event({ choices: [{ finish_reason } as never] });

test("every word by which a server ends its answer, and those that say that it broke off", () => {
  const rows: readonly (readonly [unknown, string | null])[] = [
    ["", null],
    [null, null],
    [5, null],
    ["eos", "stop"],
    ["END_TURN", "stop"],
    ["stop_sequence", "stop"],
    ["complete", "stop"],
    ["tool_call", "tool_calls"],
    ["tool_use", "tool_calls"],
    ["max_tokens", "length"],
    ["model_length", "length"],
    ["sensitive", "content_filter"],
    ["refusal", "content_filter"],
    ["stop", "stop"],
    ["LENGTH", "length"],
    ["toString", "tostring"],
  ];
  expect(
    rows.map(([word]) => [word, (end(word)["choices"] as { finish_reason: unknown }[])[0]?.finish_reason]),
  ).toEqual(rows);
  for (const cause of ["insufficient_system_resource", "network_error", "error"])
    expect(end(cause)).toEqual({
      error: { message: `the server ended its answer early (${cause})`, type: cause },
    });
});

test("an event is mended in its calls, its counts and its end, and an error passes as it is", () => {
  const mend = mendCompletions();
  const error = { error: { message: "no" }, choices: "x" };
  expect(mend.event(error)).toBe(error);
  expect(mend.event({ error: null, choices: "none", usage: null })).toEqual({
    error: null,
    choices: [],
    usage: null,
  });
  expect(
    mend.event({
      choices: [
        null,
        {
          usage: { total: 1 },
          delta: {
            role: "robot",
            content: "a",
            tool_calls: [
              null,
              { id: 7, index: "1", function: { name: "f", arguments: { a: 1 } } },
              { index: 1.5, function: { arguments: "{}" } },
              { id: "x", function: { arguments: null } },
              {},
            ],
          },
        },
      ],
    } as never),
  ).toEqual({
    usage: { total: 1 },
    choices: [
      {
        usage: { total: 1 },
        finish_reason: null,
        delta: {
          content: "a",
          tool_calls: [
            { id: "7", index: 1, function: { name: "f", arguments: '{"a":1}' } },
            { id: null, index: null, function: { arguments: "{}" } },
            { id: "x", index: null, function: { arguments: null } },
            { id: null, index: null, function: { arguments: null } },
          ],
        },
      },
    ],
  });
  const whole = { choices: [{ message: { role: "assistant", content: "a" } }] };
  expect(mend.event(whole as never)["choices"]).toEqual([
    {
      message: { content: "a", tool_calls: null },
      delta: { content: "a", tool_calls: null },
      finish_reason: null,
    },
  ]);
  const stop = [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }];
  expect(mend.end?.()).toEqual(stop);
  mend.event({ choices: [{ finish_reason: "length" }] });
  expect(mend.end?.()).toEqual([]);
});

test("pieces of one thought are joined, of another kept apart, encrypted ones never", async () => {
  const piece = (...details: readonly object[]) => ({ choices: [{ delta: { reasoning_details: details } }] });
  const stream = reasoningDetails("p").createStreamExtractor();
  for (const chunk of [
    null,
    { choices: [] },
    { choices: [{ delta: {} }] },
    piece({ type: "text", index: 0, text: "a", signature: null, id: "1" }),
    piece({ type: "text", index: 0, text: "b", signature: "s", id: null }),
    piece({ type: "text", index: 1, text: "c" }, { type: "summary", index: 1, summary: "d" }),
    piece({ type: "summary", index: 1, summary: "e" }),
    piece(
      { type: "reasoning.encrypted", index: 2, data: "f" },
      { type: "reasoning.encrypted", index: 2, data: "g" },
    ),
  ])
    stream.processChunk(chunk);
  expect(stream.buildMetadata()).toEqual({
    p: {
      reasoningDetails: [
        { type: "text", index: 0, text: "ab", signature: "s", id: "1" },
        { type: "text", index: 1, text: "c" },
        { type: "summary", index: 1, summary: "de" },
        { type: "reasoning.encrypted", index: 2, data: "f" },
        { type: "reasoning.encrypted", index: 2, data: "g" },
      ],
    },
  });
  expect(reasoningDetails("p").createStreamExtractor().buildMetadata()).toBeUndefined();
  expect(
    await reasoningDetails("p").extractMetadata({
      parsedBody: { choices: [{ message: { reasoning_details: [{ type: "text", text: "x" }, 5] } }] },
    }),
  ).toEqual({ p: { reasoningDetails: [{ type: "text", text: "x" }] } });
});
