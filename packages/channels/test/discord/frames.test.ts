// One connection and the loop around it, frame by frame: what is sent when, what ends it and why, how long it
// waits before the next, and what health says meanwhile. The socket is a list of what was written to it, the
// clock is virtual.
import { EventEmitter } from "node:events";
import { Fault, type Log, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import type { WebSocket } from "ws";
import { type Ending, gatewayConnection, type Session } from "../../src/discord/connection.ts";
import { keepGateway } from "../../src/discord/gateway.ts";
import { healthBoard } from "../../src/health.ts";
import { fakeRest, refused } from "./fake-rest.ts";
import { alice } from "./rig.ts";

class Socket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  readonly did: unknown[] = [];
  readonly url: string;
  constructor(url: string) {
    super();
    this.url = url;
  }
  send(text: string): void {
    this.did.push(JSON.parse(text));
  }
  close(code: number): void {
    this.readyState = 2;
    this.did.push(`closes with ${code}`);
  }
  terminate(): void {
    this.readyState = 3;
    this.did.push("is cut");
  }
  gives(frame: unknown): void {
    this.emit("message", Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame)));
  }
  isClosed(code: number): void {
    this.readyState = 3;
    this.emit("close", code);
  }
}

const hello = (everyMs: number) => ({ op: 10, d: { heartbeat_interval: everyMs } });
const readyBody = { session_id: "s1", resume_gateway_url: "wss://resume.test/?x=1", user: { id: alice.id } };
const ready = (s: number | null, body: unknown = readyBody) => ({ op: 0, t: "READY", s, d: body });
const dispatched = (t: string, s: unknown, d: unknown = null) => ({ op: 0, t, s, d });
const kept: Session = { id: "s0", resumeUrl: "wss://old.test/", sequence: 41 };

