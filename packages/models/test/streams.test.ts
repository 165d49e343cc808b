// Rich streams, whole: every part of them in order, and what is collected of them. The tables are in
// test/tables; after a wanted change: `vitest run --project @parley/models streams -u`.
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Json, JsonObject } from "@parley/protocol";
import { answerTable, laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { knownModel } from "../src/known.ts";
import { chatBody } from "../src/providers/ollama-request.ts";
import { chatParts } from "../src/providers/ollama-stream.ts";
import { mendCompletions, reasoningDetails } from "../src/providers/completions-events.ts";
import { collectAnswer } from "../src/sdk/collect-answer.ts";
import { completionsLetter } from "../src/wire/completions-letter.ts";
import { completionsParts } from "../src/wire/completions-parts.ts";

function completions(events: readonly JsonObject[]): readonly LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [];
  let made = 0;
  const reader = completionsParts(
    "mine",
    () => `made${(made += 1)}`,
    reasoningDetails("mine").createStreamExtractor(),
  );
  for (const event of events) reader.event(event, (part) => parts.push(part));
  reader.end((part) => parts.push(part));
  return parts;
}
const delta = (fields: JsonObject, more: JsonObject = {}): JsonObject => ({
  choices: [{ delta: fields, ...more }],
});

test("answers in chat completions, part by part", async () => {
  const streams: readonly (readonly JsonObject[])[] = [
    [],
    [
      delta({ reasoning_content: "hm", reasoning: "not twice" }),
      delta({ reasoning_content: "", reasoning: "so" }),
      delta({ tool_calls: [{ index: 0, id: "a", function: { name: "read", arguments: "" } }] }),
      delta({ content: "words", tool_calls: [{ index: 0, function: { arguments: '{"p":1}' } }] }),
      delta({ tool_calls: [] }, { finish_reason: "tool_calls" }),
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: null } },
    ],
    [
      delta({
        content: [{ type: "thinking", thinking: "no list" }, "text", null, { type: "text", text: 7 }],
      }),
      delta({ refusal: "I will not" }),
      { choices: [{ delta: null, finish_reason: "stop" }, { delta: { content: "the second choice" } }] },
      { usage: { prompt_tokens: "7" }, choices: "none" },
    ],
    [
      delta({ content: "half" }),
      delta({ tool_calls: ["x", { index: "0", id: 7, function: { name: 7, arguments: {} } }] }),
    ],
    [delta({ content: "said" }, { finish_reason: "stop" }), { error: { message: "broke" } }],
    [
      delta({
        reasoning_details: [
          { type: "reasoning.text", index: 0, text: "a", signature: null },
          { type: "reasoning.text", index: 0, text: "b", signature: "s" },
          { type: "reasoning.text", index: 0, text: null, signature: null, format: "f" },
          { type: "reasoning.text", index: 1, text: "c" },
          "no detail",
        ],
      }),
      delta({
        reasoning_details: [
          { type: "reasoning.summary", index: 1, summary: "d" },
          { type: "reasoning.summary", index: 1, summary: "e" },
          { type: "reasoning.encrypted", index: 1, data: "f" },
          { type: "reasoning.encrypted", index: 1, data: "g" },
        ],
      }),
      { choices: [{ message: { reasoning_details: [{ type: "x", index: 2, data: "h" }] } }] },
      {
        choices: [
          { delta: { reasoning_details: [{ type: "x", index: 2, data: "i" }] }, finish_reason: "length" },
        ],
      },
    ],
  ];
  const calls = (...pieces: readonly Json[]): readonly JsonObject[] =>
    pieces.map((piece) => delta({ tool_calls: [piece] }));
  const call = (index: number | null, id: string | null, name: string | null, args: string | null): Json => ({
    index,
    id,
    function: { name, arguments: args },
  });
  const gathered: readonly (readonly JsonObject[])[] = [
    // One id repeated by every piece, without numbers; the name too.
    calls(call(null, "a", "read", '{"x'), call(null, "a", null, '":1'), call(null, "a", "read", "}")),
    // The same id for the next call of that tool, and for one of another tool.
    calls(call(null, "a", "read", "{}"), call(null, "a", "read", '{"n":2}'), call(null, "a", "list", "[1]")),
    // One number for all calls.
    calls(call(0, "a", "read", "{}"), call(0, "b", "read", '{"n":2}'), call(0, null, null, "late")),
    calls(call(0, "a", "read", '{"n":'), call(0, "b", "read", ""), call(0, null, "read", "1}")),
    // A number and an id that are of two calls; a number that nobody has with an id that one has.
    calls(
      call(0, "a", "read", "{"),
      call(1, "b", "list", "{"),
      call(0, "b", null, "lost"),
      call(7, "a", null, "}"),
    ),
    calls(
      call(0, "a", "read", "{"),
      call(1, "b", "list", "{"),
      call(1, "a", "read", "{}"),
      call(0, "a", null, "}"),
    ),
    // Two open calls and a piece of neither; one of them whole.
    calls(call(null, "a", "read", "{"), call(null, "b", "list", "{"), call(null, null, null, "}")),
    calls(call(null, "a", "read", '{"x":"}"} '), call(null, "b", "list", "{"), call(null, null, null, "}")),
    // Text that is no value, blanks, an empty name, a name that comes late.
    calls(call(0, "a", "read", "  "), call(0, null, null, "{"), call(0, null, " ", "}")),
    calls(
      call(0, null, null, '{"x"'),
      call(1, "b", "list", "{}"),
      call(0, "a", null, ":"),
      call(0, "z", "read", "1}"),
    ),
    calls(call(3, null, "read", "{}"), call(null, null, "list", "{}"), call(1, "made1", "find", "")),
    calls(call(0, "a", null, "{}")),
  ];
  await expect(answerTable([...streams, ...gathered], completions)).toMatchFileSnapshot(
    "tables/completions-streams.txt",
  );
});

