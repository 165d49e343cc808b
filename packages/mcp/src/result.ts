// Turns what a server answered into a tool's result: texts as they are, pictures as files, and a line for
// what a model cannot be shown.
import { label, type ImageContent } from "@parley/protocol";
import type { ToolResult } from "@parley/tools";
import { isObject } from "./definition.ts";

/** Checks, scales and stores a picture. `path`: in the media folder. */
export type KeepPicture = (
  bytes: Uint8Array,
  signal: AbortSignal,
) => Promise<{ readonly path: string; readonly mediaType: string } | { readonly refused: string }>;

/** Beyond it nothing of a text is kept, not even in a file. */
const textChars = 4_000_000;
const mostPictures = 8;
const pictureBytes = 8_000_000;

export async function resultOf(
  answer: unknown,
  keep: KeepPicture | null,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { content, structuredContent, isError } = isObject(answer) ? answer : {};
  const parts = Array.isArray(content) ? content : [];
  const shown: ToolResult["content"][number][] = [];
  let room = textChars;
  const say = (text: string): void => {
    if (room <= 0) return;
    shown.push({ type: "text", text: text.length > room ? `${text.slice(0, room)}\n[cut]` : text });
    room -= text.length;
  };
  let pictures = 0;
  for (const part of parts) {
    if (!isObject(part)) continue;
    const { type, text, data, mimeType, resource, uri, name } = part;
    if (type === "text" && typeof text === "string") say(text);
    else if (type === "image" && typeof data === "string") {
      const picture = pictures < mostPictures ? await pictureOf(data, keep, signal) : null;
      if (picture === null) say(`[a picture (${line(mimeType, 60)}) that cannot be shown]`);
      else if ("refused" in picture) say(`[a picture that is not shown: ${picture.refused}]`);
      else {
        pictures += 1;
        shown.push(picture);
      }
    } else if (type === "resource" && isObject(resource)) say(resourceText(resource));
    else if (type === "resource_link") say(`[resource ${line(name, 120)}: ${line(uri, 500)}]`);
    else say(`[${line(type, 40)} that cannot be shown]`);
  }
  const isBare = shown.length === 0 && structuredContent !== undefined && structuredContent !== null;
  if (isBare) say(JSON.stringify(structuredContent));
  return { content: shown, ...(isError === true ? { isError: true } : {}) };
}

function resourceText({ uri, text, mimeType }: { readonly [key: string]: unknown }): string {
  const where = `[resource ${line(uri, 500)}]`;
  return typeof text === "string" ? `${where}\n${text}` : `${where} (${line(mimeType, 60)}, not shown)`;
}

async function pictureOf(
  data: string,
  keep: KeepPicture | null,
  signal: AbortSignal,
): Promise<ImageContent | { readonly refused: string } | null> {
  if (keep === null || data.length > (pictureBytes * 4) / 3) return null;
  const kept = await keep(Buffer.from(data, "base64"), signal);
  return "refused" in kept ? kept : { type: "image", path: kept.path, mediaType: kept.mediaType };
}

function line(value: unknown, chars: number): string {
  return typeof value === "string" ? label(value, chars) : "?";
}
