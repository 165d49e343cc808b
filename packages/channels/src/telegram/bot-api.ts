// grammY's typed Bot API over our transport. Only this file loads grammY, and only when a channel is made.
// Every failure leaves here as a Fault, and nothing is retried.
import { createReadStream } from "node:fs";
import type { InputFile, RawApi } from "grammy/web";
import { type Clock, Fault } from "@parley/protocol";
import { faultOf, isTokenRefused, type RefusedAnswer } from "./refusals.ts";
import { certain, fetchedFile } from "../reads.ts";
import { type Transport, transport } from "../transport.ts";

export interface BotApiOptions {
  readonly token: string;
  readonly apiRoot: string;
  readonly proxy?: string | undefined;
  /** Tells whether Telegram accepts the token. */
  readonly onToken: { readonly accepted: () => void; readonly refused: (reason: string) => void };
  readonly clock: Clock;
}

export interface BotApi {
  /** Every method of the Bot API, typed; an AbortSignal goes last. Throws Fault. */
  readonly raw: RawApi;
  readonly transport: Transport;
  /** A file to upload, streamed from disk. */
  file(path: string, name: string): InputFile;
  /** Fetches the bytes of a file that getFile named. Throws Fault("invalid") beyond `limitBytes`. */
  fetchFile(filePath: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array>;
}

export type Upload = InputFile;
type GrammySignal = NonNullable<Parameters<RawApi["getMe"]>[0]>;

/** grammY types signals by the abort-controller package; the native one has everything it uses. */
export function grammySignal(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal;
}

/** Seconds for which the server holds getUpdates, as grammY and most clients set it. */
export const pollSeconds = 30;
/** A poll without an answer this long after its hold counts as dead. */
const pollGraceMs = 10_000;
const callDeadlineMs = 30_000;
/** Enough for 50 MB at 0.4 MB/s. */
const uploadDeadlineMs = 120_000;
/**
 * A hundred updates of full-length texts are below 4 MB. A larger answer is not from Telegram, or the poll is
 * repeated with a smaller limit.
 */
const maxAnswerBytes = 4 * 1024 * 1024;
/** An update that is longer alone would otherwise never be confirmed, and hold up all behind it. */
const maxUpdateBytes = 64 * 1024 * 1024;

export async function botApi({ token, apiRoot, proxy, onToken, clock }: BotApiOptions): Promise<BotApi> {
  // Its build for browsers asks through our `fetch` alone; the other one loads a client that nobody uses.
  const { Api, InputFile: File } = await import("grammy/web");
  const root = apiRoot.replace(/\/+$/, "");
  const line = transport(clock, "Telegram", proxy);
  const fetchJson = async (url: string, init: FetchInit): Promise<{ json(): Promise<unknown> }> => {
    const isPoll = url.endsWith("/getUpdates");
    const isUpload = typeof init.body !== "string";
    const answer = await line.exchange({
      url,
      method: "POST",
      headers: init.headers,
      body: init.body,
      signal: init.signal,
      deadlineMs: isPoll ? pollSeconds * 1000 + pollGraceMs : isUpload ? uploadDeadlineMs : callDeadlineMs,
      maxBytes: isPoll && asksForOne(init.body) ? maxUpdateBytes : maxAnswerBytes,
      line: isPoll ? "poll" : "calls",
    });
    const json = apiAnswer(answer.status, answer.bytes);
    return { json: () => Promise.resolve(json) };
  };
  // grammY aborts after `timeoutSeconds`, always later than our own deadline. Of a Response it uses only
  // `json`.
  const api = new Api(token, {
    apiRoot: root,
    timeoutSeconds: 600,
    fetch: fetchJson as unknown as typeof fetch,
  });
  api.config.use(async (previous, method, payload, signal) => {
    const answer = await previous(method, payload, signal).catch((error: unknown) => {
      throw asFault(method, error);
    });
    if (answer.ok) {
      onToken.accepted();
      return answer;
    }
    const fault = isRead(method) ? certain(faultOf(method, answer)) : faultOf(method, answer);
    if (isTokenRefused(fault)) onToken.refused(fault.message);
    throw fault;
  });
  return {
    raw: api.raw,
    transport: line,
    file: (path, name) => new File(contentOf(path), name),
    async fetchFile(filePath, limitBytes, signal) {
      const url = `${root}/file/bot${token}/${filePath.split("/").map(encodeURIComponent).join("/")}`;
      const { status, bytes } = await fetchedFile(line, url, limitBytes, signal);
      if (status === 200) return bytes;
      throw new Fault(
        status === 404 ? "missing" : "unavailable",
        `Telegram answered ${status} for the file "${filePath}"`,
      );
    },
  };
}

function asksForOne(body: FetchInit["body"]): boolean {
  return typeof body === "string" && (JSON.parse(body) as { readonly limit?: unknown }).limit === 1;
}

/** Opened when it is sent, and not when it is named. */
async function* contentOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>;
}

interface FetchInit {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

/**
 * The answer's JSON when it has the Bot API's form. Throws Fault for a proxy's HTML and for an empty or
 * broken body.
 */
function apiAnswer(status: number, bytes: Uint8Array): object {
  const body = parseObject(bytes);
  if (body?.["ok"] === true && "result" in body) return body;
  // An answer without an error code of its own is judged by its HTTP status.
  if (body?.["ok"] === false) {
    const { error_code: code, description } = body;
    return {
      ...body,
      error_code: typeof code === "number" ? code : status,
      description: typeof description === "string" ? description : "no description",
    };
  }
  if (status === 413)
    return { ok: false, error_code: 413, description: "Request Entity Too Large" } satisfies RefusedAnswer;
  throw new Fault(
    "ambiguous",
    `Telegram's side answered ${status} with ${bytes.length} bytes that are not an answer of the Bot API`,
  );
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null; // Not JSON; the caller says so in its Fault.
  }
}

/** grammY wraps what our fetch threw in its HttpError. */
function asFault(method: string, error: unknown): Fault {
  const inner = error instanceof Error && "error" in error ? error.error : error;
  if (inner instanceof Fault && isRead(method)) return certain(inner);
  // An answer too long to read does not undo what was done.
  if (inner instanceof Fault)
    return inner.code === "invalid" ? new Fault("ambiguous", inner.message, { cause: inner }) : inner;
  return new Fault("ambiguous", `${method} failed inside the Telegram client`, { cause: inner });
}

/** Reading twice changes nothing, so for a read `ambiguous` is as good as `unavailable`. */
function isRead(method: string): boolean {
  return method.startsWith("get");
}
