// The dialler is the one way out to what content, a model or a person names: every hop's address is judged
// where it is dialled, every answer has a limit in time and in bytes (I9), and nothing is carried along that
// the caller did not pass: no cookies, no proxy of the environment, no key on a foreign origin.
import { Fault, version, type Clock } from "@parley/protocol";
import type { Dispatcher, request as Request } from "undici";
import { addressGuard, type AddressRules, type RefusalReason, type Refused } from "./address-rules.ts";
import { acceptEncoding, counted, decoded, type BodyBytes } from "./decoded-body.ts";
import { dialFault, responseHost } from "./dial-fault.ts";
import { guardedConnect, systemResolve, type Resolve } from "./guarded-connect.ts";
import { isRedirect, nextHop, type Hop } from "./redirect.ts";

export interface DialLimits {
  readonly connectMs: number;
  /** From the request to the headers of each hop's answer. */
  readonly headersMs: number;
  /** From the request to the end of the last hop's body. */
  readonly totalMs: number;
  /** After decompression. */
  readonly bodyBytes: number;
  readonly redirects: number;
}

const defaultLimits: DialLimits = {
  connectMs: 10_000,
  headersMs: 15_000,
  totalMs: 30_000,
  bodyBytes: 5_000_000,
  redirects: 5,
};

export interface DialRequest {
  readonly url: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly limits?: Partial<DialLimits>;
  /** Lets a redirect go on from https to http. */
  readonly mayLeaveTls?: boolean;
}

export interface DialAnswer {
  /** Of the last hop. */
  readonly url: string;
  readonly status: number;
  /** Names in lower case; of a repeated header all values with a comma between. */
  readonly headers: Readonly<Record<string, string>>;
  readonly redirects: number;
  /** Decompressed; throws Fault("unsupported") past the limit. To be read to its end, or discarded. */
  readonly body: AsyncIterable<Uint8Array>;
  /**
   * The whole body. `cut` ends it at the limit where it would otherwise throw; `maxBytes` is a lower limit,
   * for a kind of content that the headers showed.
   */
  bytes(options?: { readonly cut?: boolean; readonly maxBytes?: number }): Promise<BodyBytes>;
  discard(): void;
}

export interface Refusal {
  readonly host: string;
  readonly reason: RefusalReason;
}

export interface DiallerOptions {
  readonly clock: Clock;
  readonly rules?: AddressRules;
  readonly limits?: Partial<DialLimits>;
  readonly resolve?: Resolve;
  /** Called once for each refusal, for the log and a counter. */
  readonly refused?: (refusal: Refusal) => void;
}

export interface Dialler {
  /** Throws Fault, which names the host and the reason, and never the rest of an address. */
  dial(request: DialRequest, signal: AbortSignal): Promise<DialAnswer>;
  close(): Promise<void>;
}

/** Headers of the connection, and those that would show a server another host than the judged one. */
const ofConnections = new Set(
  "connection content-length expect host keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split(
    " ",
  ),
);

