// Discord's REST API through discord.js's REST, which knows buckets and the global limit, over our transport, which knows whether bytes
// went out. The only file that loads discord.js, and only when a channel is made. Nothing is retried, nothing waits inside: a limit is
// Fault("rate_limited") with its wait, and every other failure leaves here as a Fault too.
import { AsyncLocalStorage } from "node:async_hooks";
import type { RESTOptions, RouteLike } from "discord.js";
import { type Clock, Fault } from "@parley/protocol";
import { type Answer, type Exchange, fileTimes, transport } from "../transport.ts";
import { DiscordLimit, DiscordRefusal, faultOf, refusalStatus } from "./refusals.ts";

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `<apiRoot>/v10`. */
  readonly route: RouteLike;
  readonly body?: unknown;
  /** In place of `body`: JSON and files in one. */
  readonly form?: FormData;
  readonly query?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface DiscordRest {
  /** The answer's JSON; undefined where there is none. Its shape is the caller's to check. Throws Fault. */
  call(request: Call): Promise<unknown>;
  /** Bytes behind an address. Throws Fault: `invalid` beyond `limitBytes`, `missing` for what is gone. */
  fetch(url: string, limitBytes: number, signal: AbortSignal): Promise<Uint8Array>;
  /** Closes idle connections. Calls go on working. */
  close(): void;
}

/** How the platform takes the bot's token. */
export interface TokenNews {
  readonly accepted: () => void;
  readonly refused: (reason: string) => void;
}

export interface RestOptions {
  readonly token: string;
  /** `https://discord.com/api`; the version is added. */
  readonly apiRoot: string;
  readonly onToken: TokenNews;
  readonly clock: Clock;
}

const callDeadlineMs = 30_000;
/** 100 MiB at 0.9 MB/s. */
const uploadDeadlineMs = 120_000;
/** Of a limit that does not say how long, or that asks for more than the longest ban known: asking again then costs little. */
const usualWaitMs = 1_000;
const longestWaitMs = 3_600_000;
/** A hundred messages of full length with embeds are far below this. */
const maxAnswerBytes = 8 * 1024 * 1024;

export async function discordRest({ token, apiRoot, onToken, clock }: RestOptions): Promise<DiscordRest> {
  const { REST, DiscordAPIError, HTTPError, RateLimitError } = await import("discord.js");
  const line = transport(clock, "Discord");
  /** Of the call under way: whether Discord itself limited it. What discord.js guesses from the headers of other calls is only a guess. */
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
    // Our own deadline comes first and knows whether bytes went out.
    timeout: 2 * uploadDeadlineMs,
    offset: 0,
    rejectOnRateLimit: () => true,
    // Not `setToken`: a 401 for the dead token of an interaction would make it forget the bot's.
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
        // Reading twice changes nothing, so for a read "perhaps done" is as good as "not done".
        throw method === "GET" ? certain(fault) : fault;
      }
    },
    async fetch(url, limitBytes, signal) {
      const exchange = {
        url,
        method: "GET",
        signal,
        ...fileTimes,
        maxBytes: limitBytes,
        line: "calls",
      } as const;
      const { status, bytes } = await line.exchange(exchange).catch((error: unknown) => {
        throw error instanceof Fault ? certain(error) : error;
      });
      if (status === 200) return bytes;
      // The addresses of files are signed for a day; what is older answers 403 or 404.
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

/** Interactions are answered by tokens of their own. */
function isByToken(route: string): boolean {
  return !/^\/(?:webhooks|interactions)\//.test(route);
}

/** What a call is called in messages: ids and the tokens of interactions are no business of a log. */
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

/** The answer as discord.js reads it. A success that is no JSON may have been done: half an answer, or a proxy's page. */
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
  // The body's wait is the exact one; the header may be rounded, or lost on the way.
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

/** A refusal in the one form that discord.js can read, whatever came. */
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
    return undefined; // Not JSON: the caller decides what that means.
  }
}

function certain(fault: Fault): Fault {
  return fault.code === "ambiguous" ? new Fault("unavailable", fault.message, { cause: fault.cause }) : fault;
}
