// Pictures by path, address and name in the conversation; whose eyes look; what is refused.
import { truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ImageContent } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { image } from "../src/tools/image.ts";
import { isUnavailable } from "../src/ports/done.ts";
import type { ToolContext, ToolResult } from "../src/index.ts";
import { call, stage, type Stage } from "./stage.ts";

const hash = "a".repeat(64);
const sent = (path: string, message: number): ImageContent & { readonly message: number } => ({
  type: "image",
  path,
  mediaType: "image/png",
  message,
});
const asked: { prompt: string; paths: readonly string[] }[] = [];
const stages: Stage[] = [];
afterEach(async () => {
  asked.length = 0;
  for (const each of stages.splice(0)) await each.close();
});

async function context(more: Partial<ToolContext> = {}): Promise<ToolContext> {
  const own = await stage({
    context: {
      vision: false,
      pictures: {
        keep: async (bytes) =>
          Buffer.from(bytes).toString().startsWith("picture")
            ? {
                path: `${bytes.length}.png`,
                mediaType: "image/png",
                width: 2_000,
                height: 1_000,
                original: { width: 4_000, height: 2_000, frames: 1 },
              }
            : { refused: "it is no picture" },
      },
      seenPictures: {
        shown: async () => [sent(`${hash}.png`, 1), sent("b.png", 2), sent("c.png", 2)],
        describer: () => ({ model: "eyes/1" }),
        describe: async (_scope, { prompt, pictures }) => {
          asked.push({ prompt, paths: pictures.map(({ path }) => path) });
          return { text: "a cat", model: "eyes/1" };
        },
      },
      web: {
        files: () => ({ fetch: async (url) => ({ url, bytes: Buffer.from("picture of the web") }) }),
        pages: () => ({ unavailable: "no" }),
        search: () => ({ unavailable: "no" }),
      },
      ...more,
    },
  });
  stages.push(own);
  await writeFile(join(own.workspace, "a.png"), "picture");
  await writeFile(join(own.workspace, "a.txt"), "words");
  return own.context;
}

const textOf = ({ content }: ToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `<${part.path}>`)).join("\n");

describe("for a model that does not see", () => {
  test("the image model looks, and its words come back with its name", async () => {
    const result = await call(image(await context()), { image: "a.png", prompt: "What is it?" });
    expect(asked).toEqual([{ prompt: "What is it?", paths: ["7.png"] }]);
    expect(textOf(result)).toBe("a.png (4000 x 2000, shown at 2000 x 1000)\n\neyes/1 says:\na cat");
    expect(result.untrusted).toBeUndefined();
  });

  test("without a name it looks at the pictures that were sent last", async () => {
    await call(image(await context()), {});
    expect(asked[0]?.paths).toEqual(["b.png", "c.png"]);
  });

  test("a picture of the conversation is found by the name under which it was told, and no other", async () => {
    const tool = image(await context());
    await call(tool, { image: `[image: ${hash}.png, image/png]` });
    expect(asked[0]?.paths).toEqual([`${hash}.png`]);
    await expect(call(tool, { image: `${"b".repeat(64)}.png` })).rejects.toThrow("in this conversation");
  });

  test("what stands in a picture of the web is a stranger's", async () => {
    const result = await call(image(await context()), { images: ["https://example.org/a.png", "a.png"] });
    expect(result.untrusted).toEqual({ source: "example.org" });
    const two = ["https://example.org/a.png", "https://example.net/b.png"];
    const ofBoth = await call(image(await context()), { images: two });
    expect(ofBoth.untrusted).toEqual({ source: "example.org, example.net" });
  });

  test("the tool is not there without an image model, and says which key is missing", async () => {
    const own = await context();
    const unavailable = "agents.defaults.imageModel is not set";
    const made = image({
      ...own,
      seenPictures: { ...own.seenPictures, describer: () => ({ unavailable }) },
    });
    expect(made).toEqual({ unavailable });
  });
});

