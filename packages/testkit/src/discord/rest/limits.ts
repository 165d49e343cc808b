// Limits rates: a bucket for each route and its main resource, 50 calls a second in all, and the ban for
// 10,000 invalid requests. The buckets' figures are those that clients observe; Discord publishes only the
// global ones.
import { createHash } from "node:crypto";
import type { Clock } from "@parley/protocol";
import type { Trouble } from "../../faults.ts";
import type { RateLimit } from "./call.ts";

const globalCalls = 50;
const globalPerMs = 1_000;
/** Discord's documentation, "Invalid Request Limit": 401, 403 and 429 but for the shared scope. */
const invalidCalls = 10_000;
const invalidPerMs = 600_000;

export type LimitScope = "user" | "global" | "shared";

interface Verdict {
  readonly headers: Readonly<Record<string, string>>;
  /** null: the call may go on. */
  readonly refusal: { readonly scope: LimitScope; readonly retryAfterMs: number } | null;
}

export interface Limits {
  /** Counts a call. Without a limit only the global one applies; interactions are free of that. */
  take(
    token: string,
    route: string,
    resource: string,
    limit: RateLimit | undefined,
    isOpen: boolean,
  ): Verdict;
  noteInvalid(token: string): void;
  isBanned(token: string): boolean;
}

interface Window {
  startMs: number;
  used: number;
}

export function limits(clock: Clock, areOn: boolean): Limits {
  const windows = new Map<string, Window>();
  const current = (key: string, perMs: number): Window => {
    const known = windows.get(key);
    if (known !== undefined && clock.mono() - known.startMs < perMs) return known;
    const fresh = { startMs: clock.mono(), used: 0 };
    windows.set(key, fresh);
    return fresh;
  };
  const leftMs = (window: Window, perMs: number): number =>
    Math.max(1, window.startMs + perMs - clock.mono());
  return {
    take(token, route, resource, limit, isOpen) {
      if (areOn && !isOpen) {
        const all = current(`global ${token}`, globalPerMs);
        if (all.used >= globalCalls) {
          const retryAfterMs = leftMs(all, globalPerMs);
          return {
            headers: refusedHeaders("global", retryAfterMs),
            refusal: { scope: "global", retryAfterMs },
          };
        }
        all.used++;
      }
      if (limit === undefined) return { headers: {}, refusal: null };
      const window = current(`${token} ${route} ${resource}`, limit.perMs);
      const isOver = areOn && window.used >= limit.calls;
      if (!isOver) window.used++;
      const resetMs = leftMs(window, limit.perMs);
      const headers = {
        "x-ratelimit-limit": String(limit.calls),
        "x-ratelimit-remaining": String(areOn ? Math.max(0, limit.calls - window.used) : limit.calls),
        "x-ratelimit-reset": ((clock.now() + resetMs) / 1000).toFixed(3),
        "x-ratelimit-reset-after": (resetMs / 1000).toFixed(3),
        "x-ratelimit-bucket": createHash("sha256").update(route).digest("hex").slice(0, 32),
      };
      if (!isOver) return { headers, refusal: null };
      return {
        headers: { ...headers, ...refusedHeaders("user", resetMs) },
        refusal: { scope: "user", retryAfterMs: resetMs },
      };
    },
    noteInvalid(token) {
      current(`invalid ${token}`, invalidPerMs).used++;
    },
    isBanned: (token) => current(`invalid ${token}`, invalidPerMs).used >= invalidCalls,
  };
}

/** The headers of a 429; whole seconds in Retry-After, rounded up, as HTTP has it. */
function refusedHeaders(scope: LimitScope, retryAfterMs: number): Readonly<Record<string, string>> {
  return {
    "retry-after": String(Math.ceil(retryAfterMs / 1000)),
    "x-ratelimit-scope": scope,
    ...(scope === "global" ? { "x-ratelimit-global": "true" } : {}),
  };
}

/** Makes a fault rule's answer for a limit that the client could not foresee. */
export function discordLimited(scope: LimitScope, retryAfterMs: number): Trouble {
  return {
    kind: "answer",
    status: 429,
    headers: refusedHeaders(scope, retryAfterMs),
    body: refusedBody(scope, retryAfterMs),
  };
}

export function refusedBody(scope: LimitScope, retryAfterMs: number): unknown {
  const message = scope === "shared" ? "The resource is being rate limited." : "You are being rate limited.";
  return { message, retry_after: Math.round(retryAfterMs) / 1000, global: scope === "global" };
}
