// Where the port listens and how a browser reaches it, and a client's socket until it is a WebSocket: what it
// may ask for, what it is told instead, how much it may send before anybody knows it, and how much it is
// answered at once.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test, vi } from "vitest";
import { inTurn } from "../src/in-turn.ts";
import { listen, urlHost } from "../src/listen.ts";
import { limitBytes, refuse, wantsWebSocket } from "../src/upgrade.ts";

test("a browser of this machine reaches every address that is listened on", () => {
  const hosts = ["0.0.0.0", "::", "127.0.0.1", "192.0.2.7", "::1", "2001:db8::7", "localhost"];
  expect(hosts.map(urlHost)).toEqual([
    "127.0.0.1",
    "127.0.0.1",
    "127.0.0.1",
    "192.0.2.7",
    "[::1]",
    "[2001:db8::7]",
    "localhost",
  ]);
});

test("a port is given where any will do; one that is taken, and an address that is not here, are told with the way out", async () => {
  const [first, second, third] = [createServer(), createServer(), createServer()];
  onTestFinished(() => void first.close());
  const port = await listen(first, "127.0.0.1", 0);
  expect(port).toBe((first.address() as AddressInfo).port);
  await expect(listen(second, "127.0.0.1", port)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      new RegExp(
        `^cannot listen on 127\\.0\\.0\\.1 port ${port}: .* listens there\\. Stop it, or set gateway\\.port$`,
      ),
    ) as string,
    cause: { code: "EADDRINUSE" },
  });
  // An address of documentation (RFC 5737).
  await expect(listen(third, "192.0.2.7", 7)).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /^cannot listen on 192\.0\.2\.7 port 7: listen E[A-Z]+: .*192\.0\.2\.7.*\. Stop it, or set gateway\.port$/,
    ) as string,
  });
});

test("only whoever asks for a WebSocket is upgraded; other offers are answered as plain HTTP", () => {
  const asked = (upgrade: string | undefined): boolean =>
    wantsWebSocket({ headers: { upgrade } } as unknown as IncomingMessage);
  expect(["websocket", "WebSocket", "h2c", "websocket, h2c", "", undefined].map(asked)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ]);
});

test("who is refused hears why in plain HTTP, its bytes counted, and loses the socket also with its half open", async () => {
  const stream = new PassThrough();
  const closed = once(stream, "close");
  refuse(stream, { status: "503 Service Unavailable", reason: null, text: "später" });
  expect(String(stream.read())).toBe(
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 7\r\n\r\nspäter",
  );
  await closed;
  expect(stream.destroyed).toBe(true);
});

test("a stranger may send a first frame and no byte more, what came along with its request too; whoever is known may", () => {
  const most = 16_384 + 256;
  const sent = (already: number, ...chunks: readonly number[]) => {
    const stream = new PassThrough();
    const release = limitBytes(stream, already);
    for (const bytes of chunks) stream.emit("data", Buffer.alloc(bytes));
    return { stream, release };
  };
  expect([
    sent(0, most).stream.destroyed,
    sent(0, most, 1).stream.destroyed,
    sent(0, most - 1, 1, 1).stream.destroyed,
    sent(100, most - 100).stream.destroyed,
    sent(100, most - 99).stream.destroyed,
  ]).toEqual([false, true, true, false, true]);
  const { stream, release } = sent(0, most);
  release();
  stream.emit("data", Buffer.alloc(most));
  expect([stream.destroyed, stream.listenerCount("data")]).toEqual([false, 0]);
});

