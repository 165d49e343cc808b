// Has pictures made, keeps them in the workspace and sends them by the outbox. Each costs money, so a call
// starts at most once (I7): after a crash the model is told that the outcome is unknown, and buys no second.
import { basename } from "node:path";
import { Fault, isFault, visibleText, type ImageContent, type MediaFile } from "@parley/protocol";
import { z } from "zod";
import { isUnavailable, type Unavailable } from "../ports/done.ts";
import type { MessageRequest } from "../ports/messages.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { findPicture } from "../files/find-picture.ts";
import type { CallEffects, Tool, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

/** What services take at once. */
const mostImages = 4;

const args = z.object({
  prompt: z.string().min(1).max(8_000).describe("What is to be seen."),
  count: z.number().int().min(1).max(4).default(1),
  size: z
    .string()
    .regex(/^[1-9]\d{1,3}x[1-9]\d{1,3}$/)
    .optional()
    .describe("As 1024x1024, 1536x1024, 1024x1536."),
  images: z
    .array(z.string().min(1).max(8_192))
    .max(mostImages)
    .default([])
    .describe("To change or combine, as in image: paths, URLs, [image: NAME]."),
  send: z.boolean().default(true).describe("Show it in the conversation. False: only keep it."),
  to: z.string().min(1).max(300).optional().describe("As in message. Absent: here."),
  caption: z.string().max(1_000).optional(),
});

export const imageGenerateListing: ToolListing = {
  name: "image_generate",
  label: "Image generation",
  section: "media",
  profiles: ["coding"],
  effect: "sends",
  summary: "Generate images from a prompt",
};

const anything = "a picture";

export function imageGenerate(context: ToolContext): Tool | Unavailable {
  const { drawing, spending, messages, pictures: kept } = context;
  const drawer = drawing?.model() ?? { unavailable: "no images are made here" };
  if (drawing === undefined || isUnavailable(drawer))
    return { unavailable: isUnavailable(drawer) ? drawer.unavailable : "no images are made here" };
  return defineTool({
    ...imageGenerateListing,
    description:
      "Generates images from a prompt, or edits those in images, keeps them in images/ of the workspace, and sends them. Each costs money: one call, unless more are asked for. " +
      "What was sent is part of the conversation: do not describe it again; NO_REPLY is fine.",
    args,
    outside: ({ prompt, count, to, images }) =>
      [
        `buys ${count} ${count === 1 ? "image" : "images"} of ${drawer.model}: ${visibleText(prompt)}`,
        ...images.map((each) => `made from: ${visibleText(each)}`),
        ...(to === undefined ? [] : [`for ${visibleText(to)}`]),
      ].join("\n"),
    async run({ prompt, count, size, send, to, caption, images }, scope) {
      const request = { action: "send", to, text: caption, voice: false, tags: [] } as const;
      // Nothing is bought for a place where it cannot be shown.
      const refused = send ? await refusalOf(context, scope, request) : null;
      if (refused !== null && to !== undefined) throw refused;
      const given: ImageContent[] = [];
      for (const each of images) {
        if (kept === undefined)
          throw new Fault("unsupported", "no pictures are kept here, so none can be changed");
        given.push((await findPicture(context, kept, scope, each)).image);
      }
      const { pictures, model } = await spending.around(scope, async (used) => {
        const drawn = await drawing.draw({ prompt, count, size, images: given }, scope.signal);
        await used(drawn.usage, drawn.model);
        return drawn;
      });
      if (pictures.length === 0)
        throw new Fault(
          "unsupported",
          `${model} answered without a picture; the call may have been paid for`,
        );
      const mark = scope.callId.replaceAll(/[^\w-]/g, "_").slice(-24);
      const lines: string[] = [`Made by ${model}.`];
      const files: MediaFile[] = [];
      for (const [nth, { bytes, extension }] of pictures.entries()) {
        const path = `images/${mark}-${nth + 1}.${extension}`;
        files.push(await messages.keep(bytes, basename(path)));
        lines.push(await keptAs(context, path, bytes));
      }
      let effects: CallEffects | undefined;
      if (send && refused === null) {
        const done = await messages.act(scope, { ...request, files });
        lines.push(done.text);
        effects = done.effects;
      } else if (refused !== null) lines.push(`Not sent: ${refused.message}.`);
      return {
        content: [{ type: "text", text: lines.join("\n") }],
        ...(effects === undefined ? {} : { effects }),
      };
    },
  });
}

/** Why nothing could be sent there; null when it can. It changes nothing. */
async function refusalOf(
  { messages }: ToolContext,
  scope: ToolScope,
  request: Omit<MessageRequest, "files">,
): Promise<Fault | null> {
  try {
    await messages.act(scope, { ...request, text: anything, files: [] });
    return null;
  } catch (error) {
    if (isFault(error)) return error;
    throw error;
  }
}

/** A workspace that cannot be written must not cost a picture that is paid. */
async function keptAs({ files }: ToolContext, path: string, bytes: Uint8Array): Promise<string> {
  if (files.readOnly) return `${basename(path)} was not kept: the workspace is read-only.`;
  try {
    return `Kept as ${(await files.own.replace(path, bytes)).path} (${bytes.length} bytes).`;
  } catch (error) {
    if (!isFault(error)) throw error;
    return `${basename(path)} was not kept: ${error.message}.`;
  }
}
