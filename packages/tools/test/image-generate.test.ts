// Pictures that are made of others: what is handed to the service, what is refused before anything is bought.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Fault, type ImageContent } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import type { ToolContext } from "../src/index.ts";
import { imageGenerate } from "../src/tools/image-generate.ts";
import { call, made as tool, scopeOf, stage, type Stage } from "./stage.ts";

const hash = "b".repeat(64);
const drawn: (readonly ImageContent[])[] = [];
let own: Stage;
afterEach(() => own.close());

async function context(more: Partial<ToolContext> = {}): Promise<ToolContext> {
  drawn.length = 0;
  own = await stage({
    context: {
      pictures: {
        keep: async (bytes) =>
          Buffer.from(bytes).toString().startsWith("picture")
            ? {
                path: "kept.png",
                mediaType: "image/png",
                width: 1,
                height: 1,
                original: { width: 1, height: 1, frames: 1 },
              }
            : { refused: "it is no picture" },
      },
      seenPictures: {
        shown: async () => [{ type: "image", path: `${hash}.png`, mediaType: "image/png", message: 1 }],
        describer: () => ({ unavailable: "no" }),
        describe: () => Promise.reject(new Error("nobody looks")),
      },
      drawing: {
        model: () => ({ model: "brush/1" }),
        async draw({ images = [] }) {
          drawn.push(images);
          const picture = { bytes: Buffer.from("picture"), mediaType: "image/png", extension: "png" };
          return {
            pictures: [picture],
            model: "brush/1",
            usage: { inputTokens: 0, outputTokens: 0 } as never,
          };
        },
      },
      spending: { around: (_scope, use) => use(async () => undefined) },
      ...more,
    },
  });
  await writeFile(join(own.workspace, "a.png"), "picture");
  await writeFile(join(own.workspace, "a.txt"), "words");
  return own.context;
}

test("files of the workspace and pictures of the conversation go along, checked and kept", async () => {
  const made = imageGenerate(await context());
  const asked = { prompt: "without the hat", images: ["a.png", `[image: ${hash}.png]`], send: false };
  expect((await call(made, asked)).isError).not.toBe(true);
  expect(drawn.map((images) => images.map(({ path }) => path))).toEqual([["kept.png", `${hash}.png`]]);
});

test.each([
  ["a file that is no picture", ["a.txt"], /it is no picture/],
  ["a file that is not there", ["b.png"], /b\.png/],
  ["a picture that was never shown", [`${"c".repeat(64)}.png`], /no picture/],
])("%s is refused, and nothing is bought", async (_what, images, reason) => {
  const made = imageGenerate(await context());
  await expect(call(made, { prompt: "x", images, send: false })).rejects.toThrow(reason);
  expect(drawn).toEqual([]);
});

test("a service that answers without a picture is counted all the same, and the model is told", async () => {
  const paid: unknown[] = [];
  const usage = { inputTokens: 9, outputTokens: 7 } as never;
  const made = imageGenerate(
    await context({
      drawing: {
        model: () => ({ model: "brush/1" }),
        draw: async () => ({ pictures: [], model: "brush/1", usage }),
      },
      spending: { around: (_scope, use) => use(async (used) => void paid.push(used)) },
    }),
  );
  await expect(call(made, { prompt: "x" })).rejects.toThrow(/brush\/1 answered without a picture/);
  expect(paid).toEqual([usage]);
});

