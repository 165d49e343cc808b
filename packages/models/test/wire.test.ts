// Our own wire beside the SDK that it stands in for: both write the same request, byte for byte, and read the
// same answer from the same stream.
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { fakeModels, type FakeModels, type ModelStep } from "@parley/testkit";
import { silentLog, systemClock } from "@parley/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anthropicDriver } from "../src/providers/anthropic-messages.ts";
import { completionsDriver } from "../src/providers/openai-completions.ts";
import { sdkModel, type Driver } from "../src/sdk-model.ts";
import type { Model, ModelRequest } from "../src/index.ts";
import type { ProviderOptions } from "../src/provider.ts";
import { ask, asking, weatherTool, type Collected } from "./collect.ts";

const png = new Uint8Array([137, 80, 78, 71]);

function options(baseUrl: string, more: Partial<ProviderOptions> = {}): ProviderOptions {
  return {
    id: "local/fake",
    modelId: "fake",
    baseUrl,
    apiKey: "key-of-the-test",
    facts: { contextWindow: 100_000, maxTokens: 8000, input: ["text", "image"], reasoning: false },
    readImage: async () => png,
    clock: systemClock(),
    log: silentLog,
    ...more,
  };
}

function both(
  given: ProviderOptions,
  driverOf: (options: ProviderOptions) => Driver = completionsDriver,
): { readonly wire: Model; readonly sdk: Model } {
  const driver = driverOf(given);
  return { wire: sdkModel(given, driver), sdk: sdkModel(given, { ...driver, wire: undefined }) };
}

const reasoning = {
  contextWindow: 100_000,
  maxTokens: 8000,
  input: ["text", "image"],
  reasoning: true,
} as const;
const picture = { type: "image", mediaType: "image/png", path: "ab/seen.png" } as const;
const seal = (by: string, of: string, meta: object) => JSON.stringify({ by, of, meta });

function talk(by: string): ModelRequest {
  return asking("", {
    tools: [weatherTool, { ...weatherTool, name: "other", description: 'Zwölf "Zitate" \u2028 <b>' }],
    thinking: "high",
    maxTokens: 900,
    messages: [
      { role: "user", content: [{ type: "text", text: "look" }, picture] },
      {
        role: "assistant",
        content: [
          {
            type: "thinking",
            text: "hm",
            signature: seal(by, "thought", { reasoningDetails: [{ type: "reasoning.text", text: "hm" }] }),
          },
          { type: "text", text: "I look \u{1f469}\u200d\u{1f467}" },
          { type: "thinking", text: "", signature: seal(by, "call", { thoughtSignature: "sealed-1" }) },
          {
            type: "toolCall",
            id: "c1",
            name: "weather",
            args: { city: "Köln", deep: { a: [1, null, "x"] } },
          },
          { type: "toolCall", id: "c2", name: "other", args: {} },
        ],
      },
      {
        role: "tool",
        callId: "c1",
        name: "weather",
        content: [{ type: "text", text: "rain" }, picture],
        isError: false,
      },
      { role: "tool", callId: "c2", name: "other", content: [{ type: "text", text: "no" }], isError: true },
      { role: "assistant", content: [{ type: "text", text: "It rains." }] },
      { role: "user", content: [{ type: "text", text: "and now?" }] },
    ],
  });
}

describe("a request", () => {
  const vendors: readonly (readonly [string, Partial<ProviderOptions>])[] = [
    ["an unknown server", {}],
    ["a model that thinks", { facts: reasoning }],
    ["OpenAI", { id: "openai/gpt-5.2", modelId: "gpt-5.2", facts: reasoning }],
    ["OpenRouter", { id: "openrouter/some/model", modelId: "some/model", facts: reasoning }],
    ["Mistral", { id: "mistral/mistral-large", modelId: "mistral-large", facts: reasoning, limited: true }],
    ["DeepSeek", { id: "deepseek/deepseek-v4", modelId: "deepseek-v4", facts: reasoning }],
    ["Z.ai", { id: "zai/glm-5", modelId: "glm-5", facts: reasoning }],
    ["a server without a key", { apiKey: undefined, headers: { "X-Own": "1", Authorization: "Token t" } }],
  ];
  let server: Server;
  let seen: { body: string; headers: { readonly [name: string]: string | string[] | undefined } }[] = [];
  beforeAll(async () => {
    server = await listening((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        seen.push({ body: Buffer.concat(pieces).toString(), headers: request.headers });
        response.end('data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n');
      });
    });
  });
  afterAll(() => closed(server));

  it.each(vendors.map(([name, more]) => ({ name, more })))("to $name is the SDK's own", async ({ more }) => {
    const given = options(urlOf(server), more);
    const models = both(given);
    const provider = given.id.slice(0, given.id.indexOf("/"));
    for (const request of [
      asking("hi"),
      talk(provider),
      { ...talk(provider), toolChoice: "none" as const, tools: [] },
    ]) {
      seen = [];
      expect((await ask(models.sdk, request)).text).toBe("ok");
      expect((await ask(models.wire, request)).text).toBe("ok");
      expect(seen[1]?.body).toBe(seen[0]?.body);
      for (const name of ["authorization", "content-type", "x-own", "content-length"])
        expect([name, seen[1]?.headers[name]]).toEqual([name, seen[0]?.headers[name]]);
    }
  });
});

