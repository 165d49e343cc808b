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