test("events of servers that only imitate chat completions, repaired one after another", async () => {
  const streams: readonly (readonly JsonObject[])[] = [
    [],
    [
      {
        error: null,
        choices: [null, { delta: { role: "bot", content: "a" }, finish_reason: null, usage: { n: 1 } }],
      },
      {
        usage: { n: 2 },
        choices: [{ message: { content: "b", role: "x" }, finish_reason: "EOS", usage: { n: 1 } }],
      },
    ],
    [{ choices: [{ delta: 7, message: { tool_calls: [7, {}] }, finish_reason: "Tool_Use" }] }],
    [
      {
        choices: [
          {
            delta: {
              tool_calls: [
                { index: "1", id: 7, function: { name: "a", arguments: { x: 1 } } },
                { index: 1.5, id: "k", type: "function", function: { arguments: null } },
                { index: null, function: "none" },
                { function: { arguments: "" } },
              ],
            },
            finish_reason: "",
          },
        ],
      },
    ],
    [{ choices: [{ delta: {}, finish_reason: "network_error" }] }],
    [{ choices: [{ delta: {}, finish_reason: "error" }] }],
    [{ error: "broke", choices: [{ finish_reason: "stop" }] }],
    [{ choices: "none" }],
    ...["complete", "max_tokens", "model_length", "sensitive", "refusal", "stop_sequence", "constructor"].map(
      (finish_reason) => [{ choices: [{ finish_reason }] }],
    ),
  ];
  await expect(
    answerTable(streams, (events) => {
      const mender = mendCompletions();
      return [events.map((event) => mender.event(event)), mender.end?.()];
    }),
  ).toMatchFileSnapshot("tables/completions-repairs.txt");
});

