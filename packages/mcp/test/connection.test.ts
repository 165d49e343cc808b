// One connection over HTTP to a server that a test plays in this process: what goes out by the guarded fetch
// and for how long, what is made of answers and failures, and when the connection is told to be gone.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Refusal } from "@parley/egress";
import { isFault, systemClock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { connect, type Connection, type ConnectionOptions } from "../src/connection.ts";
import { guardedFetch, type GuardedFetchOptions } from "../src/guarded-fetch.ts";
import { plain } from "./stage.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

async function site(answer: Answer) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    answer(request, response, body);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const refusal = (error: unknown): string =>
  isFault(error) ? `${error.code}: ${error.message}` : `not a fault: ${String(error)}`;

function guarded(url: string, more: Partial<GuardedFetchOptions> = {}) {
  const refused: Refusal[] = [];
  const clock = virtualClock();
  const made = guardedFetch({
    url,
    rules: {},
    refused: (each) => void refused.push(each),
    timeoutMs: 1_000,
    clock,
    ...more,
  });
  onTestFinished(() => made.close());
  return { ...made, clock, refused };
}

test("a fetch has the method, headers and body that were asked for, and its answer those of the server", async () => {
  const seen: unknown[] = [];
  const url = await site((request, response, body) => {
    const { method, url: path, headers } = request;
    seen.push([method, path, headers["x-own"], headers["content-type"], body]);
    const status = Number(path?.slice(1));
    response.writeHead(status, { "x-told": "yes", "content-length": status === 200 ? 5 : 0 });
    response.end(status === 200 ? "words" : "");
  });
  const { fetch } = guarded(url);
  const answer = await fetch(`${url}/200`);
  expect([
    answer.status,
    answer.headers.get("x-told"),
    answer.headers.get("content-length"),
    await answer.text(),
  ]).toEqual([200, "yes", null, "words"]);
  await fetch(new URL(`${url}/201`), { method: "POST", headers: [["X-Own", "1"]], body: "text" });
  await fetch(`${url}/202`, { method: "PUT", body: Uint8Array.of(65, 66) });
  await fetch(`${url}/404`, { method: "POST", body: new URLSearchParams({ a: "1", b: "ü" }) });
  await fetch(`${url}/500`, { method: "DELETE", body: null });
  expect(seen).toEqual([
    ["GET", "/200", undefined, undefined, ""],
    ["POST", "/201", "1", undefined, "text"],
    ["PUT", "/202", undefined, undefined, "AB"],
    ["POST", "/404", undefined, undefined, "a=1&b=%C3%BC"],
    ["DELETE", "/500", undefined, undefined, ""],
  ]);
  for (const status of [204, 205, 304]) {
    const empty = await fetch(`${url}/${status}`);
    expect([empty.status, empty.body]).toEqual([status, null]);
  }
  expect(await fetch(url, { method: "POST", body: new FormData() }).catch(refusal)).toBe(
    "unsupported: a request to an MCP server has a body of another form",
  );
  expect(seen).toHaveLength(8);
});

test("the address that the config names is dialled though it is private, and no other one that it does not open", async () => {
  const [url, open, other] = [
    await site((_request, response) => void response.end("own")),
    await site((_request, response) => void response.end("open")),
    await site(() => expect.unreachable()),
  ];
  const { fetch, refused } = guarded(`${url}/mcp?x=1`, { rules: { allowedHosts: [open.slice(7)] } });
  expect([await (await fetch(`${url}/a`)).text(), await (await fetch(open)).text()]).toEqual(["own", "open"]);
  expect(await fetch(other).catch(refusal)).toMatch(/^denied: /);
  expect(refused).toHaveLength(1);
  // Without a number an address means the port of its scheme.
  for (const [named, asked] of [
    ["http://127.0.0.1/", "http://127.0.0.1:443/"],
    ["https://127.0.0.1/", "http://127.0.0.1:80/"],
    ["http://127.0.0.1:81/", "http://127.0.0.1:80/"],
  ] as const)
    expect(await guarded(named).fetch(asked).catch(refusal)).toMatch(/^denied: /);
});

test("an answer begins within the time of a call; what is sent ends five seconds later, a stream in ten minutes", async () => {
  const asked: (() => void)[] = [];
  let isSilent = true;
  const url = await site((_request, response) => {
    if (!isSilent) response.writeHead(200).write("begun");
    asked.shift()?.();
  });
  const ends = async (init: RequestInit, more: Partial<GuardedFetchOptions>): Promise<unknown> => {
    const { fetch, clock } = guarded(url, { timeoutMs: 20_000, ...more });
    const reached = new Promise<void>((resolve) => asked.push(resolve));
    let over: number | null = null;
    const note = (): void => void (over ??= clock.mono());
    const answer = fetch(url, init);
    const reading = answer.then((response) => response.text()).finally(note);
    const said = reading.catch(refusal);
    await reached;
    if (!isSilent) await answer;
    for (const ms of [19_999, 1, 4_999, 1, 574_999, 1, 99_999, 1]) {
      await clock.advance(ms);
      if (over !== null) break;
    }
    await said;
    return over;
  };
  expect([await ends({}, {}), await ends({ method: "POST" }, {})]).toEqual([20_000, 20_000]);
  isSilent = false;
  expect([
    await ends({ method: "POST" }, {}),
    await ends({}, {}),
    await ends({}, { timeoutMs: 700_000 }),
    await ends({}, { streams: false }),
    await ends({ method: "POST" }, { streams: false }),
  ]).toEqual([25_000, 600_000, 700_000, 20_000, 20_000]);
  const stop = new AbortController();
  const stopped = guarded(url)
    .fetch(url, { signal: stop.signal })
    .then((response) => response.text());
  stop.abort();
  await expect(stopped).rejects.toThrow();
});

interface Rpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly [name: string]: unknown };
}

