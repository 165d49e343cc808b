// Events of a chat completions stream one by one: which parts they become, which call a piece belongs to,
// what is counted, and how the answer is said to have ended.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { JsonObject } from "@parley/protocol";
import { expect, test } from "vitest";
import { completionsParts } from "../src/wire/completions-parts.ts";

function partsOf(...events: readonly JsonObject[]): readonly LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [];
  let made = 0;
  const reader = completionsParts("mine", () => `made${(made += 1)}`, undefined);
  for (const event of events) reader.event(event, (part) => parts.push(part));
  reader.end((part) => parts.push(part));
  return parts;
}
const delta = (fields: JsonObject, more: JsonObject = {}): JsonObject => ({
  choices: [{ delta: fields, ...more }],
});
const ended = (cause: string): JsonObject => delta({}, { finish_reason: cause });
const none = { text: undefined, reasoning: undefined };

test("thoughts and words end where the other begins, and each that comes again is another one", () => {
  expect(
    partsOf(
      delta({ reasoning_content: "a" }),
      delta({ reasoning: "b" }),
      delta({ content: "c" }),
      delta({ content: "" }),
      delta({ reasoning_content: "d", content: "e" }),
      delta({
        content: [
          { type: "text", text: "f" },
          {
            type: "thinking",
            thinking: [
              { type: "text", text: "g" },
              { type: "image", text: "no" },
            ],
          },
          { type: "text", text: "" },
          { type: "image", text: "no" },
        ],
      }),
      ended("stop"),
    ),
  ).toEqual([
    { type: "reasoning-start", id: "reasoning-0" },
    { type: "reasoning-delta", id: "reasoning-0", delta: "a" },
    { type: "reasoning-delta", id: "reasoning-0", delta: "b" },
    { type: "reasoning-end", id: "reasoning-0" },
    { type: "text-start", id: "txt-0" },
    { type: "text-delta", id: "txt-0", delta: "c" },
    { type: "text-end", id: "txt-0" },
    { type: "reasoning-start", id: "reasoning-0" },
    { type: "reasoning-delta", id: "reasoning-0", delta: "d" },
    { type: "reasoning-end", id: "reasoning-0" },
    { type: "text-start", id: "txt-0" },
    { type: "text-delta", id: "txt-0", delta: "e" },
    { type: "text-delta", id: "txt-0", delta: "f" },
    { type: "text-end", id: "txt-0" },
    { type: "reasoning-start", id: "reasoning-0" },
    { type: "reasoning-delta", id: "reasoning-0", delta: "g" },
    { type: "reasoning-end", id: "reasoning-0" },
    {
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: undefined },
        outputTokens: { total: 0, ...none },
      },
    },
  ]);
});

test("the last reason counts; a refusal is no answer that ended well, and an error is no end", () => {
  const why = (...events: readonly JsonObject[]): unknown =>
    partsOf(...events).find(({ type }) => type === "finish") as unknown;
  const reason = (...events: readonly JsonObject[]) =>
    (why(...events) as { finishReason: object }).finishReason;
  expect(
    ["stop", "length", "content_filter", "function_call", "tool_calls", "eos"].map((raw) =>
      reason(ended(raw)),
    ),
  ).toEqual([
    { unified: "stop", raw: "stop" },
    { unified: "length", raw: "length" },
    { unified: "content-filter", raw: "content_filter" },
    { unified: "tool-calls", raw: "function_call" },
    { unified: "tool-calls", raw: "tool_calls" },
    { unified: "other", raw: "eos" },
  ]);
  expect(reason(ended("stop"), ended("length"), delta({}, { finish_reason: null }))).toEqual({
    unified: "length",
    raw: "length",
  });
  const refused = delta({ refusal: "no" });
  expect([reason(refused, ended("stop")), reason(refused, ended("length"))]).toEqual([
    { unified: "content-filter", raw: "stop" },
    { unified: "length", raw: "length" },
  ]);
  expect(partsOf(refused)).toContainEqual({ type: "text-delta", id: "txt-0", delta: "no" });
  expect([why(), why(delta({ content: "x" })), why(ended("stop"), { error: "gone" })]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(partsOf({ error: { message: "gone" } })).toEqual([{ type: "error", error: { message: "gone" } }]);
  expect(reason({ error: null, ...ended("stop") })).toEqual({ unified: "stop", raw: "stop" });
});

test("counts come last with their event, also without words, and what the cache gave is no new input", () => {
  const usage = (...counts: readonly JsonObject[]): unknown =>
    partsOf(ended("stop"), ...counts.map((each) => ({ choices: [], usage: each }))).at(-1);
  expect(
    usage(
      { prompt_tokens: 99, completion_tokens: 99 },
      { prompt_tokens: 10, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 3 } },
    ),
  ).toMatchObject({
    usage: {
      inputTokens: { total: 10, noCache: 7, cacheRead: 3 },
      outputTokens: { total: 4 },
    },
  });
});

