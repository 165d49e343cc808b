// A request of chat completions for each thing that a prompt may hold, byte for byte, and what becomes of
// answers that an SDK reads whole.
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { completionsLetter } from "../src/wire/completions-letter.ts";
import { letterOfSdk } from "../src/wire/letter-of-sdk.ts";
import { callIds, wireHeaders } from "../src/wire/headers.ts";
import { partsOfWhole, streamed } from "../src/sdk/whole-answer.ts";
import { WholeAnswer, watchedFetch, type WireWatch } from "../src/sdk/wire.ts";
import { version } from "@parley/protocol";

type Prompt = LanguageModelV4CallOptions["prompt"];
const own = {
  url: "http://models.test/v1/chat/completions",
  headers: { "x-own": "1" },
  modelId: "m",
  provider: "mine",
  asksUsage: true,
};
const letter = (written: Partial<LanguageModelV4CallOptions>, more: Partial<typeof own> = {}) =>
  completionsLetter({ ...own, ...more }, { prompt: [], ...written });
const messages = (...prompt: Prompt): unknown =>
  (JSON.parse(letter({ prompt }).body) as { messages: unknown }).messages;
const raw = (field: string) => ({ providerOptions: { openaiCompatible: { [field]: true } } });

describe("a letter of chat completions", () => {
  test("has its fields in their order, the call's own before the messages, and no tools where there are none", () => {
    const tool = { type: "function", name: "x", description: "X", inputSchema: { type: "object" } } as const;
    expect(
      letter({
        tools: [tool, { type: "function", name: "y", inputSchema: tool.inputSchema }],
        toolChoice: { type: "none" },
        providerOptions: { mine: { max_tokens: 7, reasoningEffort: "low" }, other: { no: 1 } },
      }),
    ).toEqual({
      url: own.url,
      headers: own.headers,
      body:
        '{"model":"m","max_tokens":7,"reasoning_effort":"low","messages":[],"tools":[' +
        '{"type":"function","function":{"name":"x","description":"X","parameters":{"type":"object"}}},' +
        '{"type":"function","function":{"name":"y","parameters":{"type":"object"}}}],' +
        '"tool_choice":"none","stream":true,"stream_options":{"include_usage":true}}',
    });
    expect(letter({ toolChoice: { type: "auto" } }, { asksUsage: false }).body).toBe(
      '{"model":"m","messages":[],"stream":true}',
    );
    // The same schema may stand behind another name and other words.
    const [first, second] = [tool, { ...tool, description: "Z" }].map(
      (each) => letter({ tools: [each] }).body,
    );
    expect([first?.includes('"X"'), second?.includes('"Z"'), second?.includes('"X"')]).toEqual([
      true,
      true,
      false,
    ]);
    expect(() => letter({ tools: [{ type: "provider", id: "a.b", name: "search", args: {} }] })).toThrow(
      "search is no tool of ours",
    );
  });

  test("writes each kind of message and part", () => {
    const bytes = new Uint8Array([0, 1, 2, 3]).subarray(1);
    const picture = (data: object) => ({ type: "file", mediaType: "image/png", data, ...raw("f") }) as never;
    expect(
      messages(
        { role: "system", content: "s", ...raw("a") },
        { role: "user", content: [{ type: "text", text: "one", ...raw("b") }], ...raw("not here") },
        {
          role: "user",
          content: [
            { type: "text", text: "two", ...raw("c") },
            picture({ type: "data", data: bytes }),
            picture({ type: "data", data: "AQID" }),
          ],
          ...raw("d"),
        },
        { role: "user", content: [picture({ type: "data", data: bytes })] },
      ),
    ).toEqual([
      { role: "system", content: "s", a: true },
      { role: "user", content: "one", b: true },
      {
        role: "user",
        content: [
          { type: "text", text: "two", c: true },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" }, f: true },
          { type: "image_url", image_url: { url: "data:image/png;base64,AQID" }, f: true },
        ],
        d: true,
      },
      {
        role: "user",
        content: [{ type: "image_url", image_url: { url: "data:image/png;base64,AQID" }, f: true }],
      },
    ]);
    expect(() =>
      messages({ role: "user", content: [picture({ type: "url", url: new URL("http://x") })] }),
    ).toThrow("pictures are sent as their bytes");
  });

  test("writes answers with their thoughts and calls, and results of every kind as text", () => {
    const call = (id: string, more: object = {}) =>
      ({ type: "tool-call", toolCallId: id, toolName: "x", input: { a: 1 }, ...more }) as const;
    const result = (output: object) =>
      ({ type: "tool-result", toolCallId: "c", toolName: "x", output, ...raw("r") }) as never;
    expect(
      messages(
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "h" },
            { type: "text", text: "a" },
            { type: "reasoning", text: "m" },
            { type: "text", text: "b" },
            call("1", {
              providerOptions: { openaiCompatible: { raw: true }, mine: { thoughtSignature: "g" } },
            }),
            call("2", { providerOptions: { mine: { thoughtSignature: 7 } } }),
          ],
          ...raw("e"),
        },
        { role: "assistant", content: [call("3")] },
        { role: "assistant", content: [] },
        {
          role: "tool",
          content: [
            result({ type: "text", value: "t" }),
            result({ type: "error-text", value: "e" }),
            result({ type: "json", value: { a: 1 } }),
            result({ type: "error-json", value: [1] }),
            result({ type: "execution-denied", reason: "no" }),
            result({ type: "execution-denied" }),
          ],
        },
      ),
    ).toEqual([
      {
        role: "assistant",
        content: "ab",
        reasoning_content: "hm",
        tool_calls: [
          {
            id: "1",
            type: "function",
            function: { name: "x", arguments: '{"a":1}' },
            raw: true,
            extra_content: { google: { thought_signature: "g" } },
          },
          { id: "2", type: "function", function: { name: "x", arguments: '{"a":1}' } },
        ],
        e: true,
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "3", type: "function", function: { name: "x", arguments: '{"a":1}' } }],
      },
      { role: "assistant", content: "" },
      ...["t", "e", '{"a":1}', "[1]", "no", "Tool call execution denied."].map((content) => ({
        role: "tool",
        tool_call_id: "c",
        content,
        r: true,
      })),
    ]);
  });
});

