// Checks the Host and Origin headers. A page of another site can reach a loopback port through the browser,
// and DNS rebinding can make it look local: so Host must be a name of ours and a browser's Origin must match
// it (the class of CVE-2026-25593).
import { isIP } from "node:net";

export interface HostRules {
  /** The address that the socket listens on. */
  readonly listenHost: string;
  /** Names under which a reverse proxy or the network serves the gateway. */
  readonly allowedHosts: readonly string[];
}

export interface RequestOrigin {
  readonly host: string | undefined;
  readonly origin: string | undefined;
}

export interface OriginTrouble {
  readonly reason: "host" | "origin";
  readonly text: string;
}

/**
 * Returns null when the request may go on, else the reason. The CLI, curl and health checks send no Origin.
 */
export function originTrouble({ host, origin }: RequestOrigin, rules: HostRules): OriginTrouble | null {
  const name = hostname(host);
  if (name === null || !isOurs(name, rules))
    return {
      reason: "host",
      text: "the Host header names no host of this gateway; see gateway.allowedHosts",
    };
  if (origin === undefined) return null;
  const from = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1];
  if (from === undefined) return { reason: "origin", text: "the Origin header names no site" };
  if (from.toLowerCase() === host?.toLowerCase()) return null;
  // Behind a reverse proxy Host may be the inner name; a page may then come from the configured names.
  const fromName = hostname(from);
  const configured = fromName !== null && isNamed(fromName, rules);
  return configured
    ? null
    : { reason: "origin", text: "the page comes from another site; see gateway.allowedHosts" };
}

/** Returns it in lower case, without port and brackets; null for anything that is no host. */
function hostname(host: string | undefined): string | null {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (match?.[1] ?? match?.[2] ?? null)?.toLowerCase() ?? null;
}

/** An address of IPv6 stands in brackets where it is a part of a URL, as `gateway.publicUrl` is one. */
function isNamed(name: string, { allowedHosts }: HostRules): boolean {
  return allowedHosts.some((each) => hostname(isIP(each) === 6 ? `[${each}]` : each) === name);
}

function isOurs(name: string, rules: HostRules): boolean {
  const { listenHost } = rules;
  if (name === "localhost" || name === "::1" || (isIP(name) === 4 && name.startsWith("127."))) return true;
  if (name === listenHost.toLowerCase() || isNamed(name, rules)) return true;
  // On all interfaces any address is accepted: an address cannot be rebound, only a name can.
  return (listenHost === "0.0.0.0" || listenHost === "::") && isIP(name) !== 0;
}
