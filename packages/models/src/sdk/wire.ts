// The bytes under the SDK: tells when headers came and when an event line came, refuses what is no event stream, and bounds its size (I9).
// Comment lines and pings are not progress: a server can send them forever without answering.
import { AsyncLocalStorage } from "node:async_hooks";

export interface WireWatch {
  headers(): void;
  progress(): void;
  /** See `Driver.lines`. */
  readonly lines: "events" | "json";
}

/** The server answered 2xx with a web page or plain JSON instead of a stream: a captive portal, a proxy's error page, a wrong address. */
export class NotAStream extends Error {
  override readonly name = "NotAStream";
  readonly status: number;
  readonly body: string;

  constructor(status: number, contentType: string, body: string) {
    super(`answered with ${contentType} instead of an event stream`);
    this.status = status;
    this.body = body;
  }
}

export class TooLarge extends Error {
  override readonly name = "TooLarge";
}

/** Far above any answer of any model; only a broken or hostile server sends more. */
const longestAnswerBytes = 32 * 1024 * 1024;
const errorBodyChars = 4096;

/** Whose call it is: an SDK takes its `fetch` when it is made, which costs too much to do for every call. */
const watches = new AsyncLocalStorage<WireWatch>();

/** Runs a call of an SDK whose `fetch` is `watchedFetch`. */
export function watching<T>(watch: WireWatch, call: () => T): T {
  return watches.run(watch, call);
}

/** `fetch` for SDKs. Only within `watching`. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const watch = watches.getStore();
  if (watch === undefined) throw new Error("an SDK asked its server outside of a call");
  const response = await fetch(input, init);
  watch.headers();
  if (!response.ok || response.body === null) return response;
  const contentType = response.headers.get("content-type") ?? "";
  const wrong = watch.lines === "json" ? /\btext\/html\b/i : /\b(text\/html|application\/json)\b/i;
  if (wrong.test(contentType)) {
    throw new NotAStream(response.status, contentType, (await response.text()).slice(0, errorBodyChars));
  }
  return new Response(response.body.pipeThrough(progressLines(watch)), response);
};

const newline = 0x0a;
const keptLineBytes = 64;

/** Looks at the beginning of each line and passes everything on unchanged. */
function progressLines(watch: WireWatch): TransformStream<Uint8Array, Uint8Array> {
  let line: number[] = [];
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > longestAnswerBytes) throw new TooLarge(`the answer is larger than ${longestAnswerBytes} bytes`);
      for (const byte of chunk) {
        if (byte === newline) {
          if (isProgress(String.fromCharCode(...line), watch.lines)) watch.progress();
          line = [];
        } else if (line.length < keptLineBytes) {
          line.push(byte);
        }
      }
      controller.enqueue(chunk);
    },
  });
}

function isProgress(lineStart: string, lines: WireWatch["lines"]): boolean {
  if (lines === "json") return lineStart.startsWith("{");
  return lineStart.startsWith("data:") && !/^data: ?\{\s*"type": ?"ping"/.test(lineStart);
}
