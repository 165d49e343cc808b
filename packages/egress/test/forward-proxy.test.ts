import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock, systemIds } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import type { AddressRules } from "../src/address-rules.ts";
import type { Refusal } from "../src/dialler.ts";
import { forwardProxy, type ForwardProxy } from "../src/forward-proxy.ts";
import { afterTest, site } from "./site.ts";

async function proxy(
  rules: AddressRules,
  resolve = async (): Promise<readonly string[]> => ["127.0.0.1"],
  limits = { connections: 9, idleMs: 60_000, connectMs: 60_000 },
) {
  const refusals: Refusal[] = [];
  const made = await forwardProxy({
    clock: systemClock(),
    ids: systemIds(),
    rules: () => rules,
    resolve,
    limits,
    refused: (refusal) => refusals.push(refusal),
  });
  afterTest(made.close);
  return { ...made, refusals };
}

const basic = ({ username, password }: ForwardProxy): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

async function get(by: ForwardProxy, url: string, headers: Record<string, string> = {}) {
  const asked = request(by.url, { path: url, headers: { "proxy-authorization": basic(by), ...headers } });
  asked.end();
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of answer) body += String(chunk);
  return { status: answer.statusCode, body };
}

/** The first line of what a tunnel says. */
async function tunnel(by: ForwardProxy, authority: string, say = "", password = basic(by)): Promise<string> {
  const socket = connect(Number(new URL(by.url).port), "127.0.0.1");
  socket.write(
    `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\nproxy-authorization: ${password}\r\n\r\n${say}`,
  );
  let heard = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => {
    heard += chunk;
    if (say === "" || heard.includes("answer")) socket.destroy();
  });
  await once(socket, "close");
  return say === "" ? (heard.split("\r\n")[0] ?? "") : heard;
}

/** All that a tunnel that is refused says, until it is closed. */
async function said(by: ForwardProxy, authority: string, password = basic(by)): Promise<string> {
  const socket = connect(Number(new URL(by.url).port), "127.0.0.1");
  socket.write(
    `CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\nproxy-authorization: ${password}\r\n\r\n`,
  );
  let heard = "";
  for await (const chunk of socket) heard += String(chunk);
  return heard;
}

