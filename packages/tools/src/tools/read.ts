// Reads a file: text by pages with line numbers, pictures for models that see. Whatever the file's size,
// memory has one page of it.
import type { FileHandle } from "node:fs/promises";
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import type { Unavailable } from "../ports/done.ts";
import { defineTool, textResult } from "../define-tool.ts";
import { headBytes, looksBinary, pictureType } from "../files/text.ts";
import { inWorkspace, readForPeople } from "../files/private-notes.ts";
import { readBytes, type OpenFile, type Rooted } from "../files/rooted.ts";
import { imageOf, pictureLine } from "../files/pictures.ts";
import { notedAfter } from "../memory-fence.ts";
import { firstBytes, resultRoom } from "../result-size.ts";
import type { Tool, ToolResult, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

/** A picture is scaled before a model is shown it; a file beyond this is not read for that. */
const pictureBytes = 20_000_000;
const chunkBytes = 256 * 1024;
/** A line is shown up to here. */
const lineBytes = 2_000;
/** Lines are counted to the end of files up to here; in larger ones only as far as the page goes. */
const countBytes = 64 * 1024 * 1024;

const args = z.object({
  path: z.string().describe("Path in the workspace."),
  offset: z.number().int().min(1).optional().describe("First line, counted from 1."),
  limit: z.number().int().min(1).optional().describe("Most lines."),
});

export const readListing: ToolListing = {
  name: "read",
  label: "Read",
  section: "fs",
  profiles: ["coding"],
  effect: "reads",
  summary: "Read file contents",
};

export function read(context: ToolContext): Tool | Unavailable {
  const { vision, pictures } = context;
  return defineTool({
    ...readListing,
    description:
      "Reads a file of the workspace. Text comes with line numbers, a page at a time: go on with offset. " +
      (vision
        ? "Pictures (PNG, JPEG, GIF, WebP) are shown to you."
        : "Pictures are only described: this model does not see them."),
    args,
    run: ({ path, offset = 1, limit = Number.MAX_SAFE_INTEGER }, scope) =>
      readForPeople(context, scope, path, async (file, files) => {
        const head = await readBytes(file.handle, 0, Math.min(headBytes, file.size));
        const picture = pictureType(head);
        if (picture !== null) {
          if (!vision || pictures === undefined)
            return textResult(
              `${file.path} is a picture (${picture.mediaType}, ${file.size} bytes), which this model cannot see.`,
            );
          if (file.size > pictureBytes)
            return textResult(
              `${file.path} is a picture of ${file.size} bytes; at most ${pictureBytes} can be shown. Make it smaller.`,
              true,
            );
          const kept = await pictures.keep(await readBytes(file.handle, 0, file.size), scope.signal);
          if ("refused" in kept) return textResult(`${file.path} cannot be shown: ${kept.refused}.`, true);
          return {
            content: [{ type: "text", text: pictureLine(file.path, kept) }, imageOf(kept)],
          };
        }
        if (looksBinary(head))
          return textResult(
            `${file.path} is a binary file of ${file.size} bytes; there is no text to show.`,
            true,
          );
        const shown = await page(file, offset, limit, resultRoom(context), scope.signal);
        if (keepsStrangers(file.path, head))
          return { ...shown, untrusted: { source: "what a tool read and kept" } };
        const noted = await notedIn(context, scope, files, file.path, shown);
        return notedAfter(shown, noted === null ? [] : [noted]);
      }),
  });
}

/** A kept result that was fenced is still text of strangers, in whatever turn it is read. */
function keepsStrangers(path: string, head: Uint8Array): boolean {
  return path.startsWith(".parley/results/") && Buffer.from(head).includes("<<<BEGIN_PARLEY_RESULT ");
}

/** Where text of strangers came from that was read before these lines were noted. */
async function notedIn(
  { notes }: Pick<ToolContext, "notes">,
  scope: ToolScope,
  { root }: Pick<Rooted, "root">,
  path: string,
  { content }: ToolResult,
): Promise<string | null> {
  const note = inWorkspace(scope, root, path);
  if (notes === undefined || note === null || !note.endsWith(".md")) return null;
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return notes.untrusted(scope, note, text.replaceAll(/^\d+\t/gm, ""));
}

async function page(
  file: OpenFile,
  offset: number,
  limit: number,
  room: number,
  signal: AbortSignal,
): Promise<ToolResult> {
  const shown: string[] = [];
  let bytes = 0;
  let full = false;
  let lines = 0;
  for await (const line of linesOf(file.handle, signal)) {
    lines += 1;
    if (lines < offset || full) {
      if (full && file.size > countBytes) break;
      continue;
    }
    const numbered = `${lines}\t${cut(line, room)}`;
    const more = Buffer.byteLength(numbered) + 1;
    // A page has a line at least, or nobody could go on.
    if (shown.length >= limit || (shown.length > 0 && bytes + more > room)) {
      full = true;
      continue;
    }
    shown.push(numbered);
    bytes += more;
  }
  if (lines === 0) return textResult(`${file.path} is empty.`);
  if (shown.length === 0)
    return textResult(`${file.path} has ${lines} lines; there is no line ${offset}.`, true);
  const next = offset + shown.length;
  const total = full && file.size > countBytes ? "many more" : String(lines);
  const note = !full
    ? offset === 1
      ? []
      : [`[end of file, ${lines} lines]`]
    : [`[lines ${offset}-${next - 1} of ${total}; go on with offset=${next}]`];
  return textResult([...shown, ...note].join("\n"));
}

function cut(line: string, room: number): string {
  const most = Math.min(lineBytes, room - 100);
  if (Buffer.byteLength(line) <= most) return line;
  return `${firstBytes(line.toWellFormed(), most)} [... a line of ${line.length} characters]`;
}

/** Without their ends. Of a line longer than a chunk only its beginning is kept. */
async function* linesOf(handle: FileHandle, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const buffer = Buffer.alloc(chunkBytes);
  let rest = "";
  for (let at = 0; ;) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    const parts = (rest + decoder.decode(buffer.subarray(0, bytesRead), { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
    if (rest.length > chunkBytes) rest = rest.slice(0, chunkBytes);
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