interface Piece {
  readonly index?: number;
  readonly id?: string;
  readonly name?: string;
  readonly args?: string;
  readonly signature?: string;
}
function callsOf(...pieces: readonly Piece[]): unknown {
  const events = pieces.map(({ index, id, name, args, signature }) =>
    delta({
      tool_calls: [
        {
          ...(index === undefined ? {} : { index }),
          ...(id === undefined ? {} : { id }),
          function: {
            ...(name === undefined ? {} : { name }),
            ...(args === undefined ? {} : { arguments: args }),
          },
          ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
        },
      ],
    }),
  );
  return partsOf(...events).flatMap((part) =>
    part.type === "tool-call"
      ? [[part.toolCallId, part.toolName, part.input, part.providerMetadata?.["mine"]?.["thoughtSignature"]]]
      : [],
  );
}

test("a piece belongs to the call of its number or its id, and no call gets another's", () => {
  const none = undefined;
  expect(
    callsOf(
      { index: 0, id: "a", name: "read", args: '{"x":' },
      { index: 1, id: "b", name: "write", args: "{" },
      { index: 0, args: "1}" },
      { index: 1, args: "}" },
    ),
  ).toEqual([
    ["a", "read", '{"x":1}', none],
    ["b", "write", "{}", none],
  ]);
  // They are called by their numbers, in whatever order they come; without numbers as they came.
  expect(
    callsOf(
      { index: 1, id: "b", name: "write", args: "{}" },
      { index: 0, id: "a", name: "read", args: "{}" },
    ),
  ).toEqual([
    ["a", "read", "{}", none],
    ["b", "write", "{}", none],
  ]);
  expect(callsOf({ id: "b", name: "write", args: "{}" }, { id: "a", name: "read", args: "{}" })).toEqual([
    ["b", "write", "{}", none],
    ["a", "read", "{}", none],
  ]);
  // Of an id that was there, of a blank one and of none a call gets one that is made.
  expect(
    callsOf(
      { index: 0, id: "a", name: "read", args: "{}" },
      { index: 1, id: "a", name: "write", args: "{}" },
      { index: 2, id: "  ", name: "list", args: "{}" },
      { index: 3, name: "find", args: "{}" },
    ),
  ).toEqual([
    ["a", "read", "{}", none],
    ["made1", "write", "{}", none],
    ["made2", "list", "{}", none],
    ["made3", "find", "{}", none],
  ]);
  // What came before the name is kept: the id, the beginning, the signature.
  expect(
    callsOf(
      { index: 0, id: "a", args: '{"x"', signature: "s" },
      { index: 0, id: "z", name: "read", args: ":1}", signature: "t" },
    ),
  ).toEqual([["a", "read", '{"x":1}', "s"]]);
  expect(
    callsOf({ id: "a", name: "read", args: "{}" }, { id: "b", name: "write", args: '{"y"' }, { args: ":2}" }),
  ).toEqual([
    ["a", "read", "{}", none],
    ["b", "write", '{"y":2}', none],
  ]);
  expect(() => callsOf({ index: 0, id: "a", args: "{}" })).toThrow("a tool call has no name");
});
