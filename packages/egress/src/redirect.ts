// A redirect is a new request that the other side asks for: it may not take secrets to another origin, leave
// encryption, or repeat a body elsewhere.
import { Fault } from "@parley/protocol";

export interface Hop {
  readonly url: URL;
  readonly method: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

/** Headers that say nothing about who asks. All others stay behind when the origin changes. */
const harmless = new Set(["accept", "accept-language", "accept-encoding", "user-agent"]);
const ofBodies = new Set(["content-type", "content-language", "content-encoding"]);

export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status);

export interface RedirectAnswer {
  readonly status: number;
  readonly location: string;
}

/**
 * The request that follows an answer, by the fetch standard and stricter. The caller judges the new address.
 * Throws Fault("denied").
 */
export function nextHop(hop: Hop, { status, location }: RedirectAnswer, mayLeaveTls: boolean): Hop {
  const url = URL.parse(location, hop.url.href);
  if (url === null) throw new Fault("denied", `${hop.url.hostname} redirects to what is no address`);
  if (hop.url.protocol === "https:" && url.protocol === "http:" && !mayLeaveTls)
    throw new Fault("denied", `${hop.url.hostname} redirects from https to http`);
  const sameOrigin = url.origin === hop.url.origin;
  const becomesGet =
    (status === 303 && hop.method !== "HEAD") ||
    ((status === 301 || status === 302) && hop.method === "POST");
  const body = becomesGet ? undefined : hop.body;
  if (body !== undefined && !sameOrigin)
    throw new Fault("denied", `${hop.url.hostname} redirects what was sent to it to another origin`);
  const kept = Object.entries(hop.headers).filter(
    ([name]) => (sameOrigin || harmless.has(name)) && (body !== undefined || !ofBodies.has(name)),
  );
  return { url, method: becomesGet ? "GET" : hop.method, headers: Object.fromEntries(kept), body };
}
