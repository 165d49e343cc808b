// One server's life in virtual time, over a connection that is played: when it starts, waits after failures,
// rests, is listed again and ends. The same with real programs is in servers.ci.test.ts.
import { Fault, silentLog, type Log } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Connection } from "../src/connection.ts";
import type { Listing } from "../src/definition.ts";
import { server } from "../src/server.ts";

const signal = new AbortController().signal;
const listing = (name: string): Listing => ({
  tools: [{ name, description: "", schema: { type: "object" }, readOnly: true }],
  leftOut: [],
});

function stage({ idleMs = 0 } = {}) {
  const clock = virtualClock();
  const at = () => clock.mono();
  const done: string[] = [];
  const logged: string[] = [];
  const events: { readonly gone: () => void; readonly toolsChanged: () => void }[] = [];
  const next = { open: null as Error | null, list: null as Error | null, call: null as Error | null };
  const hold: { call: Promise<unknown> | null } = { call: null };
  const log: Log = {
    ...silentLog,
    debug: ({ server: of }, message) => void logged.push(`debug ${message} (${String(of)})`),
    warn: ({ server: of, error }, message) =>
      void logged.push(
        `warn ${message} (${[of, ...(error === undefined ? [] : [error])].map(String).join(", ")})`,
      ),
  };
  const fail = (what: keyof typeof next): void => {
    const error = next[what];
    if (error === null) return;
    if (what !== "open") next[what] = null;
    throw error;
  };
  const one = server({
    name: "s",
    idleMs: () => idleMs,
    async open(of) {
      const number = events.push(of);
      done.push(`open ${number}`);
      fail("open");
      const connection: Connection = {
        about: { name: "Fake", version: `${number}` },
        pid: 100 + number,
        async list() {
          done.push(`list ${number}`);
          fail("list");
          return listing(`tool${done.length}`);
        },
        async call(tool, args) {
          done.push(`call ${number} ${tool} ${JSON.stringify(args)}`);
          fail("call");
          return (await hold.call) ?? `answer ${number}`;
        },
        async close() {
          done.push(`close ${number}`);
        },
      };
      return connection;
    },
    async listed({ tools }) {
      // The store takes its time.
      await new Promise((resolve) => setImmediate(resolve));
      done.push(`listed ${tools.length}`);
    },
    clock,
    log,
  });
  return {
    clock,
    at,
    done,
    /** What was done since the last look. */
    since: () => done.splice(0),
    logged,
    events,
    next,
    hold,
    one,
    /** Why it cannot be used now. */
    refusal: () =>
      one.ready().then(
        () => "it is ready",
        (error: Error) => error.message,
      ),
    call: (mayCall: () => Promise<void> = async () => {}, by: AbortSignal = signal) =>
      one.call("t", { a: 1 }, by, mayCall),
  };
}

test("the first call starts it, lists its tools before it calls, and later calls find it there", async () => {
  const { one, call, since } = stage();
  expect(one.state()).toEqual({ state: "stopped", starts: 0 });
  const first = call();
  expect(one.state()).toEqual({ state: "starting", starts: 1 });
  expect(await first).toBe("answer 1");
  expect(since()).toEqual(["open 1", "list 1", "listed 1", 'call 1 t {"a":1}']);
  expect(await Promise.all([call(), call(), one.ready()])).toHaveLength(3);
  expect(since()).toEqual(['call 1 t {"a":1}', 'call 1 t {"a":1}']);
  expect(one.state()).toEqual({
    state: "running",
    about: { name: "Fake", version: "1" },
    pid: 101,
    starts: 1,
  });
  await one.stop();
  expect(since()).toEqual(["close 1"]);
  await expect(one.ready()).rejects.toMatchObject({ code: "unavailable", message: "it is being stopped" });
});

test("what may not be called is not called, and a call that was stopped before it begins neither", async () => {
  const { one, call, since } = stage();
  await expect(
    call(async () => {
      since();
      throw new Fault("denied", "no");
    }),
  ).rejects.toMatchObject({ code: "denied" });
  expect(since()).toEqual([]);
  await expect(call(undefined, AbortSignal.abort())).rejects.toMatchObject({
    code: "aborted",
    message: "the call was stopped",
  });
  expect(since()).toEqual([]);
  expect(one.state().state).toBe("running");
});

