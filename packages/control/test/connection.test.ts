// One client from its first frame to its last, by the clock: what it is sent, what is
// asked for it, and that nothing of it stays.
import { EventEmitter } from "node:events";
import { Fault, silentLog, systemIds, type Log } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import type { Caller } from "../src/auth/authenticate.ts";
import { connectedClients } from "../src/connected-clients.ts";
import { serveConnection, type ConnectionOptions } from "../src/connection.ts";
import { eventHub } from "../src/event-hub.ts";

class Socket extends EventEmitter {
  readonly OPEN = 1;
  readonly CLOSED = 3;
  readyState = 1;
  bufferedAmount = 0;
  readonly log: unknown[] = [];
  send(frame: string, taken?: () => void): void {
    this.log.push(JSON.parse(frame));
    taken?.();
  }
  ping(): void {
    this.log.push("ping");
  }
  close(code: number, reason: string): void {
    this.log.push(`close ${code} ${reason}`);
    this.readyState = 2;
  }
  terminate(): void {
    this.log.push("cut");
  }
  /** The client is gone. */
  end(): void {
    this.readyState = 3;
    this.emit("close");
  }
  /** What came since the last look. */
  heard(): readonly unknown[] {
    return this.log.splice(0);
  }
}

const own: Caller = {
  peer: "web-ada",
  scopes: ["read", "write"],
  client: { name: "page", version: "1" },
  device: "d1",
  rotation: 2,
  address: "10.0.0.7",
};

