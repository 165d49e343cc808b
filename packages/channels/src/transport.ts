// One HTTP exchange with a platform over node:http, whose events tell whether bytes were written. Until the
// socket is connected (TLS: until the handshake is done) nothing of the request can have left, so the Fault
// is `unavailable` or `aborted`. From then on, and on a reused connection from the start, any failure before
// the whole answer is read is `ambiguous`.
import * as http from "node:http";
import * as https from "node:https";
import { type Clock, Fault, type Timer } from "@parley/protocol";

export interface Exchange {
  readonly url: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | AsyncIterable<Uint8Array>;
  readonly signal?: Pick<AbortSignal, "aborted" | "addEventListener" | "removeEventListener"> | undefined;
  /**
   * From the first moment to the last byte of the answer, in milliseconds; a slow body does not extend it.
   */
  readonly deadlineMs: number;
  /** Gives up an answer after this long without a byte. Default: the deadline. */
  readonly stallMs?: number;
  /** A longer answer is cut off. */
  readonly maxBytes: number;
  /** Long polls have a connection of their own. */
  readonly line: "calls" | "poll";
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: Uint8Array;
}

export interface Transport {
  /**
   * Throws Fault unavailable, ambiguous or aborted, and `invalid` when the answer is over `maxBytes`.
   * Messages never contain the URL, because it carries the token.
   */
  exchange(request: Exchange): Promise<Answer>;
  /** Drops the connections of long polls, because after a 409 a kept-alive socket goes on conflicting. */
  renewPoll(): void;
  /**
   * Closes idle connections and those of long polls. Exchanges in flight end normally; later ones work too.
   */
  close(): void;
}

/** A server that takes this long to accept a connection counts as down. */
const connectMs = 10_000;
/**
 * Idle connections are closed long before servers close them (nginx' default is 75 s), so that a send seldom
 * meets a closing connection.
 */
const idleMs = 10_000;

/**
 * `platform` names the other side in failures. `proxy` is the address of an HTTP proxy to connect through.
 */
export function transport(clock: Clock, platform: string, proxy?: string): Transport {
  const agents = { calls: new Map<string, http.Agent>(), poll: new Map<string, http.Agent>() };
  const agentFor = (line: Exchange["line"], protocol: string): http.Agent => {
    let agent = agents[line].get(protocol);
    if (agent === undefined) {
      const through = proxy === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy } };
      const options = { keepAlive: true, timeout: idleMs, maxSockets: line === "poll" ? 1 : 16, ...through };
      agent = protocol === "https:" ? new https.Agent(options) : new http.Agent(options);
      agents[line].set(protocol, agent);
    }
    return agent;
  };
  const drop = (line: Exchange["line"]): void => {
    for (const agent of agents[line].values()) agent.destroy();
    agents[line].clear();
  };
  return {
    exchange: (request) =>
      exchange(clock, platform, agentFor(request.line, new URL(request.url).protocol), request),
    renewPoll: () => drop("poll"),
    close() {
      for (const agent of agents.calls.values()) closeIdle(agent);
      drop("poll");
    },
  };
}

/** Destroying the agent would cut sends in flight, and nobody would know whether they arrived. */
function closeIdle(agent: http.Agent): void {
  agent.maxFreeSockets = 0;
  for (const sockets of Object.values(agent.freeSockets))
    for (const socket of sockets ?? []) socket.destroy();
}

function exchange(
  clock: Clock,
  platform: string,
  agent: http.Agent,
  { url, method, headers, body, signal, deadlineMs, stallMs, maxBytes }: Exchange,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(new Fault("aborted", "the call was aborted before it began"));
    const isSecure = url.startsWith("https:");
    let bytesMayBeOut = false;
    const request = (isSecure ? https : http).request(url, { method, headers: { ...headers }, agent });

    const settle = (finish: () => void): void => {
      deadline.cancel();
      stalled?.cancel();
      connecting.cancel();
      signal?.removeEventListener("abort", onAbort);
      finish();
    };
    const fail = (why: string, cause?: unknown, code?: "aborted" | "invalid"): void => {
      const kind = code === "invalid" ? code : bytesMayBeOut ? "ambiguous" : (code ?? "unavailable");
      // The first failure wins: a settled promise ignores later ones, and destroying twice does nothing.
      settle(() => reject(new Fault(kind, why, cause === undefined ? {} : { cause })));
      request.destroy();
    };
    const onAbort = (): void => fail("the call was aborted", undefined, "aborted");
    let stalled: Timer | null = null;
    const moved = (): void => {
      stalled?.cancel();
      if (stallMs !== undefined)
        stalled = clock.after(stallMs, () => fail(`nothing came from ${platform} for ${stallMs} ms`));
    };
    const deadline = clock.after(deadlineMs, () =>
      fail(`no whole answer from ${platform} within ${deadlineMs} ms`),
    );
    const connecting = clock.after(connectMs, () =>
      fail(`no connection to ${platform} within ${connectMs} ms`),
    );
    signal?.addEventListener("abort", onAbort);

    request.on("socket", (socket) => {
      const connected = (): void => {
        bytesMayBeOut = true;
        connecting.cancel();
        moved();
      };
      if (socket.connecting) socket.once(isSecure ? "secureConnect" : "connect", connected);
      else connected();
    });
    request.on("error", (cause) => fail(`the connection to ${platform} failed: ${errorWord(cause)}`, cause));
    request.on("response", (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      moved();
      response.on("data", (chunk: Buffer) => {
        moved();
        size += chunk.length;
        if (size > maxBytes)
          return fail(`${platform}'s answer is longer than ${maxBytes} bytes`, undefined, "invalid");
        chunks.push(chunk);
      });
      response.on("end", () =>
        settle(() =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            bytes: Buffer.concat(chunks),
          }),
        ),
      );
      response.on("error", (cause) => fail(`${platform}'s answer was cut off: ${errorWord(cause)}`, cause));
    });
    if (body === undefined || typeof body === "string") request.end(body);
    else
      void writeAll(request, body).catch((cause: unknown) =>
        fail("the request's body could not be read", cause),
      );
  });
}

async function writeAll(request: http.ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of body) {
    if (request.destroyed) return;
    if (!request.write(chunk)) await drained(request);
  }
  request.end();
}

function drained(request: http.ClientRequest): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      request.off("drain", go).off("close", go);
      resolve();
    };
    request.on("drain", go).on("close", go);
  });
}

/** The error's code, such as ECONNRESET, and never its message, which could quote the URL. */
function errorWord(error: Error): string {
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
