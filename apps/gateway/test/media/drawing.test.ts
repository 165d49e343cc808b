// What a picture that a service makes is counted as, also when the service lies.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadConfig } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { draw } from "@parley/media";
import { expect, onTestFinished, test } from "vitest";
import { wireDrawing } from "../../src/wiring/drawing.ts";

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
