// Pictures that are made of others: what is handed to the service, what is refused before anything is bought.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ImageContent } from "@parley/protocol";
import { afterEach, expect, test } from "vitest";
import type { ToolContext } from "../src/index.ts";
import { imageGenerate } from "../src/tools/image-generate.ts";
import { call, stage, type Stage } from "./stage.ts";

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
