// Limits how much of a tool's answer enters the transcript. The rest is kept in a file that the model can
// read.
import type { ImageContent, TextContent } from "@parley/protocol";
import type { ToolResult } from "@parley/tools";
import { hideSecrets } from "../reply/redact.ts";

/** Most text of one result, in UTF-8 bytes, unless the operator says otherwise. */
const resultTextBytes = 8192;
/** Most UTF-16 units of an error: it is a sentence, not a log. */
const errorTextChars = 400;

/** Share of the text's beginning: it tells most, and the end tells how it went. */
const headShare = 0.75;

export type Spill = (callId: string, text: string) => Promise<string>;

/** Removes secrets that a tool printed, before the result is stored or sent (I8). */
export function withoutSecrets(result: ToolResult, secrets: readonly string[]): ToolResult {
  const content = result.content.map((part) =>
    part.type === "text" ? { ...part, text: hideSecrets(part.text, secrets) } : part,
  );
  return { ...result, content };
}

/**
 * Returns the content to keep. `spill` stores the whole text and returns its path; if that fails, the result
 * is still kept.
 */
export async function capped(
  result: ToolResult,
  callId: string,
  spill: Spill,
  maxBytes = resultTextBytes,
): Promise<readonly (TextContent | ImageContent)[]> {
  const text = result.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const images = result.content.filter((part) => part.type === "image");
  const fits = result.isError === true ? text.length <= errorTextChars : Buffer.byteLength(text) <= maxBytes;
  if (fits)
    return text === "" && images.length === 0
      ? [{ type: "text", text: "(no output)" }]
      : [...texts(text), ...images];

  const kept = await spill(callId, text).then(
    (path) => `the whole text is in ${path}`,
    // A full disk must not turn a tool that ran into one that failed.
    () => "the rest could not be kept",
  );
  const marker = `\n[... ${text.length} characters in all; ${kept} ...]\n`;
  if (result.isError === true)
    return texts(firstChars(text, errorTextChars - marker.length) + marker.trimEnd());
  const room = maxBytes - Buffer.byteLength(marker);
  const head = firstBytes(text, Math.floor(room * headShare));
  const tail = lastBytes(text, room - Buffer.byteLength(head));
  return [...texts(head + marker + tail), ...images];
}

function texts(text: string): readonly TextContent[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function firstChars(text: string, chars: number): string {
  return text
    .slice(0, Math.max(0, chars))
    .toWellFormed()
    .replace(/\uFFFD$/, "");
}

/** Returns the longest beginning of whole characters within `bytes` bytes of UTF-8. */
function firstBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text.slice(0, bytes), new Uint8Array(bytes));
  return text.slice(0, read);
}

function lastBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text.slice(-bytes));
  let from = Math.max(0, encoded.length - bytes);
  // Continuation bytes begin with the bits 10: step forward to the start of a character.
  while (((encoded[from] ?? 0) & 0xc0) === 0x80) from += 1;
  return encoded.toString("utf8", from);
}
