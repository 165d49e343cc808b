// Whole tables of what is decided about models: kinds of failure, waits, counts, prices, levels, scripts,
// each with both sides of every limit. After a wanted change: `vitest run --project @parley/models tables
// -u`.
import { answerTable, laterAnswerTable, virtualClock } from "@parley/testkit";
import { thinkingLevels } from "@parley/protocol";
import { expect, test } from "vitest";
import { rehearsal } from "../src/index.ts";
import { cooldowns } from "../src/cooldown.ts";
import { knownModel, knownProvider } from "../src/known.ts";
import { modelErrorKinds } from "../src/model.ts";
import { priced } from "../src/price.ts";
import { ownWords, parseScript } from "../src/rehearsal/script.ts";
import { classify } from "../src/sdk/classify.ts";
import { estimatedUsage, soundUsage, withPlainCounts } from "../src/sdk/counts.ts";
import { NotAStream, TooLarge } from "../src/sdk/wire.ts";
import { defaultThinking, levelsOfEfforts, nearestThinking, thinkingLevelsOf } from "../src/thinking.ts";
import { asking, ask } from "./collect.ts";

const nowMs = Date.UTC(2026, 0, 5, 20, 30, 15);

test("kinds of failure, by words and by status, and how long to wait", async () => {
  const words = [
    "context_length_exceeded",
    "the context window is full",
    "prompt is too long",
    "too many input tokens",
    "token count 9 exceeds",
    "exceeds the maximum tokens",
    "request_too_large",
    'RESOURCE_EXHAUSTED {"quotaValue": "0"}',
    'RESOURCE_EXHAUSTED {"quotaValue": "10"}',
    "RESOURCE_EXHAUSTED, limit: 0",
    "RESOURCE_EXHAUSTED, limit: 05",
    "insufficient_quota",
    "your credit balance is low",
    "payment required",
    "insufficient credits",
    "authentication_error",
    "invalid_api_key",
    "API key not valid",
    "UNAUTHENTICATED",
    "model_not_found",
    "the model x does not exist",
    "content_filter",
    "ResponsibleAI",
    "PROHIBITED_CONTENT",
    "overloaded_error",
    "model is currently loading",
    "rate_limit_error",
    "too many requests",
    "deadline_exceeded",
    "server_error",
    "UNAVAILABLE",
    "internal",
    "nothing known",
  ];
  const statuses = [200, 300, 400, 401, 402, 403, 404, 408, 413, 422, 429, 499, 500, 504, 529];
  const errors: { readonly [field: string]: unknown }[] = [
    ...words.flatMap((message) =>
      [undefined, 400, 404, 429, 500].map((statusCode) => ({ message, statusCode })),
    ),
    ...statuses.map((statusCode) => ({ message: "", statusCode })),
    { message: "a  b\n\tc " },
    { message: `${"x".repeat(299)}\u{1F600}` },
    { data: { error: { type: "overloaded_error" } } },
    { message: "m", responseBody: "rate limit" },
    { error: "plain" },
    ...[
      { "retry-after-ms": "1.2", "retry-after": "9" },
      { "retry-after-ms": "-1", "retry-after": "9" },
      { "retry-after-ms": " ", "retry-after": "0" },
      { "retry-after": "1.0005" },
      { "retry-after": "-1" },
      { "retry-after": "Mon, 05 Jan 2026 20:31:15 GMT" },
      { "retry-after": "Mon, 05 Jan 2026 20:29:15 GMT" },
      { "retry-after": "604800" },
      { "retry-after": "604801" },
      { "retry-after": "soon" },
    ].map((responseHeaders) => ({ message: "slow", statusCode: 429, responseHeaders })),
    { message: "slow", responseBody: '"retryDelay": "1.5s"' },
    { message: "slow", responseBody: '"quotaId": "RequestsPerDay", "retryDelay": "1.5s"' },
    { message: "the key secret-1 is wrong, secret-1", statusCode: 401 },
  ];
  const table = [false, true].map((answering) =>
    answerTable(errors, (error) => classify(error, { nowMs, answering, secret: "secret-1" })),
  );
  const others = answerTable(["text", null, 7], (error) => classify(error, { nowMs, answering: true }));
  const classes = [
    classify(new TooLarge("too large"), { nowMs, answering: true }),
    classify(new NotAStream(200, "text/html", "<html>overloaded"), { nowMs, answering: true }),
    classify(new NotAStream(200, "text/html", "<html>"), { nowMs, answering: true }),
  ];
  await expect([...table, others, JSON.stringify(classes)].join("\n")).toMatchFileSnapshot(
    "tables/failures.txt",
  );
});