test("a start that fails waits 1, 2, 4 seconds and so on up to five minutes, and says how long", async () => {
  const { clock, one, next, since, logged, refusal } = stage();
  next.open = new Fault("unavailable", "it ended at once");
  const waits: number[] = [];
  for (let round = 0; round < 11; round += 1) {
    await expect(one.ready()).rejects.toThrow("it ended at once");
    const told = await refusal();
    const seconds = Number(/^it ended at once; it is tried again in (\d+) s$/.exec(told)?.[1]);
    waits.push(seconds);
    expect(since()).toEqual([`open ${round + 1}`]);
    await clock.advance(seconds * 1_000 - 1);
    await expect(one.ready()).rejects.toThrow("it is tried again in 1 s");
    await clock.advance(1);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
  expect(one.state()).toEqual({ state: "failed", reason: "it ended at once", starts: 11 });
  expect(new Set(logged)).toEqual(
    new Set(["warn an MCP server could not be started (s, Fault: it ended at once)"]),
  );
  next.open = new Error("words of a library");
  await expect(one.ready()).rejects.toThrow("words of a library");
  expect(one.state().reason).toBe("it could not be started");
  one.forgive();
  next.open = null;
  await one.ready();
  expect(one.state()).toMatchObject({ state: "running", starts: 13 });
  expect(one.state().reason).toBeUndefined();
});

test("a server whose tools cannot be listed is closed again and counts as failed", async () => {
  const { one, next, since } = stage();
  next.list = new Fault("unavailable", "it does not list");
  await expect(one.ready()).rejects.toThrow("it does not list");
  expect(since()).toEqual(["open 1", "list 1", "close 1"]);
  expect(one.state()).toEqual({ state: "failed", reason: "it does not list", starts: 1 });
});

test("one that ends by itself waits longer each time, unless it ran for a minute", async () => {
  const { clock, one, events, since, logged, refusal } = stage();
  const end = async (afterMs: number): Promise<string> => {
    await one.ready();
    await clock.advance(afterMs);
    events.at(-1)?.gone();
    expect(one.state()).toMatchObject({ state: "failed", reason: "it ended, or its connection broke" });
    const told = await refusal();
    await clock.advance(300_000);
    return told;
  };
  const after = (seconds: number) => `it ended, or its connection broke; it is tried again in ${seconds} s`;
  expect(await end(0)).toBe(after(1));
  expect(await end(59_999)).toBe(after(2));
  expect(await end(60_000)).toBe(after(1));
  expect(since()).toEqual(
    [1, 2, 3].flatMap((number) => [`open ${number}`, `list ${number}`, "listed 1", `close ${number}`]),
  );
  expect(logged).toEqual(Array(3).fill("warn an MCP server ended by itself, or its connection broke (s)"));
  // The end of a connection that is no more says nothing about the one that is.
  await one.ready();
  events[0]?.gone();
  expect(one.state().state).toBe("running");
});

test("a good call ends the row of failures", async () => {
  const { clock, one, events, call, refusal } = stage();
  const wait = async (): Promise<string> => {
    events.at(-1)?.gone();
    const told = await refusal();
    await clock.advance(10_000);
    return told.slice(-3);
  };
  await one.ready();
  expect(await wait()).toBe("1 s");
  await one.ready();
  expect(await wait()).toBe("2 s");
  await call();
  expect(await wait()).toBe("1 s");
});

test("nobody's call for the time of rest ends it, one that is under way does not", async () => {
  const { clock, one, call, hold, since, logged } = stage({ idleMs: 5_000 });
  await call();
  await clock.advance(4_999);
  expect(one.state().state).toBe("running");
  await call();
  await clock.advance(4_999);
  expect(one.state().state).toBe("running");
  await clock.advance(1);
  expect([one.state(), logged]).toEqual([
    { state: "stopped", starts: 1 },
    ["debug an MCP server that nobody called is ended (s)"],
  ]);
  since();
  const answer = Promise.withResolvers<unknown>();
  hold.call = answer.promise;
  const long = call();
  await clock.advance(60_000);
  expect(one.state().state).toBe("running");
  answer.resolve("late");
  expect(await long).toBe("late");
  await clock.advance(5_000);
  expect(one.state()).toEqual({ state: "stopped", starts: 2 });
  expect(since()).toEqual(["open 2", "list 2", "listed 1", 'call 2 t {"a":1}', "close 2"]);
});

test("a look at its tools lets it rest as well; a time of 0 never does", async () => {
  const resting = stage({ idleMs: 5_000 });
  await resting.one.refresh();
  expect(resting.since()).toEqual(["open 1", "list 1", "listed 1", "list 1", "listed 1"]);
  await resting.clock.advance(5_000);
  expect(resting.one.state().state).toBe("stopped");
  const staying = stage();
  await staying.call();
  await staying.clock.advance(1e9);
  expect(staying.one.state().state).toBe("running");
});

test("tools that change often are listed once in half a second, and not after its end", async () => {
  const { clock, one, events, next, since, logged } = stage();
  await one.ready();
  since();
  for (let times = 0; times < 3; times += 1) events[0]?.toolsChanged();
  await clock.advance(499);
  expect(since()).toEqual([]);
  await clock.advance(1);
  expect(since()).toEqual(["list 1", "listed 1"]);
  events[0]?.toolsChanged();
  next.list = new Error("no");
  await clock.advance(500);
  expect([since(), logged]).toEqual([
    ["list 1"],
    ["warn the changed tools of an MCP server could not be listed (s, Error: no)"],
  ]);
  events[0]?.toolsChanged();
  await one.stop();
  await clock.advance(500);
  expect(since()).toEqual(["close 1"]);
});

test("a session that the server does not know any more is begun anew, once", async () => {
  const { one, call, next, since } = stage();
  await one.ready();
  since();
  next.call = new Fault("conflict", "no such session");
  expect(await call()).toBe("answer 2");
  const anew = ['call 1 t {"a":1}', "close 1", "open 2", "list 2", "listed 1", 'call 2 t {"a":1}'];
  expect(since()).toEqual(anew);
  next.call = new Fault("unavailable", "gone");
  await expect(call()).rejects.toMatchObject({ code: "unavailable" });
  expect(since()).toEqual(['call 2 t {"a":1}']);
});

test("a stop while it starts closes what comes up", async () => {
  const { one, since } = stage();
  const ready = one.ready();
  await Promise.all([ready, one.stop()]);
  expect(since()).toEqual(["open 1", "list 1", "listed 1", "close 1"]);
  expect(one.state()).toEqual({ state: "stopped", starts: 1 });
});
