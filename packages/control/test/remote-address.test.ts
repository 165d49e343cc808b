import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { isProxy, remoteOf } from "../src/auth/remote-address.ts";

function addressOf(
  trusted: readonly string[],
  socket: string,
  forwarded?: string,
  more: object = {},
): string {
  const headers = { ...more, ...(forwarded === undefined ? {} : { "x-forwarded-for": forwarded }) };
  return remoteOf(trusted)({ headers, socket: { remoteAddress: socket } } as unknown as IncomingMessage)
    .address;
}

test.for([
  ["nobody is trusted", [], "203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["not the loopback either", [], "127.0.0.1", "198.51.100.1", "127.0.0.1"],
  ["another is trusted", ["10.0.0.1"], "203.0.113.9", "198.51.100.1", "203.0.113.9"],
  ["a proxy that names nobody", ["10.0.0.1"], "10.0.0.1", undefined, "10.0.0.1"],
  ["a proxy", ["10.0.0.1"], "10.0.0.1", "198.51.100.1", "198.51.100.1"],
  [
    "what the client claims stands before it",
    ["10.0.0.1"],
    "10.0.0.1",
    "127.0.0.1, 10.0.0.1, 198.51.100.1",
    "198.51.100.1",
  ],
  ["two proxies", ["10.0.0.0/8"], "10.0.0.1", "1.2.3.4, 198.51.100.1, 10.7.7.7", "198.51.100.1"],
  ["only proxies", ["10.0.0.0/8"], "10.0.0.1", "10.7.7.7", "10.7.7.7"],
  ["nonsense ends the list", ["10.0.0.0/8"], "10.0.0.1", "198.51.100.1, unknown", "10.0.0.1"],
  ["nonsense behind a proxy", ["10.0.0.0/8"], "10.0.0.1", "<script>, 10.7.7.7", "10.7.7.7"],
  ["a port", ["10.0.0.1"], "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
  ["an IPv6 address with a port", ["::1"], "::1", "[2001:db8::1]:4711", "2001:db8::1"],
  ["an IPv6 network", ["2001:db8::/32"], "2001:db8::9", "2001:db9::1", "2001:db9::1"],
  ["long and capital", ["::1"], "0:0:0:0:0:0:0:1", "2001:0DB8:0000:0001:FFFF::1", "2001:db8:0:1:ffff::1"],
  ["IPv4 inside IPv6 in hexadecimal", ["10.0.0.1"], "::ffff:a00:1", "::FFFF:C000:207", "192.0.2.7"],
  ["a zone", ["fe80::1"], "fe80::1%eth0", "[fe80::2%eth0]:99", "fe80::2"],
  ["a socket for both families", ["10.0.0.1"], "::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"],
] as const)("%s: %j, from %s with %s: %s", ([, trusted, socket, forwarded, expected]) => {
  expect(addressOf(trusted, socket, forwarded)).toBe(expected);
});

test("no other header counts", () => {
  const more = {
    forwarded: "for=198.51.100.1",
    "x-real-ip": "198.51.100.1",
    "cf-connecting-ip": "198.51.100.1",
    via: "1.1 proxy",
  };
  expect(addressOf(["10.0.0.1"], "10.0.0.1", undefined, more)).toBe("10.0.0.1");
});

test("a proxy is known as a socket of both families spells it, too; one without an address is none", () => {
  const known = isProxy(["10.0.0.0/8", "fd00::/8"]);
  const spelled = ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:11.1.2.3", "fd00:0::1%eth0", "fe80::1", "unknown"];
  expect(spelled.map(known)).toEqual([true, true, false, true, false, false]);
});

test("lines of the header count together, the last first; a page's origin is kept, no longer than 200 characters", () => {
  const from = (headers: object) =>
    remoteOf(["10.0.0.1"])({ headers, socket: { remoteAddress: "10.0.0.1" } } as unknown as IncomingMessage);
  expect(from({ "x-forwarded-for": ["203.0.113.9", "198.51.100.1, 10.0.0.1"] })).toEqual({
    address: "198.51.100.1",
    origin: null,
  });
  expect(from({ origin: `https://${"a".repeat(200)}` }).origin).toBe(`https://${"a".repeat(192)}`);
});
