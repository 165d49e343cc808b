// A call over an SDK that is played: when its library is loaded, and what of a call an operator reads.
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { silentLog, type Log, type LogFields } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { knownModel } from "../src/known.ts";
import { sdkModel } from "../src/sdk-model.ts";
import { ask, asking } from "./collect.ts";

type Finish = Extract<LanguageModelV4StreamPart, { type: "finish" }>;

const finish = (tokens: number | undefined): Finish => ({
  type: "finish",
  finishReason: { unified: "stop", raw: "stop" },
  usage: {
    inputTokens: { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: tokens, text: undefined, reasoning: undefined },
  },
});
const says = (tokens: number | undefined): readonly LanguageModelV4StreamPart[] => [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "hello" },
  { type: "text-end", id: "1" },
  finish(tokens),
];

/** Each call is answered with the next parts; an error is thrown where the library is loaded. */
function stage(...answers: readonly (readonly LanguageModelV4StreamPart[] | Error)[]) {
  const lines: unknown[] = [];
  const note = (level: string) => (fields: LogFields, message: string) =>
    void lines.push([level, message, fields["kind"]]);
  const log: Log = { ...silentLog, warn: note("warn"), debug: note("debug"), child: () => log };
  let loads = 0;
  let nth = 0;
  const model = sdkModel(
    {
      id: "own/m",
      modelId: "m",
      baseUrl: "http://127.0.0.1:9",
      facts: knownModel("m"),
      clock: virtualClock(),
      log,
    },
    {
      provider: "own",
      async open() {
        loads += 1;
        const first = answers[nth];
        if (first instanceof Error) {
          nth += 1;
          throw first;
        }
        const sdk = {
          async doStream() {
            const parts = answers[nth] as readonly LanguageModelV4StreamPart[];
            nth += 1;
            return { stream: ReadableStream.from(parts) };
          },
        };
        return sdk as unknown as LanguageModelV4;
      },
      write: async () => ({ prompt: [] }),
    },
  );
  return { model, lines, loads: () => loads };
}

test("a library is loaded with the first call and kept; one that failed is loaded again by the next call", async () => {
  const { model, loads } = stage(new Error("no such file"), says(1), says(1));
  expect(loads()).toBe(0);
  expect((await ask(model)).end.error).toMatchObject({ kind: "unavailable", message: "no such file" });
  expect([(await ask(model)).text, (await ask(model)).text, loads()]).toEqual(["hello", "hello", 2]);
});

test("a failed call and counts that are missing are written down, a call that went well and a stop are not", async () => {
  const well = stage(says(5));
  expect((await ask(well.model)).end).toMatchObject({
    stop: "stop",
    usage: { inputTokens: 5, outputTokens: 5 },
  });
  expect(well.lines).toEqual([]);
  const uncounted = stage(says(undefined));
  expect((await ask(uncounted.model)).end.usage.estimated).toBe(true);
  expect(uncounted.lines).toEqual([
    ["warn", "the token counts were missing or cannot be true: estimated", undefined],
  ]);
  const failed = stage(new Error("no such file"));
  await ask(failed.model);
  expect(failed.lines).toEqual([["debug", "a model call failed", "unavailable"]]);
  const stopped = stage(says(5));
  const stop = new AbortController();
  const asked = ask(stopped.model, asking("hi"), stop.signal);
  stop.abort();
  expect((await asked).end.stop).toBe("aborted");
  expect(stopped.lines).toEqual([]);
});

test("a stream without its end, or one that was interrupted, is torn, with the words that came", async () => {
  const interrupted: Finish = { ...finish(5), finishReason: { unified: "error", raw: undefined } };
  for (const parts of [says(5).slice(0, 3), [...says(5).slice(0, 3), interrupted]]) {
    const { end } = await ask(stage(parts).model);
    expect(end).toMatchObject({
      stop: "error",
      content: [{ type: "text", text: "hello" }],
      error: { kind: "torn", message: "the stream ended before the answer did" },
    });
  }
});

