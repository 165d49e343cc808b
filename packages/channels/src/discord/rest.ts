// Discord's REST API through discord.js, which tracks buckets and the global limit, over our transport, which
// knows whether bytes were written. Only this file loads discord.js, and only when a channel is made. It
// neither retries nor waits: a limit is Fault("rate_limited") with its wait, and every other failure is a
// Fault too.
import { AsyncLocalStorage } from "node:async_hooks";
import type { RESTOptions, RouteLike } from "discord.js";
import { type Clock, Fault } from "@parley/protocol";
import { certain, fetchedFile } from "../reads.ts";
import { type Answer, type Exchange, transport } from "../transport.ts";
import { DiscordLimit, DiscordRefusal, faultOf, refusalStatus } from "./refusals.ts";

interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path below `<apiRoot>/v10`. */
  readonly route: RouteLike;
  readonly body?: unknown;
  /** JSON and files in one, in place of `body`. */
  readonly form?: FormData;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export interface DiscordRest {
  /** Returns the answer's JSON, undefined when there is none. The caller checks its shape. Throws Fault. */
  call(request: Call): Promise<unknown>;
  /**
   * Fetches the bytes at an address. Throws Fault("invalid") beyond `limitBytes`, Fault("missing") for a file
   * that is gone.
   */
  fetch(url: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Closes idle connections. Calls go on working. */
  close(): void;
}

/** Tells whether the platform accepts the bot's token. */
interface TokenNews {
  readonly accepted: () => void;
  readonly refused: (reason: string) => void;
}

export interface RestOptions {
  readonly token: string;
  /** For example `https://discord.com/api`; the version is added. */
  readonly apiRoot: string;
  readonly onToken: TokenNews;
  readonly clock: Clock;
}

const callDeadlineMs = 30_000;
/** Enough for 100 MiB at 0.9 MB/s. */
const uploadDeadlineMs = 120_000;
/**
 * The waits for a limit that names none, and for one that asks for more than the longest known ban; asking
 * again then costs little.
 */
const usualWaitMs = 1_000;
const longestWaitMs = 3_600_000;
/** A hundred full-length messages with embeds are far smaller. */
const maxAnswerBytes = 8 * 1024 * 1024;

export async function discordRest({ token, apiRoot, onToken, clock }: RestOptions): Promise<DiscordRest> {
  const { REST, DiscordAPIError, HTTPError, RateLimitError } = await import("discord.js");
  const line = transport(clock, "Discord");
  /**
   * Records for the call in flight whether Discord itself limited it; discord.js also guesses from the
   * headers of other calls.
   */
  const underWay = new AsyncLocalStorage<{ wasLimited: boolean }>();
  const makeRequest = async (
    url: string,
    init: { method?: string; headers?: object; body?: unknown; signal?: AbortSignal },
  ) => {
    const { headers, body } = payload(init.headers, init.body);
    const answer = await line.exchange({
      url,
      method: (init.method ?? "GET") as Exchange["method"],
      headers,
      ...(body === undefined ? {} : { body }),
      ...(init.signal === undefined ? {} : { signal: init.signal }),
      deadlineMs: body === undefined || typeof body === "string" ? callDeadlineMs : uploadDeadlineMs,
      maxBytes: maxAnswerBytes,
      line: "calls",
    });
    const call = underWay.getStore();
    if (call !== undefined && answer.status === 429) call.wasLimited = true;
    return responseOf(answer);
  };
  const rest = new REST({
    api: apiRoot.replace(/\/+$/, ""),
    version: "10",
    retries: 0,
    // Longer than our own deadline, which comes first and knows whether bytes were written.
    timeout: 2 * uploadDeadlineMs,
    offset: 0,
    rejectOnRateLimit: () => true,
    // Not `setToken`: a 401 for an interaction's expired token would make discord.js forget the bot's token.
    headers: { Authorization: `Bot ${token}` },
    makeRequest: makeRequest as unknown as RESTOptions["makeRequest"],
  });

  const asFault = (call: Call, wasLimited: boolean, error: unknown): Fault => {
    if (error instanceof Fault) return error;
    if (error instanceof RateLimitError) {
      const askedMs = Math.max(error.retryAfter, error.sublimitTimeout);
      const retryAfterMs = Number.isFinite(askedMs)
        ? Math.min(Math.max(askedMs, 1), longestWaitMs)
        : usualWaitMs;
      const words = `Discord limits ${nameOf(call)}: wait ${retryAfterMs} ms (${error.global ? "global" : error.scope})`;
      // Buckets belong to a channel; only a global limit is the account's.
      return new Fault("rate_limited", words, {
        retryAfterMs,
        cause: new DiscordLimit(wasLimited && error.global ? "account" : "chat"),
      });
    }
    if (error instanceof DiscordAPIError)
      return faultOf(new DiscordRefusal(nameOf(call), error.status, Number(error.code), error.message));
    if (error instanceof HTTPError)
      return faultOf(new DiscordRefusal(nameOf(call), error.status, 0, error.message));
    if (call.signal?.aborted === true)
      return new Fault("aborted", `${nameOf(call)} was aborted while it waited`);
    return new Fault("ambiguous", `${nameOf(call)} failed inside the Discord client`, { cause: error });
  };

  return {
    async call(request) {
      const { method, route, body, form, query, signal } = request;
      if (signal?.aborted === true) throw new Fault("aborted", "the call was aborted before it began");
      const state = { wasLimited: false };
      try {
        const answer = await underWay.run(state, () =>
          rest.request({
            method: method as Parameters<typeof rest.request>[0]["method"],
            fullRoute: route,
            auth: false,
            ...(form !== undefined
              ? { body: form, passThroughBody: true }
              : body !== undefined
                ? { body }
                : {}),
            ...(query === undefined ? {} : { query: new URLSearchParams(query) }),
            ...(signal === undefined ? {} : { signal }),
          }),
        );
        if (isByToken(route)) onToken.accepted();
        return answer instanceof ArrayBuffer ? undefined : answer;
      } catch (error) {
        const fault = asFault(request, state.wasLimited, error);
        if (refusalStatus(fault) === 401 && isByToken(route)) onToken.refused(fault.message);
        // Reading twice changes nothing, so for a read `ambiguous` is as good as `unavailable`.
        throw method === "GET" ? certain(fault) : fault;
      }
    },
    async fetch(url, limitBytes, signal) {
      const { status, bytes } = await fetchedFile(line, url, limitBytes, signal);
      if (status === 200) return bytes;
      // File addresses are signed for a day; older ones answer 403 or 404.
      const gone = status === 403 || status === 404 || status === 410;
      throw new Fault(gone ? "missing" : "unavailable", `Discord answered ${status} for the file`);
    },
    close() {
      rest.clearHashSweeper();
      rest.clearHandlerSweeper();
      line.close();
    },
  };
}

/** Interactions are answered with tokens of their own. */
function isByToken(route: string): boolean {
  return !/^\/(?:webhooks|interactions)\//.test(route);
}

/** A call's name for messages, without ids and interaction tokens, which do not belong in a log. */
function nameOf({ method, route }: Call): string {
  return `${method} ${route.replace(/^\/(webhooks|interactions)\/(\d+)\/[^/]+/, "/$1/$2/…")}`;
}

function payload(
  headers: object | undefined,
  body: unknown,
): { headers: Record<string, string>; body?: string | AsyncIterable<Uint8Array> } {
  const plain = { ...(headers as Record<string, string> | undefined) };
  if (body instanceof FormData) {
    const encoded = new Response(body);
    const type = encoded.headers.get("content-type") ?? "multipart/form-data";
    return {
      headers: { ...plain, "content-type": type },
      body: encoded.body as unknown as AsyncIterable<Uint8Array>,
    };
  }
  if (typeof body !== "string") return { headers: plain };
  return { headers: { ...plain, "Content-Length": String(Buffer.byteLength(body)) }, body };
}

/**
 * The answer as discord.js reads it. A success without JSON (half an answer, a proxy's page) may have been
 * carried out.
 */
function responseOf({ status, headers, bytes }: Answer): object {
  const ok = status >= 200 && status < 300;
  const json = parse(bytes);
  if (ok && bytes.length > 0 && json === undefined)
    throw new Fault(
      "ambiguous",
      `Discord's side answered ${status} with ${bytes.length} bytes that are no JSON`,
    );
  if (!ok && status < 400) throw new Fault("ambiguous", `Discord's side answered ${status}`);
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) if (typeof value === "string") sent.set(name, value);
  const shown = ok ? json : refusal(status, json, bytes);
  // The body's wait is exact; the header may be rounded or lost on the way.
  const { retry_after: retryAfter, global } = (json ?? {}) as {
    readonly retry_after?: unknown;
    readonly global?: unknown;
  };
  if (status === 429)
    sent.set(
      "Retry-After",
      String(typeof retryAfter === "number" ? retryAfter : (sent.get("Retry-After") ?? 1)),
    );
  if (status === 429 && global === true) sent.set("X-RateLimit-Global", "true");
  if (shown !== undefined) sent.set("Content-Type", "application/json");
  return {
    ok,
    status,
    statusText: String(status),
    headers: sent,
    body: null,
    bodyUsed: false,
    json: async () => shown,
    text: async () => new TextDecoder().decode(bytes),
    arrayBuffer: async () => new ArrayBuffer(0),
  };
}

const detailChars = 400;

/** Any refusal in the one form that discord.js can read. */
function refusal(
  status: number,
  json: unknown,
  bytes: Uint8Array,
): { readonly code: number; readonly message: string } {
  const { code, message, errors } = (typeof json === "object" && json !== null ? json : {}) as Readonly<
    Record<string, unknown>
  >;
  const words = typeof message === "string" ? message : `${status} with ${bytes.length} bytes`;
  const detail = errors === undefined ? "" : ` ${JSON.stringify(errors).slice(0, detailChars)}`;
  return { code: typeof code === "number" ? code : 0, message: words + detail };
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined; // Not JSON; the caller decides what that means.
  }
}
