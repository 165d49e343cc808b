// Pictures that cost money, through the real daemon: made by a service, kept, sent and counted, and never
// bought twice by a crash; and pictures that another model looks at.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "base64",
);

let w: World;
let daemon: Daemon;
let painter: Server;
const orders: { readonly url: string; readonly body: string }[] = [];
let isSlow = false;
let config: object;

beforeAll(async () => {
  w = await world();
  painter = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    orders.push({ url: request.url ?? "", body: Buffer.concat(chunks).toString() });
    if (isSlow) return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ data: [{ b64_json: png.toString("base64") }] }));
  });
  await new Promise<void>((resolve) => painter.listen(0, "127.0.0.1", resolve));
  const { models, ...others } = w.config as { models: { providers: { fake: object } } };
  config = {
    ...others,
    models: {
      providers: {
        fake: { ...models.providers.fake, models: [{ id: "m1" }, { id: "eyes", input: ["text", "image"] }] },
        brush: {
          api: "openai-completions",
          baseUrl: `http://127.0.0.1:${(painter.address() as AddressInfo).port}/v1`,
          apiKey: "paint-key",
          models: [{ id: "flux", cost: { input: 0, output: 0, image: 0.04 } }],
        },
      },
    },
    agents: {
      defaults: {
        model: { primary: "fake/m1" },
        imageModel: "fake/eyes",
        imageGenerationModel: "brush/flux",
      },
    },
  };
  daemon = await w.start({ config });
});
afterAll(async () => {
  await cleanUp();
  await w.close();
  painter.closeAllConnections();
  await new Promise((resolve) => painter.close(resolve));
});

const toolResult = (): string => JSON.stringify(w.models.requests().at(-1)?.body["messages"]);
const call = (name: string, args: Record<string, string>) => ({ toolCalls: [{ name, args }] });

test("a picture is made, kept in the workspace, sent as a photo, and its price is counted", async () => {
  w.models.reply(({ lastUserText, body }) =>
    JSON.stringify(body["messages"]).includes("Made by")
      ? { text: "NO_REPLY" }
      : lastUserText.includes("cat")
        ? call("image_generate", { prompt: "a cat", caption: "Your cat" })
        : { text: "hm" },
  );
  w.telegram.as({ id: 7, name: "Ann" }).says("paint me a cat");
  await w.answered(7, 1, 20_000);
  expect(w.answers(7).map(({ kind, text }) => [kind, text])).toEqual([["photo", "Your cat"]]);
  expect(orders).toEqual([
    {
      url: "/v1/images/generations",
      body: JSON.stringify({ model: "flux", prompt: "a cat", n: 1, response_format: "b64_json" }),
    },
  ]);
  const folder = join(daemon.home, "workspace", "images");
  const [name = ""] = await readdir(folder);
  expect((await readFile(join(folder, name))).equals(png)).toBe(true);
  w.telegram.as({ id: 7, name: "Ann" }).says("/usage");
  await w.answered(7, 2, 10_000);
  expect(w.answers(7).map(({ text }) => text)).toEqual(["Your cat", expect.stringContaining("0.04")]);
});

test("a picture that was sent is looked at by the image model for one that does not see", async () => {
  w.models.reply(({ body }) => {
    const messages = JSON.stringify(body["messages"]);
    if (body["model"] === "eyes") return { text: "one red pixel" };
    return messages.includes("one red pixel")
      ? { text: "It is a red pixel." }
      : call("image", { prompt: "What?" });
  });
  const bo = w.telegram.as({ id: 8, name: "Bo" });
  bo.sendsPhoto({ file: { name: "p.png", mediaType: "image/png", bytes: png } });
  expect(await w.answered(8, 1, 20_000)).toEqual(["It is a red pixel."]);
  expect(toolResult()).toContain("fake/eyes says");
});

test("kill -9 while one is made buys no second, and the model is told", async () => {
  isSlow = true;
  const before = orders.length;
  w.models.reply(({ body }) =>
    JSON.stringify(body["messages"]).includes("Outcome unknown")
      ? { text: "I do not know whether it was made." }
      : call("image_generate", { prompt: "a dog" }),
  );
  w.telegram.as({ id: 9, name: "Cy" }).says("paint me a dog");
  await eventually(() => orders.length === before + 1, 20_000, "the order");
  daemon.kill("SIGKILL");
  await daemon.exited;
  isSlow = false;
  daemon = await w.start({ home: daemon.home, config });
  expect(await w.answered(9, 1, 60_000)).toEqual(["I do not know whether it was made."]);
  expect(orders).toHaveLength(before + 1);
});