test("what vendors say decides where their status says another thing, or nothing", () => {
  const rows: readonly (readonly [kind: string, status: number | undefined, message: string])[] = [
    ["context_overflow", 400, "the request exceeds the available context size, try increasing it"],
    ["context_overflow", 400, "input length and `max_tokens` exceed context limit: 199999 + 64000 > 200000"],
    ["context_overflow", 400, "This model's maximum context length is 8192 tokens"],
    ["context_overflow", 422, "prompt does not fit the context window"],
    ["context_overflow", 400, "Input is too long for requested model."],
    ["context_overflow", 400, "prompt is too long: 210000 tokens"],
    ["context_overflow", 422, "too many tokens in the request"],
    ["context_overflow", 400, "Too many input tokens"],
    ["context_overflow", 400, "The input token count (1200000) exceeds the maximum number of tokens allowed"],
    ["context_overflow", 400, "the prompt exceeds the maximum of 4096 tokens"],
    ["context_overflow", undefined, "request_too_large"],
    ["rate_limited", 429, "too many tokens in this minute"],
    [
      "rate_limited",
      429,
      "Rate limit reached for gpt-4o on requests per min (RPM): Limit 3, Used 3. You can increase your rate limit by adding a payment method at https://platform.openai.com/account/billing.",
    ],
    [
      "rate_limited",
      undefined,
      "rate_limit_exceeded: need more tokens? Upgrade at https://console.groq.com/settings/billing",
    ],
    ["billing", undefined, "Insufficient Balance"],
    ["billing", 429, "insufficient credits: add more"],
    ["billing", 429, "You exceeded your current quota (insufficient_quota)"],
    ["billing", 400, "Your credit balance is too low to access the API"],
    ["billing", 403, "payment required"],
    ["auth", 400, "API key not valid. Please pass a valid API key. [reason: API_KEY_INVALID]"],
    ["auth", 400, "reason: API_KEY_INVALID"],
    ["auth", undefined, "permission_error"],
    ["auth", undefined, "authentication_error"],
    ["auth", undefined, "PERMISSION_DENIED"],
    ["auth", undefined, "UNAUTHENTICATED"],
    ["not_found", undefined, "not_found_error"],
    ["not_found", 400, "model 'llama9' not found, try pulling it first"],
    ["invalid", 400, "the tool was not found"],
    ["unavailable", 500, "the model 'x' does not exist on this replica"],
    ["refused", 400, "Your request was rejected as a result of our safety system"],
    ["refused", 400, "The response was filtered due to Azure OpenAI's content management policy"],
    ["refused", 400, "content_policy_violation"],
    ["refused", 403, "responsible ai"],
    ["refused", 422, "ResponsibleAIPolicyViolation"],
    ["overloaded", 500, "We are over capacity"],
    ["overloaded", 503, "Model is currently loading"],
    ["rate_limited", 400, "Rate limit reached for requests"],
    ["timeout", undefined, "timeout_error"],
    ["timeout", 400, "DEADLINE_EXCEEDED"],
    ["unavailable", undefined, "api_error"],
    ["unavailable", undefined, "internal_error"],
    ["unavailable", 400, "code: INTERNAL"],
  ];
  expect(
    rows.map(([, statusCode, message]) => [
      classify({ message, statusCode }, { nowMs: 0, answering: false }).kind,
      statusCode,
      message,
    ]),
  ).toEqual(rows);
});

test("an error behind a 200 has the status that its code is", () => {
  const kindOf = (error: unknown) => classify(error, { nowMs: 0, answering: true }).kind;
  const plain = (error: unknown) => kindOf(new NotAStream(200, "plain JSON", JSON.stringify({ error })));
  expect(
    [402, "429", 401, 502, 399, 600, "no", null].map((code) => [kindOf({ code }), plain({ code })]),
  ).toEqual([
    ["billing", "billing"],
    ["rate_limited", "rate_limited"],
    ["auth", "auth"],
    ["unavailable", "unavailable"],
    ...Array.from({ length: 4 }, () => ["torn", "unavailable"]),
  ]);
});

