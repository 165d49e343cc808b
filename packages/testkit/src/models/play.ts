// Writes one step to one response, byte for byte as scripted: pieces, pauses, cuts, hangs.
import type { ServerResponse } from "node:http";
import { type Clock, sleep } from "@parley/protocol";
import { anthropicEvents } from "./anthropic.ts";
import { openAiChatEvents } from "./openai-chat.ts";
import { openAiResponsesEvents } from "./openai-responses.ts";
import type { ModelCall } from "./request.ts";
import type { ReadyStep } from "./script.ts";

const writers = {
  chat: openAiChatEvents,
  responses: openAiResponsesEvents,
  anthropic: anthropicEvents,
} as const;
/** The interval of a server that only pings. */
const pingEveryMs = 20;

/** All ids are of one length, so that a recorded stream has its cuts where the next one will have them. */
export function answerId(nth: number): string {
  return String(nth).padStart(6, "0");
}

/** The stream that a step makes, whole; what a test cuts at every byte. */
export function streamBytes(
  step: ReadyStep,
  call: Pick<ModelCall, "wire" | "model">,
  id = answerId(0),
): Buffer {
  const text = writers[call.wire](step, call.model, id).join("");
  return Buffer.from(step.crlf === true ? text.replaceAll("\n", "\r\n") : text);
}

/** `gone` aborts when the client hung up or the server closes; a hang ends with it. */
export async function play(
  step: ReadyStep,
  call: ModelCall,
  id: string,
  response: ServerResponse,
  clock: Clock,
  gone: AbortSignal,
): Promise<void> {
  if (step.delayMs !== undefined) await sleep(clock, step.delayMs, gone);
  if (step.hang === "headers" && step.cutAtByte === undefined) return whenAborted(gone);
  if (step.status !== undefined || step.body !== undefined) {
    const body =
      typeof step.body === "string"
        ? step.body
        : JSON.stringify(step.body ?? errorBody(call, step.status ?? 200));
    const type = typeof step.body === "string" ? "text/html" : "application/json";
    response.writeHead(step.status ?? 200, { "content-type": type, ...step.headers }).end(body);
    return;
  }
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    ...step.headers,
  });
  response.flushHeaders();
  if (step.hang !== undefined && step.cutAtByte === undefined)
    return hang(step.hang, call, response, clock, gone);

  for (const piece of pieces(step, call, id)) {
    if (gone.aborted) return;
    response.write(piece);
    if (step.betweenMs !== undefined) await sleep(clock, step.betweenMs, gone);
    else if (step.chunkBytes !== undefined) await new Promise((resolve) => setImmediate(resolve));
  }
  if (step.hang !== undefined) return hang(step.hang, call, response, clock, gone);
  if (step.reset === true) response.destroy();
  else response.end();
}

function pieces(step: ReadyStep, call: ModelCall, id: string): readonly Buffer[] {
  const bytes = streamBytes(step, call, id).subarray(0, step.cutAtByte ?? Number.POSITIVE_INFINITY);
  if (step.chunkBytes === undefined && step.betweenMs === undefined) return [bytes];
  const { chunkBytes } = step;
  if (chunkBytes !== undefined) {
    return Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, at) =>
      bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes),
    );
  }
  return (bytes.toString().match(/[\s\S]*?\r?\n\r?\n|[\s\S]+$/g) ?? []).map((event) => Buffer.from(event));
}

async function hang(
  how: "headers" | "body" | "pings",
  { wire }: ModelCall,
  response: ServerResponse,
  clock: Clock,
  gone: AbortSignal,
): Promise<void> {
  if (how !== "pings") return whenAborted(gone);
  // Only Anthropic has an event for it; the others' servers and proxies send comments.
  const ping = wire === "anthropic" ? 'event: ping\ndata: {"type": "ping"}\n\n' : ": still working\n\n";
  while (!gone.aborted) {
    response.write(ping);
    await sleep(clock, pingEveryMs, gone);
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Each vendor's shape of an error for a bare status. */
function errorBody({ wire }: ModelCall, status: number): object {
  const message = `scripted status ${status}`;
  return wire === "anthropic"
    ? { type: "error", error: { type: "scripted", message } }
    : { error: { message, type: "scripted", code: null, param: null } };
}