/** A server of which `play` says what a call is answered; the hand-shake is its own. */
async function server(play: (asked: Rpc, response: ServerResponse) => object | null) {
  const seen: (Rpc & { readonly headers: IncomingMessage["headers"] })[] = [];
  let notify: ((message: object) => void) | null = null;
  let isWatched: () => void = () => {};
  const watched = new Promise<void>((resolve) => (isWatched = resolve));
  const url = await site((request, response, body) => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": begun\n\n");
      notify = (message) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      return isWatched();
    }
    if (request.method !== "POST") return void response.writeHead(405).end();
    const asked = JSON.parse(body) as Rpc;
    seen.push({ ...asked, headers: request.headers });
    if (asked.id === undefined) return void response.writeHead(202).end();
    const initialized = {
      protocolVersion: asked.params?.["protocolVersion"] ?? "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: `Fake\n${"n".repeat(70)}`, version: "1".repeat(40) },
    };
    const answer = asked.method === "initialize" ? { result: initialized } : play(asked, response);
    if (answer !== null)
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: asked.id, ...answer }));
  });
  return { url, seen, watched, notify: (message: object) => notify?.(message) };
}
const unknownMethod = { error: { code: -32_601, message: "no such method" } };

async function connected(url: string, more: Partial<ConnectionOptions> = {}) {
  const told: string[] = [];
  const connection = await connect({
    settings: { ...plain, transport: "http", url, headers: { "x-key": "k" } },
    program: null,
    mark: "m",
    rules: async () => ({}),
    refused: () => {},
    auth: null,
    onToolsChanged: () => void told.push("tools changed"),
    onClose: () => void told.push("gone"),
    onStderr: () => {},
    clock: systemClock(),
    ...more,
  });
  onTestFinished(() => connection.close());
  return { connection, told };
}
const { signal } = new AbortController();
const call = (connection: Connection, by = signal): Promise<unknown> =>
  connection.call("look", { a: 1 }, by).catch(refusal);

test("a server says who it is; its tools are listed page by page, and called by their names with the config's headers", async () => {
  const { url, seen, watched, notify } = await server(({ method, params }) => {
    if (method === "tools/list") {
      const page = Number(params?.["cursor"] ?? 0);
      const tools = [{ name: `t${page}`, inputSchema: { type: "object" } }];
      return { result: { tools, ...(page === 2 ? {} : { nextCursor: String(page + 1) }) } };
    }
    if (method === "tools/call") return { result: { content: [{ type: "text", text: "seen" }], odd: 1 } };
    return unknownMethod;
  });
  const { connection, told } = await connected(url);
  expect([connection.about, connection.pid]).toEqual([
    { name: `Fake ${"n".repeat(54)}…`, version: `${"1".repeat(29)}…` },
    undefined,
  ]);
  expect((await connection.list(signal)).tools.map(({ name }) => name)).toEqual(["t0", "t1", "t2"]);
  expect(await connection.call("look", { a: 1 }, signal)).toMatchObject({
    content: [{ type: "text", text: "seen" }],
  });
  const asked = seen.filter(({ method }) => method.startsWith("tools/"));
  expect(asked.map(({ method, params, headers }) => [method, params?.["cursor"], headers["x-key"]])).toEqual([
    ["tools/list", undefined, "k"],
    ["tools/list", "1", "k"],
    ["tools/list", "2", "k"],
    ["tools/call", undefined, "k"],
  ]);
  expect(asked.at(-1)?.params).toMatchObject({ name: "look", arguments: { a: 1 } });
  const hello = seen.find(({ method }) => method === "initialize");
  expect(hello?.params?.["clientInfo"]).toMatchObject({ name: "parley" });
  await watched;
  notify({ method: "notifications/tools/list_changed" });
  await expect.poll(() => told).toEqual(["tools changed"]);
  await connection.close();
  expect(told).toEqual(["tools changed"]);
});

