// One exchange with a server: what may have been sent when it fails, each of its times on both sides, and
// which connection it takes.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createServer as plainServer } from "node:net";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Exchange, transport } from "../src/transport.ts";

const sockets = new Set<Socket>();
const server = createServer((request, response) => serve(request, response));
server.on("connection", (socket) => void sockets.add(socket));
let serve: (request: IncomingMessage, response: ServerResponse) => void;
let clock: ReturnType<typeof virtualClock>;
let line: ReturnType<typeof transport>;

beforeEach(async () => {
  clock = virtualClock();
  line = transport(clock, "Testland");
  serve = (_request, response) => void response.end("ok");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  line.close();
  server.closeAllConnections();
  server.close();
  await once(server, "close");
  sockets.clear();
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret?a=b`;
const whole = (more: Partial<Exchange> = {}): Exchange => ({
  url: url(),
  method: "POST",
  body: "body",
  deadlineMs: 1_000,
  maxBytes: 10,
  line: "calls",
  ...more,
});
/** The exchange's outcome in words, and whether it is there yet. */
function asked(more: Partial<Exchange> = {}): { readonly outcome: Promise<string>; isOver(): boolean } {
  let isOver = false;
  const outcome = line.exchange(whole(more)).then(
    ({ status, bytes }) => `${status} ${Buffer.from(bytes).toString()}`,
    (error: unknown) =>
      error instanceof Fault ? `${error.code}: ${error.message}` : `flaw: ${String(error)}`,
  );
  void outcome.then(() => (isOver = true));
  return { outcome, isOver: () => isOver };
}
/** Resolves when the server has the next request. */
const arrival = (answer: (response: ServerResponse) => void = () => {}): Promise<ServerResponse> =>
  new Promise((arrived) => {
    serve = (_request, response) => {
      answer(response);
      arrived(response);
    };
  });

test("an exchange is sent as it is told, and its whole answer comes back", async () => {
  const seen: unknown[] = [];
  serve = (request, response) => {
    void request.toArray().then((chunks) => {
      const { method, url: path, headers } = request;
      seen.push([method, path, headers["x-mine"], Buffer.concat(chunks as Buffer[]).toString()]);
      response.writeHead(418, { "x-theirs": "tea" }).end("0123456789");
    });
  };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("one,");
    yield Buffer.from("two");
  }
  const answer = await line.exchange(whole({ method: "PUT", headers: { "X-Mine": "1" } }));
  expect([answer.status, answer.headers["x-theirs"], Buffer.from(answer.bytes).toString()]).toEqual([
    418,
    "tea",
    "0123456789",
  ]);
  await line.exchange(whole({ body: pieces(), stallMs: 50 }));
  const { body: _none, ...bare } = whole({ method: "DELETE" });
  await line.exchange(bare);
  expect(seen).toEqual([
    ["PUT", "/secret?a=b", "1", "body"],
    ["POST", "/secret?a=b", undefined, "one,two"],
    ["DELETE", "/secret?a=b", undefined, ""],
  ]);
  expect(clock.armed()).toBe(0);
});

test("no whole answer within the deadline is ambiguous, from the first moment on", async () => {
  const arrived = arrival((response) => void response.write("0"));
  const { outcome, isOver } = asked();
  await arrived;
  await clock.advance(999);
  expect(isOver()).toBe(false);
  await clock.advance(1);
  expect(await outcome).toBe("ambiguous: no whole answer from Testland within 1000 ms");
  expect(clock.armed()).toBe(0);
});

test("silence before any answer counts from the connection, and is no shorter than it is told", async () => {
  const arrived = arrival();
  const { outcome, isOver } = asked({ stallMs: 200 });
  await arrived;
  await clock.advance(199);
  expect(isOver()).toBe(false);
  await clock.advance(1);
  expect(await outcome).toBe("ambiguous: nothing came from Testland for 200 ms");
  expect(clock.armed()).toBe(0);
});

test("a server that takes no connection within ten seconds was certainly sent nothing", async () => {
  // It never speaks TLS, so the connection is never there.
  const held: Socket[] = [];
  const mute = plainServer((socket) => void held.push(socket)).listen(0, "127.0.0.1");
  await once(mute, "listening");
  const connected = once(mute, "connection");
  const secure = `https://127.0.0.1:${(mute.address() as AddressInfo).port}/`;
  const { outcome, isOver } = asked({ url: secure, deadlineMs: 60_000, stallMs: 500 });
  await connected;
  await clock.advance(9_999);
  expect(isOver()).toBe(false);
  await clock.advance(1);
  expect(await outcome).toBe("unavailable: no connection to Testland within 10000 ms");
  expect(clock.armed()).toBe(0);
  for (const socket of held) socket.destroy();
  mute.close();
});

test("a connection once made has no time limit of its own", async () => {
  const arrived = arrival();
  const { outcome, isOver } = asked({ deadlineMs: 60_000 });
  const response = await arrived;
  await clock.advance(59_999);
  expect(isOver()).toBe(false);
  response.end("late");
  expect(await outcome).toBe("200 late");
});

