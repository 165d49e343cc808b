// Turns what a server answered into a tool's result: texts as they are, pictures as files, and a line for
// what a model cannot be shown.
import { label } from "@parley/protocol";
import type { ToolResult } from "@parley/tools";
import { isObject } from "./definition.ts";

/** Stores a picture and returns its path in the media folder. */
export type KeepPicture = (bytes: Uint8Array, extension: string) => Promise<string>;

/** Beyond it nothing of a text is kept, not even in a file. */
const textChars = 4_000_000;
const mostPictures = 8;
const pictureBytes = 8_000_000;
const extensions: { readonly [type: string]: string } = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
};

export async function resultOf(answer: unknown, keep: KeepPicture | null): Promise<ToolResult> {
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
      const picture = pictures < mostPictures ? await pictureOf(data, mimeType, keep) : null;
      if (picture === null) say(`[a picture (${line(mimeType, 60)}) that cannot be shown]`);
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
  mimeType: unknown,
  keep: KeepPicture | null,
): Promise<ToolResult["content"][number] | null> {
  if (typeof mimeType !== "string") return null;
  const extension = Object.hasOwn(extensions, mimeType) ? extensions[mimeType] : undefined;
  if (keep === null || extension === undefined || data.length > (pictureBytes * 4) / 3) return null;
  const bytes = Buffer.from(data, "base64");
  return { type: "image", path: await keep(bytes, extension), mediaType: mimeType };
}

function line(value: unknown, chars: number): string {
  return typeof value === "string" ? label(value, chars) : "?";
}
