// What a picture that a service makes is counted as, also when the service lies.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig, type Config } from "@parley/config";
import { Fault, silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { draw } from "@parley/media";
import { expect, onTestFinished, test } from "vitest";
import { saidLog } from "../daemon/said-log.ts";
import { idleDrawing, wireDrawing } from "../../src/wiring/drawing.ts";

const png = Buffer.from("89504e470d0a1a0a00", "hex").toString("base64");

async function costOf(answer: object, count: number): Promise<number | undefined> {
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { config } = await loadConfig({
    env: {},
    home: "/nowhere",
    readFile: async () =>
      JSON.stringify({
        agents: { defaults: { imageGenerationModel: "brush/flux" } },
        models: {
          providers: {
            brush: {
              api: "openai-completions",
              baseUrl: `http://127.0.0.1:${port}`,
              models: [{ id: "flux", cost: { input: 0, output: 0, image: 0.5 } }],
            },
          },
        },
      }),
  });
  const wiring = { configNow: () => config, mediaPath: "/nowhere", clock: virtualClock(), log: silentLog };
  const request = { prompt: "a cat", count, images: [] };
  return (await wireDrawing(wiring).draw(request, new AbortController().signal)).usage.costUsd;
}

test.each([
  ["one picture", { data: [{ b64_json: png }] }, 2, 0.5],
  ["more than were asked for", { data: [{ b64_json: png }, { b64_json: png }] }, 1, 0.5],
  ["none, which it may take its price for", { data: [] }, 2, 1],
  ["bytes that are no picture", { data: [{ b64_json: "dGV4dA==" }] }, 1, 0.5],
  ["use below nothing", { data: [{ b64_json: png }], usage: { input_tokens: -1e15 } }, 1, 0.5],
])("%s", async (_what, answer, count, cost) => {
  expect(await costOf(answer, count)).toBe(cost);
});

test("an edit that was stopped before it is sent ends as stopped, and takes nothing else with it", async () => {
  const engine = {
    kind: "openai",
    baseUrl: "http://127.0.0.1:1",
    apiKey: "k",
    headers: {},
    model: "m",
  } as const;
  const images = [{ bytes: Buffer.from(png, "base64"), mediaType: "image/png" }];
  const request = { prompt: "a hat", count: 1, images } as never;
  await expect(draw(engine, request, virtualClock(), AbortSignal.abort())).rejects.toMatchObject({
    code: "aborted",
  });
  // What Node rejects on its own comes some turns later.
  for (let turn = 0; turn < 10; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
});

const configOf = async (text: object): Promise<Config> =>
  (await loadConfig({ env: {}, home: "/nowhere", readFile: async () => JSON.stringify(text) })).config;

interface Asked {
  readonly path: string;
  readonly model: unknown;
  readonly key: string;
  readonly own: string;
}

/** Services below one address, each by its first word; what each was asked, and by what. */
async function services(answers: { readonly [name: string]: readonly [status: number, answer: object] }) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const { url = "", headers } = request;
      const key = headers.authorization ?? headers["x-goog-api-key"] ?? "none";
      const { model } = (text.startsWith("{") ? JSON.parse(text) : {}) as { readonly model?: unknown };
      asked.push({ path: url, model, key: String(key), own: String(headers["x-own"] ?? "") });
      const [status, answer] = answers[url.split("/")[1] ?? ""] ?? [404, {}];
      response.writeHead(status).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { asked, root: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const made = { data: [{ b64_json: png }], usage: { input_tokens: 1_000_000, output_tokens: 500_000 } };
const drawn = { candidates: [{ content: { parts: [{ inlineData: { data: png } }] } }] };
const refused = { error: { message: "no" } };

test.each<[string, number, readonly string[], string]>([
  ["refuses the words", 400, ["one", "two"], "two/m2"],
  ["refuses the key", 401, ["one", "two"], "two/m2"],
  ["is asked too often", 429, ["one", "two"], "two/m2"],
  ["may have made something", 500, ["one"], "unavailable"],
])("of a service that %s the next one is asked where nothing was made", async (_what, status, asked, end) => {
  const at = await services({ one: [status, refused], two: [200, made] });
  const provider = (name: string, more: object = {}) => ({
    api: "openai-completions",
    baseUrl: `${at.root}/${name}`,
    apiKey: `key-${name}`,
    ...more,
  });
  const config = await configOf({
    agents: { defaults: { imageGenerationModel: { primary: "one/m1", fallbacks: ["gone/x", "two/m2"] } } },
    models: {
      providers: {
        one: provider("one"),
        two: provider("two", {
          headers: { "x-own": "mine" },
          models: [
            { id: "m1", cost: { input: 100, output: 100 } },
            { id: "m2", cost: { input: 2, output: 6 } },
          ],
        }),
      },
    },
  });
  const { log, said } = saidLog();
  const port = wireDrawing({ configNow: () => config, mediaPath: "/nowhere", clock: virtualClock(), log });
  const request = { prompt: "a cat", count: 1, images: [] };
  const found = await port
    .draw(request, new AbortController().signal)
    .catch((error: { code: string }) => error.code);
  expect(at.asked.map(({ path }) => path)).toEqual(asked.map((name) => `/${name}/images/generations`));
  expect(port.model()).toEqual({ model: "one/m1" });
  const failed = ["warn", "a picture was not made", { model: "one/m1", error: expect.any(Fault) as Fault }];
  expect(said).toEqual(typeof found === "string" ? [] : [failed]);
  if (typeof found === "string") return expect(found).toBe(end);
  expect(at.asked.map(({ model, key, own }) => [model, key, own])).toEqual([
    ["m1", "Bearer key-one", ""],
    ["m2", "Bearer key-two", "mine"],
  ]);
  expect([found.model, found.usage.costUsd, found.usage.inputTokens]).toEqual([end, 5, 1_000_000]);
});

test.each([
  ["/goo", "/goo/v1beta"],
  ["/goo/", "/goo/v1beta"],
  ["/goo/v1", "/goo/v1"],
  ["/goo/v1beta", "/goo/v1beta"],
  ["/goo/v1alpha2", "/goo/v1alpha2"],
])("Gemini below %s is asked at %s, a picture a call", async (base, path) => {
  const at = await services({ goo: [200, drawn] });
  const config = await configOf({
    agents: { defaults: { imageGenerationModel: "goo/deep/m" } },
    models: {
      providers: { goo: { api: "google-generative-ai", baseUrl: `${at.root}${base}`, apiKey: "k" } },
    },
  });
  const wiring = { configNow: () => config, mediaPath: "/nowhere", clock: virtualClock(), log: silentLog };
  const request = { prompt: "a cat", count: 2, images: [] };
  const { pictures, model } = await wireDrawing(wiring).draw(request, new AbortController().signal);
  expect([pictures.length, model]).toEqual([2, "goo/deep/m"]);
  const asked = { path: `${path}/models/deep%2Fm:generateContent`, model: undefined, key: "k", own: "" };
  expect(at.asked).toEqual([asked, asked]);
});

test.each<[string, object, string | undefined, string | null]>([
  ["no provider", {}, undefined, null],
  ["OpenAI's key", { openai: { apiKey: "k" } }, undefined, "openai/gpt-image-1"],
  ["Google's key", { google: { apiKey: "k" } }, undefined, "google/gemini-2.5-flash-image"],
  ["both keys", { google: { apiKey: "k" }, openai: { apiKey: "l" } }, undefined, "openai/gpt-image-1"],
  ["a key of another", { anthropic: { apiKey: "k" } }, undefined, null],
  ["a model that is named, with its key", { openai: { apiKey: "k" } }, "openai/dall-e", "openai/dall-e"],
  ["a model of a provider that is not there", { openai: { apiKey: "k" } }, "other/x", null],
  ["a model of a provider without a key", { openai: { models: [{ id: "dall-e" }] } }, "openai/dall-e", null],
])("with %s pictures are made by what that has", async (_what, providers, named, model) => {
  const config = await configOf({
    ...(named === undefined ? {} : { agents: { defaults: { imageGenerationModel: named } } }),
    models: { providers },
  });
  const idle = idleDrawing(config);
  const wiring = { configNow: () => config, mediaPath: "/nowhere", clock: virtualClock(), log: silentLog };
  const unavailable = expect.stringContaining("no provider that makes images has a key") as string;
  const told = model === null ? { unavailable } : { model };
  expect([idle.model(), wireDrawing(wiring).model()]).toEqual([told, told]);
  const request = { prompt: "a cat", count: 1, images: [] };
  await expect(idle.draw(request, new AbortController().signal)).rejects.toThrow("in the daemon only");
});

test("by keys one model alone is asked, at the price that is known of it, with the pictures of the media folder", async () => {
  const at = await services({ one: [200, made], two: [200, drawn] });
  const folder = mkdtempSync(join(tmpdir(), "parley-drawing-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const draws = async (more: object, images: readonly object[] = []) => {
    const config = await configOf({
      models: {
        providers: {
          openai: { apiKey: "k", baseUrl: `${at.root}/one`, ...more },
          google: { apiKey: "k", baseUrl: `${at.root}/two` },
        },
      },
    });
    const wiring = { configNow: () => config, mediaPath: folder, clock: virtualClock(), log: silentLog };
    const request = { prompt: "a cat", count: 1, images } as never;
    return wireDrawing(wiring).draw(request, new AbortController().signal);
  };
  const { usage, model } = await draws({});
  // $5 for a million tokens in, $40 for one out.
  expect([model, usage.costUsd]).toEqual(["openai/gpt-image-1", 25]);
  const free = { models: [{ id: "gpt-image-1", cost: { input: 1, output: 1, image: 0 } }] };
  expect((await draws(free)).usage.costUsd).toBe(0);
  await expect(draws({ baseUrl: `${at.root}/gone` })).rejects.toThrow();
  expect(at.asked.map(({ path }) => path.split("/")[1])).toEqual(["one", "one", "gone"]);
  await expect(draws({}, [{ path: "a.png", mediaType: "image/png" }])).rejects.toMatchObject({
    code: "ENOENT",
  });
  writeFileSync(join(folder, "a.png"), Buffer.from(png, "base64"));
  expect((await draws({}, [{ path: "a.png", mediaType: "image/png" }])).pictures).toHaveLength(1);
});
