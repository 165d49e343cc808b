// What becomes of the parts of an answer: words and thoughts as they come, calls only when the answer is
// whole, seals for what its provider wants back, and what was used; and to which call each piece of a
// streamed call belongs. After a wanted change: `vitest run --project @parley/models collected -u`.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { collectAnswer } from "../src/sdk/collect-answer.ts";
import { toolCalls } from "../src/wire/tool-calls.ts";

type Part = LanguageModelV4StreamPart;
type Finish = Extract<Part, { type: "finish" }>;

const finish = (unified: string, raw?: string, more: object = {}): Finish =>
  ({
    type: "finish",
    finishReason: { unified, raw },
    usage: {
      inputTokens: { total: 30, noCache: 10, cacheRead: 20, cacheWrite: 0 },
      outputTokens: { total: 5, text: undefined, reasoning: undefined },
    },
    ...more,
  }) as never;
const text = (delta: string): Part => ({ type: "text-delta", id: "t", delta });
const call = (toolCallId: string, toolName: string, input: string, more: object = {}): Part => ({
  type: "tool-call",
  toolCallId,
  toolName,
  input,
  ...more,
});
const thought = (id: string, delta: string, meta?: object): readonly Part[] => [
  { type: "reasoning-start", id },
  { type: "reasoning-delta", id, delta },
  {
    type: "reasoning-end",
    id,
    ...(meta === undefined ? {} : { providerMetadata: { claude: meta } }),
  } as never,
];

function gathering(price?: { readonly input: number; readonly output: number }) {
  return collectAnswer({
    provider: "claude",
    signer: "anthropic",
    price,
    contextWindow: 1_000,
    requestBytes: () => 400,
    wasCut: (raw) => raw === "broke",
  });
}

test("an answer's parts become its events, and its end says what it holds", async () => {
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const rows: readonly (readonly [name: string, parts: readonly Part[], end: Finish])[] = [
    ["nothing", [], finish("stop")],
    ["words", [text("one"), text(""), text(" two")], finish("stop", "end_turn")],
    [
      "thoughts, signed and not, one that is empty and one whose id comes again",
      [
        ...thought("1", "hm", { signature: "s1" }),
        text("a"),
        ...thought("1", "so"),
        ...thought("2", ""),
        text("b"),
      ],
      finish("stop"),
    ],
    ["a hidden thought", [...thought("1", "", { redactedData: "r" }), text("a")], finish("stop")],
    [
      "another provider's metadata",
      [{ type: "reasoning-start", id: "1", providerMetadata: { other: { x: 1 } } }],
      finish("stop"),
    ],
    [
      "calls, in their order, beside words, though the server says stop",
      [
        text("a"),
        call("c1", "read", '{"path":"x"}'),
        call("c1", "write", " "),
        text("b"),
        call("c3", "late", "{}"),
      ],
      finish("stop"),
    ],
    [
      "a call that the provider ran itself",
      [call("c1", "search", "{}", { providerExecuted: true })],
      finish("tool-calls"),
    ],
    [
      "a call with a signature",
      [call("c1", "read", "{}", { providerMetadata: { claude: { thoughtSignature: "g" } } })],
      finish("tool-calls"),
    ],
    [
      "arguments that are none",
      [call("a", "x", "{"), call("b", "x", "[1]"), call("c", "x", "null"), call("d", "x", '{"ok":1}')],
      finish("tool-calls"),
    ],
    ["arguments a hundred levels deep", [call("a", "x", deep(100))], finish("tool-calls")],
    ["arguments deeper than that", [call("a", "x", deep(101))], finish("tool-calls")],
    [
      "calls of an answer that was cut",
      [text("a"), call("a", "x", "{}"), call("b", "y", "{}")],
      finish("length", "max_tokens"),
    ],
    ["words that were cut", [text("a")], finish("length")],
    ["withheld", [text("a"), call("a", "x", "{}")], finish("content-filter", "refusal")],
    ["withheld without a word of why", [], finish("content-filter")],
    ["broken off by the server", [text("a")], finish("other", "broke")],
    ["broken off with a call", [call("a", "x", "{}")], finish("other", "broke")],
    ["another end", [text("a")], finish("other", "whatever")],
    ["another end without its word", [text("a")], finish("other")],
    [
      "what is wanted back with the whole answer, beside a thought",
      [text("a"), ...thought("1", "hm")],
      finish("stop", "stop", { providerMetadata: { claude: { reasoningDetails: [1] } } }),
    ],
    [
      "what is wanted back with the whole answer, without one",
      [text("a")],
      finish("stop", "stop", { providerMetadata: { claude: { reasoningDetails: [1] } } }),
    ],
  ];
  let table = "";
  for (const [name, parts, end] of rows) {
    const gathered = gathering();
    const shown = parts.map((part) => gathered.add(part) ?? null);
    table += `# ${name}\n`;
    for (const event of shown) table += `  ${JSON.stringify(event)}\n`;
    for (const event of gathered.finished(end)) table += `  => ${JSON.stringify(event)}\n`;
  }
  await expect(table).toMatchFileSnapshot("tables/collected.txt");
});

