// Gemini's stream is small enough to write out here: no names, no end mark, the finish reason in the last
// chunk is its terminal event.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { silentLog, systemClock, type Clock } from "@parley/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { google, type ModelMessage } from "../src/index.ts";
import { virtualClock } from "@parley/testkit";
import { ask, asking, weatherTool } from "./collect.ts";

const chunk = (parts: readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }], usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 4, cachedContentTokenCount: 5, totalTokenCount: 13 } })}\r\n\r\n`;
const recorded = Buffer.from(
  chunk([{ text: "let me see", thought: true }]) +
    chunk([{ text: "Grüße" }]) +
    chunk([
      { functionCall: { id: "f1", name: "weather", args: { city: "Köln" } }, thoughtSignature: "c2VhbGVk" },
    ]) +
    chunk([{ text: "" }], { finishReason: "STOP" }),
);
const lastEvent = recorded.lastIndexOf("data: ");

let server: Server;
let cutAtByte = recorded.length;
let bodies: string[] = [];
let refusal: object | null = null;
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      bodies.push(body);
      if (refusal !== null)
        return response.writeHead(429, { "content-type": "application/json" }).end(JSON.stringify(refusal));
      response.writeHead(200, { "content-type": "text/event-stream" }).end(recorded.subarray(0, cutAtByte));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  bodies = [];
  refusal = null;
  cutAtByte = recorded.length;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const gemini = (modelId = "gemini-3-pro-preview", limited = false, clock: Clock = systemClock()) =>
  google({
    id: `google/${modelId}`,
    modelId,
    limited,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1beta`,
    apiKey: "k",
    facts: { contextWindow: 100_000, maxTokens: 8000, input: ["text"], reasoning: true },
    clock,
    log: silentLog,
  });

describe("Gemini", () => {
  it("streams thoughts, text and a call, and counts what the cache gave", async () => {
    const got = await ask(gemini(), asking("hi", { tools: [weatherTool], thinking: "high" }));
    expect([got.thinking, got.text]).toEqual(["let me see", "Grüße"]);
    expect(got.calls).toMatchObject([{ name: "weather", args: { city: "Köln" } }]);
    expect(got.end).toMatchObject({ stop: "toolUse", usage: { inputTokens: 4, cacheReadTokens: 5 } });
  });

  it("leaves room for the answer where its limit holds the thoughts too", async () => {
    await ask(gemini("gemini-2.5-flash", true), asking("hi", { thinking: "high" }));
    expect(JSON.parse(bodies[0] ?? "")).toMatchObject({
      generationConfig: { maxOutputTokens: 8000, thinkingConfig: { thinkingBudget: 4000 } },
    });
  });

  it("gets its call signatures back, and only its own", async () => {
    const first = await ask(gemini(), asking("hi", { tools: [weatherTool] }));
    const after = (content: typeof first.end.content): readonly ModelMessage[] => [
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content },
      {
        role: "tool",
        callId: first.calls[0]?.id ?? "",
        name: "weather",
        content: [{ type: "text", text: "sun" }],
        isError: false,
      },
    ];
    await ask(gemini(), asking("", { tools: [weatherTool], messages: after(first.end.content) }));
    expect(bodies[1]).toContain('"thoughtSignature":"c2VhbGVk"');
    const twice = [
      ...first.end.content,
      { type: "toolCall", id: "f2", name: "weather", args: {} },
    ] as typeof first.end.content;
    await ask(gemini(), asking("", { tools: [weatherTool], messages: after(twice) }));
    expect(bodies[2]?.match(/c2VhbGVk/g), "a call that came without one gets none").toHaveLength(1);
    const foreign = first.end.content.map((part) =>
      part.type === "thinking"
        ? { ...part, signature: part.signature?.replace("google", "anthropic") ?? "" }
        : part,
    );
    await ask(gemini(), asking("", { tools: [weatherTool], messages: after(foreign) }));
    expect(bodies[3]).not.toContain("c2VhbGVk");
  });

  it("cut at every byte is never taken for an answer before its finish reason", async () => {
    for (cutAtByte = 0; cutAtByte < recorded.length; cutAtByte += cutAtByte < lastEvent - 20 ? 5 : 1) {
      const { end, calls } = await ask(gemini(), asking("hi", { tools: [weatherTool] }));
      if (cutAtByte < recorded.length - 4) expect([end.error?.kind, calls.length]).toEqual(["torn", 0]);
      else if (end.error === undefined) expect(calls).toHaveLength(1);
      else expect(calls).toEqual([]);
    }
  });

  const quota = (...quotas: readonly { readonly id: string; readonly value?: string }[]): object => ({
    error: {
      code: 429,
      message: "You exceeded your current quota, please check your plan and billing details.",
      status: "RESOURCE_EXHAUSTED",
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.QuotaFailure",
          violations: quotas.map(({ id, value = "250" }) => ({
            quotaMetric: "requests",
            quotaId: id,
            quotaValue: value,
          })),
        },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "26s" },
      ],
    },
  });
  const hourMs = 3_600_000;
  it.each([
    [
      "of a minute",
      quota({ id: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier" }),
      "rate_limited",
      26_000,
    ],
    // Noon in UTC is five in the morning in California in July.
    [
      "of a day",
      quota({ id: "PerMinute" }, { id: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }),
      "rate_limited",
      19 * hourMs,
    ],
    [
      "of nought",
      quota({ id: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", value: "0" }),
      "billing",
      19 * hourMs,
    ],
    [
      "without details",
      { error: { code: 429, message: "Resource has been exhausted", status: "RESOURCE_EXHAUSTED" } },
      "rate_limited",
      undefined,
    ],
  ])("tells a used up quota %s for what it is", async (_of, answer, kind, retryAfterMs) => {
    refusal = answer;
    const clock = virtualClock({ startMs: Date.UTC(2026, 6, 1, 12) });
    expect((await ask(gemini("gemini-2.5-pro", false, clock))).end.error).toMatchObject({
      kind,
      status: 429,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  });
});