describe("an answer", () => {
  let fake: FakeModels;
  beforeAll(async () => {
    fake = await fakeModels();
  });
  beforeEach(() => fake.reset());
  afterAll(() => fake.close());

  const steps: readonly (readonly [string, ModelStep])[] = [
    ["of words", { text: "Grüße, 世界!", usage: { input: 3, output: 2, cacheRead: 1 } }],
    ["of thoughts and words", { thinking: "let me see", text: "so" }],
    [
      "of two calls",
      {
        text: "a",
        toolCalls: [
          { id: "c1", name: "weather", args: { city: "Oslo" } },
          { id: "c2", name: "weather", args: {} },
        ],
      },
    ],
    [
      "cut by its limit",
      { text: "so", toolCalls: [{ id: "c1", name: "weather", args: '{"city": "Os' }], stop: "length" },
    ],
    ["withheld", { text: "I", stop: "refusal" }],
    [
      "that fails on its way",
      { text: "half", errorEvent: { type: "overloaded_error", message: "Overloaded" } },
    ],
    [
      "refused with words",
      {
        status: 400,
        body: JSON.stringify({ type: "error", error: { message: "no such field", type: "invalid" } }),
      },
    ],
    ["refused without words", { status: 503 }],
  ];
  const apis = [
    { api: "chat completions", driverOf: completionsDriver },
    { api: "Anthropic", driverOf: anthropicDriver },
  ];
  it.each(apis.flatMap((api) => steps.map(([name, step]) => ({ ...api, name, step }))))(
    "$name is read alike ($api)",
    async ({ driverOf, step }) => {
      const models = both(options(`${fake.url}/v1`, { facts: reasoning }), driverOf);
      const request = asking("hi", { tools: [weatherTool], thinking: "low" });
      fake.script(step, step);
      const [sdk, wire] = [await ask(models.sdk, request), await ask(models.wire, request)];
      // The fake numbers its signatures.
      const plain = ({ events }: Collected): string =>
        JSON.stringify(events, null, 1).replaceAll(/sealed-\d+/g, "sealed");
      expect(plain(wire)).toBe(plain(sdk));
      const [first, second] = fake.requests();
      expect(second?.body).toEqual(first?.body);
    },
  );
});

describe("a connection", () => {
  const words = 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n';
  let server: Server | undefined;
  afterEach(() => server !== undefined && closed(server));

  it("is kept for the next call", async () => {
    const ports = new Set<number | undefined>();
    server = await listening((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on("end", () => response.end(words));
    });
    const { wire } = both(options(urlOf(server)));
    for (let n = 0; n < 3; n += 1) expect((await ask(wire)).text).toBe("ok");
    expect(ports.size).toBe(1);
  });

  it("that the server closed meanwhile is made anew, and nothing is told of it", async () => {
    let asked = 0;
    server = await listening((request, response) => {
      asked += 1;
      if (asked === 2) request.socket.destroy();
      else request.resume().on("end", () => response.end(words));
    });
    const { wire } = both(options(urlOf(server)));
    expect((await ask(wire)).text).toBe("ok");
    expect((await ask(wire)).text).toBe("ok");
    expect(asked).toBe(3);
  });

  it("that breaks before an answer on a new connection is a failure and not repeated here", async () => {
    let asked = 0;
    server = await listening((request) => {
      asked += 1;
      request.socket.destroy();
    });
    const { end } = await ask(both(options(urlOf(server))).wire);
    expect([end.error?.kind, asked]).toEqual(["unavailable", 1]);
  });

  it("that sends its answer elsewhere is followed", async () => {
    server = await listening((request, response) => {
      if (request.url === "/moved/chat/completions") request.resume().on("end", () => response.end(words));
      else
        request
          .resume()
          .on("end", () => response.writeHead(307, { location: "/moved/chat/completions" }).end());
    });
    expect((await ask(both(options(urlOf(server))).wire)).text).toBe("ok");
  });

  it("that compresses its answer though nobody asked is read", async () => {
    server = await listening((request, response) => {
      request
        .resume()
        .on("end", () => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(words)));
    });
    expect((await ask(both(options(urlOf(server))).wire)).text).toBe("ok");
  });

  it("that sends faster than anyone reads is made to wait, and loses nothing", async () => {
    const piece = `data: {"choices":[{"delta":{"content":"${"x".repeat(1000)}"}}]}\n\n`;
    server = await listening((request, response) => {
      request.resume().on("end", () => {
        for (let n = 0; n < 1_000; n += 1) response.write(piece);
        response.end(words);
      });
    });
    let chars = 0;
    for await (const event of both(options(urlOf(server))).wire.stream(
      asking("hi"),
      new AbortController().signal,
    )) {
      if (event.type !== "text") continue;
      chars += event.delta.length;
      if (chars % 100_000 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(chars).toBe(1_000_002);
  });

  it("whose answer has no end is given up by its size", async () => {
    const junk = Buffer.alloc(1024 * 1024, "x");
    server = await listening((request, response) => {
      const more = (): void => void (response.destroyed || response.write(junk, () => setImmediate(more)));
      request.resume().on("end", more);
    });
    const { end } = await ask(both(options(urlOf(server))).wire);
    expect(end.error).toMatchObject({
      kind: "invalid",
      message: expect.stringContaining("larger than") as string,
    });
  });
});

async function listening(answer: RequestListener): Promise<Server> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function closed(server: Server): void {
  server.closeAllConnections();
  server.close();
}