test("every sign of work shows that the model works, and only what is said is shown", () => {
  const signs: readonly (readonly [part: object, shown: object | undefined])[] = [
    [{ type: "stream-start", warnings: [] }, undefined],
    [{ type: "text-start", id: "t" }, undefined],
    [{ type: "text-delta", id: "t", delta: "" }, undefined],
    [
      { type: "text-delta", id: "t", delta: "a" },
      { type: "text", delta: "a" },
    ],
    [{ type: "text-end", id: "t" }, undefined],
    [{ type: "reasoning-start", id: "r" }, undefined],
    [{ type: "reasoning-delta", id: "r", delta: "" }, { type: "started" }],
    [
      { type: "reasoning-delta", id: "r", delta: "hm" },
      { type: "thinking", delta: "hm" },
    ],
    [{ type: "reasoning-end", id: "r" }, undefined],
    [{ type: "tool-input-start", id: "c", toolName: "x" }, { type: "started" }],
    [{ type: "tool-input-delta", id: "c", delta: "{" }, { type: "started" }],
    [{ type: "tool-input-end", id: "c" }, undefined],
    [call("c", "x", "{}"), { type: "started" }],
    [call("d", "x", "{}", { providerExecuted: true }), { type: "started" }],
    [{ type: "raw", rawValue: 1 }, undefined],
    [{ type: "response-metadata" }, undefined],
  ];
  const answer = gathering();
  expect(signs.map(([part]) => [part, answer.add(part as Part)])).toEqual(signs);
});

test("what came before a failure was paid for, and what came before a pause counts with what follows", () => {
  const usage = (input: number, output: number, more: object = {}) => ({
    inputTokens: input,
    outputTokens: output,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    ...more,
  });
  const failed = { kind: "overloaded", message: "busy" } as const;
  expect(gathering().failed(failed)).toEqual({
    type: "end",
    stop: "error",
    usage: usage(0, 0),
    content: [],
    error: failed,
  });
  const torn = gathering();
  torn.add(text("12345"));
  torn.add(call("a", "x", '{"b":1}'));
  expect(torn.failed({ kind: "aborted", message: "stopped" })).toEqual({
    type: "end",
    stop: "aborted",
    usage: usage(100, 4, { estimated: true }),
    content: [{ type: "text", text: "12345" }],
    error: { kind: "aborted", message: "stopped" },
  });
  const paused = gathering({ input: 1, output: 10 });
  paused.add(text("one"));
  expect(paused.paused(finish("other", "pause_turn"))).toEqual([{ type: "text", text: "one" }]);
  paused.add(text(" two"));
  const [end] = paused.finished(finish("stop"));
  expect(end).toMatchObject({
    content: [{ type: "text", text: "one two" }],
    usage: { inputTokens: 20, outputTokens: 10, cacheReadTokens: 40 },
  });
  expect((end as { readonly usage: { readonly costUsd?: number } }).usage.costUsd).toBeCloseTo(160 / 1e6, 12);
  const broken = gathering();
  broken.add(text("one"));
  broken.paused(finish("other", "pause_turn"));
  expect(broken.failed(failed)).toMatchObject({
    usage: { inputTokens: 110, outputTokens: 6, cacheReadTokens: 20 },
  });
});

