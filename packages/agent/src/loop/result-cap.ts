// How much of a tool's answer enters the transcript. What does not fit is kept in a file that the model can
// read.
import type { ImageContent, TextContent } from "@parley/protocol";
import type { ToolResult } from "@parley/tools";
import { hideSecrets } from "../reply/redact.ts";

/** Text of one result, in UTF-8 bytes, unless the operator says otherwise. */
const resultTextBytes = 8192;
/** An error is a sentence, not a log; in UTF-16 units. */
const errorTextChars = 400;

/** Of the room for text: the beginning of an output tells most, its end tells how it went. */
const headShare = 0.75;

export type Spill = (callId: string, text: string) => Promise<string>;

/**
 * What a tool printed may hold a key of the operator's: it stays out of everything that is kept or sent on
 * (I8).
 */
export function withoutSecrets(result: ToolResult, secrets: readonly string[]): ToolResult {
  const content = result.content.map((part) =>
    part.type === "text" ? { ...part, text: hideSecrets(part.text, secrets) } : part,
  );
  return { ...result, content };
}

/**
 * The content to keep. `spill` stores the whole text and returns the path to name; its own failure costs the
 * rest, never the result.
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

/** The longest beginning of whole characters in `bytes` bytes of UTF-8. */
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