test("the config's headers win, whatever their case; without a key none is sent; ids differ from call to call", () => {
  const usual = { "content-type": "application/json", accept: "*/*", "user-agent": `parley/${version}` };
  expect([
    wireHeaders({ apiKey: "k" }),
    wireHeaders({}),
    wireHeaders({ apiKey: "k", headers: { Authorization: "Token t", "User-Agent": "me", "X-Own": "1" } }),
    wireHeaders({ apiKey: "k" }, { "x-key": "k" }),
  ]).toEqual([
    { ...usual, authorization: "Bearer k" },
    usual,
    { ...usual, authorization: "Token t", "user-agent": "me", "x-own": "1" },
    { ...usual, "x-key": "k" },
  ]);
  const ids = callIds({ now: () => 35.9 });
  expect([ids(), ids(), callIds({ now: () => 36 })()]).toEqual(["call_z_1", "call_z_2", "call_10_1"]);
});

const model = (more: object): LanguageModelV4 => more as unknown as LanguageModelV4;
const watch: WireWatch = { headers: () => {}, progress: () => {}, lines: "events" };

test("a letter is what an SDK was about to send; one that sends nothing is a flaw, and its failure its own", async () => {
  const asks = model({
    doStream: () =>
      watchedFetch("http://models.test/x", { method: "POST", headers: { A: "b" }, body: "asked" }),
  });
  expect(await letterOfSdk({ prompt: [] }, async () => asks)).toMatchObject({
    url: "http://models.test/x",
    headers: { a: "b" },
    body: "asked",
  });
  await expect(
    letterOfSdk({ prompt: [] }, async () => model({ doStream: async () => ({}) })),
  ).rejects.toThrow("an SDK sent no request");
  const flaw = new TypeError("a flaw");
  const breaks = model({ doStream: () => Promise.reject(flaw) });
  await expect(letterOfSdk({ prompt: [] }, async () => breaks)).rejects.toBe(flaw);
});

test("a whole answer has the parts of a streamed one, without what a provider ran itself", async () => {
  const usage = { inputTokens: {}, outputTokens: {} };
  const finishReason = { unified: "stop", raw: "end" };
  const signed = { mine: { signature: "s" } };
  const call = { type: "tool-call", toolCallId: "c", toolName: "x", input: "{}" };
  const asked: unknown[] = [];
  const answers = model({
    doStream: () => Promise.reject(new WholeAnswer("{}")),
    doGenerate: async (written: unknown) => {
      asked.push(written, await (await watchedFetch("u")).text());
      return {
        content: [
          { type: "text", text: "a" },
          { type: "reasoning", text: "hm", providerMetadata: signed },
          { type: "reasoning", text: "so" },
          call,
          { type: "source", id: "1" },
          { type: "text", text: "b" },
        ],
        finishReason,
        usage,
        providerMetadata: signed,
      };
    },
  });
  const parts = [
    { type: "text-delta", id: "0", delta: "a" },
    { type: "reasoning-start", id: "1", providerMetadata: signed },
    { type: "reasoning-delta", id: "1", delta: "hm" },
    { type: "reasoning-end", id: "1" },
    { type: "reasoning-start", id: "2" },
    { type: "reasoning-delta", id: "2", delta: "so" },
    { type: "reasoning-end", id: "2" },
    call,
    { type: "text-delta", id: "5", delta: "b" },
    { type: "finish", finishReason, usage, providerMetadata: signed },
  ];
  const written = { prompt: [] };
  const read: unknown[] = [];
  for await (const part of await streamed(answers, written, watch)) read.push(part);
  expect(read).toEqual(parts);
  expect(await partsOfWhole(answers, written, watch, '{"n":1}')).toEqual(parts);
  expect(asked).toEqual([written, "{}", written, '{"n":1}']);
  const flaw = new TypeError("a flaw");
  await expect(streamed(model({ doStream: () => Promise.reject(flaw) }), written, watch)).rejects.toBe(flaw);
});
