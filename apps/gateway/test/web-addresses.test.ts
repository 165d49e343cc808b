// All that dials what somebody names, as the gateway wires it, against everything that leads to this machine:
// a canary on loopback listens at an open port, and must never hear a word, whatever spelling, resolver and
// redirects say. Servers of MCP have their own test.
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { loadConfig } from "@parley/config";
import { Fault, silentLog, systemClock, systemIds } from "@parley/protocol";
import { closedHosts } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { wireWayOut } from "../src/wiring/way-out.ts";
import { wireWeb, type WebWiring } from "../src/wiring/web.ts";

/** The last is whatever the resolver says. */
const spellings = [...closedHosts, "metadata.test"];

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

async function site(answer: RequestListener) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? "");
    answer(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  const address = server.address();
  return { seen, port: typeof address === "object" ? (address?.port ?? 0) : 0 };
}

async function web(allow: readonly string[], dialling: NonNullable<WebWiring["dialling"]>) {
  const refused: string[] = [];
  const { config } = await loadConfig({
    env: {},
    home: "/nowhere",
    readFile: async () => JSON.stringify({ tools: { web: { egress: { allow } } } }),
  });
  const wiring = {
    configNow: () => config,
    clock: systemClock(),
    ids: systemIds(),
    log: silentLog,
    refused: (reason: string) => refused.push(reason),
    dialling,
  };
  const wired = wireWeb(wiring);
  const { wayOut, close } = wireWayOut(wiring);
  closings.push(wired.close, close);
  const pages = wired.port.pages();
  if ("unavailable" in pages) throw new Error(pages.unavailable);
  const files = wired.port.files();
  if ("unavailable" in files) throw new Error(files.unavailable);
  const signal = new AbortController().signal;
  /** All that dials what somebody names; each throws Fault("denied") where it refuses. */
  const consumers: Record<Consumer, (url: string) => Promise<unknown>> = {
    web_fetch: (url) => pages.read(url, signal),
    webhooks: (url) => wired.dial({ url, method: "POST", body: "x" }, signal),
    "pictures by their address": (url) => files.fetch(url, 1_000, signal),
    "a sandbox by its proxy": async (url) => say((await wayOut()).socket, `GET ${url} HTTP/1.1`),
    "a sandbox by a tunnel": async (url) =>
      say((await wayOut()).socket, `CONNECT ${url.replace(/^http:\/\/|\/$/g, "")} HTTP/1.1`),
  };
  return { refused, consumers, read: consumers.web_fetch };
}

const consumers = [
  "web_fetch",
  "webhooks",
  "pictures by their address",
  "a sandbox by its proxy",
  "a sandbox by a tunnel",
] as const;
type Consumer = (typeof consumers)[number];

/** Speaks to a proxy as a program would that checks nothing: bytes as they are. */
async function say(socketPath: string, line: string): Promise<string> {
  const socket = connect(socketPath);
  socket.write(`${line}\r\nhost: open.test\r\nconnection: close\r\n\r\n`);
  let heard = "";
  for await (const chunk of socket) heard += String(chunk);
  if (/^HTTP\/1\.1 (?:400|403) /.test(heard)) throw new Fault("denied", heard);
  return heard;
}

/** A DNS server that answers each question for an address with the next of these. */
async function dns(answers: string[]) {
  const socket = createSocket("udp4");
  socket.on("message", (question, { port, address }) => {
    let end = 12;
    while (question[end] !== 0) end += (question[end] ?? 0) + 1;
    const isV4 = question.readUInt16BE(end + 1) === 1;
    const ip = isV4 ? (answers.shift() ?? "127.0.0.1") : null;
    end += 5;
    const head = Buffer.from(question.subarray(0, end));
    head.writeUInt16BE(0x81_80, 2);
    head.writeUInt16BE(ip === null ? 0 : 1, 6);
    head.writeUInt16BE(0, 10);
    const record =
      ip === null
        ? []
        : [Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split(".").map(Number)])];
    socket.send(Buffer.concat([head, ...record]), port, address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  closings.push(() => new Promise<void>((done) => socket.close(() => done())));
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return (host: string): Promise<readonly string[]> => resolver.resolve4(host);
}

describe.each(consumers)("%s", (consumer) => {
  test("reaches nothing of this machine or its networks, however it is written", async () => {
    const canary = await site((_request, response) => response.end("secret"));
    const {
      refused,
      consumers: { [consumer]: read },
    } = await web([], {
      resolve: async () => ["127.0.0.1"],
      allowedPorts: [canary.port],
    });
    expect(spellings.length).toBeGreaterThan(60);
    for (const host of spellings)
      await expect(read(`http://${host}:${canary.port}/`), host).rejects.toMatchObject({ code: "denied" });
    const tricks = [
      `http:127.0.0.1:${canary.port}`,
      `http:/\\127.0.0.1:${canary.port}/`,
      `http://open.test@127.0.0.1:${canary.port}/`,
      `http://127.0.0.1:${canary.port}@open.test/`,
      `http://127.0.0.1:${canary.port}\t/`,
      `gopher://127.0.0.1:${canary.port}/`,
      "file:///etc/passwd",
      "data:text/html,x",
      "http://[::1%25lo]/",
    ];
    for (const url of tricks) await expect(read(url), url).rejects.toMatchObject({ code: "denied" });
    expect(canary.seen).toEqual([]);
    // What is no request at all the proxy's own parser refuses.
    if (!consumer.startsWith("a sandbox")) expect(refused.length).toBe(spellings.length + tricks.length);
    else expect(refused.length).toBeGreaterThan(60);
  });

  test("judges what a name says when it is dialled: a name that is bound anew leads nowhere", async () => {
    const canary = await site((_request, response) => response.end("secret"));
    const resolve = await dns(["203.0.113.7", "127.0.0.1", "10.0.0.1"]);
    const { refused, consumers: all } = await web([], { resolve, allowedPorts: [canary.port] });
    const { [consumer]: read } = all;
    for (const path of ["one", "two", "three"])
      await expect(
        read(`http://rebound.test:${canary.port}/${consumer.endsWith("tunnel") ? "" : path}`),
      ).rejects.toMatchObject({
        code: "denied",
      });
    expect([canary.seen, refused]).toEqual([[], ["reserved", "private", "private"]]);
  });
});

describe("web_fetch", () => {
  test("follows no redirect to what it would not open, nor one after another without end", async () => {
    const canary = await site((_request, response) => response.end("secret"));
    const open = await site((request, response) => {
      const [, kind = "", nth = "0"] = (request.url ?? "").split("/");
      const to =
        kind === "chain" ? `/chain/${Number(nth) + 1}` : decodeURIComponent((request.url ?? "").slice(1));
      response.writeHead(kind === "chain" ? 302 : 307, { location: to }).end();
    });
    const { read } = await web([`open.test:${open.port}`], {
      resolve: async () => ["127.0.0.1"],
      allowedPorts: [canary.port],
    });
    const at = `http://open.test:${open.port}`;
    for (const to of [
      `http://127.0.0.1:${canary.port}/`,
      `//localhost:${canary.port}/`,
      `http://[::ffff:127.0.0.1]:${canary.port}/`,
      `http://other.test:${canary.port}/`,
      "file:///etc/passwd",
      "http://169.254.169.254/",
    ])
      await expect(read(`${at}/${encodeURIComponent(to)}`), to).rejects.toMatchObject({ code: "denied" });
    await expect(read(`${at}/chain/0`)).rejects.toThrow("redirects more than 5 times");
    expect(canary.seen).toEqual([]);
  });
});