function connection(session: Session | null = null, more: { readonly takes?: number } = {}) {
  const clock = virtualClock();
  const stop = new AbortController();
  const sockets: Socket[] = [];
  const told: unknown[] = [];
  const lines: unknown[] = [];
  let takes = more.takes ?? Infinity;
  const log = { ...silentLog, debug: (fields: unknown, words: string) => lines.push([words, fields]) } as Log;
  let ending: Ending | null = null;
  void gatewayConnection({
    url: "wss://gateway.test/?shard=3",
    open(url) {
      const socket = new Socket(url);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    token: "secret",
    intents: 513,
    session,
    onDispatch(dispatch) {
      told.push(dispatch);
      return (takes -= 1) > 0;
    },
    onLive: (body) => told.push(["live", body]),
    onAlive: () => told.push("alive"),
    clock,
    ids: { ...seededIds(1), chance: () => 0.25 },
    log,
    signal: stop.signal,
  }).then((ended) => (ending = ended));
  const [socket] = sockets;
  if (socket === undefined) throw new Error("no socket was opened");
  return { clock, stop, socket, told, lines, ended: () => ending };
}

describe("one connection", () => {
  test("identifies, is live with READY, counts what comes, and beats with the last number", async () => {
    const { clock, socket, told, ended } = connection();
    expect(socket.url).toBe("wss://gateway.test/?shard=3&v=10&encoding=json");
    socket.gives(hello(40_000));
    socket.gives(hello(10));
    expect(socket.did).toEqual([
      {
        op: 2,
        d: {
          token: "secret",
          intents: 513,
          properties: { os: process.platform, browser: "parley", device: "parley" },
          presence: { status: "online", activities: [], since: null, afk: false },
        },
      },
    ]);
    socket.did.length = 0;
    socket.gives(ready(5));
    const session = { id: "s1", resumeUrl: "wss://resume.test/?x=1", sequence: 5 };
    expect(told.splice(0)).toEqual([
      ["live", readyBody],
      { event: "READY", body: readyBody, sequence: 5, session },
    ]);
    socket.gives(dispatched("A", 7, { a: 1 }));
    socket.gives(dispatched("B", 6));
    socket.gives(dispatched("C", "8"));
    socket.gives({ op: 0, t: 9, s: 9, d: null });
    socket.gives({ op: 99 });
    expect(told.splice(0)).toEqual([
      { event: "A", body: { a: 1 }, sequence: 7, session: { ...session, sequence: 7 } },
      { event: "B", body: null, sequence: 6, session: { ...session, sequence: 7 } },
      { event: "C", body: null, sequence: null, session: { ...session, sequence: 7 } },
    ]);
    await clock.advance(9_999);
    expect(socket.did).toEqual([]);
    await clock.advance(1);
    expect(socket.did.splice(0)).toEqual([{ op: 1, d: 7 }]);
    socket.gives({ op: 11 });
    expect(told.splice(0)).toEqual(["alive"]);
    socket.gives({ op: 1 });
    expect(socket.did.splice(0)).toEqual([{ op: 1, d: 7 }]);
    socket.gives({ op: 11 });
    await clock.advance(40_000);
    expect(socket.did.splice(0)).toEqual([{ op: 1, d: 7 }]);
    expect(ended()).toBeNull();
    await clock.advance(40_000);
    expect(socket.did.splice(0)).toEqual(["closes with 4200"]);
    socket.gives(dispatched("LATE", 10));
    socket.isClosed(1005);
    await clock.advance(0);
    expect(told).toEqual(["alive"]);
    expect(ended()).toEqual({
      code: null,
      reason: "a heartbeat was not acknowledged",
      reached: "live",
      refused: null,
      session: { ...session, sequence: 7 },
    });
    await clock.advance(600_000);
    expect(socket.did).toEqual([]);
  });

  test("resumes with its session and its number, and each event that is told again gives it time", async () => {
    const { clock, socket, told, ended } = connection(kept);
    socket.gives(hello(1_000_000));
    expect(socket.did.splice(0)).toEqual([{ op: 6, d: { token: "secret", session_id: "s0", seq: 41 } }]);
    for (const s of [42, 43]) {
      await clock.advance(29_999);
      socket.gives(dispatched("A", s));
    }
    await clock.advance(29_999);
    socket.gives(dispatched("RESUMED", 44));
    expect(told.filter((each) => Array.isArray(each))).toEqual([["live", null]]);
    await clock.advance(60_000);
    expect(ended()).toBeNull();
    socket.isClosed(4009);
    await clock.advance(0);
    expect(ended()).toEqual({
      code: 4009,
      reason: "the connection closed with 4009",
      reached: "live",
      refused: null,
      session: { ...kept, sequence: 44 },
    });
  });

  test.each([
    ["READY", null, 30_000, "READY did not come within 30 s"],
    ["RESUMED", kept, 30_000, "RESUMED did not come within 30 s"],
  ] as const)("waits half a minute for %s", async (_, session, afterMs, reason) => {
    const { clock, socket, ended } = connection(session);
    socket.gives(hello(1_000_000));
    socket.did.length = 0;
    await clock.advance(afterMs - 1);
    expect(socket.did).toEqual([]);
    await clock.advance(1);
    expect(socket.did).toEqual(["closes with 4200"]);
    // The other side never closes.
    await clock.advance(999);
    expect(ended()).toBeNull();
    await clock.advance(1);
    expect(socket.did).toEqual(["closes with 4200", "is cut"]);
    expect(ended()).toEqual({ code: null, reason, reached: "hello", refused: null, session });
  });

  test("waits twenty seconds for the first word, and cuts what never opened", async () => {
    const { clock, socket, lines, ended } = connection(kept);
    socket.readyState = 0;
    await clock.advance(19_999);
    expect(socket.did).toEqual([]);
    await clock.advance(1);
    expect(socket.did).toEqual(["is cut"]);
    expect(lines).toEqual([["ending the gateway connection", { reason: "HELLO did not come within 20 s" }]]);
    socket.isClosed(1006);
    await clock.advance(0);
    expect(ended()).toEqual({
      code: null,
      reason: "HELLO did not come within 20 s",
      reached: "nothing",
      refused: null,
      session: kept,
    });
  });

  test.each<[string, unknown, Pick<Ending, "reason" | "refused">]>([
    ["op 7", { op: 7 }, { reason: "Discord asked for a new connection", refused: null }],
    ["op 9", { op: 9, d: false }, { reason: "Discord refused the session", refused: "gone" }],
    ["op 9 for now", { op: 9, d: true }, { reason: "Discord refused the session", refused: "for now" }],
    ["op 9 without a word", { op: 9 }, { reason: "Discord refused the session", refused: "gone" }],
  ])("%s ends it, and what follows is not heard", async (_, frame, told) => {
    const { clock, socket, ended } = connection(kept);
    socket.gives(hello(1_000_000));
    socket.gives(frame);
    socket.gives({ op: 7 });
    socket.isClosed(1000);
    await clock.advance(0);
    expect(ended()).toEqual({ code: null, reached: "hello", session: kept, ...told });
  });

  test.each([
    { session_id: "s1" },
    { session_id: "s1", user: null },
    { session_id: "s1", user: { id: "alice" } },
    { session_id: "", user: { id: alice.id } },
    { session_id: 7, user: { id: alice.id } },
    null,
  ])("a READY of %j is none", async (body) => {
    const { clock, socket, told, ended } = connection();
    socket.gives(hello(1_000_000));
    socket.gives(ready(1, body));
    socket.isClosed(1000);
    await clock.advance(0);
    expect(told).toEqual([]);
    expect(ended()).toMatchObject({
      reason: "READY does not say which session, or who we are",
      reached: "hello",
      session: null,
    });
  });

  test.each([
    ["https://resume.test/", "wss://gateway.test/?shard=3"],
    ["wss://", "wss://gateway.test/?shard=3"],
    [undefined, "wss://gateway.test/?shard=3"],
    ["ws://127.0.0.1:9/", "ws://127.0.0.1:9/"],
  ])("a session that is to be resumed at %s is resumed at %s", (told, url) => {
    const { socket, ...rest } = connection();
    socket.gives(hello(1_000_000));
    socket.gives(ready(null, { ...readyBody, resume_gateway_url: told }));
    expect(rest.told[1]).toMatchObject({
      session: { id: "s1", resumeUrl: url, sequence: 0 },
      sequence: null,
    });
  });

  test("ends when no more events are taken, keeping the last one's number", async () => {
    const { clock, socket, told, ended } = connection(kept, { takes: 2 });
    socket.gives(hello(1_000_000));
    for (const s of [42, 43, 44]) socket.gives(dispatched("A", s));
    socket.isClosed(1006);
    await clock.advance(0);
    expect(told).toHaveLength(2);
    expect(ended()).toMatchObject({ reason: "too many events wait", session: { sequence: 43 } });
  });

  test("frames that cannot be read are said once each and nothing else", () => {
    const { socket, told, lines } = connection();
    for (const frame of ["no JSON", "7", "null", '"text"', "[]", "{}"]) socket.gives(frame);
    expect(lines).toEqual(Array.from({ length: 4 }, () => ["a frame of the gateway could not be read", {}]));
    expect([told, socket.did]).toEqual([[], []]);
  });

  test("a failed handshake says why, and a stop ends it at once, also one from before", async () => {
    const failed = connection(kept);
    failed.socket.emit("error", new Error("ECONNREFUSED"));
    failed.socket.isClosed(1006);
    const stopped = connection(kept);
    stopped.stop.abort();
    expect(stopped.socket.did).toEqual(["closes with 4200"]);
    stopped.socket.isClosed(4200);
    await failed.clock.advance(0);
    expect([failed.ended()?.reason, failed.ended()?.reached]).toEqual([
      "no connection to Discord's gateway: ECONNREFUSED",
      "nothing",
    ]);
    expect(stopped.ended()).toEqual({
      code: null,
      reason: "the channel stops",
      reached: "nothing",
      refused: null,
      session: kept,
    });
    const torn = connection();
    torn.socket.isClosed(1006);
    await torn.clock.advance(0);
    expect([torn.ended()?.code, torn.ended()?.reason]).toEqual([null, "the connection closed with nothing"]);
  });
});

/** A loop over sockets that a test plays; chance is always one half. */
function loop(
  session: Session | null,
  more: {
    readonly identifiedAtMs?: number;
    readonly answer?: unknown;
    readonly room?: () => Promise<void>;
  } = {},
) {
  const clock = virtualClock({ startMs: 1_000_000 });
  const stop = new AbortController();
  const sockets: Socket[] = [];
  const identified: unknown[] = [];
  const lines: unknown[] = [];
  let attempts = 0;
  const log = {
    ...silentLog,
    ...Object.fromEntries(
      (["info", "warn", "error"] as const).map((level) => [
        level,
        (fields: unknown, words: string) => lines.push([level, words, fields]),
      ]),
    ),
  } as Log;
  const health = healthBoard(clock, silentLog);
  const limit = { remaining: 900, reset_after: 3_600_000 };
  const rest = fakeRest({
    "GET /gateway/bot": more.answer ?? { url: "wss://general.test/", session_start_limit: limit },
  });
  let isOver = false;
  const done = keepGateway({
    rest,
    open(url) {
      const socket = new Socket(url);
      sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    token: "t",
    intents: 1,
    session,
    identifiedAtMs: more.identifiedAtMs ?? 0,
    onDispatch: () => true,
    room: more.room ?? (async () => {}),
    onIdentified: (_, atMs) => identified.push(atMs - 1_000_000),
    onAttempt: () => (attempts += 1),
    health,
    clock,
    ids: { ...seededIds(1), chance: () => 0.5 },
    log,
    signal: stop.signal,
  }).then(() => (isOver = true));
  /** Plays the newest socket to its end, and answers how long it took until the next was opened. */
  const untilNext = async (play: (socket: Socket) => unknown): Promise<unknown> => {
    await clock.advance(0);
    const count = sockets.length;
    const socket = sockets[count - 1];
    if (socket === undefined) throw new Error("no socket");
    await play(socket);
    if (socket.readyState !== 3) socket.isClosed(1006);
    const beganMs = clock.now();
    await clock.advance(0);
    while (sockets.length === count && clock.now() - beganMs < 400_000 && !isOver) {
      if (!(await clock.advanceToNext())) break;
    }
    const next = sockets.length === count ? "none" : new URL(sockets.at(-1)?.url ?? "").host;
    const { state, reason } = health.read();
    return [next, clock.now() - beganMs, state, ...(reason === undefined ? [] : [reason])];
  };
  return {
    clock,
    stop,
    sockets,
    identified,
    lines,
    rest,
    health,
    done,
    untilNext,
    attempts: () => attempts,
    isOver: () => isOver,
  };
}

const goesLive = (socket: Socket): void => {
  socket.gives(hello(1_000_000));
  if ((socket.did[0] as { readonly op: number }).op === 2) socket.gives(ready(1));
  else socket.gives(dispatched("RESUMED", 50));
};

describe("the loop", () => {
  test("resumes at the session's own address, and tries the general one after two that nobody reached", async () => {
    const { untilNext, rest, attempts, stop, done, clock } = loop(kept);
    const story = [];
    for (let turn = 0; turn < 3; turn += 1) story.push(await untilNext(() => {}));
    expect(rest.asked).toEqual(["GET /gateway/bot", "GET /gateway/bot"]);
    story.push(await untilNext(goesLive));
    expect(story).toMatchInlineSnapshot(`
      [
        [
          "old.test",
          750,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "general.test",
          1500,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "general.test",
          3000,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
      ]
    `);
    expect(attempts()).toBe(5);
    stop.abort();
    await clock.advance(1_000);
    await done;
  });

  test("identifies after three resumes that are not taken, and says so once", async () => {
    const { untilNext, lines, identified } = loop(kept);
    const story = [];
    for (let turn = 0; turn < 3; turn += 1)
      story.push(await untilNext((socket) => socket.gives(hello(1_000_000))));
    story.push(await untilNext(goesLive));
    expect(story).toMatchInlineSnapshot(`
      [
        [
          "old.test",
          750,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          1500,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "general.test",
          3000,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "resume.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
      ]
    `);
    expect(lines).toMatchInlineSnapshot(`
      [
        [
          "warn",
          "the session cannot be resumed: identifying anew",
          {
            "code": null,
            "reason": "the connection closed with nothing",
          },
        ],
        [
          "info",
          "the gateway is live",
          {
            "resumed": false,
          },
        ],
      ]
    `);
    expect(identified).toMatchInlineSnapshot(`
      [
        5250,
      ]
    `);
  });

  test("waits between connections that were live: a moment, then longer, and anew after a life of 30 s", async () => {
    const { untilNext, clock } = loop(kept);
    const story = [];
    for (let turn = 0; turn < 6; turn += 1) story.push(await untilNext(goesLive));
    const lives = (lifeMs: number) => async (socket: Socket) => {
      goesLive(socket);
      await clock.advance(lifeMs);
    };
    story.push("a life of 29.999 s", await untilNext(lives(29_999)));
    story.push("a life of 30 s", await untilNext(lives(30_000)), await untilNext(goesLive));
    expect(story).toMatchInlineSnapshot(`
      [
        [
          "old.test",
          500,
          "ok",
        ],
        [
          "old.test",
          1500,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          3000,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
        [
          "old.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
        "a life of 29.999 s",
        [
          "old.test",
          5000,
          "degraded",
          "the connection closed with nothing",
        ],
        "a life of 30 s",
        [
          "old.test",
          500,
          "ok",
        ],
        [
          "old.test",
          1500,
          "degraded",
          "the connection closed with nothing",
        ],
      ]
    `);
  });

  test("gives a refused session one to five seconds, and a close code what it asks for", async () => {
    const { untilNext, lines, isOver } = loop(kept);
    const story = [
      await untilNext((socket) => (goesLive(socket), socket.gives({ op: 9, d: true }))),
      await untilNext((socket) => (goesLive(socket), socket.gives({ op: 9, d: false }))),
      await untilNext((socket) => (goesLive(socket), socket.isClosed(4009))),
      await untilNext((socket) => (goesLive(socket), socket.isClosed(4000))),
      await untilNext((socket) => (goesLive(socket), socket.isClosed(4004))),
    ];
    expect(story).toMatchInlineSnapshot(`
      [
        [
          "old.test",
          3000,
          "ok",
        ],
        [
          "general.test",
          3000,
          "degraded",
          "Discord refused the session",
        ],
        [
          "general.test",
          5000,
          "degraded",
          "the connection closed with 4009",
        ],
        [
          "resume.test",
          5000,
          "degraded",
          "the connection closed with 4000",
        ],
        [
          "none",
          0,
          "down",
          "Discord refuses the bot's token. Open https://discord.com/developers/applications, your application, "Bot", "Reset Token", and put the new one into channels.discord.token or DISCORD_BOT_TOKEN",
        ],
      ]
    `);
    expect(isOver()).toBe(true);
    expect(lines.filter((line) => Array.isArray(line) && line[0] !== "info")).toMatchInlineSnapshot(`
      [
        [
          "warn",
          "the session cannot be resumed: identifying anew",
          {
            "code": null,
            "reason": "Discord refused the session",
          },
        ],
        [
          "warn",
          "the session cannot be resumed: identifying anew",
          {
            "code": 4009,
            "reason": "the connection closed with 4009",
          },
        ],
        [
          "error",
          "the gateway refuses this account for good",
          {
            "code": 4004,
          },
        ],
      ]
    `);
  });

  test.each([
    ["plenty", { remaining: 100, reset_after: 3_600_000 }, 999_999, 4_999],
    ["scarce", { remaining: 99, reset_after: 990_000 }, 999_999, 9_999],
    ["very scarce", { remaining: 1, reset_after: 990_000 }, 999_999, 299_999],
    ["scarce, soon over", { remaining: 99, reset_after: 99 }, 999_999, 4_999],
    ["long ago", { remaining: 100, reset_after: 0 }, 990_000, 0],
    ["in the future", { remaining: 100, reset_after: 0 }, 9_999_999, 300_000],
    ["unknown", { remaining: "many", reset_after: "soon" }, 999_999, 4_999],
  ])("spaces what it identifies: %s", async (_, limit, identifiedAtMs, waitMs) => {
    const answer = { url: "wss://general.test/", session_start_limit: limit };
    const { clock, sockets, stop } = loop(null, { identifiedAtMs, answer });
    await clock.advance(Math.max(0, waitMs - 1));
    expect(sockets).toHaveLength(waitMs === 0 ? 1 : 0);
    await clock.advance(1);
    expect(sockets).toHaveLength(1);
    stop.abort();
  });

  test("without a start left says for how long, and waits it out", async () => {
    const answer = { url: "wss://g.test/", session_start_limit: { remaining: 0, reset_after: 90_000 } };
    const { clock, rest, health, attempts, stop, sockets } = loop(null, { answer });
    await clock.advance(0);
    expect([health.read().state, health.read().reason, attempts()]).toEqual([
      "degraded",
      "Discord allows no new session for 2 min: the bot was started too often today",
      1,
    ]);
    await clock.advance(89_999);
    expect(rest.asked).toHaveLength(1);
    rest.answers.set("GET /gateway/bot", { url: "wss://g.test/" });
    await clock.advance(1);
    expect([rest.asked.length, sockets.length]).toEqual([2, 1]);
    stop.abort();
  });

  test.each<[string, unknown, string, string, number | null]>([
    ["a refused token", refused(401), "down", "Reset Token", null],
    ["no right", new Fault("denied", "not this bot"), "down", "not this bot", null],
    ["an outage", refused(503), "degraded", "", 2_000],
    ["no address", { url: "http://x" }, "degraded", "Discord's /gateway/bot names no address", 2_000],
    ["a bug", new Error("odd"), "degraded", "odd", 2_000],
  ])("an account that meets %s says so", async (_, answer, state, reason, againMs) => {
    const { clock, rest, health, attempts, lines, stop, isOver } = loop(null, { answer });
    await clock.advance(0);
    expect(health.read().state).toBe(state);
    expect(health.read().reason).toContain(reason);
    expect([attempts(), isOver()]).toEqual([1, againMs === null]);
    await clock.advance(againMs ?? 3_600_000);
    expect(rest.asked.length > 1).toBe(againMs !== null);
    expect(lines.map((line) => (line as unknown[])[1])).toEqual(
      reason === "odd" ? expect.arrayContaining(["the gateway loop met a bug"]) : [],
    );
    stop.abort();
  });

  test("asks again every ten minutes after a token that worked once was refused", async () => {
    const { untilNext, clock, rest, health, attempts, stop } = loop(null);
    await untilNext((socket) => {
      goesLive(socket);
      rest.answers.set("GET /gateway/bot", refused(401));
      socket.gives({ op: 9, d: false });
    });
    expect(health.read().state).toBe("down");
    const before = [rest.asked.length, attempts()];
    await clock.advance(600_000);
    expect([rest.asked.length, attempts()]).toEqual(before.map((count) => count + 1));
    stop.abort();
  });

  test("counts resumes that are not taken anew after a life, and after it identified", async () => {
    const { untilNext, lines } = loop(kept);
    const says = (socket: Socket) => socket.gives(hello(1_000_000));
    const hosts: unknown[] = [];
    const plays = [says, says, goesLive, says, says, goesLive, says, says, says, says, goesLive];
    for (const play of plays) hosts.push(((await untilNext(play)) as readonly unknown[])[0]);
    expect(hosts).toEqual([
      ...Array<string>(8).fill("old.test"),
      "general.test",
      "general.test",
      "resume.test",
    ]);
    const identifies = "the session cannot be resumed: identifying anew";
    expect(lines.filter((line) => (line as readonly unknown[])[1] === identifies)).toHaveLength(1);
  });

  test("without a start left and without a time for it waits five seconds, as between any two", async () => {
    const answer = { url: "wss://g.test/", session_start_limit: { remaining: 0, reset_after: 0 } };
    const { clock, rest, stop } = loop(null, { answer });
    await clock.advance(4_999);
    expect(rest.asked).toHaveLength(1);
    await clock.advance(1);
    expect(rest.asked).toHaveLength(2);
    stop.abort();
  });

  test("gives up where it is told that it has no right, also after a life", async () => {
    const { untilNext, rest, isOver, health, attempts } = loop(null);
    const last = await untilNext((socket) => {
      goesLive(socket);
      rest.answers.set("GET /gateway/bot", new Fault("denied", "not this bot"));
      socket.gives({ op: 9, d: false });
    });
    expect([(last as readonly unknown[])[0], isOver(), health.read().reason]).toEqual([
      "none",
      true,
      "not this bot",
    ]);
    // Live, its end, and the refusal.
    expect(attempts()).toBe(3);
  });

  test("says when the server was last heard, at each beat, and connects when there is room for events", async () => {
    const waits = Promise.withResolvers<void>();
    const { clock, sockets, health, stop } = loop(kept, { room: () => waits.promise });
    await clock.advance(1_000);
    expect(sockets).toHaveLength(0);
    waits.resolve();
    await clock.advance(0);
    const [socket] = sockets;
    socket?.gives(hello(40_000));
    socket?.gives(dispatched("RESUMED", 50));
    expect(health.read().lastInboundAtMs).toBe(clock.now());
    await clock.advance(20_000);
    expect(health.read().lastInboundAtMs).toBe(clock.now() - 20_000);
    socket?.gives({ op: 11 });
    expect(health.read().lastInboundAtMs).toBe(clock.now());
    stop.abort();
  });
});
