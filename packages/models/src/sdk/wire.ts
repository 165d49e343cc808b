// The HTTP layer under the SDK: reports headers and events, refuses responses that are no answer, and bounds
// their size (I9). It recognises a response by how it begins and not by its headers, because servers and
// proxies call streams text and JSON a stream. Comment lines and pings do not count as progress: a server can
// send them forever without answering.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Json } from "@parley/protocol";
import { withPlainCounts } from "./counts.ts";
import { tidyEvents, type MendEvents } from "./events.ts";
import { isObject, jsonIn } from "./json.ts";

export interface WireWatch {
  headers(): void;
  progress(): void;
  /** Called with the request's body as it goes out. */
  sent?(body: string): void;
  /** See `Driver`. */
  readonly lines: "events" | "json";
  readonly mendEvents?: MendEvents | undefined;
  /** An answer that has already arrived, so that no request is sent. */
  readonly whole?: string;
  /** The request is only written: it is thrown as `WrittenRequest`. */
  readonly writesOnly?: true;
}

/**
 * The server answered 2xx with a web page or an error instead of a stream: a captive portal, a proxy's error
 * page, a wrong address.
 */
export class NotAStream extends Error {
  override readonly name = "NotAStream";
  readonly status: number;
  readonly body: string;

  constructor(status: number, what: string, body: string) {
    super(`answered with ${what} instead of an event stream`);
    this.status = status;
    this.body = body;
  }
}

/**
 * The server answered a streaming request with the whole answer at once. Asking again would pay for it twice.
 */
export class WholeAnswer extends Error {
  override readonly name = "WholeAnswer";
  readonly body: string;

  constructor(body: string) {
    super("answered with the whole answer instead of a stream");
    this.body = body;
  }
}

/** A request as an SDK wrote it, for another to send. */
export class WrittenRequest extends Error {
  override readonly name = "WrittenRequest";
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;

  constructor(url: string, headers: { readonly [name: string]: string }, body: string) {
    super("the request is written");
    this.url = url;
    this.headers = headers;
    this.body = body;
  }
}

export class TooLarge extends Error {
  override readonly name = "TooLarge";
}

/** Far above any model's longest answer; only a broken or hostile server sends more. */
export const longestAnswerBytes = 32 * 1024 * 1024;
export const errorBodyChars = 4096;

/**
 * The call that a request belongs to; an SDK takes its `fetch` when it is created, which costs too much to do
 * per call.
 */
const watches = new AsyncLocalStorage<WireWatch>();

/** Runs a call of an SDK whose `fetch` is `watchedFetch`. */
export function watching<T>(watch: WireWatch, call: () => T): T {
  return watches.run(watch, call);
}

/** The `fetch` for SDKs. Works only inside `watching`. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const watch = watches.getStore();
  if (watch === undefined) throw new Error("an SDK asked its server outside of a call");
  if (watch.whole !== undefined)
    return new Response(watch.whole, { headers: { "content-type": "application/json" } });
  if (typeof init?.body === "string") {
    if (watch.writesOnly === true)
      throw new WrittenRequest(urlOf(input), Object.fromEntries(new Headers(init.headers)), init.body);
    watch.sent?.(init.body);
  }
  const response = await fetch(input, init);
  watch.headers();
  if (!response.ok || response.body === null) return response;
  const { begins, body } = await peek(response.body.pipeThrough(bounded()));
  if (begins === "<")
    throw new NotAStream(response.status, "a web page", (await textOf(body)).slice(0, errorBodyChars));
  if (watch.lines === "json") return new Response(body.pipeThrough(progressLines(watch)), response);
  if (begins === "{" || begins === "[")
    return new Response(whole(await textOf(body), response.status, watch), response);
  return new Response(body.pipeThrough(tidyEvents(watch.progress, watch.mendEvents)), response);
};

function urlOf(input: Parameters<typeof fetch>[0]): string {
  return typeof input === "string" ? input : "href" in input ? input.href : input.url;
}

/**
 * The first byte that is not blank, as a character; empty for an empty body. All bytes are passed on from the
 * beginning.
 */
async function peek(
  stream: ReadableStream<Uint8Array>,
): Promise<{ readonly begins: string; readonly body: ReadableStream<Uint8Array> }> {
  const reader = stream.getReader();
  const seen: Uint8Array[] = [];
  let begins = "";
  while (begins === "") {
    const { done, value } = await reader.read();
    if (done) break;
    seen.push(value);
    begins = beginningOf(value);
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const first = seen.shift();
      if (first !== undefined) return controller.enqueue(first);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return { begins, body };
}

/** The first character that is no space, behind a byte order mark; empty where there is none. */
export function beginningOf(bytes: Uint8Array): string {
  for (
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    at < bytes.length;
    at += 1
  ) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) return String.fromCharCode(byte);
  }
  return "";
}

function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(body).text();
}

/** Handles JSON in place of a stream, for an SDK. */
function whole(text: string, status: number, watch: WireWatch): ReadableStream<Uint8Array> | null {
  const found = eventsIn(text, status, watch);
  if (found === null) return null;
  const events = found.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  return new Blob([events]).stream().pipeThrough(tidyEvents(watch.progress, watch.mendEvents));
}

/**
 * Handles JSON in place of a stream. A list is a stream's events in one piece; an object is the whole answer,
 * or an error, and thrown as that. Null for what was cut off on its way or is of another kind: an empty
 * stream, which is a torn one.
 */
export function eventsIn(
  text: string,
  status: number,
  { mendEvents }: Pick<WireWatch, "mendEvents">,
): readonly Json[] | null {
  const value = jsonIn(text);
  if (value === undefined) return null;
  if (Array.isArray(value)) return value;
  const answer = isObject(value) ? withPlainCounts(value) : {};
  const mended = mendEvents?.().event(answer) ?? answer;
  if (!isObject(value) || isError(mended["error"]) || mended["type"] === "error") {
    throw new NotAStream(status, "plain JSON", text.slice(0, errorBodyChars));
  }
  throw new WholeAnswer(JSON.stringify(mended));
}

function isError(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== false && value !== "";
}

function bounded(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > longestAnswerBytes) throw tooLarge();
      controller.enqueue(chunk);
    },
  });
}

export function tooLarge(): TooLarge {
  return new TooLarge(`the answer is larger than ${longestAnswerBytes} bytes`);
}

const newline = 0x0a;
const brace = 0x7b;

/** For one JSON object per line; passes everything on unchanged. */
function progressLines({ progress }: WireWatch): TransformStream<Uint8Array, Uint8Array> {
  let isObjectLine = false;
  let begins = true;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of chunk) {
        if (byte === newline) {
          if (isObjectLine) progress();
          begins = true;
          isObjectLine = false;
        } else if (begins) {
          isObjectLine = byte === brace;
          begins = false;
        }
      }
      controller.enqueue(chunk);
    },
  });
}
