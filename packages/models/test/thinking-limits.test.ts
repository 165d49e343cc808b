// How much a model may think beside its answer, where thoughts and answer share one limit, and when Anthropic
// is asked not to think because the answer under way has no signed thought.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { silentLog, type AssistantContent, type JsonObject } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { modelsFrom, type ModelRequest } from "../src/index.ts";
import { budgetWithin, mendedFetch } from "../src/sdk/thought-budget.ts";
import { ask, asking } from "./collect.ts";

let server: Server;
let bodies: JsonObject[];
beforeAll(async () => {
  server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      bodies.push(JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as JsonObject);
      response.writeHead(400).end("{}");
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
beforeEach(() => {
  bodies = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function sent(id: string, maxTokens: number | undefined, request: ModelRequest): Promise<JsonObject> {
  const [name = "", modelId = ""] = id.split("/");
  const limit = maxTokens === undefined ? {} : { maxTokens };
  const made = await modelsFrom({
    providers: {
      [name]: {
        apiKey: "k",
        baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        models: [{ id: modelId, reasoning: true, ...limit }],
      },
    },
    clock: virtualClock(),
    log: silentLog,
  }).get(id);
  await ask(made, request);
  return bodies.at(-1) ?? {};
}

test("Anthropic's thoughts have half of the limit at most, and none where too little is left", async () => {
  const of = async (maxTokens: number, more: Partial<ModelRequest> = {}): Promise<unknown> => {
    const request = asking("hi", { thinking: "medium", ...more });
    const body = await sent("anthropic/claude-sonnet-4-5", maxTokens, request);
    return [body["max_tokens"], body["thinking"]];
  };
  const enabled = (budget_tokens: number) => ({ type: "enabled", budget_tokens });
  expect([
    await of(1_024),
    await of(1_025),
    await of(2_047),
    await of(2_050),
    await of(100_000),
    await of(9_000, { maxTokens: 1_000 }),
    await of(9_000, { maxTokens: 20_000 }),
    await of(9_000, { thinking: "off", maxTokens: 100 }),
  ]).toEqual([
    [1_024, { type: "disabled" }],
    [1_025, enabled(1_024)],
    [2_047, enabled(1_024)],
    [2_050, enabled(1_025)],
    // What the SDK takes for this model's own limit.
    [64_000, enabled(19_200)],
    [9_000, enabled(4_500)],
    [9_000, enabled(4_500)],
    [100, { type: "disabled" }],
  ]);
});

test("Gemini's thoughts have half of the limit at most, whoever set it", async () => {
  const of = async (maxTokens: number | undefined, more: Partial<ModelRequest> = {}): Promise<unknown> => {
    const body = await sent("google/gemini-2.5-flash", maxTokens, asking("hi", { thinking: "low", ...more }));
    const { maxOutputTokens, thinkingConfig } = body["generationConfig"] as {
      maxOutputTokens?: number;
      thinkingConfig?: object;
    };
    return [maxOutputTokens, thinkingConfig];
  };
  const budget = (thinkingBudget: number) => ({ thinkingBudget });
  expect([
    await of(undefined),
    await of(undefined, { maxTokens: 3_000 }),
    await of(3_001),
    await of(1_000),
    await of(3_000, { thinking: "off" }),
    await of(3_000, { showThoughts: true }),
  ]).toEqual([
    [undefined, budget(6_554)],
    [3_000, budget(1_500)],
    [3_001, budget(1_500)],
    [1_000, budget(512)],
    [3_000, budget(0)],
    [3_000, { thinkingBudget: 1_500, includeThoughts: true }],
  ]);
});

test("with results of tools Anthropic thinks only where the answer that asked for them began with a signed thought", async () => {
  const thought = (meta: object): AssistantContent => ({
    type: "thinking",
    text: "hm",
    signature: JSON.stringify({ by: "anthropic", of: "thought", meta }),
  });
  const call: AssistantContent = { type: "toolCall", id: "c1", name: "x", args: {} };
  const said: AssistantContent = { type: "text", text: "I look." };
  const asked = { role: "user", content: [{ type: "text", text: "hi" }] } as const;
  const result = {
    role: "tool",
    callId: "c1",
    name: "x",
    content: [{ type: "text", text: "y" }],
    isError: false,
  } as const;
  const of = async (
    content: readonly AssistantContent[],
    more: ModelRequest["messages"] = [],
    model = "claude-sonnet-4-5",
  ): Promise<unknown> => {
    const messages = [asked, { role: "assistant", content }, result, ...more] as const;
    const body = await sent(`anthropic/${model}`, undefined, asking("", { thinking: "low", messages }));
    return (body["thinking"] as { type?: unknown }).type;
  };
  const elsewhere: AssistantContent = {
    type: "thinking",
    text: "hm",
    signature: '{"by":"x","of":"thought","meta":{}}',
  };
  expect([
    await of([thought({ signature: "s" }), said, call]),
    await of([thought({ redactedData: "r" }), call]),
    await of([said, thought({ signature: "s" }), call]),
    await of([said, call]),
    await of([call]),
    await of([elsewhere, call]),
    // Somebody wrote meanwhile: the results stand in the same message.
    await of([call], [asked]),
    // The answer after them is another one.
    await of([call], [{ role: "assistant", content: [said] }, asked]),
    await of([call], [], "claude-opus-4-7"),
  ]).toEqual([
    "enabled",
    "enabled",
    "disabled",
    "disabled",
    "disabled",
    "disabled",
    "disabled",
    "enabled",
    "adaptive",
  ]);
});

test("a budget is between the provider's least and half of the limit; only a text is mended on its way", async () => {
  expect([
    budgetWithin(9_000, 100, 1_024),
    budgetWithin(9_000, 2_000, 1_024),
    budgetWithin(9_001, 9_000, 1_024),
    budgetWithin(100, 9_000, 1_024),
  ]).toEqual([1_024, 2_000, 4_500, 1_024]);
  const seen: unknown[] = [];
  const watched = (async (input: unknown, init?: RequestInit) => {
    seen.push([input, init?.method, init?.body]);
    return new Response();
  }) as typeof fetch;
  const mended = mendedFetch(watched, (body) => ({ ...body, mended: true }));
  const bytes = new Uint8Array([1]);
  await mended("u", { method: "POST", body: '{"a":1}' });
  await mended("u", { method: "PUT", body: bytes });
  await mended("u");
  expect(seen).toEqual([
    ["u", "POST", '{"a":1,"mended":true}'],
    ["u", "PUT", bytes],
    ["u", undefined, undefined],
  ]);
});
