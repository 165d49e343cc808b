// Finds the address of a client: the socket's or, behind a proxy that the config trusts, the one that the
// proxy names. Such headers from anybody else are ignored.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

export interface Remote {
  readonly address: string;
  /** The site of the calling page, as the browser says; null for programs, which may claim any. */
  readonly origin: string | null;
}

export type RemoteOf = (request: Pick<IncomingMessage, "headers" | "socket">) => Remote;

/** Longer names are cut: they are only counted and logged. */
const originChars = 200;

/** `trusted`: addresses and networks (`10.0.0.0/8`) that passed the config's check. */
export function remoteOf(trusted: readonly string[]): RemoteOf {
  const isTrusted = isProxy(trusted);
  return ({ headers, socket }) => {
    const own = plain(socket.remoteAddress ?? "unknown");
    const passedOn = [headers["x-forwarded-for"] ?? []].flat().join(",").split(",");
    return {
      address: isTrusted(own) ? closest(own, passedOn, isTrusted) : own,
      origin: headers.origin?.slice(0, originChars) ?? null,
    };
  };
}

/** Returns whether an address is one of these. */
export function isProxy(trusted: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const each of trusted) {
    const [net = "", prefix] = each.split("/");
    const family = isIP(net) === 6 ? "ipv6" : "ipv4";
    if (prefix === undefined) list.addAddress(net, family);
    else list.addSubnet(net, Number(prefix), family);
  }
  return (address) => {
    const family = isIP(plain(address));
    return family !== 0 && list.check(plain(address), family === 6 ? "ipv6" : "ipv4");
  };
}

/**
 * Each proxy appends its caller, so the list is read from the end: the first address that is no trusted proxy
 * is the client. What stands before it is the client's own claim.
 */
function closest(own: string, passedOn: readonly string[], isTrusted: (address: string) => boolean): string {
  let address = own;
  for (const each of passedOn.toReversed()) {
    const named = addressIn(each.trim());
    if (named === null) return address;
    address = named;
    if (!isTrusted(address)) return address;
  }
  return address;
}

/** Reads an address with or without a port, as proxies write it; null for anything else. */
function addressIn(text: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? null : plain(bare);
}

/**
 * One spelling for each address, so that another one is no other source: IPv6 in its shortest form, without
 * the zone, which names a local interface; IPv4 inside IPv6, as sockets of both families have it, as IPv4.
 */
function plain(address: string): string {
  const bare = address.replace(/%.*$/, "");
  if (isIP(bare) !== 6) return bare;
  const short = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(short) ?? [];
  if (high === undefined || low === undefined) return short;
  return [high, low]
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
    .join(".");
}
