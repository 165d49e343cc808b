import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock, systemIds } from "@parley/protocol";
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
});
