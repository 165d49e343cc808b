// The dialler against servers that redirect, rebind, flood, stall and lie.
import { getEventListeners } from "node:events";
import { createServer } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { isFault, type FaultCode } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import type { DialRequest } from "../src/dialler.ts";
import { rawSite, site, testDialler, type TestDialler } from "./site.ts";

const never = new AbortController().signal;
const words = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function faultOf(promise: Promise<unknown>): Promise<[code: FaultCode | "none", message: string]> {
  try {
    await promise;
    return ["none", ""];
  } catch (error) {
    if (!isFault(error)) throw error;
    return [error.code, error.message];
  }
}
const read = async (dialler: TestDialler, request: DialRequest): Promise<string> =>
  words((await (await dialler.dial(request, never)).bytes()).bytes);

describe("the address that is dialled", () => {
  it("is one the resolver gave for an allowed host, and the server sees the host's name", async () => {
    const server = await site((request, response) => response.end(`hello ${request.headers.host}`));
    const dialler = testDialler([`wiki.test:${server.port}`]);
    expect(await read(dialler, { url: `${server.at("wiki.test")}/` })).toBe(`hello wiki.test:${server.port}`);
    expect(dialler.resolved).toEqual(["wiki.test"]);
    expect(dialler.refusals).toEqual([]);
  });

  it("is never loopback for a host that nobody opened, under any name", async () => {
    const server = await site((_request, response) => response.end("canary"));
    const dialler = testDialler([], { rules: { allowedPorts: [server.port] } });
    const hosts = [
      "evil.test",
      "localhost",
      "localhost.",
      "127.0.0.1",
      "2130706433",
      "0x7f.1",
      "[::ffff:127.0.0.1]",
      "[::1]",
      "0.0.0.0",
      "[::]",
    ];
    for (const host of hosts)
      expect((await faultOf(dialler.dial({ url: server.at(host) }, never)))[0], host).toBe("denied");
    expect(server.seen).toHaveLength(0);
    expect(dialler.refusals).toHaveLength(hosts.length);
  });

  it("may refuse connections: the call fails with the host's name, and the process goes on", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    await new Promise((resolve) => server.close(resolve));
    const dialler = testDialler([`wiki.test:${port}`, `127.0.0.1:${port}`]);
    for (const host of ["wiki.test", "127.0.0.1"])
      expect(await faultOf(dialler.dial({ url: `http://${host}:${port}/` }, never))).toEqual([
        "unavailable",
        `${host} refuses connections`,
      ]);
  });

  it("is refused for good when one of several addresses is closed", async () => {
    const server = await site((_request, response) => response.end("canary"));
    for (const answers of [
      ["93.184.215.14", "127.0.0.1"],
      ["127.0.0.1", "2606:2800:21f:cb07::1"],
    ]) {
      const dialler = testDialler([], {
        rules: { allowedPorts: [server.port] },
        resolve: async () => answers,
      });
      expect(await faultOf(dialler.dial({ url: server.at("mixed.test") }, never))).toEqual([
        "denied",
        "mixed.test lies in a private network",
      ]);
      expect(dialler.refusals).toEqual([{ host: "mixed.test", reason: "private" }]);
    }
    expect(server.seen).toHaveLength(0);
  });

  it("is judged at each connection, so that a name that is rebound between two is refused", async () => {
    const server = await site((_request, response) => {
      response.setHeader("connection", "close");
      response.end("first");
    });
    let answer = "127.0.0.1";
    const dialler = testDialler([], {
      rules: { allowedPorts: [server.port], allowedNetworks: ["127.0.0.1/32"] },
      resolve: async () => [answer],
    });
    expect(await read(dialler, { url: server.at("rebind.test") })).toBe("first");
    answer = "127.0.0.2";
    expect((await faultOf(dialler.dial({ url: server.at("rebind.test") }, never)))[0]).toBe("denied");
    expect(dialler.resolved).toEqual(["rebind.test", "rebind.test"]);
    expect(server.seen).toHaveLength(1);
  });

  it("is resolved once for a connection: a resolver that changes its mind in between finds no second look", async () => {
    const server = await site((_request, response) => response.end("hello"));
    let asked = 0;
    const dialler = testDialler([], {
      rules: { allowedPorts: [server.port], allowedNetworks: ["127.0.0.1/32"] },
      resolve: async () => (asked++ === 0 ? ["127.0.0.1"] : ["169.254.169.254"]),
    });
    expect(await read(dialler, { url: server.at("flip.test") })).toBe("hello");
    expect(asked).toBe(1);
  });

  it("does not come from a proxy of the environment", async () => {
    const proxy = await site((_request, response) => response.end("proxied"));
    const server = await site((_request, response) => response.end("direct"));
    const names = ["http_proxy", "HTTP_PROXY", "ALL_PROXY"];
    for (const name of names) process.env[name] = `http://127.0.0.1:${proxy.port}`;
    try {
      const dialler = testDialler([`wiki.test:${server.port}`]);
      expect(await read(dialler, { url: server.at("wiki.test") })).toBe("direct");
    } finally {
      for (const name of names) delete process.env[name];
    }
    expect(proxy.seen).toHaveLength(0);
  });

  it("that cannot be found or reached is told by the host's name", async () => {
    const dialler = testDialler(["gone.test", "void.test"], {
      resolve: async (host) => {
        if (host === "void.test") return [];
        throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
      },
    });
    expect(await faultOf(dialler.dial({ url: "http://gone.test/a?key=word" }, never))).toEqual([
      "missing",
      "gone.test has no address",
    ]);
    expect((await faultOf(dialler.dial({ url: "http://void.test/" }, never)))[0]).toBe("missing");
  });
});

