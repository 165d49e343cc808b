// Ollama's own API: what it is sent, how its lines are read, and that a cut stream is never an answer.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@parley/protocol";
import { silentLog, systemClock } from "@parley/protocol";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { modelsFrom, type Model } from "../src/index.ts";
import { ask, asking, weatherTool } from "./collect.ts";

const line = (message: object, more: object = {}): string =>
  `${JSON.stringify({ model: "qwen", message: { role: "assistant", content: "", ...message }, done: false, ...more })}\n`;
const recorded = Buffer.from(
  line({ thinking: "let me " }) +
    line({ thinking: "see" }) +
    line({ content: "Grü" }) +
    line({ content: "ße 👍" }) +
    line({ tool_calls: [{ function: { name: "weather", arguments: { city: "Köln" } } }] }) +
    line({}, { done: true, done_reason: "stop", prompt_eval_count: 9, eval_count: 4 }),
);

let server: Server;
let answer: { status: number; body: Buffer; contentType?: string };
let bodies: JsonObject[];
beforeAll(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      expect(request.url).toBe("/api/chat");
      bodies.push(JSON.parse(body) as JsonObject);
      response
        .writeHead(answer.status, { "content-type": answer.contentType ?? "application/x-ndjson" })
        .end(answer.body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  bodies = [];
  answer = { status: 200, body: recorded };
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const qwen = (more: object = {}): Promise<Model> => {
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const models = modelsFrom({
    providers: {
      ollama: { baseUrl, models: [{ id: "qwen", reasoning: true, input: ["text", "image"], ...more }] },
    },
    readImage: async () => new Uint8Array([1, 2, 3]),
    clock: systemClock(),
    log: silentLog,
  });
  return models.get("ollama/qwen");
};

describe("Ollama", () => {
  it("streams thoughts, words and calls, and counts tokens", async () => {
    const got = await ask(await qwen(), asking("hi", { tools: [weatherTool], thinking: "minimal" }));
    expect([got.thinking, got.text]).toEqual(["let me see", "Grüße 👍"]);
    expect(got.calls).toMatchObject([{ name: "weather", args: { city: "Köln" } }]);
    expect(got.end).toMatchObject({ stop: "toolUse", usage: { inputTokens: 9, outputTokens: 4 } });
    expect(bodies[0]).toMatchObject({
      think: true,
      options: { num_ctx: 32_768 },
      tools: [{ function: { name: "weather" } }],
    });
  });

  it("is told the declared context and limit, off, images, and the results by their tools", async () => {
    const image = { type: "image", mediaType: "image/png", path: "a.png" } as const;
    const messages = [
      { role: "user", content: [{ type: "text", text: "look" }, image] },
      {
        role: "assistant",
        content: [{ type: "toolCall", id: "c1", name: "weather", args: { city: "Oslo" } }],
      },
      {
        role: "tool",
        callId: "c1",
        name: "weather",
        content: [{ type: "text", text: "rain" }],
        isError: false,
      },
    ] as const;
    await ask(
      await qwen({ contextWindow: 8_192 }),
      asking("", { messages, tools: [weatherTool], toolChoice: "none", maxTokens: 99 }),
    );
    expect(bodies[0]).toMatchObject({ think: false, options: { num_ctx: 8_192, num_predict: 99 } });
    await ask(await qwen({ maxTokens: 77 }));
    expect(bodies[1]).toMatchObject({ options: { num_predict: 77 } });
    expect(bodies[0]?.["tools"]).toBeUndefined();
    expect(bodies[0]?.["messages"]).toMatchObject([
      { role: "system" },
      { role: "user", content: "look", images: ["AQID"] },
      { role: "assistant", tool_calls: [{ function: { name: "weather", arguments: { city: "Oslo" } } }] },
      { role: "tool", tool_name: "weather", content: "rain" },
    ]);
  });

  it.each([
    [404, '{"error":"model \\"qwen\\" not found, try pulling it first"}', "not_found"],
    [503, '{"error":"server busy"}', "unavailable"],
    [200, `${line({ content: "so" })}{"error":"unexpected EOF"}\n`, "torn"],
    [200, `${line({ content: "so" })}not json\n`, "torn"],
    [200, "<html>", "unavailable"],
  ])("tells %i %s as %s", async (status, body, kind) => {
    answer = { status, body: Buffer.from(body), ...(body === "<html>" ? { contentType: "text/html" } : {}) };
    expect((await ask(await qwen())).end.error?.kind).toBe(kind);
  });

  it("does not take half a call, nor what the length limit cut, for a call", async () => {
    answer.body = Buffer.from(
      line({ tool_calls: [{ function: { name: "weather", arguments: '{"city": "Os' } }] }) +
        line({}, { done: true, done_reason: "length" }),
    );
    const { calls, end } = await ask(await qwen(), asking("hi", { tools: [weatherTool] }));
    expect([calls, end.stop]).toEqual([[], "length"]);
  });

  it("cut at every byte is never taken for an answer before its last line", async () => {
    const model = await qwen();
    for (let at = 0; at < recorded.length - 1; at += at < recorded.length - 40 ? 7 : 1) {
      answer.body = recorded.subarray(0, at);
      const { end, calls } = await ask(model, asking("hi", { tools: [weatherTool] }));
      expect([end.error?.kind, calls.length]).toEqual(["torn", 0]);
    }
  });
});