const prompt: LanguageModelV4CallOptions["prompt"] = [
  { role: "system", content: "be", providerOptions: { openaiCompatible: { cache: "c" } } },
  { role: "user", content: [{ type: "text", text: "one" }] },
  {
    role: "user",
    content: [
      { type: "text", text: "two" },
      { type: "text", text: "three" },
      {
        type: "file",
        mediaType: "image/png",
        data: { type: "data", data: new Uint8Array([1, 2, 3]).subarray(1) },
      },
      { type: "file", mediaType: "image/gif", data: { type: "data", data: "R0lG" } },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "reasoning", text: "hm" },
      { type: "text", text: "a" },
      { type: "reasoning", text: "so" },
      { type: "text", text: "b" },
      {
        type: "tool-call",
        toolCallId: "c1",
        toolName: "read",
        input: { p: 1 },
        providerOptions: { mine: { thoughtSignature: "sig" } },
      },
      { type: "tool-call", toolCallId: "c2", toolName: "list", input: undefined },
    ],
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", toolCallId: "c1", toolName: "read", output: { type: "text", value: "it" } },
      {
        type: "tool-result",
        toolCallId: "c2",
        toolName: "list",
        output: { type: "error-text", value: "no" },
      },
      { type: "tool-result", toolCallId: "c3", toolName: "find", output: { type: "json", value: { n: 1 } } },
      { type: "tool-result", toolCallId: "c4", toolName: "find", output: { type: "execution-denied" } },
      {
        type: "tool-result",
        toolCallId: "c5",
        toolName: "find",
        output: { type: "execution-denied", reason: "not now" },
      },
    ],
  },
  {
    role: "tool",
    content: [
      {
        type: "tool-result",
        toolCallId: "c6",
        toolName: "show",
        output: {
          type: "content",
          value: [
            { type: "text", text: "x" },
            { type: "file", mediaType: "image/png", data: { type: "data", data: "AAEC" } },
            { type: "text", text: "y" },
          ],
        },
      },
    ],
  },
  { role: "assistant", content: [{ type: "text", text: "done" }] },
  { role: "assistant", content: [] },
];
const tool = (name: string, description: string | undefined, inputSchema: object) => ({
  type: "function" as const,
  name,
  inputSchema,
  ...(description === undefined ? {} : { description }),
});

