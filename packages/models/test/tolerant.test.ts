// Answers in forms that no reference shows and real servers send all the same: what was answered is never
// thrown away for its form, and counts that a cap relies on are never missing, negative or absurd.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { silentLog, systemClock } from "@parley/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { modelsFrom, type ModelApi } from "../src/index.ts";
import { ask, asking, weatherTool, type Collected } from "./collect.ts";

let server: Server;
let body = "";
let contentType = "text/event-stream";
beforeAll(async () => {
  server = createServer((request, response) => {
    request
      .resume()
      .on("end", () =>
        response.writeHead(200, contentType === "" ? {} : { "content-type": contentType }).end(body),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function got(api: ModelApi, answer: string, type = "text/event-stream"): Promise<Collected> {
  body = answer;
  contentType = type;
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const models = [{ id: "m", cost: { input: 1, output: 1 } }];
  const model = await modelsFrom({
    providers: { mine: { api, baseUrl, models } },
    clock: systemClock(),
    log: silentLog,
  }).get("mine/m");
  return ask(model, asking("What is the weather in Oslo today?", { tools: [weatherTool] }));
}

const words = "It rains in Oslo today, and it will rain tomorrow.";
const call = {
  index: 0,
  id: "c1",
  type: "function",
  function: { name: "weather", arguments: '{"city":"Oslo"}' },
};
const chunk = (delta: object, finish: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }], ...more })}`;
const chat = (...events: readonly string[]): string => [...events, "data: [DONE]", ""].join("\n\n");

const wholeChat = {
  choices: [{ index: 0, message: { role: "assistant", content: words }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 7 },
};
const wholeCall = {
  choices: [{ message: { content: null, tool_calls: [call] }, finish_reason: "tool_calls" }],
};
const wholeAnthropic = {
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: words }],
  stop_reason: "end_turn",
  usage: { input_tokens: 9, output_tokens: 7 },
};
const part = { type: "output_text", text: words, annotations: [] };
const wholeResponse = {
  id: "r",
  created_at: 1,
  model: "m",
  error: null,
  output: [{ id: "msg", type: "message", role: "assistant", content: [part] }],
  usage: { input_tokens: 9, output_tokens: 7 },
};
const candidate = { content: { role: "model", parts: [{ text: words }] }, finishReason: "STOP" };
const wholeGemini = {
  candidates: [candidate],
  usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 7 },
};

describe("an answer is read", () => {
  const forms: readonly (readonly [how: string, api: ModelApi, answer: string, type?: string])[] = [
    [
      "without a blank line behind its last event",
      "openai-completions",
      `${chunk({ content: words })}\n\n${chunk({}, "stop")}`,
    ],
    [
      "without any blank line",
      "openai-completions",
      `${chunk({ content: words })}\n${chunk({}, "stop")}\ndata: [DONE]`,
    ],
    [
      "with bare carriage returns",
      "openai-completions",
      `${chunk({ content: words })}\r\r${chunk({}, "stop")}\r\rdata: [DONE]\r\r`,
    ],
    [
      "without a space behind data:",
      "openai-completions",
      chat(chunk({ content: words }), chunk({}, "stop")).replaceAll("data: ", "data:"),
    ],
    ["with [DONE] and no finish_reason", "openai-completions", chat(chunk({ content: words }))],
    [
      "with a finish_reason and no [DONE]",
      "openai-completions",
      `${chunk({ content: words })}\n\n${chunk({}, "stop")}\n\n`,
    ],
    [
      "with a finish_reason of its own",
      "openai-completions",
      chat(chunk({ content: words }), chunk({}, "EOS")),
    ],
    [
      "with an empty finish_reason all the way",
      "openai-completions",
      chat(chunk({ content: words }, ""), chunk({}, "stop")),
    ],
    [
      "with events that have no choices",
      "openai-completions",
      chat('data: {"id":"x"}', chunk({ content: words }), chunk({}, "stop"), 'data: {"usage":{}}'),
    ],
    ["with messages in place of deltas", "openai-completions", chat(`data: ${JSON.stringify(wholeChat)}`)],
    [
      "with a role nobody knows",
      "openai-completions",
      chat(chunk({ role: "model", content: words }), chunk({}, "stop")),
    ],
    [
      "called text/plain",
      "openai-completions",
      chat(chunk({ content: words }), chunk({}, "stop")),
      "text/plain; charset=utf-8",
    ],
    [
      "called application/json",
      "openai-completions",
      chat(chunk({ content: words }), chunk({}, "stop")),
      "application/json",
    ],
    ["called nothing", "openai-completions", chat(chunk({ content: words }), chunk({}, "stop")), ""],
    [
      "behind a byte order mark",
      "openai-completions",
      `\ufeff${chat(chunk({ content: words }), chunk({}, "stop"))}`,
    ],
    [
      "as JSON in place of a stream",
      "openai-completions",
      JSON.stringify(wholeChat, null, 2),
      "application/json",
    ],
    ["as JSON that is called a stream", "openai-completions", JSON.stringify(wholeChat)],
    [
      "as JSON in place of a stream",
      "anthropic-messages",
      JSON.stringify(wholeAnthropic),
      "application/json",
    ],
    ["as JSON in place of a stream", "openai-responses", JSON.stringify(wholeResponse), "application/json"],
    [
      "as JSON in place of a stream",
      "google-generative-ai",
      JSON.stringify(wholeGemini, null, 2),
      "application/json",
    ],
    [
      "as a list of JSON in place of a stream",
      "google-generative-ai",
      JSON.stringify([wholeGemini]),
      "application/json",
    ],
    [
      "with null where there is nothing",
      "ollama",
      [
        { message: { content: words, thinking: null, tool_calls: null }, error: null },
        { message: null },
        { message: { content: null }, done: true },
      ]
        .map((line) => JSON.stringify(line))
        .join("\n"),
    ],
  ];
  it.each(forms.map(([how, api, answer, type]) => ({ how, api, answer, type })))(
    "$how ($api)",
    async ({ api, answer, type }) => {
      const { end, text } = await got(api, answer, type);
      expect([end.error, text, end.stop]).toEqual([undefined, words, "stop"]);
    },
  );

  it.each([
    [
      "arguments as an object",
      chat(
        chunk({ tool_calls: [{ ...call, function: { name: "weather", arguments: { city: "Oslo" } } }] }),
        chunk({}, "tool_calls"),
      ),
    ],
    ["an index as a text", chat(chunk({ tool_calls: [{ ...call, index: "0" }] }), chunk({}, "tool_calls"))],
    ["a number for an id", chat(chunk({ tool_calls: [{ ...call, id: 7 }] }), chunk({}, "tool_calls"))],
    ["[DONE] and no finish_reason", chat(chunk({ tool_calls: [call] }))],
    ["its whole answer as JSON", JSON.stringify(wholeCall)],
  ])("with a tool call that has %s", async (_how, answer) => {
    const { calls, end } = await got("openai-completions", answer);
    expect([end.stop, calls.map(({ name, args }) => [name, args])]).toEqual([
      "toolUse",
      [["weather", { city: "Oslo" }]],
    ]);
  });

  it("with two calls under one id, each with its own arguments", async () => {
    const other = { ...call, index: 1, function: { name: "weather", arguments: '{"city":"Rome"}' } };
    const { calls, end } = await got(
      "openai-completions",
      chat(chunk({ tool_calls: [call, other] }), chunk({}, "tool_calls")),
    );
    expect(calls.map(({ args }) => args["city"])).toEqual(["Oslo", "Rome"]);
    expect(end.content.map((each) => each.type === "toolCall" && each.args["city"])).toEqual([
      "Oslo",
      "Rome",
    ]);
  });

  it.each([
    ["half a JSON", JSON.stringify(wholeChat).slice(0, -9)],
    ["an empty body", ""],
    [
      "a stream that gave up in the middle",
      chat(chunk({ content: words }), chunk({}, "insufficient_system_resource")),
    ],
    ["a stream without an end", `${chunk({ content: words })}\n\n`],
    ["half an end", `${chunk({ content: words })}\n\n${chunk({}, "stop").slice(0, -4)}`],
  ])("but not %s", async (_how, answer) => {
    const { end, calls } = await got("openai-completions", answer);
    expect([end.error?.kind, calls]).toEqual(["torn", []]);
  });
});

describe("the length limit", () => {
  it("runs no call, not even a complete one, and says so to the model", async () => {
    const { calls, events, end } = await got(
      "openai-completions",
      chat(chunk({ tool_calls: [call] }), chunk({}, "length")),
    );
    expect([calls, end.stop]).toEqual([[], "length"]);
    expect(events[0]).toMatchObject({
      type: "badToolCall",
      reason: expect.stringContaining("cut off") as string,
    });
  });
});

describe("an answer that its provider ended early", () => {
  it.each(["OTHER", "LANGUAGE", "TOO_MANY_TOOL_CALLS"])("is told as cut: %s", async (finishReason) => {
    const answer = `data: ${JSON.stringify({ candidates: [{ ...candidate, finishReason }] })}\n\n`;
    expect((await got("google-generative-ai", answer)).end.stop).toBe("cut");
  });
});

const counted = (usage: unknown): string => chat(chunk({ content: words }), chunk({}, "stop", { usage }));
const estimate = { outputTokens: Math.ceil(words.length / 4), estimated: true };

describe("token counts", () => {
  it.each([
    ["as texts", { prompt_tokens: "90", completion_tokens: "7" }, { inputTokens: 90, outputTokens: 7 }],
    ["as fractions", { prompt_tokens: 90.4, completion_tokens: 7 }, { inputTokens: 90, outputTokens: 7 }],
    ["absent", undefined, estimate],
    ["null", null, estimate],
    ["a list", [], estimate],
    ["of words", { prompt_tokens: "many", completion_tokens: "few" }, estimate],
    ["nought", { prompt_tokens: 0, completion_tokens: 0 }, estimate],
    ["negative", { prompt_tokens: -90, completion_tokens: -7 }, estimate],
    ["absurd", { prompt_tokens: 9e15, completion_tokens: 9e15 }, estimate],
    ["half there", { prompt_tokens: 90 }, { inputTokens: 90, ...estimate }],
    [
      "with more cached than there were",
      { prompt_tokens: 10, completion_tokens: 7, prompt_tokens_details: { cached_tokens: 30 } },
      { inputTokens: 0, cacheReadTokens: 30, outputTokens: 7 },
    ],
  ])("%s never lose the answer and never weaken a cap", async (_how, usage, expected) => {
    const { end, text } = await got("openai-completions", counted(usage));
    expect([end.error, text]).toEqual([undefined, words]);
    expect(end.usage).toMatchObject(expected);
    const { inputTokens, cacheReadTokens, costUsd = 0 } = end.usage;
    // The request alone is some hundred bytes.
    expect(inputTokens + cacheReadTokens).toBeGreaterThan(9);
    expect(inputTokens + cacheReadTokens).toBeLessThan(1000);
    expect(costUsd).toBeGreaterThan(0);
  });

  it("beside the choice are found", async () => {
    const usage = { prompt_tokens: 90, completion_tokens: 7 };
    const answer = chat(
      chunk({ content: words }),
      `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: "stop", usage }] })}`,
    );
    expect((await got("openai-completions", answer)).end.usage).toMatchObject({
      inputTokens: 90,
      outputTokens: 7,
    });
  });

  const anthropic = (start: object, end: object): string =>
    [
      { type: "message_start", message: { id: "m", role: "assistant", model: "m", content: [], ...start } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: words } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, ...end },
      { type: "message_stop" },
    ]
      .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join("");

  it.each<readonly [string, ModelApi, string]>([
    ["no counts", "anthropic-messages", anthropic({}, {})],
    [
      "texts for counts",
      "anthropic-messages",
      anthropic({ usage: { input_tokens: "x" } }, { usage: { output_tokens: "-1" } }),
    ],
    ["no counts", "google-generative-ai", `data: ${JSON.stringify({ candidates: [candidate] })}\n\n`],
    [
      "negative counts",
      "google-generative-ai",
      `data: ${JSON.stringify({ candidates: [candidate], usageMetadata: { promptTokenCount: -4 } })}\n\n`,
    ],
    [
      "negative counts",
      "ollama",
      `${JSON.stringify({ message: { content: words }, done: true, prompt_eval_count: -1, eval_count: "x" })}\n`,
    ],
    [
      "texts for counts",
      "openai-responses",
      [
        { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
        { type: "response.output_item.added", output_index: 0, item: { id: "msg", type: "message" } },
        {
          type: "response.output_text.delta",
          item_id: "msg",
          output_index: 0,
          content_index: 0,
          delta: words,
        },
        { type: "response.completed", response: { usage: { input_tokens: "x", output_tokens: null } } },
      ]
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join(""),
    ],
  ])("%s from %s are estimated", async (_how, api, answer) => {
    const { end, text } = await got(api, answer);
    expect([end.error, text]).toEqual([undefined, words]);
    expect(end.usage).toMatchObject(estimate);
  });

  it("of an answer that broke off are estimated: it was paid for", async () => {
    expect((await got("openai-completions", `${chunk({ content: words })}\n\n`)).end.usage).toMatchObject(
      estimate,
    );
  });
});

describe("a pause of the provider's", () => {
  it("is gone on from at most eight times, each time from all of its words, said once", async () => {
    const bodies: { messages: { role: string; content: { text: string }[] }[] }[] = [];
    const pausing = createServer((request, response) => {
      let text = "";
      request.on("data", (piece: Buffer) => (text += piece.toString()));
      request.on("end", () => {
        bodies.push(JSON.parse(text) as (typeof bodies)[number]);
        const said = `w${bodies.length} `;
        const whole = {
          ...wholeAnthropic,
          content: [{ type: "text", text: said }],
          stop_reason: "pause_turn",
        };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
      });
    });
    await new Promise<void>((resolve) => pausing.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(pausing.address() as AddressInfo).port}`;
    const models = modelsFrom({
      providers: { mine: { api: "anthropic-messages", baseUrl } },
      clock: systemClock(),
      log: silentLog,
    });
    const { end, text } = await ask(await models.get("mine/m"));
    const words = (most: number): string => Array.from({ length: most }, (_, at) => `w${at + 1} `).join("");
    expect([end.stop, text]).toEqual(["stop", words(9)]);
    expect(bodies.map(({ messages }) => messages.map(({ role }) => role).join(" "))).toEqual([
      "user",
      ...Array<string>(8).fill("user assistant"),
    ]);
    // Anthropic refuses blanks at the very end.
    expect(
      bodies
        .at(-1)
        ?.messages[1]?.content.map((part) => part.text)
        .join("")
        .trim(),
    ).toBe(words(8).trim());
    await new Promise((resolve) => pausing.close(resolve));
  });

  it("is no end: the model is handed its words and goes on", async () => {
    let asked = 0;
    const bodies: { messages: { role: string; content: unknown }[] }[] = [];
    const pausing = createServer((request, response) => {
      let text = "";
      request.on("data", (piece: Buffer) => (text += piece.toString()));
      request.on("end", () => {
        bodies.push(JSON.parse(text) as (typeof bodies)[number]);
        asked += 1;
        const [said, stop_reason] =
          asked === 1 ? ["I look it up", "pause_turn"] : [" and it rains.", "end_turn"];
        const whole = { ...wholeAnthropic, content: [{ type: "text", text: said }], stop_reason };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(whole));
      });
    });
    await new Promise<void>((resolve) => pausing.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(pausing.address() as AddressInfo).port}`;
    const models = modelsFrom({
      providers: { mine: { api: "anthropic-messages", baseUrl } },
      clock: systemClock(),
      log: silentLog,
    });
    const { end, text } = await ask(await models.get("mine/m"));
    expect([end.stop, text]).toEqual(["stop", "I look it up and it rains."]);
    expect(end.usage).toMatchObject({ inputTokens: 18, outputTokens: 14 });
    expect(bodies[1]?.messages.at(-1)).toMatchObject({
      role: "assistant",
      content: [{ type: "text", text: "I look it up" }],
    });
    await new Promise((resolve) => pausing.close(resolve));
  });
});