test("what is bought, kept and sent, where it goes, and what an owner is asked first", async () => {
  const asked: unknown[] = [];
  const acts: unknown[] = [];
  const effects = { cells: [] };
  let refuses: Fault | null = null;
  const file = (name: string, bytes: number) => ({ path: name, mediaType: "image/png", bytes, name });
  const base = await context({
    drawing: {
      model: () => ({ model: "brush/1" }),
      async draw({ images: _none, ...request }) {
        asked.push(request);
        const pictures = ["one", "two2"].map((words, nth) => ({
          bytes: Buffer.from(words),
          mediaType: "image/png",
          extension: nth === 0 ? "png" : "jpg",
        }));
        return { pictures, model: "brush/2", usage: {} as never };
      },
    },
    messages: {
      keep: async (bytes: Uint8Array, name: string) => file(name, bytes.length),
      act: async (_scope: unknown, request: unknown) => {
        acts.push(request);
        if (refuses !== null) throw refuses;
        return { text: "sent", effects };
      },
    } as unknown as ToolContext["messages"],
  });
  const run = (args: object, more: Partial<ToolContext> = {}, callId = "c/1") => {
    const made = tool(imageGenerate({ ...base, ...more }));
    const parsed = made.parse({ prompt: "a cat", ...args });
    if (!parsed.ok) throw new Error(parsed.reason);
    return made.run(parsed.args, { ...scopeOf(own.workspace), callId });
  };
  const text = (...lines: readonly string[]) => [{ type: "text", text: lines.join("\n") }];
  const kept = ["Kept as images/c_1-1.png (3 bytes).", "Kept as images/c_1-2.jpg (4 bytes)."];
  expect(await run({ caption: "C", size: "1024x1536", count: 2 })).toEqual({
    content: text("Made by brush/2.", ...kept, "sent"),
    effects,
  });
  const send = { action: "send", voice: false, tags: [] };
  expect(acts.splice(0)).toEqual([
    { ...send, text: "a picture", files: [] },
    { ...send, text: "C", files: [file("c_1-1.png", 3), file("c_1-2.jpg", 4)] },
  ]);
  expect(await readFile(join(own.workspace, "images/c_1-2.jpg"), "utf8")).toBe("two2");
  expect(await run({ send: false })).toEqual({ content: text("Made by brush/2.", ...kept) });
  expect(acts).toEqual([]);
  const long = `${"x".repeat(10)}${"y".repeat(24)}`;
  const locked = { files: { ...base.files, readOnly: true } };
  expect(await run({ to: "b" }, locked, long)).toEqual({
    content: text(
      "Made by brush/2.",
      `${"y".repeat(24)}-1.png was not kept: the workspace is read-only.`,
      `${"y".repeat(24)}-2.jpg was not kept: the workspace is read-only.`,
      "sent",
    ),
    effects,
  });
  expect(acts.splice(0)).toMatchObject([
    { to: "b", files: [] },
    { to: "b", files: { length: 2 } },
  ]);
  refuses = new Fault("denied", "nothing is shown here");
  expect(await run({})).toEqual({
    content: text("Made by brush/2.", ...kept, "Not sent: nothing is shown here."),
  });
  expect(acts).toHaveLength(1);
  expect(asked).toEqual([
    { prompt: "a cat", count: 2, size: "1024x1536" },
    ...[1, 2, 3].map(() => ({ prompt: "a cat", count: 1, size: undefined })),
  ]);
  // Nothing is bought for a place that was named and takes nothing.
  await expect(run({ to: "b" })).rejects.toBe(refuses);
  expect(asked).toHaveLength(4);

  const made = tool(imageGenerate(base));
  const first = (args: object) => {
    const parsed = made.parse({ prompt: "a cat", ...args });
    return parsed.ok ? made.outside?.(parsed.args, scopeOf("/"), {} as never) : parsed.reason;
  };
  expect([first({}), first({ count: 2, to: "b", images: ["a.png", "c.png"] })]).toEqual([
    "buys 1 image of brush/1: a cat",
    "buys 2 images of brush/1: a cat\nmade from: a.png\nmade from: c.png\nfor b",
  ]);
  const { drawing: _none, pictures: _neither, ...without } = base;
  const off = {
    ...base,
    drawing: { ...base.drawing, model: () => ({ unavailable: "no key" }) },
  } as ToolContext;
  expect([imageGenerate(without), imageGenerate(off)]).toEqual([
    { unavailable: "no images are made here" },
    { unavailable: "no key" },
  ]);
  refuses = null;
  await expect(run({ images: ["a.png"] }, { pictures: undefined as never })).rejects.toMatchObject({
    code: "unsupported",
    message: "no pictures are kept here, so none can be changed",
  });
  expect(asked).toHaveLength(4);
});

test("what was paid for is sent although it cannot be kept; a failure that is nobody's decision is told as it is", async () => {
  const acts: unknown[] = [];
  let fails: Error | null = null;
  const base = await context({
    messages: {
      keep: async (bytes: Uint8Array, name: string) => ({ path: name, bytes: bytes.length, name }),
      act: async (_scope: unknown, { files }: { readonly files: readonly { readonly name: string }[] }) => {
        if (fails !== null) throw fails;
        acts.push(files.map(({ name }) => name));
        return { text: "sent" };
      },
    } as unknown as ToolContext["messages"],
  });
  // Where pictures go there is a file already.
  await writeFile(join(own.workspace, "images"), "");
  const { content, isError, effects } = await call(imageGenerate(base), { prompt: "a cat" });
  expect([content, isError, effects, acts.splice(0)]).toEqual([
    [
      {
        type: "text",
        text: "Made by brush/1.\nc1-1.png was not kept: images/c1-1.png: images is not a folder.\nsent",
      },
    ],
    undefined,
    undefined,
    [[], ["c1-1.png"]],
  ]);
  drawn.length = 0;
  fails = new TypeError("ours");
  await expect(call(imageGenerate(base), { prompt: "a cat" })).rejects.toBe(fails);
  expect([drawn, acts]).toEqual([[], []]);
});