test("a model that sees is shown the picture itself, and told to take those of the message as they are", async () => {
  const tool = image(await context({ vision: true }));
  if (isUnavailable(tool)) throw new Error(tool.unavailable);
  expect(tool.description).toContain(
    "Only use this tool when images were NOT already provided in the user's message.",
  );
  const result = await call(tool, { image: "a.png" });
  expect(textOf(result)).toBe("a.png (4000 x 2000, shown at 2000 x 1000)\n<7.png>");
  expect(asked).toEqual([]);
});

test.each([
  ["a.txt", "a.txt cannot be looked at: it is no picture"],
  ["../out.png", "outside"],
  ["nothing.png", "there is no file nothing.png"],
  ["file:///etc/passwd", "file: is no address that is opened"],
  ["FTP://a/b.png", "FTP: is no address that is opened"],
  ["data:image/png;base64,cGljdHVyZQ==", "data: is no address that is opened"],
  ["a:b.png", "there is no file a:b.png"],
])("%s is refused with the reason", async (path, reason) => {
  await expect(call(image(await context()), { image: path })).rejects.toThrow(reason);
});

test("eight pictures are looked at and not nine, the last of a message's, and each is named once", async () => {
  const own = await context();
  const files = Array.from({ length: 9 }, (_each, nth) => `${nth}.png`);
  for (const [nth, name] of files.entries())
    await writeFile(join(stages[0]?.workspace ?? "", name), `picture${"!".repeat(nth)}`);
  const eight = files.slice(0, 8);
  await call(image(own), { image: "0.png", images: eight });
  await call(image(own), { images: ["1.png", "0.png", "1.png"] });
  await expect(call(image(own), { image: "8.png", images: eight })).rejects.toMatchObject({
    code: "invalid",
    message: "at most 8 images are looked at in one call",
  });
  const seen = (shown: readonly ReturnType<typeof sent>[]): ToolContext => ({
    ...own,
    seenPictures: { ...own.seenPictures, shown: async () => shown },
  });
  const result = await call(image(seen([sent("x.png", 1), ...files.map((name) => sent(name, 2))])), {});
  const unasked = "Describe what is to be seen. Quote the words that stand there.";
  expect(asked).toEqual([
    { prompt: unasked, paths: eight.map((_name, nth) => `${nth + 7}.png`) },
    { prompt: unasked, paths: ["8.png", "7.png"] },
    { prompt: unasked, paths: files.slice(1) },
  ]);
  expect(textOf(result)).toBe(`${files.slice(1).join("\n")}\n\neyes/1 says:\na cat`);
  await expect(call(image(seen([])), {})).rejects.toMatchObject({
    code: "missing",
    message: "no picture was sent in this conversation: name a path or a URL in image",
  });
});

test("addresses that would carry words out are shown to an owner first; without a place for pictures there is no tool", async () => {
  const own = await context();
  const tool = image(own);
  if (isUnavailable(tool)) throw new Error(tool.unavailable);
  const outside = (args: Parameters<typeof tool.parse>[0], trusted: readonly string[] = []) => {
    const parsed = tool.parse(args);
    return parsed.ok
      ? tool.outside?.(parsed.args, {} as never, { trusted, read: [], sources: [] })
      : parsed.reason;
  };
  const [one, two] = ["https://a.test/?q=1", "https://b.test/?q=2"];
  expect([
    outside({ image: one, images: ["a.png", two] }),
    outside({ image: one, images: [two] }, ["look at b.test"]),
    outside({ images: ["a.png", "https://a.test/x.png"] }),
    outside({}),
  ]).toEqual([`${one}\n${two}`, one, null, null]);
  const { pictures: _none, ...without } = own;
  expect(image(without)).toEqual({ unavailable: "no pictures are kept here" });
  const blind = { ...own.seenPictures, describer: () => ({ unavailable: "no imageModel" }) };
  expect(isUnavailable(image({ ...own, vision: true, seenPictures: blind }))).toBe(false);
});

