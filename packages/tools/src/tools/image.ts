// Looks at pictures: of the conversation, of the workspace, or at an address. A model that sees is shown
// them; for one that does not, the configured image model looks and its words come back. Every picture is
// checked and scaled on the way (Pictures), and what strangers put on the web counts as their words.
import { Fault, visibleText } from "@parley/protocol";
import { z } from "zod";
import { carriesOut } from "../carries-out.ts";
import { isUnavailable, type Unavailable } from "../ports/done.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { findPicture, isAddress, type FoundPicture } from "../files/find-picture.ts";
import type { Tool, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const mostPictures = 8;
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
      const found: FoundPicture[] = [];
      // One at a time is in memory.
      for (const each of asked) found.push(await findPicture(context, pictures, scope, each));
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

async function sentLast({ seenPictures }: ToolContext, scope: ToolScope): Promise<readonly FoundPicture[]> {
  const shown = await seenPictures.shown(scope);
  const last = shown.filter(({ message }) => message === shown.at(-1)?.message).slice(-mostPictures);
  if (last.length === 0)
    throw new Fault("missing", "no picture was sent in this conversation: name a path or a URL in image");
  return last.map(({ type, path, mediaType }) => ({ line: path, image: { type, path, mediaType } }));
}
