// What each provider's server is sent, whole: the address, the headers that say something, and the body, for
// a conversation with everything and for one with nothing. A diff in test/tables/requests-*.txt is a diff in
// behaviour.
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { AssistantContent, JsonObject } from "@parley/protocol";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { modelsFrom, type DeclaredProvider, type ModelRequest } from "../src/index.ts";
import { ask, asking, weatherTool } from "./collect.ts";

let server: Server;
let asked: string[];
beforeAll(async () => {
  server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      asked.push(
        wholeOf(request.method, request.url, request.headers, Buffer.concat(chunks as Buffer[]).toString()),
      );
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"enough"}}');
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
beforeEach(() => {
  asked = [];
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const told = [
  "authorization",
  "x-api-key",
  "x-goog-api-key",
  "anthropic-version",
  "anthropic-beta",
  "content-type",
  "accept",
  "x-own",
];

/** One line for each field of the body, and one for each message. */
function wholeOf(
  method: string | undefined,
  url: string | undefined,
  headers: { readonly [name: string]: string | readonly string[] | undefined },
  text: string,
): string {
  const body = JSON.parse(text) as JsonObject;
  const lines = Object.entries(body).flatMap(([field, value]) =>
    Array.isArray(value)
      ? [`  ${field}:`, ...value.map((each) => `    ${JSON.stringify(each)}`)]
      : [`  ${field}: ${JSON.stringify(value)}`],
  );
  const said = told.flatMap((name) =>
    headers[name] === undefined ? [] : [`  ${name}: ${[headers[name]].flat().join(", ")}`],
  );
  return [`${method} ${url}`, ...said, "  --", ...lines].join("\n");
}

const seal = (by: string, of: "thought" | "call", meta: object): string => JSON.stringify({ by, of, meta });
const picture = (name: string) => ({ type: "image", mediaType: "image/png", path: `ab/${name}` }) as const;
const words = (text: string) => ({ type: "text", text }) as const;
const other = { name: "other", description: "", parameters: { type: "object", properties: {} } } as const;

/** A conversation with everything; `own` is what the provider signed itself. */
function rich(by: string, own: JsonObject, signature: JsonObject): ModelRequest {
  const answer: readonly AssistantContent[] = [
    { type: "thinking", text: "hm", signature: seal(by, "thought", own) },
    { type: "thinking", text: "another's", signature: seal("elsewhere", "thought", own) },
    { type: "thinking", text: "unsigned" },
    { type: "thinking", text: "broken", signature: "no seal" },
    words("I look."),
    words("Twice."),
    { type: "thinking", text: "", signature: seal(by, "call", signature) },
    { type: "toolCall", id: "call_1", name: "weather", args: { city: "Köln" } },
    { type: "thinking", text: "", signature: seal("elsewhere", "call", signature) },
    { type: "toolCall", id: "call_2", name: "other", args: {} },
  ];
  const result = (callId: string, name: string, isError: boolean, ...content: readonly object[]) =>
    ({ role: "tool", callId, name, isError, content }) as never;
  return asking("", {
    system: { stable: "You are Parley.", volatile: "Channel: test." },
    tools: [other, weatherTool],
    thinking: "high",
    showThoughts: true,
    maxTokens: 900,
    messages: [
      { role: "user", content: [words("look"), picture("seen.png"), picture("gone.png"), words("well?")] },
      { role: "assistant", content: answer },
      result(
        "call_1",
        "weather",
        false,
        words("rain"),
        picture("map.png"),
        words("and wind"),
        picture("gone.png"),
      ),
      result("call_2", "other", true, words("no such thing"), picture("seen.png")),
      { role: "user", content: [words("and now?")] },
      { role: "assistant", content: [words("It rains.")] },
      { role: "user", content: [words("bye")] },
      { role: "user", content: [picture("seen.png")] },
    ],
  });
}

interface Row {
  readonly name: string;
  readonly model: string;
  readonly provider: DeclaredProvider;
  readonly path: string;
  readonly own?: JsonObject;
  readonly signature?: JsonObject;
}

const thinks = (id: string, more: object = {}) => ({
  id,
  reasoning: true,
  input: ["text", "image"] as const,
  ...more,
});
const chat = (name: string, id: string, more: object = {}, own: JsonObject = {}): Row => ({
  name: `${name} ${id}`,
  model: `${name}/${id}`,
  provider: { api: "openai-completions", apiKey: "k", models: [thinks(id, more)] },
  path: "/v1/",
  own,
});
const rows: readonly Row[] = [
  {
    name: "anthropic",
    model: "anthropic/claude-sonnet-4-5",
    provider: { apiKey: "k", headers: { "X-Own": "1" }, models: [thinks("claude-sonnet-4-5")] },
    path: "",
    own: { signature: "s1" },
  },
  {
    name: "anthropic at a proxy, limited",
    model: "mine/claude-opus-4-7",
    provider: {
      api: "anthropic-messages",
      models: [thinks("claude-opus-4-7", { maxTokens: 800, input: ["text"] })],
    },
    path: "/proxy/v2/",
    own: { redactedData: "r1" },
  },
  {
    name: "google",
    model: "google/gemini-2.5-pro",
    provider: { apiKey: "k", headers: { "X-Own": "1" }, models: [thinks("gemini-2.5-pro")] },
    path: "",
    own: { thoughtSignature: "dA==" },
    signature: { thoughtSignature: "Yw==" },
  },
  {
    name: "google, limited",
    model: "mine/gemini-2.5-flash",
    provider: { api: "google-generative-ai", models: [thinks("gemini-2.5-flash", { maxTokens: 2_000 })] },
    path: "/proxy",
  },
  {
    name: "openai responses",
    model: "openai/gpt-5.2",
    provider: { apiKey: "k", headers: { "X-Own": "1" }, models: [thinks("gpt-5.2")] },
    path: "/v1",
    own: { itemId: "rs_1", reasoningEncryptedContent: "sealed" },
  },
  {
    name: "openai responses by another's name",
    model: "mine/big-one",
    provider: { api: "openai-responses", models: [thinks("big-one", { maxTokens: 700, input: ["text"] })] },
    path: "/v1",
  },
  {
    name: "ollama",
    model: "ollama/qwen3:8b",
    provider: { apiKey: "k", headers: { "X-Own": "1" }, models: [thinks("qwen3:8b")] },
    path: "/api",
  },
  {
    name: "ollama with levels",
    model: "ollama/own",
    provider: {
      models: [thinks("own", { thinking: ["low", "medium", "high"], maxTokens: 70, contextWindow: 4_096 })],
    },
    path: "",
  },
  {
    name: "ollama's other endpoint",
    model: "ollama/llama3.3",
    provider: { models: [{ id: "llama3.3" }] },
    path: "/v1",
  },
  chat("mine", "big-one"),
  chat("openai", "gpt-5.2"),
  chat("openrouter", "vendor/m", {}, { reasoningDetails: [{ type: "reasoning.text", text: "hm" }] }),
  chat("groq", "qwen/qwen3-32b"),
  chat("mistral", "mistral-small", { maxTokens: 800 }),
  chat("deepseek", "deepseek-v4-pro", { thinking: ["off", "low", "high", "xhigh"] }),
  chat("moonshot", "kimi-k2"),
  chat("zai", "glm-5"),
  {
    name: "a server at home",
    model: "home/m",
    provider: {
      api: "openai-completions",
      headers: { Authorization: "Token t", "X-Own": "1" },
      models: [{ id: "m" }],
    },
    path: "",
  },
];

describe.each(rows)("$name", ({ name, model, provider, path, own = {}, signature = {} }) => {
  it("is sent this", async () => {
    const [by = ""] = model.split("/");
    const { port } = server.address() as AddressInfo;
    const made = await modelsFrom({
      providers: { [by]: { ...provider, baseUrl: `http://127.0.0.1:${port}${path}` } },
      readImage: async (file) => {
        if (file.endsWith("gone.png")) throw new Error("no such file");
        return new Uint8Array(file.endsWith("map.png") ? [1, 2, 3] : [137, 80, 78, 71]);
      },
      cacheSecret: "secret of the test",
      clock: virtualClock(),
      log: silentLog,
    }).get(model);
    const requests: { readonly [title: string]: ModelRequest } = {
      everything: rich(by, own, signature),
      nothing: asking("hi", { system: { stable: "", volatile: "" } }),
      "a stable zone alone, the least thinking": asking("hi", {
        system: { stable: "You are Parley.", volatile: "" },
        thinking: "minimal",
        cacheKey: "another session",
      }),
      "a volatile zone alone, the most thinking, tools that may not be called": asking("hi", {
        system: { stable: "", volatile: "Channel: test." },
        thinking: "xhigh",
        tools: [weatherTool],
        toolChoice: "none",
        maxTokens: 100_000,
      }),
      "thoughts that nobody reads": asking("hi", { thinking: "medium", showThoughts: false }),
      "thoughts to read that are off": asking("hi", { thinking: "off", showThoughts: true }),
    };
    const lines: string[] = [];
    for (const [title, request] of Object.entries(requests)) {
      asked.length = 0;
      const { end } = await ask(made, request);
      lines.push(`# ${title}`, ...asked, `= ${end.stop}: ${end.error?.kind} ${end.error?.message}`, "");
    }
    await expect(lines.join("\n")).toMatchFileSnapshot(
      `tables/requests-${name.replaceAll(/[^a-z0-9]+/g, "-")}.txt`,
    );
  });
});