test("a listing has fifty pages at most, and what a server says instead of one is told", async () => {
  let pages = 0;
  let isOdd = false;
  const { url } = await server(({ method }) => {
    if (method !== "tools/list") return unknownMethod;
    if (isOdd) return { error: { code: -32_000, message: "no\n list" } };
    pages += 1;
    return { result: { tools: [{ name: `t${pages}`, inputSchema: { type: "object" } }], nextCursor: "on" } };
  });
  const { connection } = await connected(url);
  expect([(await connection.list(signal)).tools.length, pages]).toEqual([50, 50]);
  isOdd = true;
  expect(await connection.list(signal).catch(refusal)).toMatch(
    /^unavailable: its tools cannot be listed: .*no list$/,
  );
});

test("each way in which a call fails is told apart, and only one without an answer ends the connection", async () => {
  let fails: (response: ServerResponse) => object | null = () => null;
  const { url } = await server(({ method }, response) =>
    method === "tools/call" ? fails(response) : unknownMethod,
  );
  const { connection, told } = await connected(url);
  const after = async (how: typeof fails, by = signal): Promise<unknown> => {
    fails = how;
    return [await call(connection, by), told.splice(0)];
  };
  const status =
    (code: number, body = "") =>
    (response: ServerResponse): null => {
      response.writeHead(code, { "content-type": "text/plain" }).end(body);
      return null;
    };
  const isOver = ["conflict: its session is over", []];
  expect([
    await after(() => ({ error: { code: -32_000, message: "not\n now" } })),
    await after(status(404)),
    await after(status(400, "No valid SESSION id")),
  ]).toEqual([[expect.stringMatching(/^unavailable: the call failed: .*not now$/), []], isOver, isOver]);
  expect([await after(status(400, "bad")), await after(status(500, "out of order"))]).toEqual([
    [expect.stringMatching(/^unavailable: the call failed: /), ["gone"]],
    [expect.stringMatching(/^unavailable: the call failed: .*out of order/), ["gone"]],
  ]);
  const stop = new AbortController();
  expect(
    await after(() => {
      stop.abort();
      return null;
    }, stop.signal),
  ).toEqual(["aborted: the call was stopped", []]);
  // Only the call itself is counted here, and not what the guarded fetch allows.
  const slow = await connected(url, {
    settings: { ...plain, transport: "http", url, timeoutMs: 30 },
    clock: virtualClock(),
  });
  fails = () => null;
  expect([await call(slow.connection), slow.told]).toEqual([
    "unavailable: it did not answer in time",
    ["gone"],
  ]);
});

test("a server that is none does not come up: the reason is one line, and nothing is told to be gone", async () => {
  const broken = await site((_request, response) => void response.writeHead(500).end("oops\nand more"));
  const words = await site((_request, response) => void response.end("hello"));
  const told: string[] = [];
  const why = (url: string, more: Partial<ConnectionOptions> = {}): Promise<unknown> =>
    connected(url, { onClose: () => void told.push("gone"), ...more }).then(() => "it is up", refusal);
  expect([
    await why(broken),
    await why(words),
    await why("http://127.0.0.1:9/"),
    await why("http://127.0.0.1:9/", {
      settings: { ...plain, transport: "sse", url: "http://127.0.0.1:9/" },
    }),
  ]).toEqual([
    expect.stringMatching(/^unavailable: it does not answer: .*500.*$/),
    expect.stringMatching(/^unavailable: it does not answer: \S.*$/),
    expect.stringMatching(/^unavailable: \S.*$/),
    expect.stringMatching(/^unavailable: \S.*$/),
  ]);
  expect(told).toEqual([]);
});
