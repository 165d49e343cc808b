// Lets the MCP library fetch by the guarded dialler alone. The address that the operator wrote may be a
// private one; wherever a server points to by a redirect or its metadata is judged like any address of the
// open web.
import { dialler, type AddressRules, type Refusal } from "@parley/egress";
import { Fault, type Clock } from "@parley/protocol";

export interface GuardedFetchOptions {
  /** As the config names it. */
  readonly url: string;
  readonly rules: AddressRules;
  /** Told of each refused address. */
  readonly refused: (refusal: Refusal) => void;
  readonly timeoutMs: number;
  /** False: also what is only read ends in time, as for a login. Default: it may be a stream that lasts. */
  readonly streams?: boolean;
  readonly clock: Clock;
}

export interface GuardedFetch {
  readonly fetch: (url: string | URL, init?: RequestInit) => Promise<Response>;
  close(): Promise<void>;
}

/** Streams of notifications last; the library opens them again. */
const streamMs = 600_000;
const bodyBytes = 16_000_000;
const noBody = new Set([204, 205, 304]);

export function guardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { url, rules, refused, timeoutMs, streams = true, clock } = options;
  const dial = dialler({ clock, rules: rulesFor(url, rules), refused });
  return {
    async fetch(to, init = {}) {
      const method = init.method ?? "GET";
      const limits = {
        headersMs: timeoutMs,
        totalMs: !streams ? timeoutMs : method === "GET" ? Math.max(streamMs, timeoutMs) : timeoutMs + 5_000,
        bodyBytes,
      };
      const headers = Object.fromEntries(new Headers(init.headers));
      const answer = await dial.dial(
        {
          url: String(to),
          method,
          headers,
          ...(init.body === undefined || init.body === null ? {} : { body: bodyOf(init.body) }),
          limits,
        },
        init.signal ?? new AbortController().signal,
      );
      const { "content-encoding": _decoded, "content-length": _counted, ...shown } = answer.headers;
      if (noBody.has(answer.status)) answer.discard();
      return new Response(
        noBody.has(answer.status) ? null : (ReadableStream.from(answer.body) as ReadableStream<Uint8Array>),
        { status: answer.status, headers: shown },
      );
    },
    close: () => dial.close(),
  };
}

/** What the operator's own address opens: exactly its host and port, and no other private one. */
function rulesFor(url: string, rules: AddressRules): AddressRules {
  const { hostname, port, protocol } = new URL(url);
  const at = port === "" ? (protocol === "https:" ? "443" : "80") : port;
  return { ...rules, allowedHosts: [...(rules.allowedHosts ?? []), `${hostname}:${at}`] };
}

function bodyOf(body: NonNullable<RequestInit["body"]>): string | Uint8Array {
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body instanceof URLSearchParams) return body.toString();
  throw new Fault("unsupported", "a request to an MCP server has a body of another form");
}
