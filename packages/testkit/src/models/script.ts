// Defines the script of a fake model server: one step answers one request. It is plain JSON, so that programs
// in any language can script it over HTTP.
import { z } from "zod";

const toolCall = z.object({
  id: z.string().optional(),
  name: z.string(),
  /** An object, or the raw text of the arguments as the model wrote them, valid or not. */
  args: z.union([z.record(z.string(), z.unknown()), z.string()]).default({}),
});

const usage = z.object({
  input: z.number().int().default(0),
  output: z.number().int().default(0),
  cacheRead: z.number().int().default(0),
  cacheWrite: z.number().int().default(0),
});

export const modelStep = z.strictObject({
  text: z.string().optional(),
  thinking: z.string().optional(),
  toolCalls: z.array(toolCall).optional(),
  /** Default: `toolUse` with tool calls, else `stop`. */
  stop: z.enum(["stop", "length", "toolUse", "refusal"]).optional(),
  usage: usage.optional(),
  /** Without streaming anything: an error, or any other plain answer. */
  status: z.number().int().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
  /** Sent as an event of the stream in place of its end, after the text: an error behind a 200. */
  errorEvent: z.object({ type: z.string(), message: z.string() }).optional(),
  /** Before the headers. */
  delayMs: z.number().optional(),
  /** Between two events. */
  betweenMs: z.number().optional(),
  /** The body is written in pieces of so many bytes, across events and characters. */
  chunkBytes: z.number().int().positive().optional(),
  /** The body ends here; `reset` drops the connection instead of ending it properly. */
  cutAtByte: z.number().int().nonnegative().optional(),
  reset: z.boolean().optional(),
  /**
   * `headers`: never answers. `body`: headers and then nothing. `pings`: comments and pings forever. With
   * `cutAtByte`: hangs there.
   */
  hang: z.enum(["headers", "body", "pings"]).optional(),
  /** Lines end with CRLF. */
  crlf: z.boolean().optional(),
});

export type ModelStep = z.input<typeof modelStep>;
export type ReadyStep = z.output<typeof modelStep>;
export type ScriptedCall = z.output<typeof toolCall>;

/** The text in pieces as a model would stream it: word by word. */
export function words(text: string): readonly string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? [];
}

export function rawArgs(call: ScriptedCall): string {
  return typeof call.args === "string" ? call.args : JSON.stringify(call.args);
}

/** Halves, so that arguments always arrive in more than one piece. */
export function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== "");
}