test("a picture is found by its name, its address or its path, up to twenty megabytes, and refused with what was named", async () => {
  const fetched: unknown[] = [];
  const answer = { url: "", bytes: Buffer.from("picture of the web") };
  const files = {
    fetch: async (url: string, bytes: number) => {
      fetched.push([url, bytes]);
      return { ...answer, url: answer.url === "" ? url : answer.url };
    },
  };
  const own = await context();
  const web = { ...own.web, files: () => files } as unknown as NonNullable<ToolContext["web"]>;
  const of = image({ ...own, web });
  const workspace = stages[0]?.workspace ?? "";
  const says = async (name: string, tool = of): Promise<unknown> => {
    asked.length = 0;
    return call(tool, { image: name }).then(
      (result) => [textOf(result).split("\n")[0], asked[0]?.paths, result.untrusted?.source ?? null],
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  };
  const size = "(4000 x 2000, shown at 2000 x 1000)";
  const shown = `${hash}.png`;
  expect([
    await says(shown),
    await says(`[image: ${shown}]`),
    await says(`[image: ${shown}, image/svg+xml]`),
    await says(`${"b".repeat(64)}.png`),
    await says(`${hash.slice(1)}.png`),
    await says(`[image: ${shown}`),
    await says("HTTPS://A.test:8443/x.png?\u202e"),
    await says("https://a.test/not"),
  ]).toEqual([
    [shown, [shown], null],
    [shown, [shown], null],
    [shown, [shown], null],
    `missing: no picture ${"b".repeat(64)}.png was shown in this conversation`,
    `missing: there is no file ${hash.slice(1)}.png`,
    [shown, [shown], null],
    [expect.stringMatching(/^HTTPS:\/\/A\.test:8443\/x\.png\?[^\u202e]* \(4000/), ["18.png"], "a.test:8443"],
    [`https://a.test/not ${size}`, ["18.png"], "a.test"],
  ]);
  expect(fetched.splice(0)).toEqual([
    ["HTTPS://A.test:8443/x.png?\u202e", 20_000_000],
    ["https://a.test/not", 20_000_000],
  ]);
  // Whose it is the last address tells, not the one that was asked for.
  answer.url = "https://far.test/y.png";
  expect(await says("https://a.test/x.png")).toEqual([
    `https://a.test/x.png ${size}`,
    ["18.png"],
    "far.test",
  ]);
  answer.url = "no address";
  expect(await says("https://a.test/x.png")).toEqual([`https://a.test/x.png ${size}`, ["18.png"], "the web"]);
  answer.bytes = Buffer.from("words");
  await truncate(join(workspace, "a.png"), 20_000_000);
  await writeFile(join(workspace, "long.png"), "picture");
  await truncate(join(workspace, "long.png"), 20_000_001);
  const { web: _none, ...without } = own;
  const off = { ...own, web: { ...own.web, files: () => ({ unavailable: "the web is off" }) } } as never;
  expect([
    await says("https://a.test/x.png"),
    await says("a.png"),
    await says("long.png"),
    await says("https://a.test/x.png", image(without)),
    await says("https://a.test/x.png", image(off)),
    ...(await Promise.all(
      ["blob:x", "javascript:x", "ws://a/b.png", "a+b-c.1://x", "Data:x"].map((name) => says(name)),
    )),
  ]).toEqual([
    "invalid: https://a.test/x.png cannot be looked at: it is no picture",
    [`a.png ${size}`, ["20000000.png"], null],
    "invalid: long.png has 20000001 bytes; at most 20000000 are looked at",
    "unsupported: no picture is fetched: there is no way to the open web here",
    "unsupported: no picture is fetched: the web is off",
    ...["blob", "javascript", "ws", "a+b-c.1", "Data"].map(
      (scheme) =>
        `invalid: ${scheme}: is no address that is opened for a picture: name a path in the workspace or an http or https URL`,
    ),
  ]);
});
