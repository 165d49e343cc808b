// Looks at pictures: of the conversation, of the workspace, or at an address. A model that sees is shown
// them; for one that does not, the configured image model looks and its words come back. Every picture is
// checked and scaled on the way (Pictures), and what strangers put on the web counts as their words.
import { Fault, label, visibleText, type ImageContent } from "@parley/protocol";
import { z } from "zod";
import { carriesOut } from "../carries-out.ts";
import { isUnavailable, type Pictures, type ToolContext, type Unavailable } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { imageOf, pictureLine } from "../files/pictures.ts";
import { readForPeople } from "../files/private-notes.ts";
import { readBytes } from "../files/rooted.ts";
import type { Tool, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const mostPictures = 8;
const fileBytes = 20_000_000;
const unasked = "Describe what is to be seen. Quote the words that stand there.";

const reference = z.string().min(1).max(8_192);
const args = z.object({
  prompt: z.string().max(8_000).optional().describe("What you want to know."),
  image: reference
    .optional()
    .describe(
      "A path in the workspace, a URL, or a picture's name in this conversation. Absent: the pictures sent last.",
    ),
  images: z.array(reference).max(mostPictures).default([]).describe("Several of them."),
});

export const imageListing: ToolListing = {
  name: "image",
  label: "Image",
  section: "media",
  profiles: ["coding"],
  effect: "reads",
  summary: "Analyze an image",
};

interface Found {
  readonly line: string;
  readonly image: ImageContent;
  /** The host that it came from. */
  readonly source?: string;
}

/** As pictures of the conversation are named where a model does not see them. */
const keptName = /^(?:\[image: )?([0-9a-f]{64}\.[a-z0-9]{1,8})(?:, image\/[a-z+.-]+\])?$/;

export function image(context: ToolContext): Tool | Unavailable {
  const { vision, pictures, seenPictures } = context;
  if (pictures === undefined) return { unavailable: "no pictures are kept here" };
  const describer = seenPictures.describer();
  if (!vision && isUnavailable(describer)) return describer;
  return defineTool({
    ...imageListing,
    description: vision
      ? "Shows you images: files of the workspace, or a URL. Only use this tool when images were NOT already provided in the user's message. Images mentioned in the prompt are automatically visible to you."
      : "Analyze one or more images with the configured image model, which answers your prompt: images of this conversation ([image: NAME]), files of the workspace, or a URL. You do not see images yourself.",
    args,
    outside({ image: one, images }, _scope, heard) {
      const urls = [one ?? "", ...images].filter((each) => isAddress(each) && carriesOut(each, heard));
      return urls.length === 0 ? null : urls.map(visibleText).join("\n");
    },
    async run({ prompt, image: one, images }, scope) {
      const asked = [...new Set([...(one === undefined ? [] : [one]), ...images])];
      if (asked.length > mostPictures)
        throw new Fault("invalid", `at most ${mostPictures} images are looked at in one call`);
      const found: Found[] = [];
      // One at a time is in memory.
      for (const each of asked) found.push(await find(context, pictures, scope, each));
      if (asked.length === 0) found.push(...(await sentLast(context, scope)));
      const lines = found.map(({ line }) => line).join("\n");
      const sources = [...new Set(found.flatMap(({ source }) => source ?? []))];
      const untrusted = sources.length === 0 ? {} : { untrusted: { source: sources.join(", ") } };
      const seen = found.map(({ image: each }) => each);
      if (vision) return { content: [{ type: "text", text: lines }, ...seen], ...untrusted };
      const { text, model } = await seenPictures.describe(scope, {
        prompt: prompt ?? unasked,
        pictures: seen,
      });
      return { content: [{ type: "text", text: `${lines}\n\n${model} says:\n${text}` }], ...untrusted };
    },
  });
}

const isAddress = (text: string): boolean => /^https?:\/\//i.test(text);

async function find(
  context: ToolContext,
  pictures: Pictures,
  scope: ToolScope,
  asked: string,
): Promise<Found> {
  const kept = keptName.exec(asked)?.[1];
  if (kept !== undefined) {
    const known = (await context.seenPictures.shown(scope)).find(({ path }) => path === kept);
    if (known === undefined) throw new Fault("missing", `no picture ${kept} was shown in this conversation`);
    const { type, path, mediaType } = known;
    return { line: kept, image: { type, path, mediaType } };
  }
  const fetched = isAddress(asked) ? await download(context, asked, scope.signal) : null;
  const bytes = fetched?.bytes ?? (await fileBytesOf(context, scope, asked));
  const name = fetched === null ? asked : label(asked, 300);
  const picture = await pictures.keep(bytes, scope.signal);
  if ("refused" in picture) throw new Fault("invalid", `${name} cannot be looked at: ${picture.refused}`);
  return {
    line: pictureLine(name, picture),
    image: imageOf(picture),
    ...(fetched === null ? {} : { source: URL.parse(fetched.url)?.host || "the web" }),
  };
}

async function download({ web }: ToolContext, url: string, signal: AbortSignal) {
  const files = web?.files() ?? { unavailable: "there is no way to the open web here" };
  if (isUnavailable(files)) throw new Fault("unsupported", `no picture is fetched: ${files.unavailable}`);
  return files.fetch(url, fileBytes, signal);
}

async function fileBytesOf(context: ToolContext, scope: ToolScope, path: string): Promise<Uint8Array> {
  return readForPeople(context, scope, path, async ({ handle, size }) => {
    if (size > fileBytes)
      throw new Fault("invalid", `${path} has ${size} bytes; at most ${fileBytes} are looked at`);
    return readBytes(handle, 0, size);
  });
}

async function sentLast({ seenPictures }: ToolContext, scope: ToolScope): Promise<readonly Found[]> {
  const shown = await seenPictures.shown(scope);
  const last = shown.filter(({ message }) => message === shown.at(-1)?.message).slice(-mostPictures);
  if (last.length === 0)
    throw new Fault("missing", "no picture was sent in this conversation: name a path or a URL in image");
  return last.map(({ type, path, mediaType }) => ({ line: path, image: { type, path, mediaType } }));
}
