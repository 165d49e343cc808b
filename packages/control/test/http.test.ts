// What the control plane answers over plain HTTP, whole: code, headers, words, and what is noted as refused.
// After a wanted change: `vitest run --project @parley/control http -u`.
import { Fault, silentLog, type Log } from "@parley/protocol";
import { laterAnswerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { httpApp, type HttpOptions } from "../src/http.ts";

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly headers?: { readonly [name: string]: string };
  /** Of the gateway that is asked. */
  readonly more?:
    | "ill"
    | "no metrics"
    | "open metrics"
    | "far"
    | "slowed"
    | "metrics away"
    | "metrics denied"
    | "page";
  /** What the webhook of the account answers. */
  readonly hook?: number;
}

async function answered({ path, method = "GET", headers = {}, more, hook }: Asked) {
  const calls: string[] = [];
  const noted: unknown[] = [];
  const said =
    (name: string) => async (context: { json(value: unknown): Response; req: { path: string } }) => {
      calls.push(name);
      return context.json(`${name} ${context.req.path}`);
    };
  const admit = async (): Promise<void> => {
    calls.push("admit");
    if (more === "slowed") throw new Fault("rate_limited", "too many wrong", { retryAfterMs: 1_001 });
    if (more === "metrics denied") throw new Fault("denied", "the token is wrong");
    if (more === "metrics away") throw new Fault("unavailable", "the store is away");
  };
  const options = {
    hosts: { listenHost: "127.0.0.1", allowedHosts: ["parley.example"] },
    health: () => ({ ok: more !== "ill" }),
    webhook: (account: string) =>
      hook === undefined
        ? null
        : async (given: { readonly [name: string]: unknown }) => {
            calls.push(`webhook of ${account} with ${Object.keys(given).toSorted().join(" ")}`);
            return { status: hook };
          },
    programs: Object.fromEntries(
      ["complete", "models", "model", "hook", "mcp", "canvas", "docs"].map((name) => [name, said(name)]),
    ),
    webRoot: null,
    metrics:
      more === "no metrics"
        ? null
        : {
            admit,
            openOnLoopback: () => more === "open metrics" || more === "far",
            text: async () => "up 1\n",
          },
    remoteOf: () => ({
      address: more === "far" ? "10.0.0.7" : more === "page" ? "::1" : "127.0.0.1",
      origin: more === "page" ? "https://evil.example" : null,
    }),
    attempts: {
      wrong: async (_from: unknown, reason: string, words: string) => {
        calls.push(`wrong: ${reason}, ${words}`);
        return more === "slowed"
          ? new Fault("rate_limited", words, { retryAfterMs: 2_001 })
          : new Fault("denied", words);
      },
    },
    refusals: { note: (...args: unknown[]) => void noted.push(args) },
    log: silentLog,
  } as unknown as HttpOptions;
  const own = { host: "127.0.0.1:7275", ...headers };
  const incoming = { headers: own, url: `${path}?secret=1`, method, errored: null };
  const response = await httpApp(options).request(`http://127.0.0.1:7275${path}`, { method, headers: own }, {
    incoming,
  } as never);
  return [
    response.status,
    Object.fromEntries(response.headers),
    await response.text(),
    ...(calls.length === 0 ? [] : [calls]),
    ...(noted.length === 0 ? [] : [noted]),
  ];
}

const token = { authorization: "Bearer t" };
const telegram = { "x-telegram-bot-api-secret-token": "s" };

test("each request has its answer, its headers and its record", async () => {
  const asked: readonly Asked[] = [
    { path: "/healthz" },
    { path: "/healthz", headers: { host: "evil.example" } },
    { path: "/healthz", headers: { host: "parley.example" } },
    { path: "/healthz", headers: { origin: "http://127.0.0.1:7275" } },
    { path: "/healthz", headers: { origin: "https://evil.example" }, more: "page" },
    { path: "/readyz" },
    { path: "/readyz", more: "ill" },
    { path: "/metrics" },
    { path: "/metrics", more: "no metrics" },
    { path: "/metrics", headers: token, more: "no metrics" },
    { path: "/metrics", headers: { ...token, host: "scraper.example" } },
    { path: "/metrics", headers: token, more: "slowed" },
    { path: "/metrics", headers: token, more: "metrics denied" },
    { path: "/metrics", headers: token, more: "metrics away" },
    { path: "/metrics", more: "open metrics" },
    { path: "/metrics", more: "far" },
    { path: "/metrics", headers: { forwarded: "for=1" }, more: "open metrics" },
    { path: "/metrics", headers: { "x-forwarded-for": "1" }, more: "open metrics" },
    { path: "/metrics", headers: { via: "1" }, more: "open metrics" },
    { path: "/telegram/main", method: "POST" },
    { path: "/telegram/main", method: "POST", headers: { ...telegram, host: "proxy.example" }, hook: 200 },
    { path: "/telegram/main", method: "POST", headers: telegram, hook: 413 },
    { path: "/telegram/main", method: "POST", headers: telegram, hook: 401 },
    { path: "/telegram/main", method: "POST", headers: telegram, hook: 401, more: "slowed" },
    { path: "/telegram/main", method: "POST", hook: 401 },
    { path: "/telegram/main", hook: 200 },
    { path: "/hooks/ci", method: "POST", headers: { host: "proxy.example" } },
    { path: "/hooks/ci" },
    { path: "/v1/chat/completions", method: "POST" },
    { path: "/v1/chat/completions" },
    { path: "/v1/models" },
    { path: "/v1/models/a/b" },
    { path: "/mcp", method: "POST" },
    { path: "/mcp" },
    { path: "/mcp", method: "DELETE" },
    { path: "/canvas/x/y", method: "PUT" },
    { path: "/docs" },
    { path: "/docs/a" },
    { path: "/canvas.html" },
    { path: "/diagram.html" },
    { path: "/diagram.js", headers: { origin: "null" } },
    { path: "/mermaid.js", headers: { origin: "null" }, method: "POST" },
    { path: "/nothing" },
    { path: "/nothing", headers: token },
    { path: "/nothing", method: "POST" },
  ];
  await expect(await laterAnswerTable(asked, answered)).toMatchFileSnapshot("tables/http.txt");
});

test("a bug is told without a word of it and logged with its path; a client that left is neither", async () => {
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (facts, words) => void lines.push([words, facts]) };
  const bug = new Error("a secret");
  const options = {
    hosts: { listenHost: "127.0.0.1", allowedHosts: [] },
    webhook: () => null,
    programs: { docs: () => Promise.reject(bug) },
    webRoot: null,
    metrics: { admit: () => Promise.reject(bug), openOnLoopback: () => false, text: async () => "" },
    remoteOf: () => ({ address: "127.0.0.1", origin: null }),
    refusals: { note: () => undefined },
    log,
  } as unknown as HttpOptions;
  const ask = async (path: string, errored: Error | null) => {
    const headers = { host: "127.0.0.1", ...token };
    const incoming = { headers, url: path, method: "GET", errored };
    const answer = await httpApp(options).request(path, { headers }, { incoming } as never);
    return [answer.status, await answer.text()];
  };
  const words = "something went wrong; the log says what\n";
  expect([await ask("/docs/a?x=1", null), await ask("/metrics", new Error("another"))]).toEqual([
    [500, words],
    [500, words],
  ]);
  expect(await ask("/docs/b", bug)).toEqual([400, ""]);
  expect(lines).toEqual(
    ["/docs/a", "/metrics"].map((path) => ["an HTTP request failed", { error: bug, path }]),
  );
});