test("each piece of a call goes to the call that it belongs to, and to none where nobody can say", async () => {
  type Piece = readonly [
    index: number | undefined,
    id: string | undefined,
    name: string | undefined,
    args?: string,
  ];
  const streams: readonly (readonly Piece[])[] = [
    [
      [0, "a", "read", ""],
      [0, undefined, undefined, '{"x"'],
      [0, undefined, undefined, ":1}"],
    ],
    [
      [1, "b", "late", "{}"],
      [0, "a", "first", "{}"],
    ],
    [
      [undefined, "b", "late", "{}"],
      [0, "a", "first", "{}"],
    ],
    [
      [0, "a", "read", "{}"],
      [0, "b", "read", "{}"],
    ],
    [
      [0, "a", "read", "{}"],
      [0, "a", "read", '{"x":1}'],
    ],
    [
      [0, "a", "read", "{"],
      [0, "a", "read", "}"],
    ],
    [
      [0, "a", "read", ""],
      [1, "a", "write", ""],
      [1, "a", undefined, "{}"],
      [0, "a", undefined, '{"x":1}'],
    ],
    [
      [undefined, "a", "read", ""],
      [undefined, "a", "write", ""],
      [undefined, "a", undefined, "{}"],
    ],
    [
      [undefined, "a", "read", "{"],
      [undefined, "a", "read", "}"],
    ],
    [
      [undefined, "a", "read", "{}"],
      [undefined, "a", "read", "{}"],
    ],
    [
      [undefined, "a", "read", ""],
      [undefined, "a", undefined, "{}"],
    ],
    [
      [undefined, undefined, "read", "{}"],
      [undefined, undefined, "write", "{}"],
    ],
    [
      [undefined, undefined, "read", ""],
      [undefined, undefined, undefined, "{}"],
    ],
    [
      [undefined, undefined, "read", ""],
      [undefined, undefined, "write", ""],
      [undefined, undefined, undefined, "{}"],
    ],
    [
      [undefined, undefined, "read", "{}"],
      [undefined, undefined, "write", ""],
      [undefined, undefined, undefined, "{}"],
    ],
    [
      [0, undefined, undefined, '{"x"'],
      [0, "a", undefined, ":"],
      [0, "b", "read", "1}"],
    ],
    [[0, "a", undefined, "{}"]],
    [[0, "a", "", "{}"]],
    [
      [0, "a", "read", ""],
      [0, "a", " ", "{}"],
    ],
    [
      [0, "a", "read", ""],
      [0, "b", undefined, "{}"],
    ],
    [
      [0, "a", "read", ""],
      [0, "b", "write", "{}"],
    ],
    [
      [0, "a", "read", "{}"],
      [1, "a", "read", ""],
      [1, "a", undefined, '{"x":1}'],
    ],
    [
      [0, "a", "read", ""],
      [1, "b", "read", ""],
      [undefined, "b", undefined, "{}"],
      [1, "a", undefined, "{}"],
    ],
    [
      [0, "a", "read", ""],
      [2, "a", undefined, "{}"],
    ],
    [
      [0, "m-1", "read", "{}"],
      [1, "m-1", "read", "{}"],
      [2, "m-1", "read", "{}"],
    ],
  ];
  const table = answerTable(streams, (pieces) => {
    let made = 0;
    const calls = toolCalls(() => `m-${(made += 1)}`);
    const handed: unknown[] = [];
    const hand = (part: Part): void =>
      void handed.push(
        part.type === "tool-input-start"
          ? `${part.id} begins ${part.toolName}`
          : part.type === "tool-input-delta"
            ? `${part.id} + ${part.delta}`
            : part.type === "tool-call"
              ? `${part.toolCallId} = ${part.toolName} ${part.input}`
              : part.type,
      );
    for (const [index, id, name, args] of pieces) calls.add({ index, id, name, args }, hand);
    calls.end(hand);
    return handed;
  });
  await expect(table).toMatchFileSnapshot("tables/call-pieces.txt");
});
