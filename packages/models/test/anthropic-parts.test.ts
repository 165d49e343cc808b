// Anthropic's events one by one: what each becomes, what is counted, and how an answer is said to have ended.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { JsonObject } from "@parley/protocol";
import { expect, test } from "vitest";
import { anthropicParts } from "../src/wire/anthropic-parts.ts";

function partsOf(...events: readonly JsonObject[]): readonly LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [];
  const reader = anthropicParts();
  for (const event of events) reader.event(event, (part) => parts.push(part));
  reader.end((part) => parts.push(part));
  return parts;
}
const start = (index: number, content_block: JsonObject): JsonObject => ({
  type: "content_block_start",
  index,
  content_block,
});
const add = (index: number, delta: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta });
const stop = (index: number): JsonObject => ({ type: "content_block_stop", index });
const finishOf = (...events: readonly JsonObject[]) =>
  partsOf(...events, { type: "message_stop" }).find((part) => part.type === "finish");

test("words, thoughts and calls that come mixed keep to their own blocks", () => {
  expect(
    partsOf(
      start(0, { type: "thinking" }),
      start(1, { type: "text" }),
      add(0, { type: "thinking_delta", thinking: "hm" }),
      start(2, { type: "tool_use", id: "t1", name: "read", input: {} }),
      add(1, { type: "text_delta", text: "so" }),
      add(2, { type: "input_json_delta", partial_json: '{"a":' }),
      add(2, { type: "input_json_delta", partial_json: "" }),
      add(0, { type: "signature_delta", signature: "sig" }),
      add(1, { type: "signature_delta", signature: "none" }),
      add(2, { type: "input_json_delta", partial_json: "1}" }),
      stop(2),
      stop(0),
      stop(1),
      stop(1),
    ),
  ).toEqual([
    { type: "reasoning-start", id: "0" },
    { type: "text-start", id: "1" },
    { type: "reasoning-delta", id: "0", delta: "hm" },
    { type: "tool-input-start", id: "t1", toolName: "read" },
    { type: "text-delta", id: "1", delta: "so" },
    { type: "tool-input-delta", id: "t1", delta: '{"a":' },
    { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { anthropic: { signature: "sig" } } },
    { type: "tool-input-delta", id: "t1", delta: "1}" },
    { type: "tool-call", toolCallId: "t1", toolName: "read", input: '{"a":1}' },
    { type: "reasoning-end", id: "0" },
    { type: "text-end", id: "1" },
  ]);
});

test("a call may have its input at its beginning, or none at all", () => {
  const call = (block: JsonObject, ...pieces: readonly string[]) =>
    partsOf(
      start(0, { type: "tool_use", id: "t", name: "n", ...block }),
      ...pieces.map((partial_json) => add(0, { type: "input_json_delta", partial_json })),
      stop(0),
    ).at(-1);
  expect(call({ input: { a: 1 } })).toMatchObject({ input: '{"a":1}' });
  expect(call({ input: {} })).toMatchObject({ input: "{}" });
  expect(call({ input: "x" })).toMatchObject({ input: "{}" });
  expect(call({ input: {} }, '{"b":', "2}")).toMatchObject({ input: '{"b":2}' });
});

test("what was hidden of a thought, and what was compacted, goes through; blocks of other kinds say nothing", () => {
  expect(
    partsOf(
      start(0, { type: "redacted_thinking", data: "xyz" }),
      add(0, { type: "signature_delta", signature: "none" }),
      stop(0),
      start(1, { type: "compaction" }),
      add(1, { type: "compaction_delta", content: "short" }),
      add(1, { type: "compaction_delta", content: null }),
      stop(1),
      start(2, { type: "server_tool_use", id: "s", name: "web_search" }),
      add(2, { type: "input_json_delta", partial_json: "{}" }),
      add(2, { type: "citations_delta" }),
      stop(2),
      { type: "ping" },
      { type: "content_block_start", index: 3 },
      { type: "content_block_delta", index: 3 },
    ),
  ).toEqual([
    { type: "reasoning-start", id: "0", providerMetadata: { anthropic: { redactedData: "xyz" } } },
    { type: "reasoning-end", id: "0" },
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "short" },
    { type: "text-end", id: "1" },
  ]);
});

test("a call whose block nobody ended ends with the answer, or where another takes its number", () => {
  const call = (id: string) => ({
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id, name: "weather", input: { city: id } },
  });
  const parts = partsOf(call("Oslo"), call("Rome"), { type: "message_stop" });
  expect(parts.flatMap((part) => (part.type === "tool-call" ? [part.input] : [part.type]))).toEqual([
    "tool-input-start",
    '{"city":"Oslo"}',
    "tool-input-start",
    '{"city":"Rome"}',
    "finish",
  ]);
});