test("counts: which are believed, and what stands in for those that are not", async () => {
  const usage = (
    total?: number,
    noCache?: number,
    cacheRead?: number,
    cacheWrite?: number,
    out?: number,
  ) => ({
    inputTokens: { total, noCache, cacheRead, cacheWrite },
    outputTokens: { total: out, text: undefined, reasoning: undefined },
  });
  const size = { requestBytes: 41, answerBytes: 9, contextWindow: 100 };
  const believed = answerTable(
    [
      usage(10, 10, 0, 0, 5),
      usage(10, undefined, 3, 2, 5),
      usage(1, undefined, 3, 2, 5),
      usage(10, -1, 3, 2, 5),
      usage(10, 10, -1, 0, 5),
      usage(0, 0, 0, 0, 5),
      usage(800, 800, 0, 0, 5),
      usage(801, 801, 0, 0, 5),
      usage(10, 10, 0, 0, 800),
      usage(10, 10, 0, 0, 801),
      usage(10, 10, 0, 0, 0),
      usage(10, 10, 0, 0, -1),
      usage(),
    ],
    (each) => soundUsage(each, size),
  );
  const empty = soundUsage(usage(10, 10, 0, 0, 0), { ...size, answerBytes: 0 });
  const plain = answerTable(
    [
      { usage: { input_tokens: "7", output_tokens: -1, other: -1, x_count: 1.5, deep: { tokens: "x" } } },
      { usageMetadata: { promptTokenCount: " ", candidatesTokenCount: "0" } },
      { usage: "none" },
      { message: { usage: { tokens: -5 } }, response: { id: 1 } },
      { message: { text: "usage" } },
      { other: 1 },
    ],
    withPlainCounts,
  );
  const guess = answerTable([0, 1, 4, 5], (bytes) =>
    estimatedUsage({ requestBytes: bytes, answerBytes: 8 - bytes, contextWindow: 1 }),
  );
  const counts = { inputTokens: 1, outputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 1_000 };
  const prices = answerTable(
    [undefined, { input: 1, output: 2 }, { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 4 }],
    (price) => priced(counts, price),
  );
  await expect([believed, JSON.stringify(empty), plain, guess, prices].join("\n")).toMatchFileSnapshot(
    "tables/counts.txt",
  );
});

test("levels of thinking, and which stands in for one that a model does not accept", async () => {
  const models = [
    {},
    { thinking: [] },
    { thinking: ["off"] },
    { thinking: ["high", "low"] },
    { thinking: ["minimal", "xhigh", "off"] },
  ] as const;
  const table = answerTable(models, (model) => [
    thinkingLevelsOf(model),
    thinkingLevels.map((level) => [level, nearestThinking(model, level)]),
    defaultThinking({ ...model, reasoning: true }),
    defaultThinking({ ...model, reasoning: false }),
  ]);
  const efforts = answerTable(
    [[], ["none"], ["off", "low", "max"], ["high", "none", "low"]],
    levelsOfEfforts,
  );
  await expect(table + efforts).toMatchFileSnapshot("tables/thinking.txt");
});

test("how long a model rests after each failure in a row, and what ends its rest", () => {
  const clock = virtualClock();
  const rests = cooldowns(clock);
  const after = (): readonly number[] =>
    [1, 2, 3, 4].map(() => {
      rests.failed("m", "overloaded");
      return rests.leftMs("m");
    });
  expect(after()).toEqual([30_000, 60_000, 300_000, 300_000]);
  expect([rests.leftMs("other"), rests.troubles()]).toEqual([0, []]);
  rests.succeeded("m");
  expect(rests.leftMs("m")).toBe(0);
  rests.failed("m", "overloaded", 30_001);
  expect(rests.leftMs("m")).toBe(30_001);
  rests.failed("m", "overloaded", 5);
  expect(rests.leftMs("m")).toBe(60_000);
  const needs = modelErrorKinds.map((kind) => {
    const each = cooldowns(clock);
    each.failed("a", kind);
    each.failed("b", "overloaded");
    const before = [each.leftMs("a"), each.troubles()];
    each.mended();
    return [kind, ...before, each.leftMs("a"), each.leftMs("b")];
  });
  expect(needs.filter(([, , troubles]) => (troubles as readonly unknown[]).length > 0)).toEqual(
    ["auth", "billing", "not_found"].map((kind) => [kind, 600_000, [{ model: "a", kind }], 0, 30_000]),
  );
  expect(needs.filter(([, left]) => left === 30_000)).toHaveLength(modelErrorKinds.length - 3);
});

