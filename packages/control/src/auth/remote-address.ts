// Who a request comes from: the socket's address, or, behind a proxy that the config trusts, the one that the proxy names. A header of anybody
// else says nothing.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

export interface Remote {
  readonly address: string;
  /** The site of the page that asks, as the browser says; null for programs, which may also claim any. */
  readonly origin: string | null;
}

export type RemoteOf = (request: Pick<IncomingMessage, "headers" | "socket">) => Remote;

/** Longer names are cut: they are only counted and logged. */
const originChars = 200;

/** `trusted`: addresses and networks (`10.0.0.0/8`), as the config's check takes them. */
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

/** Whether the address is one of these. */
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

/** Each proxy appends whom it was called by, so the list is read from its end: the first that is no proxy of ours is the client. What stands
 * before it is the client's own word. */
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

/** With or without a port, as proxies write it; null for what is no address. */
function addressIn(text: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text;
  return isIP(bare) === 0 ? null : plain(bare);
}

/** An IPv4 address stays one on a socket that listens for both; a zone names an interface of ours. */
function plain(address: string): string {
  return address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, "");
}