describe("redirects", () => {
  it("are judged at every hop", async () => {
    const canary = await site((_request, response) => response.end("canary"));
    const server = await site((request, response) => {
      const to = new URL(request.url ?? "", "http://x").searchParams.get("to") ?? "";
      response.writeHead(302, { location: to }).end("moved");
    });
    const dialler = testDialler([`open.test:${server.port}`], {
      rules: { allowedHosts: [`open.test:${server.port}`], allowedPorts: [canary.port] },
    });
    for (const to of [
      canary.at("127.0.0.1"),
      canary.at("evil.test"),
      canary.at("2130706433"),
      canary.at("[::1]"),
      `//127.0.0.1:${canary.port}/`,
      "file:///etc/passwd",
      "ftp://open.test/",
      "http://169.254.169.254/latest/",
      `http://name:word@open.test:${server.port}/`,
      "http://open.test:22/",
      "http://[broken",
    ]) {
      const url = `${server.at("open.test")}/?to=${encodeURIComponent(to)}`;
      expect((await faultOf(dialler.dial({ url }, never)))[0], to).toBe("denied");
    }
    expect(canary.seen).toHaveLength(0);
  });

  it("end after five", async () => {
    const server = await site((request, response) => {
      const left = Number(request.url?.slice(1));
      if (left > 0) response.writeHead(301, { location: `/${left - 1}` });
      response.end("there");
    });
    const dialler = testDialler([`open.test:${server.port}`]);
    const answer = await dialler.dial({ url: `${server.at("open.test")}/5` }, never);
    expect(words((await answer.bytes()).bytes)).toBe("there");
    expect(answer).toMatchObject({ redirects: 5, status: 200, url: `${server.at("open.test")}/0` });
    expect(await faultOf(dialler.dial({ url: `${server.at("open.test")}/6` }, never))).toEqual([
      "denied",
      "open.test redirects more than 5 times",
    ]);
  });

  it("leave every header that is not safelisted behind when the origin changes, and do not bring it back", async () => {
    const server = await site((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: server.at("b.test") + "/over" });
      if (request.url === "/over") response.writeHead(302, { location: server.at("a.test") + "/back" });
      response.end();
    });
    const dialler = testDialler([`a.test:${server.port}`, `b.test:${server.port}`]);
    await read(dialler, {
      url: `${server.at("a.test")}/start`,
      headers: {
        Authorization: "Bearer word",
        Cookie: "a=b",
        "X-Api-Key": "word",
        "X-Subscription-Token": "word",
        Referer: "http://a.test/secret",
        "Accept-Language": "de",
        "User-Agent": "Tester/1",
      },
    });
    const [start, ...later] = server.seen.map(({ headers }) => Object.keys(headers).sort());
    expect(start).toContain("x-api-key");
    for (const names of later)
      expect(names).toEqual([
        "accept",
        "accept-encoding",
        "accept-language",
        "connection",
        "host",
        "user-agent",
      ]);
    expect(server.seen[2]?.headers["user-agent"]).toBe("Tester/1");
  });

  it("repeat a body on the same origin alone, and not at all after 301, 302 and 303", async () => {
    const bodies: string[] = [];
    const server = await site((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        bodies.push(`${request.method} ${request.url} ${body}${request.headers["content-type"] ?? ""}`);
        const [, status, where] = /^\/(\d+)\/(\w)/.exec(request.url ?? "") ?? [];
        if (status !== undefined)
          response.writeHead(Number(status), { location: `${server.at(`${where}.test`)}/end` });
        response.end();
      });
    });
    const dialler = testDialler([`a.test:${server.port}`, `b.test:${server.port}`]);
    const post = (path: string): Promise<string> =>
      read(dialler, {
        url: server.at("a.test") + path,
        method: "POST",
        body: "word ",
        headers: { "content-type": "text/plain" },
      });
    for (const status of [301, 302, 303]) await post(`/${status}/b`);
    for (const status of [307, 308]) await post(`/${status}/a`);
    for (const status of [307, 308])
      expect(await faultOf(post(`/${status}/b`))).toEqual([
        "denied",
        "a.test redirects what was sent to it to another origin",
      ]);
    expect(bodies.filter((line) => line.includes("/end"))).toEqual([
      ...Array.from({ length: 3 }, () => "GET /end "),
      ...Array.from({ length: 2 }, () => "POST /end word text/plain"),
    ]);
  });

  it("without an address are answers like any other, and so is an address without a redirect", async () => {
    const server = await site((request, response) => {
      const [, status = ""] = (request.url ?? "").split("/");
      response.writeHead(Number(status), status === "302" ? {} : { location: "/302" }).end(`said ${status}`);
    });
    const dialler = testDialler([`open.test:${server.port}`]);
    for (const status of [302, 300, 304, 201, 404]) {
      const answer = await dialler.dial({ url: `${server.at("open.test")}/${status}` }, never);
      expect([answer.status, answer.redirects]).toEqual([status, 0]);
      expect(words((await answer.bytes()).bytes)).toBe(status === 304 ? "" : `said ${status}`);
    }
  });

  it("do not wait for the body of a redirect", async () => {
    const server = await site((request, response) => {
      if (request.url === "/") response.writeHead(302, { location: "/end" }).write("endless");
      else response.end("there");
    });
    const dialler = testDialler([`open.test:${server.port}`]);
    expect(await read(dialler, { url: server.at("open.test") })).toBe("there");
  });
});