test("a request in chat completions stands as it is sent, and a tool that changed its words is written anew", () => {
  const schema = { type: "object" };
  const letter = { url: "u", headers: { h: "1" }, modelId: "m", provider: "mine", asksUsage: true };
  const ask = (options: Partial<LanguageModelV4CallOptions>, asksUsage = true): unknown => {
    const { body, ...rest } = completionsLetter({ ...letter, asksUsage }, { prompt: [], ...options });
    return { ...rest, body: JSON.parse(body) as unknown };
  };
  expect(
    ask({ prompt, providerOptions: { mine: { max_tokens: 5, reasoningEffort: "low" }, other: { x: 1 } } }),
  ).toEqual({
    url: "u",
    headers: { h: "1" },
    body: {
      model: "m",
      max_tokens: 5,
      reasoning_effort: "low",
      messages: [
        { role: "system", content: "be", cache: "c" },
        { role: "user", content: "one" },
        {
          role: "user",
          content: [
            { type: "text", text: "two" },
            { type: "text", text: "three" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AgM=" } },
            { type: "image_url", image_url: { url: "data:image/gif;base64,R0lG" } },
          ],
        },
        {
          role: "assistant",
          content: "ab",
          reasoning_content: "hmso",
          tool_calls: [
            {
              id: "c1",
              type: "function",
              function: { name: "read", arguments: '{"p":1}' },
              extra_content: { google: { thought_signature: "sig" } },
            },
            { id: "c2", type: "function", function: { name: "list" } },
          ],
        },
        { role: "tool", tool_call_id: "c1", content: "it" },
        { role: "tool", tool_call_id: "c2", content: "no" },
        { role: "tool", tool_call_id: "c3", content: '{"n":1}' },
        { role: "tool", tool_call_id: "c4", content: "Tool call execution denied." },
        { role: "tool", tool_call_id: "c5", content: "not now" },
        {
          role: "tool",
          tool_call_id: "c6",
          content:
            '[{"type":"text","text":"x"},{"type":"file","mediaType":"image/png","data":{"type":"data","data":"AAEC"}},{"type":"text","text":"y"}]',
        },
        { role: "assistant", content: "done" },
        { role: "assistant", content: "" },
      ],
      stream: true,
      stream_options: { include_usage: true },
    },
  });
  const bare = { model: "m", messages: [], stream: true };
  const written = (name: string, description?: string) => ({
    type: "function",
    function: { name, ...(description === undefined ? {} : { description }), parameters: schema },
  });
  const bodyOf = (options: Partial<LanguageModelV4CallOptions>): unknown =>
    (ask(options, false) as { body: unknown }).body;
  expect(bodyOf({ toolChoice: { type: "auto" } })).toEqual(bare);
  expect(bodyOf({ tools: [tool("a", "A", schema)], toolChoice: { type: "none" } })).toEqual({
    ...bare,
    tools: [written("a", "A")],
    tool_choice: "none",
  });
  expect(bodyOf({ tools: [tool("a", "changed", schema)] })).toEqual({
    ...bare,
    tools: [written("a", "changed")],
  });
  expect(bodyOf({ tools: [tool("b", "changed", schema), tool("c", undefined, schema)] })).toEqual({
    ...bare,
    tools: [written("b", "changed"), written("c")],
  });
});

test("a request to Ollama stands as it is sent, and thinking in the words that each model takes", () => {
  const facts = { ...knownModel("qwen3"), contextWindow: 99 };
  const asked = { modelId: "qwen3:8b", facts };
  expect(
    chatBody(asked, {
      prompt,
      tools: [tool("a", undefined, { type: "object" }), tool("b", "B", {})],
      maxOutputTokens: 7,
      reasoning: "low",
    }),
  ).toEqual({
    model: "qwen3:8b",
    messages: [
      { role: "system", content: "be" },
      { role: "user", content: "one" },
      { role: "user", content: "two\nthree", images: ["AgM=", "R0lG"] },
      {
        role: "assistant",
        content: "ab",
        thinking: "hm\nso",
        tool_calls: [
          { function: { name: "read", arguments: { p: 1 } } },
          { function: { name: "list", arguments: {} } },
        ],
      },
      { role: "tool", tool_name: "read", content: "it" },
      { role: "tool", tool_name: "list", content: "no" },
      { role: "tool", tool_name: "find", content: '{"n":1}' },
      { role: "tool", tool_name: "find", content: '""' },
      { role: "tool", tool_name: "find", content: '""' },
      { role: "tool", tool_name: "show", content: "x\ny", images: ["AAEC"] },
      { role: "assistant", content: "done" },
      { role: "assistant", content: "" },
    ],
    stream: true,
    tools: [
      { type: "function", function: { name: "a", description: "", parameters: { type: "object" } } },
      { type: "function", function: { name: "b", description: "B", parameters: {} } },
    ],
    think: true,
    options: { num_ctx: 99, num_predict: 7 },
  });
  expect(chatBody(asked, { prompt: [] })).toEqual({
    model: "qwen3:8b",
    messages: [],
    stream: true,
    options: { num_ctx: 99 },
  });
  const efforts = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh"] as const;
  const thinks = (modelId: string, declaredThinking?: readonly ("low" | "medium" | "high")[]) =>
    efforts.map(
      (reasoning) => chatBody({ modelId, facts, declaredThinking }, { prompt: [], reasoning })["think"],
    );
  const leveled = [undefined, false, "low", "low", "medium", "high", "high"];
  const plain = [undefined, false, true, true, true, true, true];
  expect([thinks("someone/GPT-OSS:20b"), thinks("x", ["low", "medium", "high"])]).toEqual([leveled, leveled]);
  expect([thinks("x"), thinks("x", ["high"]), thinks("x", ["medium"]), thinks("my-gpt-oss")]).toEqual([
    plain,
    plain,
    plain,
    plain,
  ]);
});

test("answers of Ollama, line by line", async () => {
  const line = (message: JsonObject, more: JsonObject = {}): string => JSON.stringify({ message, ...more });
  const done = (more: JsonObject = {}): string => JSON.stringify({ done: true, ...more });
  const answers: readonly string[] = [
    `${line({ thinking: "hm" })}\n${line({ thinking: "", content: "a" })}\n\n${line({ thinking: "so", content: "b" })}\n${done({ done_reason: "stop", prompt_eval_count: 7, eval_count: "3" })}`,
    `${line({ content: "a" })}\n${line({ tool_calls: [{ function: { name: "read", arguments: { p: 1 } } }, { id: "x", function: { name: "list", arguments: '{"q":2}' } }] })}\n${line({ tool_calls: [{ function: {} }] })}\n${done({ prompt_eval_count: -1, eval_count: " " })}\n`,
    `${line({ content: "cut" }, { done: true, done_reason: "length", eval_count: 0 })}\n${line({ content: "behind the end" })}`,
    `${line({ content: "torn" })}\n{"message":{"content":"hal`,
    `${line({ content: "a" })}\n{"error":"no memory"}\n`,
    `{"error":{"code":7}}`,
    `${line({ content: "a" })}\nno json\n`,
    `{"done":"yes"}\n`,
  ];
  await expect(
    await laterAnswerTable(answers, async (text) => {
      // Cut into pieces of seven bytes: lines and characters come apart.
      const bytes = new TextEncoder().encode(text);
      const pieces = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) =>
        bytes.slice(at * 7, at * 7 + 7),
      );
      const parts: unknown[] = [];
      try {
        for await (const part of ReadableStream.from(pieces).pipeThrough(chatParts())) parts.push(part);
      } catch (error) {
        parts.push((error as Error).name);
      }
      return parts;
    }),
  ).toMatchFileSnapshot("tables/ollama-streams.txt");
});

