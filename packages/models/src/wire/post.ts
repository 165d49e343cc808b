// Sends one request to a model's server over node:http and hands its answer on as it comes. Connections are
// kept alive by Node's own agents, which know the proxy of the environment. A kept connection may have been
// closed by the server just then: where it ended before a byte of an answer, the request goes out once more.
import * as http from "node:http";
import * as https from "node:https";
import { urlToHttpOptions } from "node:url";
import { createBrotliDecompress, createGunzip, createInflate, type Zlib } from "node:zlib";
import type { Readable } from "node:stream";

export interface Letter {
  readonly url: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

export interface PostWatch {
  /** The answer's head has come. */
  headers(response: Head): void;
  data(bytes: Buffer): void;
  /** The answer is whole. */
  end(): void;
  /** The connection failed, before the head or after. Called at most once, and nothing after it. */
  lost(error: Error): void;
}

export interface Head {
  readonly status: number;
  readonly statusText: string;
  readonly headers: { readonly [name: string]: string };
}

export interface Post {
  pause(): void;
  resume(): void;
  /** Nothing more is wanted: the connection is kept where its answer ends now, and else dropped. */
  settle(): void;
  /** Drops the request and whatever is still to come. */
  drop(): void;
}

/** An answer whose end mark came has this long to end. */
const settleMs = 1_000;

/** An address is taken apart once and not for every call. */
const addresses = new Map<string, http.RequestOptions>();
const mostAddresses = 200;

function addressOf(url: string): http.RequestOptions {
  let known = addresses.get(url);
  if (known === undefined) {
    known = urlToHttpOptions(new URL(url)) as http.RequestOptions;
    if (addresses.size >= mostAddresses) addresses.clear();
    addresses.set(url, known);
  }
  return known;
}

export function post({ url, headers, body }: Letter, watch: PostWatch): Post {
  const { request } = url.startsWith("https:") ? https : http;
  const options = { ...addressOf(url), method: "POST", headers };
  let current: http.ClientRequest;
  let answer: Readable | null = null;
  let isOver = false;
  let isSettled = false;
  const lose = (error: Error): void => {
    if (isOver) return;
    isOver = true;
    current.destroy();
    watch.lost(error);
  };
  const send = (mayRepeat: boolean): void => {
    const sent = request(options);
    current = sent;
    sent.on("response", (response) => {
      const { statusCode = 0, statusMessage = "" } = response;
      answer = decoded(response);
      watch.headers({
        status: statusCode,
        statusText: statusMessage,
        headers: response.headers as Head["headers"],
      });
      answer.on("data", (bytes: Buffer) => (isSettled ? current.destroy() : watch.data(bytes)));
      answer.on("end", () => {
        if (isOver) return;
        isOver = true;
        watch.end();
      });
      answer.on("error", lose);
      if (answer !== response) response.on("error", lose);
    });
    sent.on("error", (error: NodeJS.ErrnoException) => {
      const isStale = sent.reusedSocket && answer === null && error.code === "ECONNRESET";
      if (isStale && mayRepeat && !isOver) send(false);
      else lose(error);
    });
    sent.end(body);
  };
  send(true);
  return {
    pause: () => answer?.pause(),
    resume: () => answer?.resume(),
    settle() {
      isSettled = true;
      answer?.resume();
      current.setTimeout(settleMs, () => current.destroy());
    },
    drop() {
      isOver = true;
      current.destroy();
    },
  };
}

/** Nothing asks for a compressed answer, but a proxy may send one. */
function decoded(response: http.IncomingMessage): Readable {
  const encoding = response.headers["content-encoding"]?.toLowerCase();
  const decoder: (Readable & Zlib) | null =
    encoding === "gzip" || encoding === "x-gzip"
      ? createGunzip()
      : encoding === "br"
        ? createBrotliDecompress()
        : encoding === "deflate"
          ? createInflate()
          : null;
  return decoder === null ? response : response.pipe(decoder as never);
}