test("a call given up before it began is aborted, and one under way ambiguous", async () => {
  let requests = 0;
  serve = () => void (requests += 1);
  expect(await asked({ signal: AbortSignal.abort() }).outcome).toBe(
    "aborted: the call was aborted before it began",
  );
  expect(requests).toBe(0);
  const stop = new AbortController();
  const arrived = arrival();
  const { outcome } = asked({ signal: stop.signal });
  const response = await arrived;
  const gone = once(response, "close");
  stop.abort();
  expect(await outcome).toBe("ambiguous: the call was aborted");
  await gone;
  expect(clock.armed()).toBe(0);
});

test("a call given up while it connects was certainly not sent", async () => {
  const stop = new AbortController();
  const { outcome } = asked({ signal: stop.signal });
  stop.abort();
  expect(await outcome).toBe("aborted: the call was aborted");
});

test("nobody there is unavailable with the system's word and nothing of the address", async () => {
  expect(await asked({ url: "http://127.0.0.1:1/secret" }).outcome).toBe(
    "unavailable: the connection to Testland failed: ECONNREFUSED",
  );
});

test("what breaks off is ambiguous, before the answer and in it; a body that cannot be read too", async () => {
  serve = (request) => void request.socket.destroy();
  expect(await asked().outcome).toBe("ambiguous: the connection to Testland failed: ECONNRESET");
  serve = (_request, response) => {
    response.writeHead(200, { "content-length": "9" }).write("0", () => response.destroy());
  };
  expect(await asked().outcome).toBe("ambiguous: Testland's answer was cut off: ECONNRESET");
  const arrived = arrival();
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("one");
    await arrived;
    throw new Error("the disk is gone");
  }
  expect(await asked({ body: broken() }).outcome).toBe("ambiguous: the request's body could not be read");
});

test("an answer over its limit is invalid, one at it whole", async () => {
  serve = (_request, response) => void response.end("0123456789");
  expect(await asked().outcome).toBe("200 0123456789");
  expect(await asked({ maxBytes: 9 }).outcome).toBe("invalid: Testland's answer is longer than 9 bytes");
});

test("calls share connections that are kept; polls have one of their own, which can be renewed", async () => {
  const ports: (number | undefined)[] = [];
  serve = (request, response) => {
    ports.push(request.socket.remotePort);
    response.end("ok");
  };
  const run = async (on: Exchange["line"]): Promise<void> => {
    await line.exchange(whole({ line: on }));
    await new Promise((later) => setImmediate(later));
  };
  for (const on of ["calls", "calls", "poll", "poll", "calls"] as const) await run(on);
  const [call, , poll] = ports;
  expect(ports).toEqual([call, call, poll, poll, call]);
  expect(poll).not.toBe(call);
  line.renewPoll();
  await run("poll");
  await run("calls");
  expect([ports[5] === poll, ports[6] === call]).toEqual([false, true]);
  line.close();
  await expect.poll(() => [...sockets].filter((socket) => !socket.destroyed).length).toBe(0);
  await run("calls");
  expect(ports[7]).not.toBe(call);
  // Closed, it keeps no connection that it has made since.
  await expect.poll(() => [...sockets].filter((socket) => !socket.destroyed).length).toBe(0);
});

test("one poll is under way at a time, and sixteen calls", async () => {
  const open = new Set<ServerResponse>();
  let most = 0;
  serve = (_request, response) => {
    open.add(response);
    most = Math.max(most, open.size);
  };
  const polls = [asked({ line: "poll" }), asked({ line: "poll" })];
  await expect.poll(() => open.size).toBe(1);
  const calls = Array.from({ length: 17 }, () => asked());
  await expect.poll(() => open.size).toBe(17);
  let answered = 0;
  while (answered < 19) {
    await expect.poll(() => open.size).toBeGreaterThan(0);
    const [response] = open;
    if (response === undefined) continue;
    open.delete(response);
    answered += 1;
    response.end("ok");
  }
  expect(await Promise.all([...polls, ...calls].map(({ outcome }) => outcome))).toEqual(
    Array.from({ length: 19 }, () => "200 ok"),
  );
  expect(most).toBe(17);
});

test("a call on a connection that was kept may have arrived from its first byte on", async () => {
  await line.exchange(whole());
  await new Promise((later) => setImmediate(later));
  const stop = new AbortController();
  const { outcome } = asked({ signal: stop.signal });
  await new Promise((later) => setImmediate(later));
  stop.abort();
  expect(await outcome).toBe("ambiguous: the call was aborted");
});

test("closing lets what is under way end, drops idle connections and ends polls", async () => {
  const open: ServerResponse[] = [];
  serve = (_request, response) => void open.push(response);
  const call = asked();
  await expect.poll(() => open.length).toBe(1);
  const poll = asked({ line: "poll" });
  await expect.poll(() => open.length).toBe(2);
  line.close();
  expect(await poll.outcome).toBe("ambiguous: the connection to Testland failed: ECONNRESET");
  open[0]?.end("whole");
  expect(await call.outcome).toBe("200 whole");
});
