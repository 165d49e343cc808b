// What an error of the network becomes: who is named, why, and whether the call may be repeated. And what
// operators write of hosts and networks, as rules of addresses.
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { dialFault } from "../src/dial-fault.ts";
import { rulesOf } from "../src/written-rules.ts";

const coded = (code: string, more: object = {}): Error =>
  Object.assign(new Error("10.0.0.7 /secret"), { code, ...more });
const told = (error: unknown, method = "GET", signal = new AbortController().signal): string => {
  const hop = { url: new URL("https://a.example/secret?key=1"), method, headers: {}, body: undefined };
  const { code, message, cause } = dialFault(error, hop, signal);
  expect(cause === undefined || cause === error).toBe(true);
  return `${code}: ${message}`;
};

test.each<[string, string]>([
  ["ENOTFOUND", "missing: a.example has no address"],
  ["EAI_AGAIN", "unavailable: a.example could not be resolved"],
  ["ECONNREFUSED", "unavailable: a.example refuses connections"],
  ["EHOSTUNREACH", "unavailable: a.example cannot be reached"],
  ["ENETUNREACH", "unavailable: a.example cannot be reached"],
  ["ETIMEDOUT", "unavailable: a.example did not accept a connection in time"],
  ["UND_ERR_CONNECT_TIMEOUT", "unavailable: a.example did not accept a connection in time"],
  ["CERT_HAS_EXPIRED", "denied: a.example shows a certificate that does not hold (CERT_HAS_EXPIRED)"],
  [
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "denied: a.example shows a certificate that does not hold (DEPTH_ZERO_SELF_SIGNED_CERT)",
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "denied: a.example shows a certificate that does not hold (ERR_TLS_CERT_ALTNAME_INVALID)",
  ],
  [
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "denied: a.example shows a certificate that does not hold (UNABLE_TO_VERIFY_LEAF_SIGNATURE)",
  ],
  ["UND_ERR_INVALID_ARG", "invalid: the call to a.example cannot be written as HTTP"],
])("before anything was sent %s is told as it is, whatever was asked", (code, words) => {
  expect([told(coded(code)), told(coded(code), "POST")]).toEqual([words, words]);
  expect(told(new TypeError("fetch failed", { cause: coded(code) }))).toBe(words);
});

test.each<[unknown, string, string]>([
  [coded("UND_ERR_HEADERS_OVERFLOW"), "unsupported", "answers with headers that are too long"],
  [coded("UND_ERR_RES_CONTENT_LENGTH_MISMATCH"), "unsupported", "ended its answer too early"],
  [coded("Z_DATA_ERROR"), "unsupported", "answers with broken compression"],
  [coded("Z_BUF_ERROR"), "unsupported", "answers with broken compression"],
  [Object.assign(new Error("x"), { name: "HTTPParserError" }), "unsupported", "does not answer in HTTP"],
  [coded("ECONNRESET"), "unavailable", "broke the connection off"],
  ["no error at all", "unavailable", "broke the connection off"],
])("once something was sent %s may be repeated for what only reads", (error, code, words) => {
  for (const method of ["GET", "HEAD", "OPTIONS"])
    expect(told(error, method)).toBe(`${code}: a.example ${words}`);
  for (const method of ["POST", "PUT", "DELETE"])
    expect(told(error, method)).toBe(`ambiguous: a.example ${words} after it may have taken the call`);
});

test("the first of several addresses says why, a fault stays, and so does what ended the call", () => {
  const all = new AggregateError([coded("ECONNREFUSED"), coded("ETIMEDOUT")]);
  expect(told(all)).toBe("unavailable: a.example refuses connections");
  const own = new Fault("denied", "not this address");
  expect(told(own)).toBe("denied: not this address");
  const ended = new AbortController();
  ended.abort(new Fault("aborted", "it was stopped"));
  expect(told(own, "GET", ended.signal)).toBe("aborted: it was stopped");
  const bare = new AbortController();
  bare.abort();
  expect(told(coded("ECONNREFUSED"), "GET", bare.signal)).toBe("unavailable: a.example refuses connections");
});

test("hosts and networks that operators write are told apart; an address is denied also where a name leads to it", () => {
  expect(
    rulesOf({
      allow: ["wiki.example.org", "10.0.0.7:8080", "10.0.0.8", "fd00::7", "[fd00::7]:80", "10.1.0.0/16"],
      deny: ["*.example.org", "10.0.0.9", "fd00::9", "10.2.0.0/16", "[fd00::1]:80", "10.0.0.1:80"],
    }),
  ).toEqual({
    allowedHosts: ["wiki.example.org", "10.0.0.7:8080", "10.0.0.8", "[fd00::7]", "[fd00::7]:80"],
    allowedNetworks: ["10.1.0.0/16"],
    deniedHosts: ["*.example.org", "10.0.0.9", "[fd00::9]", "[fd00::1]:80", "10.0.0.1:80"],
    deniedNetworks: ["10.2.0.0/16", "10.0.0.9/32", "fd00::9/128"],
  });
});