function served(more: Partial<ConnectionOptions> = {}, caller: Caller = own) {
  const [socket, clock, hub, clients] = [new Socket(), virtualClock(), eventHub(), connectedClients()];
  const noted: unknown[] = [];
  const asked: unknown[] = [];
  const lines: unknown[] = [];
  const callers: Caller[] = [];
  const answers: (() => void)[] = [];
  const known = { now: true };
  const log: Log = { ...silentLog, debug: (facts, words) => void lines.push([words, facts]) };
  const connection = serveConnection(
    socket as unknown as WebSocket,
    { address: "10.0.0.7", origin: null } as never,
    {
      server: { version: "1.2.3", bootId: "boot" },
      authenticate: async (params) => (asked.push(["authenticate", params]), { caller, deviceToken: "new" }),
      refusals: { note: (...args: unknown[]) => void noted.push(args) } as never,
      devices: {
        isKnown: async (...args) => (asked.push(["known", ...args]), known.now),
      },
      clients,
      dispatch: ({ id, method }, by) => {
        callers.push(by);
        return new Promise((resolve) => {
          answers.push(() => resolve({ type: "res", id, ok: true, payload: method }));
        });
      },
      events: {
        after: async (stream, afterSeq, limit) => {
          asked.push(["events", stream, afterSeq, limit]);
          return { gone: false, lastSeq: 40, events: [] };
        },
      },
      hub,
      clock,
      ids: systemIds(),
      log,
      webAccount: "main",
      onAuthenticated: () => void asked.push(["let in"]),
      ...more,
    },
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const say = async (frame: unknown, isBinary = false): Promise<void> => {
    const text = typeof frame === "string" ? frame : JSON.stringify(frame);
    socket.emit("message", Buffer.from(text), isBinary);
    await settle();
  };
  const request = (id: string, method: string, params: object = {}) =>
    say({ type: "req", id, method, params });
  const connect = (params: object = {}) =>
    request("1", "connect", {
      protocol: { min: 1, max: 1 },
      client: { name: "page", version: "1" },
      ...params,
    });
  const took = () => asked.splice(0);
  return {
    socket,
    clock,
    hub,
    clients,
    noted,
    took,
    lines,
    callers,
    answers,
    known,
    connection,
    say,
    settle,
    request,
    connect,
  };
}

type Served = ReturnType<typeof served>;

const result = {
  protocol: 1,
  server: { version: "1.2.3", bootId: "boot" },
  scopes: ["read", "write"],
  deviceToken: "new",
  peer: "web-ada",
  seq: 40,
  resync: false,
};
const welcome = (more: object = {}) => ({ type: "res", id: "1", ok: true, payload: { ...result, ...more } });
const shown = { type: "event", event: "chat.typing", payload: { working: true } };

test("a client is greeted, follows its conversation from what it saw last, and leaves nothing behind", async () => {
  const { socket, clock, hub, clients, took, connect, noted } = served();
  await connect({ lastSeq: 7, thread: "tea" });
  expect(socket.heard()).toEqual([welcome()]);
  const stream = "web:main:dm:web-ada:tea";
  expect(took()[0]).toEqual(["authenticate", expect.objectContaining({ lastSeq: 7, thread: "tea" })]);
  expect([hub.isFollowed(stream), clients.count("d1")]).toEqual([true, 1]);
  hub.show(stream, "chat.typing", { working: true });
  expect(socket.heard()).toEqual([shown]);
  socket.end();
  expect([hub.isFollowed(stream), clients.count("d1"), clock.armed(), noted]).toEqual([false, 0, 0, []]);
});

test("the log is asked from where the client was, once to look and then to read; without a place from its end", async () => {
  const seen = served();
  await seen.connect({ lastSeq: 7 });
  expect(seen.took().slice(1)).toEqual([
    ["events", "web:main:dm:web-ada", 7, 1],
    ["let in"],
    ["events", "web:main:dm:web-ada", 7, 100],
  ]);
  const fresh = served();
  await fresh.connect();
  expect(fresh.took().slice(1)).toEqual([
    ["events", "web:main:dm:web-ada", 0, 1],
    ["let in"],
    ["events", "web:main:dm:web-ada", 40, 100],
  ]);
  const deaf = served({}, { ...own, device: null });
  await deaf.connect({ follows: false, lastSeq: 3 });
  expect([deaf.socket.heard(), deaf.took().slice(1)]).toEqual([[welcome({ seq: 0 })], [["let in"]]]);
  expect([deaf.hub.isFollowed("web:main:dm:web-ada"), deaf.clients.count("d1")]).toEqual([false, 0]);
});

test("whose place the log forgot starts over at its end; who had none is not told so", async () => {
  const events: ConnectionOptions["events"] = {
    after: async (_stream, afterSeq) => ({ gone: afterSeq !== 9, lastSeq: 9, events: [] }),
  };
  const behind = served({ events });
  await behind.connect({ lastSeq: 7 });
  expect(behind.socket.heard()[0]).toEqual(welcome({ seq: 9, resync: true }));
  const fresh = served({ events });
  await fresh.connect();
  expect(fresh.socket.heard()[0]).toEqual(welcome({ seq: 9, resync: false }));
});

test("who shakes no hands within fifteen seconds is closed and noted; who does is not", async () => {
  const silent = served();
  await silent.clock.advance(14_999);
  expect(silent.socket.heard()).toEqual([]);
  await silent.clock.advance(1);
  const why = "no handshake within fifteen seconds";
  expect(silent.socket.heard()).toEqual([`close 1008 ${why}`]);
  expect(silent.noted).toEqual([["no_handshake", "10.0.0.7", { address: "10.0.0.7", why }]]);
  const quick = served();
  await quick.connect();
  quick.socket.heard();
  await quick.clock.advance(15_000);
  expect([quick.socket.heard(), quick.noted]).toEqual([[], []]);
});

test.each<[string, string, boolean, string, string]>([
  ["bytes", "{}", true, "close 1003 frames are text", "frames are text"],
  [
    "too much",
    "x".repeat(16_385),
    false,
    "close 1009 the first frame is too large",
    "the first frame is too large",
  ],
  ["no JSON", "x".repeat(16_384), false, "close 1008 the frame is not JSON", "the frame is not JSON"],
])("of a stranger %s close the connection, and are noted", async (_what, text, isBinary, closed, why) => {
  const { socket, say, noted } = served();
  await say(text, isBinary);
  expect(socket.heard()).toEqual([closed]);
  expect(noted).toEqual([["bad_frame", "10.0.0.7", { address: "10.0.0.7", why }]]);
});

test("of a known client a wrong frame is answered under its id; without one, and as bytes, it closes unnoted", async () => {
  const frame = 'a frame is { type: "req", id, method, params }';
  const { socket, say, connect, noted } = served();
  await connect();
  socket.heard();
  await say({ id: "7" });
  expect(socket.heard()).toEqual([
    { type: "res", id: "7", ok: false, error: { code: "invalid", message: frame } },
  ]);
  await say(JSON.stringify({ type: "req", id: "8", method: "x".repeat(20_000) }));
  expect(socket.heard()).toMatchObject([{ id: "8", ok: false }]);
  await say({});
  expect([socket.heard(), noted]).toEqual([[`close 1008 ${frame}`], []]);
});

test("a second frame before the greeting closes; what cannot be greeted is told under its id, then closed", async () => {
  const hasty = served({ authenticate: () => new Promise(() => {}) });
  await hasty.connect();
  await hasty.request("2", "status");
  expect(hasty.socket.heard()).toEqual(["close 1008 a frame before the handshake was answered"]);
  const told = async (act: (served: Served) => Promise<void>, more: Partial<ConnectionOptions> = {}) => {
    const one = served(more);
    await act(one);
    return [...one.socket.heard(), one.noted.map((each) => (each as unknown[])[0])];
  };
  const error = (code: string, message: string) => ({
    type: "res",
    id: "1",
    ok: false,
    error: { code, message },
  });
  const closed = "close 1008 the handshake failed";
  expect(await told((one) => one.request("1", "status"))).toEqual([
    error("unauthorized", 'the first frame must be "connect"'),
    closed,
    ["bad_frame"],
  ]);
  expect(await told((one) => one.connect({ protocol: { min: 2, max: 3 } }))).toEqual([
    error("unsupported", "the client speaks protocol 2 to 3, this gateway 1 to 1; update the older one"),
    closed,
    [],
  ]);
  expect(await told((one) => one.connect({ protocol: { min: 0, max: 0 } }))).toMatchObject([
    { error: { code: "unsupported" } },
    closed,
    [],
  ]);
  expect(await told((one) => one.connect({ lastSeq: -1 }))).toMatchObject([
    {
      error: { code: "invalid", message: expect.stringMatching(/^params of "connect": lastSeq: /) as string },
    },
    closed,
    ["bad_frame"],
  ]);
  const authenticate = () => Promise.reject(new Fault("denied", "the token is wrong"));
  expect(await told((one) => one.connect(), { authenticate })).toEqual([
    error("unauthorized", "the token is wrong"),
    closed,
    [],
  ]);
});

test("a device that was revoked while it logged in is refused, and noted by its id", async () => {
  const { socket, clients, connect, noted } = served();
  clients.close("d1");
  await connect();
  expect(socket.heard()).toEqual([
    { type: "res", id: "1", ok: false, error: { code: "unauthorized", message: "this device was revoked" } },
    "close 1008 the handshake failed",
  ]);
  expect(noted).toEqual([["revoked", "10.0.0.7", { address: "10.0.0.7", device: "d1" }]]);
});

test("who is gone before the greeting is let in nowhere", async () => {
  let greet: (value: { caller: Caller }) => void = () => {};
  const { socket, hub, clients, connect, settle } = served({
    authenticate: () => new Promise((resolve) => (greet = resolve)),
  });
  await connect();
  socket.end();
  greet({ caller: own });
  await settle();
  await settle();
  expect([socket.heard(), hub.isFollowed("web:main:dm:web-ada"), clients.count("d1")]).toEqual([
    [],
    false,
    0,
  ]);
});

test("every half minute it is pinged, and cut where it said nothing since the last; its device is looked up by its token's turn", async () => {
  const { socket, clock, took, known, connect, request } = served();
  await connect();
  socket.heard();
  took();
  const look = ["known", "d1", 2];
  await clock.advance(30_000);
  expect([socket.heard(), took()]).toEqual([["ping"], [look]]);
  socket.emit("pong");
  await clock.advance(30_000);
  expect([socket.heard(), took()]).toEqual([["ping"], [look]]);
  // Any word of the client shows that it is there.
  await request("2", "status");
  await clock.advance(30_000);
  expect(socket.heard()).toEqual(["ping"]);
  socket.emit("pong");
  known.now = false;
  await clock.advance(30_000);
  await clock.advance(0);
  expect(socket.heard()).toEqual(["ping", "close 1008 this device was revoked"]);
  const dead = served({}, { ...own, device: null });
  await dead.connect();
  dead.socket.heard();
  dead.took();
  await dead.clock.advance(60_000);
  expect([dead.socket.heard(), dead.took(), dead.clock.armed()]).toEqual([["ping", "cut"], [], 0]);
});

test("a look at its device that fails is logged, and closes nobody", async () => {
  const why = new Fault("unavailable", "the store is away");
  const { socket, clock, lines, connect } = served({ devices: { isKnown: () => Promise.reject(why) } });
  await connect();
  socket.heard();
  await clock.advance(30_000);
  await clock.advance(0);
  expect([socket.heard(), lines]).toEqual([["ping"], [["a device could not be looked up", { error: why }]]]);
  const broken = new Error("reset");
  socket.emit("error", broken);
  expect(lines[1]).toEqual(["a client's socket failed", { error: broken }]);
});

test("64 requests are at work at once, answers come as they are ready, and an id that is at work is taken", async () => {
  const { socket, connect, request, answers, settle } = served();
  await connect();
  socket.heard();
  for (let n = 1; n <= 64; n += 1) await request(`r${n}`, "status");
  expect(socket.heard()).toEqual([]);
  await request("r65", "status");
  const error = { code: "rate_limited", message: "64 requests are at work", retryAfterMs: 1_000 };
  expect(socket.heard()).toEqual([{ type: "res", id: "r65", ok: false, error }]);
  answers[1]?.();
  answers[0]?.();
  await settle();
  expect(socket.heard()).toEqual(
    ["r2", "r1"].map((id) => ({ type: "res", id, ok: true, payload: "status" })),
  );
  // Its id is free again, and so is its room.
  await request("r1", "health");
  expect([socket.heard(), answers.length]).toEqual([[], 65]);
  await request("r3", "health");
  expect(socket.heard()).toEqual(["close 1008 two requests at work have one id"]);
});

test("a request may show another stream, and turn to another conversation once its answer is out", async () => {
  const { socket, hub, took, connect, request, callers, answers, settle } = served();
  await connect();
  await request("2", "chat.follow");
  took();
  socket.heard();
  const [by] = callers;
  expect(by).toMatchObject({ peer: "web-ada", device: "d1", address: "10.0.0.7" });
  by?.follow?.("canvas");
  by?.follow?.("canvas");
  by?.turnTo?.("other", 12);
  expect([hub.isFollowed("web:main:dm:web-ada"), hub.isFollowed("other"), hub.isFollowed("canvas")]).toEqual([
    false,
    false,
    true,
  ]);
  hub.show("canvas", "chat.typing", { working: true });
  hub.appended("canvas");
  expect([socket.heard(), took()]).toEqual([[shown], []]);
  answers[0]?.();
  await settle();
  expect(socket.heard()).toEqual([{ type: "res", id: "2", ok: true, payload: "chat.follow" }]);
  expect(took()).toEqual([["events", "other", 12, 100]]);
  expect(hub.isFollowed("other")).toBe(true);
  // Another request turns to nothing once more.
  await request("3", "status");
  answers[1]?.();
  await settle();
  expect(took()).toEqual([]);
  socket.end();
  expect(["other", "canvas"].map((stream) => hub.isFollowed(stream))).toEqual([false, false]);
  by?.follow?.("late");
  expect(hub.isFollowed("late")).toBe(false);
});

test("whoever had its own token made anew hears the answer, and is then looked up", async () => {
  const { socket, took, known, connect, request, answers, settle } = served();
  await connect();
  await request("2", "devices.list");
  await request("3", "devices.rotate");
  socket.heard();
  took();
  known.now = false;
  answers[0]?.();
  await settle();
  expect(took()).toEqual([]);
  answers[1]?.();
  await settle();
  expect(took()).toEqual([["known", "d1", 2]]);
  expect(socket.heard()).toEqual([
    { type: "res", id: "2", ok: true, payload: "devices.list" },
    { type: "res", id: "3", ok: true, payload: "devices.rotate" },
    "close 1008 this device was revoked",
  ]);
});

test("a gateway that stops says so, waits for what is at work, and closes with what clients take for a restart", async () => {
  const { socket, connect, request, answers, connection, settle } = served();
  await connect();
  await request("2", "status");
  socket.heard();
  let drained = false;
  const draining = connection.drain().then(() => (drained = true));
  await settle();
  expect([socket.heard(), drained]).toEqual([[{ type: "event", event: "shutdown", payload: {} }], false]);
  answers[0]?.();
  await draining;
  expect(socket.heard()).toEqual([
    { type: "res", id: "2", ok: true, payload: "status" },
    "close 1012 the gateway restarts",
  ]);
  const gone = served();
  await gone.connect();
  await gone.request("2", "status");
  const leaving = gone.connection.drain();
  gone.socket.end();
  await leaving;
  expect(gone.socket.heard().filter((each) => typeof each === "string")).toEqual([]);
});