test("requests of one connection are answered one after another, those of another one beside them, and none once it is gone", async () => {
  const begun: string[] = [];
  const open = new Map<string, ServerResponse>();
  const server = createServer(
    inTurn((request, response) => {
      begun.push(request.url ?? "");
      open.set(request.url ?? "", response);
    }, virtualClock()),
  );
  onTestFinished(() => void server.close());
  const port = await listen(server, "127.0.0.1", 0);
  const client = () => {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  const all = (...paths: readonly string[]) =>
    paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join("");
  const heard: string[] = [];
  const first = client().on("data", (bytes: Buffer) => heard.push(bytes.toString("latin1")));
  first.write(all("/1", "/2", "/3"));
  await vi.waitUntil(() => begun.length > 0);
  const other = client();
  other.write(all("/a", "/b"));
  await vi.waitUntil(() => begun.length > 1);
  expect(begun).toEqual(["/1", "/a"]);
  open.get("/1")?.end("one");
  await vi.waitUntil(() => begun.includes("/2"));
  open.get("/2")?.end("two");
  await vi.waitUntil(() => begun.includes("/3"));
  open.get("/3")?.end("three");
  await vi.waitUntil(() => heard.join("").includes("three"));
  expect(heard.join("").match(/one|two|three/g)).toEqual(["one", "two", "three"]);
  // A connection that was idle meanwhile is answered at once.
  first.write(all("/4"));
  await vi.waitUntil(() => begun.includes("/4"));
  const gone = new Promise((resolve) => open.get("/a")?.once("close", resolve));
  other.destroy();
  await gone;
  await new Promise(setImmediate);
  expect(begun).toEqual(["/1", "/a", "/2", "/3", "/4"]);
});

test("of a client that sends on and on no more is read than a few packets, and all is answered in the end", async () => {
  const count = 10_000;
  let [read, answered] = [0, 0];
  let first: ServerResponse | undefined;
  const turn = inTurn((_request, response) => {
    answered += 1;
    if (first === undefined) first = response;
    else response.end();
  }, virtualClock());
  const server = createServer((request, response) => {
    read += 1;
    turn(request, response);
  });
  onTestFinished(() => void server.close());
  const port = await listen(server, "127.0.0.1", 0);
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const heard: Buffer[] = [];
  socket.on("data", (bytes: Buffer) => heard.push(bytes));
  await once(socket, "connect");
  for (let sent = 0; sent < count; sent += 100) socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100));
  await vi.waitUntil(() => read > 16);
  // Other connections are served by turns of the loop that would have read on here.
  for (let round = 0; round < 20; round += 1) await (await fetch(`http://127.0.0.1:${port}`)).text();
  expect([read - 20 < count / 2, answered - 20]).toEqual([true, 1]);
  first?.end();
  await vi.waitUntil(() => answered - 20 === count, { timeout: 60_000 });
  socket.end();
  await once(socket, "close");
  expect(Buffer.concat(heard).toString("latin1").split("HTTP/1.1 200")).toHaveLength(count + 1);
});

test("a client that takes no byte of its answer for a minute is cut; a slow one, and one that has it all, are not", async () => {
  const clock = virtualClock();
  const answering = (writableLength: number) => {
    const socket = { writableLength, destroyed: false, destroy: () => void (socket.destroyed = true) };
    const response = Object.assign(new EventEmitter(), { closed: false });
    inTurn(() => {}, clock)({ socket } as never, response as never);
    response.emit("prefinish");
    return { socket, response };
  };
  const { socket: whole } = answering(0);
  expect(clock.armed()).toBe(0);
  const stalled = answering(100);
  const slow = answering(100);
  const done = answering(100);
  done.response.emit("close");
  await clock.advance(59_999);
  slow.socket.writableLength = 99;
  expect(stalled.socket.destroyed).toBe(false);
  await clock.advance(1);
  const cut = () => [whole, stalled.socket, slow.socket, done.socket].map(({ destroyed }) => destroyed);
  expect(cut()).toEqual([false, true, false, false]);
  await clock.advance(60_000);
  expect([cut(), clock.armed()]).toEqual([[false, true, true, false], 0]);
});

test("a client that takes one large piece of an answer slowly is not cut while it takes some", async () => {
  const clock = virtualClock();
  const server = createServer(inTurn((_request, response) => response.end(Buffer.alloc(64 << 20)), clock));
  onTestFinished(() => void server.close());
  const port = await listen(server, "127.0.0.1", 0);
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let got = 0;
  socket.on("data", (bytes: Buffer) => {
    got += bytes.length;
    if (got >= 16 << 20) socket.pause();
  });
  socket.pause();
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  await vi.waitUntil(() => clock.armed() === 1);
  await clock.advance(59_999);
  socket.resume();
  await vi.waitUntil(() => got >= 16 << 20);
  await clock.advance(1);
  expect(clock.armed()).toBe(1);
  // Once the system's own buffers are full it takes none.
  await vi.waitUntil(async () => {
    await clock.advance(60_000);
    return clock.armed() === 0;
  });
});
