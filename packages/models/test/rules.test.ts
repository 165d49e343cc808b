// The table of docs/models.md, a row each: a conversation with thoughts, calls side by side and a picture
// among their results, against a server that refuses what the vendor refuses. What was sent is recorded whole
// in `recorded/`.
import { silentLog, systemClock, type AssistantContent } from "@parley/protocol";
import { afterAll, beforeEach, beforeAll, describe, expect, it } from "vitest";
import { modelsFrom, type Model, type ModelApi, type ModelMessage } from "../src/index.ts";
import { ask, asking, weatherTool } from "./collect.ts";
import { strictServer, type StrictServer } from "./strict-server.ts";
import type { vendors } from "./strict-vendors.ts";

let server: StrictServer;
beforeAll(async () => {
  server = await strictServer();
});
beforeEach(() => server.bodies.clear());
afterAll(() => server.close());

interface Row {
  readonly vendor: keyof typeof vendors;
  readonly api: ModelApi;
  /** The provider's name in the config. */
  readonly name: string;
  readonly modelId: string;
  readonly path?: string;
}

const rows: readonly Row[] = [
  { vendor: "unknown", api: "openai-completions", name: "mine", modelId: "big-one" },
  { vendor: "openai", api: "openai-completions", name: "openai", modelId: "gpt-5" },
  {
    vendor: "openrouter",
    api: "openai-completions",
    name: "openrouter",
    modelId: "anthropic/claude-sonnet-4-5",
  },
  { vendor: "groq", api: "openai-completions", name: "groq", modelId: "qwen/qwen3-32b" },
  { vendor: "mistral", api: "openai-completions", name: "mistral", modelId: "mistral-small-latest" },
  { vendor: "deepseek", api: "openai-completions", name: "deepseek", modelId: "deepseek-v4-pro" },
  { vendor: "moonshot", api: "openai-completions", name: "moonshot", modelId: "kimi-k2-thinking" },
  { vendor: "zai", api: "openai-completions", name: "zai", modelId: "glm-4.7" },
  { vendor: "openai-responses", api: "openai-responses", name: "openai", modelId: "gpt-5" },
  {
    vendor: "anthropic-messages",
    api: "anthropic-messages",
    name: "anthropic",
    modelId: "claude-sonnet-4-5",
  },
  { vendor: "google-generative-ai", api: "google-generative-ai", name: "google", modelId: "gemini-2.5-pro" },
  { vendor: "ollama", api: "ollama", name: "ollama", modelId: "qwen3:8b" },
  { vendor: "ollama graded", api: "ollama", name: "ollama", modelId: "gpt-oss:20b" },
];

function modelOf({ vendor, api, name, modelId, path = "" }: Row): Promise<Model> {
  const baseUrl = `${server.url}/${encodeURIComponent(vendor)}${path}`;
  return modelsFrom({
    providers: {
      [name]: {
        api,
        baseUrl,
        apiKey: "k",
        models: [{ id: modelId, reasoning: true, input: ["text", "image"], maxTokens: 9000 }],
      },
    },
    readImage: async () => new Uint8Array([137, 80, 78, 71]),
    clock: systemClock(),
    log: silentLog,
  }).get(`${name}/${modelId}`);
}

const asked: ModelMessage = { role: "user", content: [{ type: "text", text: "weather?" }] };

function answered(content: readonly AssistantContent[]): readonly ModelMessage[] {
  const [one, two] = content.filter((part) => part.type === "toolCall");
  const picture = { type: "image", mediaType: "image/png", path: "ab/map.png" } as const;
  return [
    asked,
    { role: "assistant", content },
    {
      role: "tool",
      callId: one?.id ?? "",
      name: "weather",
      content: [{ type: "text", text: "rain" }, picture],
      isError: false,
    },
    {
      role: "tool",
      callId: two?.id ?? "",
      name: "weather",
      content: [{ type: "text", text: "no such city" }],
      isError: true,
    },
  ];
}

const request = (messages: readonly ModelMessage[]): ReturnType<typeof asking> =>
  asking("", {
    tools: [weatherTool],
    thinking: "high",
    messages,
    cacheKey: "agent:main:telegram:dm:123456789",
  });

describe.each(rows)("$api as $vendor takes it", (row) => {
  it("goes through a turn with thoughts, parallel calls and a picture, and through the one after it", async () => {
    const model = await modelOf(row);
    const first = await ask(model, request([asked]));
    expect(first.end.error).toBeUndefined();
    expect(first.calls.map(({ args }) => args["city"])).toEqual(["Oslo", "Rome"]);
    const history = answered(first.end.content);
    const second = await ask(model, request(history));
    expect(second.end.error).toBeUndefined();
    expect(second.text).toBe("done");
    const [, body] = server.bodies.get(row.vendor) ?? [];
    await expect(`${JSON.stringify(body, null, 2)}\n`).toMatchFileSnapshot(
      `recorded/${row.vendor.replaceAll(" ", "-")}.json`,
    );
    // A picture is the bytes of a file, never numbers in a text.
    expect(JSON.stringify(body)).toContain("iVBORw==");
    expect(JSON.stringify(body)).not.toMatch(/137,80|"0":137|123456789/);
    // Somebody wrote while the tools ran; and the conversation goes on.
    const joined = await ask(
      model,
      request([...history, { role: "user", content: [{ type: "text", text: "and Paris?" }] }]),
    );
    expect(joined.end.error).toBeUndefined();
    const later = [...history, { role: "assistant", content: second.end.content }, asked] as const;
    expect((await ask(model, request(later))).end.error).toBeUndefined();
  });

  it("goes on in the middle of a turn that another provider's model began", async () => {
    const other = rows.find(({ vendor }) => vendor === (row.vendor === "zai" ? "anthropic-messages" : "zai"));
    if (other === undefined) throw new Error("no other vendor");
    const begun = await ask(await modelOf(other), request([asked]));
    // The vendor's first answer is not the one under test.
    server.bodies.set(row.vendor, [{}]);
    const got = await ask(await modelOf(row), request(answered(begun.end.content)));
    expect([got.end.error, got.text]).toEqual([undefined, "done"]);
  });
});

describe("addresses", () => {
  it.each(["/v1beta", "/gemini", "/gemini/v1beta", "/gemini/v1", "/v1alpha"])(
    "keep a proxy's path before Gemini's version: %s",
    async (path) => {
      const model = await modelOf({
        ...(rows.find(({ api }) => api === "google-generative-ai") as Row),
        path,
      });
      expect((await ask(model, request([asked]))).end.error).toBeUndefined();
    },
  );
});
