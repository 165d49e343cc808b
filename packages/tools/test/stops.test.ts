// A stop reaches whatever a tool waits for: each port that may work for long gets the signal of its call.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import { makeTools, type ToolContext } from "../src/index.ts";
import { call, stage, type Stage } from "./stage.ts";

let own: Stage;
afterEach(() => own.close());

test("each port that may work for long hears of the stop of its call, and of no other", async () => {
  const mine = new AbortController();
  const heard: string[] = [];
  /** A port whose named call writes down whether it got the signal as its last word. */
  const port = (name: string, answer: unknown) => ({
    [name]: async (...words: readonly unknown[]) => {
      heard.push(`${name} ${words.at(-1) === mine.signal}`);
      return answer;
    },
  });
  const kept = {
    path: "k.png",
    mediaType: "image/png",
    width: 1,
    height: 1,
    original: { width: 1, height: 1, frames: 1 },
  };
  const picture = { bytes: Buffer.from("png"), extension: "png", mediaType: "image/png" };
  const page = { url: "https://a.test/", status: 200, contentType: "text/html", title: null, byline: null };
  const ports = {
    pictures: port("keep", kept),
    drawing: {
      model: () => ({ model: "brush/1" }),
      ...port("draw", { pictures: [picture], model: "brush/1", usage: {} }),
    },
    speech: {
      voice: () => ({ name: "v" }),
      ...port("speak", [{ path: "a.ogg", mediaType: "audio/ogg", bytes: 1, name: "v.ogg" }]),
    },
    web: {
      files: () => port("fetch", { url: "https://a.test/a.png", bytes: Buffer.from("png") }),
      pages: () => ({
        maxChars: 100,
        ...port("read", { ...page, text: "words", truncated: false, cached: false }),
      }),
      search: () => ({
        provider: "brave",
        maxResults: 5,
        ...port("search", { results: [], provider: "Brave", failed: [], cached: false }),
      }),
    },
    browser: {
      port: () => ({
        urlOf: () => null,
        ...port("run", { text: "", url: null, files: [], picture: Buffer.from("jpg") }),
      }),
    },
    renderer: {
      port: () => port("render", { value: "4", picture: Buffer.from("jpg"), console: [] }),
    },
  } as unknown as Partial<ToolContext>;
  own = await stage({ context: ports });
  const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(9)]);
  await writeFile(join(own.workspace, "a.png"), png);
  const canvases = { ...own.context.canvases };
  canvases.present = async (_scope, { draw }) => {
    await draw("<p>");
    return { text: "shown", effects: {} };
  };
  const { tools } = makeTools({ ...own.context, canvases });
  const asks = async (name: string, args: JsonObject): Promise<readonly string[]> => {
    const tool = tools.find((each) => each.name === name) ?? expect.unreachable(`no ${name}`);
    const { isError } = await call(tool, args, own.workspace, mine.signal);
    return [...heard.splice(0), ...(isError === true ? ["an error"] : [])];
  };
  expect({
    read: await asks("read", { path: "a.png" }),
    image: await asks("image", { images: ["a.png", "https://a.test/a.png"] }),
    image_generate: await asks("image_generate", { prompt: "p", images: ["a.png"] }),
    tts: await asks("tts", { text: "t" }),
    web_fetch: await asks("web_fetch", { url: "https://a.test/" }),
    web_search: await asks("web_search", { query: "q" }),
    browser: await asks("browser", { action: "screenshot" }),
    present: await asks("canvas", { action: "present", html: "<p>" }),
    eval: await asks("canvas", { action: "eval", script: "1" }),
    snapshot: await asks("canvas", { action: "snapshot" }),
  }).toEqual({
    read: ["keep true"],
    image: ["keep true", "fetch true", "keep true"],
    image_generate: ["keep true", "draw true"],
    tts: ["speak true"],
    web_fetch: ["read true"],
    web_search: ["search true"],
    browser: ["run true", "keep true"],
    present: ["render true"],
    eval: ["render true"],
    snapshot: ["render true", "keep true"],
  });
});