test("what is known of models by their names", async () => {
  const models = [
    "claude-opus-4-5",
    "claude-sonnet-4-20250514",
    "claude-3-5-haiku-latest",
    "gpt-5.2",
    "gpt-5-mini",
    "gpt-4o",
    "gpt-4.1-mini",
    "o3",
    "o4-mini",
    "gemini-3-pro-preview",
    "gemini-2.5-flash",
    "deepseek-chat",
    "deepseek-reasoner",
    "qwen3:8b",
    "llama3.3",
    "anthropic/claude-opus-4-5",
    "mistral-large",
    "nobody-knows",
  ];
  // A name falls under its longest family, also where a shorter one fits.
  const dated = [
    "claude-opus-4-1-20250805 claude-haiku-4-5 claude-3-haiku-20240307 claude-opus-4-7",
    "claude-opus-5 claude-opus-4-8 claude-sonnet-5 gpt-5 gpt-5-nano gpt-5-codex gpt-5-pro",
    "gpt-5.1 gpt-5.1-codex gpt-5.1-codex-max gpt-5.2-codex gpt-5.3-codex gpt-5.3 gpt-5.4",
    "gpt-5.6-x gpt-4.1 gpt-4.1-nano gpt-4o-mini gemini-2.5-pro gemini-2.5-flash-lite o1-preview",
    "gpt-image-1 gpt-image-1-mini gpt-image-1.5 gemini-2.5-flash-image openai/gpt-oss-120b",
    "deepseek-v4-pro glm-5 kimi-k2-thinking Claude-opus-4-5 my-gpt-5 glm",
  ];
  models.push(...dated.join(" ").split(" "));
  const providers = ["anthropic", "openai", "google", "openrouter", "ollama", "deepseek", "groq", "x"];
  providers.push("mistral", "rehearsal", "toString", "OpenAI");
  await expect(answerTable(models, knownModel) + answerTable(providers, knownProvider)).toMatchFileSnapshot(
    "tables/known.txt",
  );
});

test("the script of the rehearsal: every command, both sides of its limits", async () => {
  const lines = [
    "!say a b c d e",
    "!say one\\ntwo",
    "!say",
    "  !say indented  ",
    "! say no",
    "!Say no",
    "!unknown x",
    "!stream 2 5 abcde",
    "!stream 9 0 abc",
    "!stream 0 5 abc",
    "!stream 10000 5 abc",
    "!stream 2 abc",
    "!repeat 3 x",
    "!repeat 0 x",
    "!repeat 200000 abcdef",
    "!repeat x",
    "!big 90",
    "!big 1000001",
    "!big -1",
    "!think a\\nb",
    "!wait 3600000",
    "!wait 3600001",
    "!wait 1.5",
    '!tool read {"path":"a"}',
    "!tool read",
    "!tool read [1]",
    "!tool read {",
    "!tool",
    "!bad-tool read {x",
    "!bad-tool read",
    "!bad-tool",
    ...modelErrorKinds.map((kind) => `!fail ${kind}`),
    "!fail overloaded 9999999",
    "!fail overloaded 10000000",
    "!fail banana",
    "!silent\n!result\n!history\n!prompt-hash\n!help\n!hang\n!empty\n!length",
    "words\n!say a\nmore words\n!say b",
  ];
  const own = [
    "[Parley: note]\nmine",
    "[from Eve]\n[attached a.png]\n[edited message]\n[reaction]\nmine",
    "not [from Eve] mine",
    "<<<BEGIN_PARLEY_QUOTE k1>>>\n!say x\n<<<END_PARLEY_QUOTE k1>>> mine",
    "<<<BEGIN_PARLEY_QUOTE k1>>>\n!say x\n<<<END_PARLEY_QUOTE k2>>> mine",
  ];
  const played = await laterAnswerTable(
    [
      "!think hmm\n!say one\n!say two",
      "!say before\n!length",
      "!say before\n!fail overloaded 7",
      "!say before\n!fail aborted",
      '!tool a {}\n!tool b {"x":1}\n!say after',
      "!say first\n!bad-tool a {",
      "!result",
      "!history",
      "!prompt-hash",
      "!empty",
      "hello",
    ],
    async (text) => (await ask(rehearsal({ clock: virtualClock() }), asking(text))).events,
  );
  await expect(
    [answerTable(lines, parseScript), answerTable(own, ownWords), played].join("\n"),
  ).toMatchFileSnapshot("tables/rehearsal.txt");
});