test("a provider that pauses is asked to go on from its own words, eight times at most, and all of it is one answer", async () => {
  const pause = (tokens: number): Finish => ({
    ...finish(tokens),
    finishReason: { unified: "stop", raw: "pause" },
  });
  const requests: unknown[] = [];
  const answered = async (turns: readonly (readonly LanguageModelV4StreamPart[])[]) => {
    requests.length = 0;
    let nth = 0;
    const model = sdkModel(
      {
        id: "own/m",
        modelId: "m",
        baseUrl: "",
        facts: knownModel("m"),
        clock: virtualClock(),
        log: silentLog,
      },
      {
        provider: "own",
        pauses: (raw) => raw === "pause",
        open: async () =>
          ({
            doStream: async () => ({ stream: ReadableStream.from(turns[nth++] ?? []) }),
          }) as unknown as LanguageModelV4,
        write: async ({ messages, cacheKey }) => {
          requests.push([cacheKey, ...messages.map(({ role, content }) => [role, content])]);
          return { prompt: [] };
        },
      },
    );
    return ask(model, asking("hi"));
  };
  const says = (delta: string): LanguageModelV4StreamPart => ({ type: "text-delta", id: "1", delta });
  const call: LanguageModelV4StreamPart = { type: "tool-call", toolCallId: "c", toolName: "x", input: "{}" };
  const { events, end } = await answered([
    [says("one"), pause(1)],
    [says(" two"), pause(20)],
    [call, finish(300)],
  ]);
  const text = (words: string) => ({ type: "text", text: words });
  const asked = ["agent:main:test:dm:1", ["user", [text("hi")]]];
  expect(requests).toEqual([
    asked,
    [...asked, ["assistant", [text("one")]]],
    [...asked, ["assistant", [text("one two")]]],
  ]);
  expect(events.map(({ type }) => type)).toEqual(["text", "text", "toolCall", "end"]);
  expect(end).toMatchObject({
    stop: "toolUse",
    content: [text("one two"), { type: "toolCall", id: "c" }],
    usage: { inputTokens: 321, outputTokens: 321 },
  });
  const endless = Array.from({ length: 12 }, () => [says("x"), pause(1)]);
  const ended = await answered(endless);
  expect([requests.length, ended.text, ended.end.stop, ended.end.usage.inputTokens]).toEqual([
    9,
    "xxxxxxxxx",
    "stop",
    9,
  ]);
  const torn = await answered([[says("one"), pause(1)], [says(" two")]]);
  expect(torn.end).toMatchObject({
    error: { kind: "torn" },
    content: [text("one two")],
    usage: { estimated: true, inputTokens: 1 },
  });
});

test("a model's facts are what is known of it", () => {
  const of = (more: object): unknown => {
    const facts = { ...knownModel("m"), ...more };
    const { stream: _stream, ...shown } = sdkModel(
      { id: "own/m", modelId: "m", baseUrl: "", facts, clock: virtualClock(), log: silentLog },
      {
        provider: "own",
        open: () => Promise.reject(new Error("never")),
        write: async () => ({ prompt: [] }),
      },
    );
    return shown;
  };
  expect(of({ contextWindow: 7, maxTokens: 8, input: ["text"], reasoning: false })).toEqual({
    id: "own/m",
    contextWindow: 7,
    maxTokens: 8,
    vision: false,
    reasoning: false,
    thinking: undefined,
    priced: false,
  });
  expect(
    of({ input: ["text", "image"], reasoning: true, thinking: ["low"], cost: { input: 0, output: 0 } }),
  ).toMatchObject({ vision: true, reasoning: true, thinking: ["low"], priced: true });
});

test("whoever stops reading ends the call: the stream is dropped and no timer is left", async () => {
  const clock = virtualClock();
  let dropped: unknown;
  let signal: AbortSignal | undefined;
  const model = sdkModel(
    { id: "own/m", modelId: "m", baseUrl: "", facts: knownModel("m"), clock, log: silentLog },
    {
      provider: "own",
      open: async () =>
        ({
          doStream: async (written: { readonly abortSignal?: AbortSignal }) => {
            signal = written.abortSignal;
            const stream = new ReadableStream({
              start: (to) => to.enqueue({ type: "text-delta", id: "1", delta: "one" }),
              cancel: () => void (dropped = true),
            });
            return { stream };
          },
        }) as unknown as LanguageModelV4,
      write: async () => ({ prompt: [] }),
    },
  );
  for await (const event of model.stream(asking("hi"), new AbortController().signal)) {
    expect(event).toEqual({ type: "text", delta: "one" });
    expect([clock.armed(), signal?.aborted]).toEqual([1, false]);
    break;
  }
  expect([clock.armed(), dropped, signal?.aborted]).toEqual([0, true, true]);
  let opened = false;
  const stopped = await ask(
    sdkModel(
      { id: "own/m", modelId: "m", baseUrl: "", facts: knownModel("m"), clock, log: silentLog },
      {
        provider: "own",
        open: () => ((opened = true), Promise.reject(new Error("never"))),
        write: () => ((opened = true), Promise.reject(new Error("never"))),
      },
    ),
    asking("hi"),
    AbortSignal.abort(),
  );
  expect([stopped.end, opened, clock.armed()]).toEqual([
    {
      type: "end",
      stop: "aborted",
      usage: stopped.end.usage,
      content: [],
      error: { kind: "aborted", message: "stopped" },
    },
    false,
    0,
  ]);
  expect(stopped.end.usage).toMatchObject({ inputTokens: 0, outputTokens: 0 });
});