describe("answers", () => {
  const serve = async (body: Buffer | string, headers: Record<string, string> = {}) => {
    const server = await site((_request, response) => response.writeHead(200, headers).end(body));
    return { server, dialler: testDialler([`open.test:${server.port}`]), url: server.at("open.test") };
  };

  it("are decompressed, and counted after it", async () => {
    const text = "words ".repeat(1_000);
    for (const [encoding, body] of [
      ["gzip", gzipSync(text)],
      ["x-gzip", gzipSync(text)],
      ["br", brotliCompressSync(text)],
      ["identity", Buffer.from(text)],
      // Without its end, as servers send it.
      ["gzip", gzipSync(text).subarray(0, -8)],
    ] as const) {
      const { dialler, url } = await serve(body, { "content-encoding": encoding });
      expect(await read(dialler, { url }), encoding).toBe(text);
    }
  });

  it("that inflate beyond the limit are stopped there", async () => {
    for (const [encoding, body] of [
      ["gzip", gzipSync(Buffer.alloc(60_000_000))],
      ["br", brotliCompressSync(Buffer.alloc(60_000_000), { params: {} })],
    ] as const) {
      const { dialler, url } = await serve(body, { "content-encoding": encoding });
      expect(await faultOf(read(dialler, { url }))).toEqual([
        "unsupported",
        "open.test answers with more than 5 MB",
      ]);
      const answer = await dialler.dial({ url, limits: { bodyBytes: 100_000 } }, never);
      const { bytes, cut } = await answer.bytes({ cut: true });
      expect([bytes.byteLength, cut]).toEqual([100_000, true]);
    }
  });

  it("of exactly the limit are whole", async () => {
    const { dialler, url } = await serve("x".repeat(1_000));
    const answer = await dialler.dial({ url, limits: { bodyBytes: 1_000 } }, never);
    expect(await answer.bytes({ cut: true })).toMatchObject({ cut: false });
    expect((await faultOf(read(dialler, { url, limits: { bodyBytes: 999 } })))[0]).toBe("unsupported");
  });

  it("in a compression that nobody asked for are refused, as is broken compression", async () => {
    const strange = await serve("x", { "content-encoding": "zstd" });
    expect((await faultOf(strange.dialler.dial({ url: strange.url }, never)))[0]).toBe("unsupported");
    const twice = await serve(gzipSync(gzipSync("x")), { "content-encoding": "gzip, gzip" });
    expect((await faultOf(twice.dialler.dial({ url: twice.url }, never)))[0]).toBe("unsupported");
    const broken = await serve("this is no gzip", { "content-encoding": "gzip" });
    expect(await faultOf(read(broken.dialler, { url: broken.url }))).toEqual([
      "unsupported",
      "open.test answers with broken compression",
    ]);
  });

  it("with endless headers are broken off", async () => {
    const server = await rawSite((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const more = (): void => {
        while (!socket.destroyed && socket.write(`x-more: ${"y".repeat(1_000)}\r\n`)) continue;
        if (!socket.destroyed) socket.once("drain", more);
      };
      more();
    });
    const dialler = testDialler([`open.test:${server.port}`]);
    expect(await faultOf(dialler.dial({ url: server.at("open.test") }, never))).toEqual([
      "unsupported",
      "open.test answers with headers that are too long",
    ]);
  });

  it("that are no HTTP, or end too early, are told", async () => {
    const noise = await rawSite((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
    const short = await rawSite((socket) =>
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"),
    );
    const cut = await rawSite((socket) => socket.destroy());
    const dialler = testDialler([noise, short, cut].map(({ port }) => `open.test:${port}`));
    expect((await faultOf(read(dialler, { url: noise.at("open.test") })))[1]).toBe(
      "open.test does not answer in HTTP",
    );
    expect((await faultOf(read(dialler, { url: short.at("open.test") })))[0]).not.toBe("none");
    expect(await faultOf(read(dialler, { url: cut.at("open.test") }))).toEqual([
      "unavailable",
      "open.test broke the connection off",
    ]);
    expect((await faultOf(read(dialler, { url: cut.at("open.test"), method: "POST", body: "x" })))[0]).toBe(
      "ambiguous",
    );
  });

  it("that do not come, or drip, run into the limits of time, and leave no timer", async () => {
    const silent = await rawSite(() => {});
    const informing = await rawSite((socket) => {
      for (let i = 0; i < 50; i += 1) socket.write("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n");
    });
    const dripping = await site((_request, response) => void response.write("a drop"));
    const clock = virtualClock();
    const dialler = testDialler(
      [silent, informing, dripping].map(({ port }) => `open.test:${port}`),
      { clock },
    );
    for (const server of [silent, informing]) {
      const waiting = faultOf(dialler.dial({ url: server.at("open.test") }, never));
      // Two timers: the hop's and the call's.
      while (clock.armed() < 2) await new Promise((next) => setImmediate(next));
      await clock.advance(15_000);
      expect(await waiting).toEqual(["unavailable", "open.test did not answer within 15 s"]);
      expect(clock.armed()).toBe(0);
    }
    const answer = await dialler.dial({ url: dripping.at("open.test") }, never);
    const reading = faultOf(answer.bytes());
    await clock.advance(30_000);
    expect(await reading).toEqual(["unavailable", "open.test took longer than 30 s"]);
    expect(clock.armed()).toBe(0);
  });

  it("stop with the caller's signal, before and within the body", async () => {
    const server = await site((_request, response) => void response.write("a drop"));
    const dialler = testDialler([`open.test:${server.port}`]);
    const url = server.at("open.test");
    const gone = new AbortController();
    gone.abort();
    expect((await faultOf(dialler.dial({ url }, gone.signal)))[0]).toBe("aborted");
    const later = new AbortController();
    const answer = await dialler.dial({ url }, later.signal);
    const reading = faultOf(answer.bytes());
    later.abort();
    expect(await reading).toEqual(["aborted", "the call to open.test was stopped"]);
  });

  it("let go of the caller's signal however they end, and of every timer", async () => {
    const clock = virtualClock();
    const server = await site((request, response) => {
      if (request.url === "/broken") return void request.socket.destroy();
      response.end("words");
    });
    const dialler = testDialler([`open.test:${server.port}`], { clock });
    const { signal } = new AbortController();
    const held = (): unknown => [getEventListeners(signal, "abort").length, clock.armed()];
    const at = (path: string) => dialler.dial({ url: server.at("open.test") + path }, signal);
    const whole = await at("/");
    expect(held()).toEqual([1, 1]);
    await whole.bytes();
    expect(held()).toEqual([0, 0]);
    (await at("/")).discard();
    expect(held()).toEqual([0, 0]);
    for await (const chunk of (await at("/")).body) if (chunk.length > 0) break;
    expect(held()).toEqual([0, 0]);
    expect((await faultOf(at("/broken")))[0]).toBe("unavailable");
    expect(held()).toEqual([0, 0]);
  });

  it("have every header in lower case and all values of a repeated one, and go by the caller's limits", async () => {
    const server = await site((request, response) => {
      response.setHeader("X-Many", ["a", "b"]);
      response.setHeader("Content-Type", "text/plain");
      if (request.url === "/to") response.writeHead(302, { location: "/" });
      response.end(`${request.method} ${request.headers.accept} ${request.headers["accept-encoding"]}`);
    });
    const dialler = testDialler([`open.test:${server.port}`], { limits: { bodyBytes: 9, redirects: 0 } });
    const url = server.at("open.test");
    const answer = await dialler.dial(
      { url, method: "get", headers: { ACCEPT: "text/x" }, limits: { bodyBytes: 99 } },
      never,
    );
    expect(answer).toMatchObject({
      url: `${url}/`,
      status: 200,
      redirects: 0,
      headers: { "x-many": "a, b", "content-type": "text/plain" },
    });
    expect(words((await answer.bytes()).bytes)).toBe("GET text/x gzip, br");
    expect(await faultOf(read(dialler, { url }))).toEqual([
      "unsupported",
      "open.test answers with more than 0.000009 MB",
    ]);
    expect((await faultOf(dialler.dial({ url: `${url}/to` }, never)))[1]).toBe(
      "open.test redirects more than 0 times",
    );
    const more = await dialler.dial({ url, limits: { bodyBytes: 99 } }, never);
    expect(await faultOf(more.bytes({ maxBytes: 5 }))).toEqual([
      "unsupported",
      "open.test answers with more than 0.000005 MB",
    ]);
    const few = await dialler.dial({ url, limits: { bodyBytes: 3 } }, never);
    expect(await few.bytes({ cut: true, maxBytes: 50 })).toMatchObject({ bytes: { length: 3 }, cut: true });
  });

  it("whose host is not even found in time end in time, and with the caller's signal", async () => {
    const clock = virtualClock();
    const dialler = testDialler([], { clock, resolve: () => new Promise(() => {}) });
    const url = "http://open.test/";
    const armed = async (): Promise<void> => {
      while (clock.armed() < 2) await new Promise((next) => setImmediate(next));
    };
    const late = faultOf(dialler.dial({ url }, never));
    await armed();
    await clock.advance(15_000);
    expect(await late).toEqual(["unavailable", "open.test did not answer within 15 s"]);
    const later = faultOf(dialler.dial({ url, limits: { headersMs: 99_000, totalMs: 1_500 } }, never));
    await armed();
    await clock.advance(1_500);
    expect(await later).toEqual(["unavailable", "open.test took longer than 1.5 s"]);
    const stop = new AbortController();
    const stopped = faultOf(dialler.dial({ url }, stop.signal));
    await armed();
    stop.abort();
    expect(await stopped).toEqual(["aborted", "the call to open.test was stopped"]);
    expect(clock.armed()).toBe(0);
  });

  it("that are refused are told once each, with the host as long as DNS allows and the reason", async () => {
    const dialler = testDialler([]);
    const long = `${"a".repeat(63)}.`.repeat(4);
    expect(await faultOf(dialler.dial({ url: `http://${long}test:22/` }, never))).toEqual([
      "denied",
      `${`${long}test`.slice(0, 253)}… may not be dialled at port 22`,
    ]);
    await faultOf(dialler.dial({ url: "ftp://a.test/" }, never));
    expect(dialler.refusals).toEqual([
      { host: `${long}test`, reason: "port" },
      { host: "a.test", reason: "scheme" },
    ]);
    await dialler.close();
  });

  it("leave nothing behind that a later request carries", async () => {
    const server = await site((_request, response) => {
      response.setHeader("set-cookie", "session=word");
      response.end();
    });
    const dialler = testDialler([`open.test:${server.port}`]);
    for (let i = 0; i < 2; i += 1) await read(dialler, { url: server.at("open.test") });
    expect(server.seen.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined]);
    expect(server.seen[1]?.headers["user-agent"]).toMatch(/^Parley\/\d/);
  });

  it("are not asked for with headers of the connection", async () => {
    const server = await site((_request, response) => response.end());
    const dialler = testDialler([`open.test:${server.port}`]);
    for (const name of ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade"])
      expect(
        await faultOf(dialler.dial({ url: server.at("open.test"), headers: { [name]: "x" } }, never)),
      ).toEqual(["invalid", `the header ${name.toLowerCase()} is the connection's own`]);
    expect(
      (await faultOf(dialler.dial({ url: server.at("open.test"), headers: { a: "b\r\nc: d" } }, never)))[0],
    ).toBe("invalid");
    expect(server.seen).toHaveLength(0);
  });

  it("never bring a word of the path or the query into an error", async () => {
    const server = await rawSite((socket) => socket.destroy());
    const dialler = testDialler([`open.test:${server.port}`]);
    const [, message] = await faultOf(
      dialler.dial({ url: `${server.at("open.test")}/word?key=secret` }, never),
    );
    expect(message).toBe("open.test broke the connection off");
  });
});