describe("the forward proxy", () => {
  it("passes on what may be dialled, without what was said to itself", async () => {
    const server = await site((asked, response) => response.end(JSON.stringify(asked.headers)));
    const by = await proxy({ allowedHosts: [`open.test:${server.port}`] });
    const { status, body } = await get(by, `${server.at("open.test")}/a?b`, { cookie: "c=1" });
    expect([status, JSON.parse(body)]).toEqual([
      200,
      { cookie: "c=1", host: `open.test:${server.port}`, connection: "close" },
    ]);
    expect(server.seen[0]?.url).toBe("/a?b");
    const told = await tunnel(
      by,
      `open.test:${server.port}`,
      "GET / HTTP/1.1\r\nhost: x\r\nanswer: 1\r\n\r\n",
    );
    expect(told).toMatch(/^HTTP\/1\.1 200 [^]*"answer"/);
  });

  it("dials nothing closed, however it is asked", async () => {
    const canary = await site((_asked, response) => response.end("secret"));
    const port = canary.port;
    const by = await proxy({ allowedPorts: [port] });
    const hosts = [
      "127.0.0.1",
      "localhost",
      "0x7f.1",
      "2130706433",
      "[::1]",
      "[::ffff:127.0.0.1]",
      "rebound.test",
      "169.254.169.254",
      "0.0.0.0",
    ];
    for (const host of hosts) {
      expect([host, (await get(by, `http://${host}:${port}/`)).status]).toEqual([host, 403]);
      expect([host, await tunnel(by, `${host}:${port}`)]).toEqual([host, "HTTP/1.1 403 Forbidden"]);
    }
    for (const url of ["file:///etc/passwd", "ftp://open.test/", "/relative", "http://a:b@open.test/"])
      expect([url, (await get(by, url)).status]).toEqual([url, 403]);
    expect(canary.seen).toEqual([]);
    expect(by.refusals.length).toBe(hosts.length * 2 + 4);
  });

  it("judges what a name says when it is dialled, and all of it", async () => {
    const canary = await site((_asked, response) => response.end("secret"));
    const answers = [["203.0.113.1", "127.0.0.1"], ["127.0.0.1"]];
    const by = await proxy({ allowedPorts: [canary.port] }, async () => answers.shift() ?? ["127.0.0.1"]);
    expect((await get(by, `http://mixed.test:${canary.port}/`)).status).toBe(403);
    expect((await get(by, `http://mixed.test:${canary.port}/`)).status).toBe(403);
    expect(canary.seen).toEqual([]);
  });

  it("serves nobody without its password", async () => {
    const server = await site((_asked, response) => response.end("x"));
    const by = await proxy({ allowedHosts: [`open.test:${server.port}`] });
    expect((await get(by, server.at("open.test"), { "proxy-authorization": "Basic eDp5" })).status).toBe(407);
    expect(await tunnel(by, `open.test:${server.port}`, "", "Basic eDp5")).toMatch(/ 407 /);
    expect(server.seen).toEqual([]);
  });

  it("has so many connections and no more, and ends one through which nothing goes", async () => {
    const ended: number[] = [];
    const open = async ({ url }: ForwardProxy, nth: number): Promise<void> => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
      afterTest(async () => void socket.destroy());
      socket.resume().once("close", () => ended.push(nth));
      await once(socket, "connect");
    };
    const narrow = await proxy({}, undefined, { connections: 2, idleMs: 600_000, connectMs: 60_000 });
    for (const nth of [1, 2, 3]) await open(narrow, nth);
    await expect.poll(() => ended).toEqual([3]);
    const hasty = await proxy({}, undefined, { connections: 2, idleMs: 20, connectMs: 60_000 });
    await open(hasty, 4);
    await expect.poll(() => ended).toEqual([3, 4]);
  });

  it("says when nobody answers", async () => {
    const by = await proxy({ allowedHosts: ["open.test:1"] });
    expect(await get(by, "http://open.test:1/")).toEqual({
      status: 502,
      body: "Parley: open.test refuses connections.\n",
    });
    expect(await tunnel(by, "open.test:1")).toBe("HTTP/1.1 502 Bad Gateway");
  });

  it("hands a request and its answer on whole, without what belongs to either connection", async () => {
    const bodies: string[] = [];
    const server = await site((asked, response) => {
      asked.on("data", (chunk: Buffer) => bodies.push(chunk.toString()));
      asked.on("end", () => {
        response.writeHead(418, {
          "x-own": "kept",
          "set-cookie": ["a=1", "b=2"],
          "keep-alive": "timeout=9",
          "proxy-authorization": "Basic x",
          te: "trailers",
          trailer: "x-late",
          location: "http://127.0.0.1/",
        });
        response.end("short and stout");
      });
    });
    const by = await proxy({ allowedHosts: [`open.test:${server.port}`] });
    const asked = request(by.url, {
      method: "PUT",
      path: `${server.at("open.test")}/a%20b?c=d`,
      headers: {
        "proxy-authorization": basic(by),
        "proxy-connection": "keep-alive",
        connection: "keep-alive",
        "keep-alive": "timeout=5",
        te: "trailers",
        host: "another.test",
        authorization: "Bearer its-own",
        "content-type": "text/plain",
        "x-mine": "1",
      },
    });
    asked.end("the body");
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    let said = "";
    for await (const chunk of answer) said += String(chunk);
    const [seen] = server.seen;
    expect([seen?.method, seen?.url, seen?.headers, bodies.join("")]).toEqual([
      "PUT",
      "/a%20b?c=d",
      {
        authorization: "Bearer its-own",
        "content-type": "text/plain",
        "x-mine": "1",
        host: `open.test:${server.port}`,
        "content-length": "8",
        connection: "close",
      },
      "the body",
    ]);
    // What is said of keeping the connection is the proxy's own word.
    const { date: _date, "transfer-encoding": _how, connection: _own, ...headers } = answer.headers;
    expect([answer.statusCode, headers, said]).toEqual([
      418,
      {
        "x-own": "kept",
        "set-cookie": ["a=1", "b=2"],
        location: "http://127.0.0.1/",
        "keep-alive": "timeout=5",
      },
      "short and stout",
    ]);
  });

  it("says why in its own words, and asks for its password in the way of a proxy", async () => {
    const by = await proxy({ deniedHosts: ["bad.test"] });
    expect(await get(by, "http://bad.test/secret?key=word")).toEqual({
      status: 403,
      body: "Parley: bad.test is closed by the config.\n",
    });
    expect(await get(by, "http://inside.test/")).toEqual({
      status: 403,
      body: "Parley: inside.test lies in a private network.\n",
    });
    expect(await said(by, "bad.test:443")).toBe(
      "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-type: text/plain; charset=utf-8\r\n\r\nParley: bad.test is closed by the config.\n",
    );
    // A tunnel to port 80 is one of a web socket without TLS; any other port has to be opened.
    expect(await said(by, "bad.test:80")).toContain("bad.test is closed by the config");
    expect(await said(by, "open.test:22")).toContain("open.test may not be dialled at port 22");
    expect(by.refusals).toEqual([
      { host: "bad.test", reason: "host" },
      { host: "inside.test", reason: "private" },
      { host: "bad.test", reason: "host" },
      { host: "bad.test", reason: "host" },
      { host: "open.test", reason: "port" },
    ]);
    for (const wrong of ["", "Basic ", `${basic(by)}x`, basic(by).toLowerCase(), "Bearer word"]) {
      const told = await said(by, "bad.test:443", wrong);
      expect(told).toBe(
        'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="parley"\r\nconnection: close\r\n\r\n',
      );
      expect((await get(by, "http://bad.test/", { "proxy-authorization": wrong })).status).toBe(407);
    }
  });

  it("lets go of a server when its client is gone, and of a client when its server breaks off", async () => {
    const gone: string[] = [];
    const server = await site((asked, response) => {
      asked.socket.once("close", () => gone.push(asked.url ?? ""));
      response.write("begun");
      if (asked.url === "/breaks") setImmediate(() => asked.socket.destroy());
    });
    const by = await proxy({ allowedHosts: [`open.test:${server.port}`] });
    const ask = async (path: string) => {
      const headers = { "proxy-authorization": basic(by) };
      const asked = request(by.url, { path: server.at("open.test") + path, headers });
      asked.end();
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      return { asked, answer };
    };
    const left = await ask("/left");
    left.asked.on("error", () => {}).destroy();
    await expect.poll(() => gone).toEqual(["/left"]);
    const broken = await ask("/breaks");
    const ended = await once(
      broken.answer.on("data", () => {}),
      "end",
    ).then(
      () => "whole",
      ({ code }: { code: string }) => code,
    );
    expect(ended).toBe("ECONNRESET");
  });

  it("goes by the rules of the moment, and by a new password each time it is made", async () => {
    const server = await site((_asked, response) => response.end("x"));
    let rules: AddressRules = {};
    const ids = systemIds();
    const make = () =>
      forwardProxy({ clock: systemClock(), ids, rules: () => rules, resolve: async () => ["127.0.0.1"] });
    const [by, other] = [await make(), await make()];
    afterTest(async () => void (await Promise.all([by.close(), other.close()])));
    expect([by.username, by.password === other.password, by.password.length]).toEqual(["parley", false, 36]);
    expect((await get(by, server.at("open.test"))).status).toBe(403);
    rules = { allowedHosts: [`open.test:${server.port}`] };
    expect((await get(by, server.at("open.test"))).status).toBe(200);
    rules = { ...rules, deniedHosts: ["open.test"] };
    expect((await get(by, server.at("open.test"))).status).toBe(403);
  });

  it("leaves no timer once a connection stands, or none is made", async () => {
    const clock = virtualClock();
    const server = await site((_asked, response) => response.end("x"));
    const by = await forwardProxy({
      clock,
      ids: systemIds(),
      rules: () => ({ allowedHosts: [`open.test:${server.port}`] }),
      resolve: async () => ["127.0.0.1"],
      limits: { connections: 9, idleMs: 60_000, connectMs: 2_000 },
    });
    afterTest(by.close);
    expect((await get(by, server.at("open.test"))).status).toBe(200);
    expect(await tunnel(by, `open.test:${server.port}`)).toBe("HTTP/1.1 200 Connection Established");
    expect(clock.armed()).toBe(0);
    expect((await get(by, "http://open.test:1/")).status).toBe(403);
    expect(clock.armed()).toBe(0);
  });

  it("gives up a connection that is not accepted in its time, and says so by the name that was asked for", async () => {
    const server = await site((_asked, response) => response.end("x"));
    const given: number[] = [];
    const by = await forwardProxy({
      // Each time is over before a connection can stand.
      clock: {
        ...virtualClock(),
        after: (afterMs, run) => (given.push(afterMs), run(), { cancel: () => {} }),
      },
      ids: systemIds(),
      rules: () => ({ allowedHosts: [`open.test:${server.port}`] }),
      resolve: async () => ["127.0.0.1"],
      limits: { connections: 9, idleMs: 60_000, connectMs: 2_000 },
    });
    afterTest(by.close);
    const words = "Parley: open.test did not accept a connection in time.\n";
    expect(await get(by, `${server.at("open.test")}/x`)).toEqual({ status: 502, body: words });
    const told = await said(by, `open.test:${server.port}`);
    expect([told.split("\r\n")[0], told.endsWith(words)]).toEqual(["HTTP/1.1 502 Bad Gateway", true]);
    expect([given, server.seen.length]).toEqual([[2_000, 2_000], 0]);
  });

  it("on a socket of the file system serves who is let to it, without a password, until it is closed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-proxy-"));
    afterTest(async () => rmSync(folder, { recursive: true }));
    const socketPath = join(folder, "egress.sock");
    const server = await site((_asked, response) => response.end("hello"));
    const by = await forwardProxy({
      clock: systemClock(),
      ids: systemIds(),
      rules: () => ({ allowedHosts: [`open.test:${server.port}`] }),
      resolve: async () => ["127.0.0.1"],
      socketPath,
    });
    const asked = request({ socketPath, path: server.at("open.test") });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    expect([answer.statusCode, by.url]).toEqual([200, "http://127.0.0.1:0"]);
    answer.resume();
    // A tunnel that is open ends with it.
    const open = connect(socketPath).on("error", () => {});
    open.write(`CONNECT open.test:${server.port} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(open, "data");
    const ended = once(open, "close");
    await by.close();
    await ended;
    const late = connect(socketPath);
    const [error] = (await once(late, "error")) as [NodeJS.ErrnoException];
    expect(["ENOENT", "ECONNREFUSED"]).toContain(error.code);
  });
});