test("what is collected of an answer: words, thoughts and calls in their order, each sealed for who signed it", async () => {
  type Part = LanguageModelV4StreamPart;
  const thinks = (id: string, text: string, meta?: JsonObject): readonly Part[] => [
    { type: "reasoning-start", id },
    { type: "reasoning-delta", id, delta: text },
    { type: "reasoning-end", id, ...(meta === undefined ? {} : { providerMetadata: { mine: meta } }) },
  ];
  const calls = (
    toolCallId: string,
    input: string,
    more: Partial<Extract<Part, { type: "tool-call" }>> = {},
  ): Part => ({
    type: "tool-call",
    toolCallId,
    toolName: `t${toolCallId}`,
    input,
    ...more,
  });
  const says = (text: string): Part => ({ type: "text-delta", id: "1", delta: text });
  const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
  const answers: readonly {
    readonly parts: readonly Part[];
    readonly raw: string;
    readonly unified?: "length" | "other" | "content-filter" | "tool-calls";
  }[] = [
    { raw: "stop", parts: [] },
    {
      raw: "stop",
      parts: [
        ...thinks("0", "hm", { signature: "s1" }),
        says("a"),
        says(""),
        says("b"),
        ...thinks("0", "again"),
        ...thinks("1", "", { redacted: "r" }),
        ...thinks("2", ""),
        says("c"),
      ],
    },
    {
      raw: "stop",
      parts: [
        says("first"),
        calls("1", '{"x":1}', { providerMetadata: { mine: { thoughtSignature: "g", other: 1 } } }),
        says("between"),
        calls("1", " "),
        calls("2", "[1]"),
        calls("3", "{"),
        calls("4", '"text"'),
        calls("5", deep(100)),
        calls("6", deep(101)),
        calls("7", "{}", { providerExecuted: true }),
        calls("8", "{}", { providerMetadata: { other: { thoughtSignature: "not mine" } } }),
      ],
    },
    { raw: "max", unified: "length", parts: [says("a"), calls("1", "{}")] },
    { raw: "own", unified: "other", parts: [says("a")] },
    { raw: "own", unified: "other", parts: [calls("1", "{}")] },
    { raw: "unknown", unified: "other", parts: [says("a")] },
    { raw: "filter", unified: "content-filter", parts: [says("a"), calls("1", "{}")] },
  ];
  const counts = (total: number, out: number) => ({
    inputTokens: { total, noCache: total - 1, cacheRead: 1, cacheWrite: undefined },
    outputTokens: { total: out, text: undefined, reasoning: undefined },
  });
  const collecting = () =>
    collectAnswer({
      provider: "mine",
      signer: "signer",
      price: { input: 1, output: 10, cacheRead: 0.5, cacheWrite: 2 },
      contextWindow: 1000,
      requestBytes: () => 41,
      wasCut: (raw) => raw === "own",
    });
  const table = answerTable(answers, ({ parts, raw, unified = "stop" as const }) => {
    const answer = collecting();
    return [
      parts.map((part) => answer.add(part)),
      answer.finished({
        type: "finish",
        finishReason: { unified, raw },
        usage: counts(11, 5),
        providerMetadata: { mine: { reasoningDetails: [7] } },
      }),
    ];
  });
  const finish = {
    type: "finish" as const,
    finishReason: { unified: "stop" as const, raw: "pause" },
    usage: counts(11, 5),
  };
  const paused = collecting();
  paused.add(says("one"));
  const soFar = JSON.stringify(paused.paused(finish));
  paused.add(says(" two"));
  const ended = paused.finished({ ...finish, usage: counts(21, 6) });
  const broken = collecting();
  const before = broken.failed({ kind: "torn", message: "torn" });
  broken.add(says("12345"));
  broken.add(calls("1", "{}"));
  const behind = broken.failed({ kind: "aborted", message: "stopped" });
  await expect(
    [table, soFar, JSON.stringify({ ended }), JSON.stringify({ before, behind })].join("\n"),
  ).toMatchFileSnapshot("tables/collected-streams.txt");
});