export function dialler(options: DiallerOptions): Dialler {
  const { clock } = options;
  const guard = addressGuard(options.rules);
  const resolve = options.resolve ?? systemResolve;
  const standing: DialLimits = { ...defaultLimits, ...options.limits };
  let opened: Promise<{ dispatcher: Dispatcher; request: typeof Request }> | null = null;

  const refuse = (host: string, { reason, says }: Refused): Fault => {
    options.refused?.({ host, reason });
    return new Fault("denied", `${responseHost(host)} ${says}`);
  };

  /** undici takes 100 ms and some MB, so it waits for the first call. */
  const open = async () => {
    const { Agent, buildConnector, request } = await import("undici");
    const connect = guardedConnect({
      guard,
      resolve,
      refuse,
      connectMs: standing.connectMs,
      build: buildConnector,
    });
    // This agent ignores the proxies of the environment. The clock's timers limit headers and bodies.
    const dispatcher = new Agent({
      connect,
      allowH2: false,
      connections: 8,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    return { dispatcher, request };
  };

  const judged = (text: string): URL => {
    const decision = guard.judgeUrl(text);
    if (!decision.allowed) throw refuse(decision.host, decision);
    return decision.url;
  };

  /** One answer to one request; `stop` ends it with its reason. */
  const send = async (
    hop: Hop,
    stop: AbortController,
    headersMs: number,
  ): Promise<Dispatcher.ResponseData> => {
    opened ??= open();
    const { dispatcher, request } = await opened;
    const timer = clock.after(headersMs, () =>
      stop.abort(new Fault("unavailable", `${hop.url.hostname} did not answer within ${headersMs / 1000} s`)),
    );
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(() => {});
    const abort = (): void => stopped.reject(stop.signal.reason);
    stop.signal.addEventListener("abort", abort, { once: true });
    if (stop.signal.aborted) abort();
    try {
      const answer = request(hop.url, {
        dispatcher,
        method: hop.method as Dispatcher.HttpMethod,
        headers: { ...hop.headers },
        body: hop.body ?? null,
        signal: stop.signal,
      });
      // undici looks at its signal once it has a socket: until then the resolver would keep the caller.
      return await Promise.race([answer, stopped.promise]);
    } catch (error) {
      throw dialFault(error, hop, stop.signal);
    } finally {
      timer.cancel();
      stop.signal.removeEventListener("abort", abort);
    }
  };

  const follow = async (first: Hop, request: DialRequest, limits: DialLimits, stop: AbortController) => {
    let hop = first;
    for (let redirects = 0; ; redirects += 1) {
      const response = await send(hop, stop, limits.headersMs);
      const headers = oneValueEach(response.headers);
      const { location } = headers;
      if (!isRedirect(response.statusCode) || location === undefined)
        return { hop, response, headers, redirects };
      // What a redirect says in its body is of no use, and may be endless.
      response.body.on("error", () => {}).destroy();
      if (redirects >= limits.redirects)
        throw new Fault("denied", `${hop.url.hostname} redirects more than ${limits.redirects} times`);
      const next = nextHop(hop, { status: response.statusCode, location }, request.mayLeaveTls === true);
      hop = { ...next, url: judged(next.url.href) };
    }
  };

  return {
    async dial(request, signal) {
      const limits: DialLimits = { ...standing, ...request.limits };
      const first = firstHop(request, judged(request.url));
      const stop = new AbortController();
      const abort = (): void =>
        stop.abort(new Fault("aborted", `the call to ${first.url.hostname} was stopped`));
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
      const timer = clock.after(limits.totalMs, () =>
        stop.abort(
          new Fault("unavailable", `${first.url.hostname} took longer than ${limits.totalMs / 1000} s`),
        ),
      );
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", abort);
      };
      try {
        const { hop, response, headers, redirects } = await follow(first, request, limits, stop);
        return answerOf({ hop, response, headers, redirects, limits, stop, end });
      } catch (error) {
        end();
        throw error;
      }
    },
    async close() {
      const { dispatcher } = (await opened) ?? {};
      await dispatcher?.destroy();
    },
  };
}

function firstHop(request: DialRequest, url: URL): Hop {
  const headers: Record<string, string> = {
    "user-agent": `Parley/${version}`,
    accept: "*/*",
    "accept-encoding": acceptEncoding,
  };
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    const lower = name.toLowerCase();
    if (ofConnections.has(lower)) throw new Fault("invalid", `the header ${lower} is the connection's own`);
    headers[lower] = value;
  }
  return { url, method: (request.method ?? "GET").toUpperCase(), headers, body: request.body };
}

interface Arrived {
  readonly hop: Hop;
  readonly response: Dispatcher.ResponseData;
  readonly headers: Readonly<Record<string, string>>;
  readonly redirects: number;
  readonly limits: DialLimits;
  readonly stop: AbortController;
  /** Lets go of the timer and of the caller's signal. */
  readonly end: () => void;
}

function answerOf({ hop, response, headers, redirects, limits, stop, end }: Arrived): DialAnswer {
  const host = hop.url.hostname;
  // A body that is destroyed before somebody reads it must not end the process.
  response.body.on("error", () => {});
  const stream = decoded(response.body, headers["content-encoding"] ?? "", host);
  stream.on("error", () => {});
  const tooLarge = (maxBytes: number): Fault =>
    new Fault("unsupported", `${host} answers with more than ${maxBytes / 1_000_000} MB`);
  let cut = false;

  async function* read(mayCut: boolean, maxBytes: number): AsyncGenerator<Uint8Array, void> {
    try {
      yield* counted(stream, maxBytes, () => {
        if (!mayCut) throw tooLarge(maxBytes);
        cut = true;
      });
    } catch (error) {
      throw dialFault(error, hop, stop.signal);
    } finally {
      discard();
    }
  }
  const discard = (): void => {
    end();
    stream.destroy();
    response.body.destroy();
  };

  return {
    url: hop.url.href,
    status: response.statusCode,
    headers,
    redirects,
    body: read(false, limits.bodyBytes),
    async bytes(options) {
      const chunks: Uint8Array[] = [];
      const maxBytes = Math.min(options?.maxBytes ?? limits.bodyBytes, limits.bodyBytes);
      for await (const chunk of read(options?.cut === true, maxBytes)) chunks.push(chunk);
      return { bytes: new Uint8Array(Buffer.concat(chunks)), cut };
    },
    discard,
  };
}

function oneValueEach(headers: Dispatcher.ResponseData["headers"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]],
    ),
  );
}