test("events without an index are of the first block, and what is no text is an empty one", () => {
  expect(
    partsOf(
      { type: "content_block_start", content_block: { type: "text" } },
      { type: "content_block_delta", delta: { type: "text_delta", text: 7 } },
      { type: "content_block_stop" },
    ),
  ).toEqual([
    { type: "text-start", id: "0" },
    { type: "text-delta", id: "0", delta: "" },
    { type: "text-end", id: "0" },
  ]);
});

test.each([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["pause_turn", "stop"],
  ["refusal", "content-filter"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "length"],
  ["something_new", "other"],
])("an answer that stopped for %s ended by %s", (stop_reason, unified) => {
  expect(finishOf({ type: "message_delta", delta: { stop_reason } })).toMatchObject({
    finishReason: { unified, raw: stop_reason },
  });
});

test("the reason may stand at the beginning; what comes last counts, and a delta without one has none", () => {
  const begun: JsonObject = { type: "message_start", message: { stop_reason: "end_turn" } };
  const reasons = [
    finishOf(begun),
    finishOf(begun, { type: "message_delta", delta: { stop_reason: "max_tokens" } }),
    finishOf(begun, { type: "message_start", message: {} }),
    finishOf(begun, { type: "message_delta", usage: { output_tokens: 1 } }),
    finishOf({ type: "message_start" }),
  ];
  expect(reasons.map((finish) => finish?.finishReason.raw)).toEqual([
    "end_turn",
    "max_tokens",
    "end_turn",
    undefined,
    undefined,
  ]);
  expect(partsOf(begun)).toEqual([]);
});

const usage = (...given: readonly (JsonObject | null)[]) => {
  const [first = {}, ...later] = given;
  return finishOf(
    { type: "message_start", message: { usage: first } },
    ...later.map((each): JsonObject => ({ type: "message_delta", usage: each })),
  )?.usage;
};

test("tokens are counted as they were told last; one that is told as null stays as it was", () => {
  expect(
    usage(
      { input_tokens: 10, cache_read_input_tokens: 3, cache_creation_input_tokens: 2, output_tokens: 1 },
      { output_tokens: 7, cache_read_input_tokens: null },
      { input_tokens: 11 },
      null,
    ),
  ).toMatchObject({
    inputTokens: { total: 16, noCache: 11, cacheRead: 3, cacheWrite: 2 },
    outputTokens: { total: 7 },
  });
  expect(usage({ input_tokens: "many" })).toMatchObject({
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 0 },
  });
});

test("the rounds of an answer that was compacted on the way are counted together, unless another model took over", () => {
  const rounds = [
    { type: "compaction", input_tokens: 100, output_tokens: 20 },
    { type: "message", input_tokens: 30, output_tokens: 4 },
    { type: "advisor_message", input_tokens: 1_000, output_tokens: 1_000 },
  ];
  const whole = { input_tokens: 30, output_tokens: 4 };
  const spent = (iterations: unknown): unknown => {
    const found = usage({ ...whole, iterations } as JsonObject);
    return [found?.inputTokens.noCache, found?.outputTokens.total];
  };
  expect(spent(rounds)).toEqual([130, 24]);
  expect(spent([rounds[0]])).toEqual([100, 20]);
  expect(spent([rounds[2], 7, null])).toEqual([30, 4]);
  expect(spent([...rounds, { type: "fallback_message" }])).toEqual([30, 4]);
  expect(spent("none")).toEqual([30, 4]);
});

test.each([
  ["api_error", 500],
  ["overloaded_error", 529],
  ["rate_limit_error", 429],
  ["request_too_large", 413],
  ["authentication_error", 401],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["billing_error", 400],
  ["invalid_request_error", 400],
  ["new_error", undefined],
  ["constructor", undefined],
])("an error of kind %s inside a stream has the status %s", (type, statusCode) => {
  const error = { type, message: "no" };
  expect(partsOf({ type: "error", error })).toEqual([
    {
      type: "error",
      error: { message: "no", data: error, ...(statusCode === undefined ? {} : { statusCode }) },
    },
  ]);
});

test("an error that says nothing is one all the same", () => {
  expect(partsOf({ type: "error" })).toEqual([{ type: "error", error: { message: "", data: {} } }]);
});
