// What goes out: numbers for a scrape, frames to a socket that is slow, events in order, answers to a
// repeated key.
import { EventEmitter } from "node:events";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { WebSocket } from "ws";
import { eventHub } from "../src/event-hub.ts";
import { onceByKey } from "../src/idempotency.ts";
import { metricRegistry } from "../src/prometheus-text.ts";
import { socketSendBuffer } from "../src/send-buffer.ts";
import { follow } from "../src/subscription.ts";

test("a page of numbers: every kind, every sign that is escaped, both sides of a bucket", async () => {
  const metrics = metricRegistry();
  const counter = metrics.counter("a_total", 'helps\nwith \\ and "');
  counter.add({ kind: 'x"y\\z\nw' });
  counter.add({ kind: "plain", of: "b" }, 2.5);
  counter.add({ kind: "plain", of: "b" });
  counter.add({});
  const histogram = metrics.histogram("b_seconds", "times", [1, 2]);
  for (const value of [1, 1.001, 2, 2.001]) histogram.observe({ at: "h" }, value);
  metrics.look("gauge", "c", "read now", () => [
    [{}, Infinity],
    [{ of: "low" }, -Infinity],
    [{ of: "zero" }, 0],
  ]);
  metrics.look("gauge", "d", "fails", () => {
    throw new Error("no");
  });
  metrics.look("counter", "e", "fails later", async () => Promise.reject(new Error("no")));
  metrics.look("counter", "f", "later", async () => [[{ n: "1" }, 1e21]]);
  expect(await metrics.text()).toMatchInlineSnapshot(`
    "# HELP a_total helps\\nwith \\\\ and "
    # TYPE a_total counter
    a_total{kind="x\\"y\\\\z\\nw"} 1
    a_total{kind="plain",of="b"} 3.5
    a_total 1
    # HELP b_seconds times
    # TYPE b_seconds histogram
    b_seconds_bucket{at="h",le="1"} 1
    b_seconds_bucket{at="h",le="2"} 3
    b_seconds_bucket{at="h",le="+Inf"} 4
    b_seconds_sum{at="h"} 6.001999999999999
    b_seconds_count{at="h"} 4
    # HELP c read now
    # TYPE c gauge
    c +Inf
    c{of="low"} -Inf
    c{of="zero"} 0
    # HELP f later
    # TYPE f counter
    f{n="1"} 1e+21
    "
  `);
});

test("beyond 200 series of a metric new ones count together, and known ones on their own", async () => {
  const metrics = metricRegistry();
  const counter = metrics.counter("a_total", "many");
  for (let n = 0; n < 205; n += 1) counter.add({ who: `w${n}`, how: "h" });
  counter.add({ who: "w0", how: "h" });
  counter.add({ who: "w199", how: "h" });
  const lines = (await metrics.text()).split("\n");
  expect(lines.filter((line) => line.startsWith("a_total{"))).toHaveLength(201);
  for (const line of [
    'a_total{who="w0",how="h"} 2',
    'a_total{who="w199",how="h"} 2',
    'a_total{who="other",how="other"} 5',
  ])
    expect(lines).toContain(line);
});

class Socket extends EventEmitter {
  readonly CLOSED = 3;
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly log: string[] = [];
  taken: (() => void)[] = [];
  send(frame: string, taken: () => void): void {
    this.log.push(frame);
    this.taken.push(taken);
  }
  close(code: number, reason: string): void {
    this.log.push(`close ${code} ${reason}`);
  }
  terminate(): void {
    this.log.push("cut");
  }
}
const limits = { softBytes: 100, hardBytes: 200, stalledMs: 1_000 };
function sending() {
  const [socket, clock] = [new Socket(), virtualClock()];
  return { socket, clock, buffer: socketSendBuffer(socket as unknown as WebSocket, clock, limits) };
}

test("beyond the soft limit what is only shown is dropped, beyond the hard one the client is closed", async () => {
  const { socket, clock, buffer } = sending();
  for (const [bytes, word] of [
    [99, "shown"],
    [100, "dropped"],
  ] as const) {
    socket.bufferedAmount = bytes;
    buffer.offer(word);
  }
  socket.bufferedAmount = 200;
  buffer.send("last");
  socket.bufferedAmount = 201;
  buffer.send("too much");
  buffer.send("again");
  const closed = "close 1013 the client does not read";
  expect(socket.log).toEqual(["shown", "last", closed]);
  await clock.advance(1_999);
  expect(socket.log.at(-1)).toBe(closed);
  await clock.advance(1);
  expect(socket.log.at(-1)).toBe("cut");
});

test("unless told otherwise, one mebibyte may wait before what is only shown is dropped, eight before the end, for half a minute", async () => {
  const [socket, clock] = [new Socket(), virtualClock()];
  const buffer = socketSendBuffer(socket as unknown as WebSocket, clock);
  for (const bytes of [1_048_575, 1_048_576]) {
    socket.bufferedAmount = bytes;
    buffer.offer(`shown at ${bytes}`);
  }
  for (const bytes of [8_388_608, 8_388_609]) {
    socket.bufferedAmount = bytes;
    buffer.send(`sent at ${bytes}`);
  }
  const closed = "close 1013 the client does not read";
  expect(socket.log).toEqual(["shown at 1048575", "sent at 8388608", closed]);
  const other = new Socket();
  const slow = socketSendBuffer(other as unknown as WebSocket, clock);
  slow.send("a");
  other.bufferedAmount = 1;
  await clock.advance(29_999);
  slow.checkProgress();
  expect(other.log).toEqual(["a"]);
  await clock.advance(1);
  slow.checkProgress();
  expect(other.log).toEqual(["a", closed]);
  // A frame for a socket that closes is none.
  other.readyState = 2;
  slow.send("b");
  slow.offer("c");
  expect(other.log).toHaveLength(2);
});

test("a client that answers the close is not cut", async () => {
  const { socket, clock, buffer } = sending();
  buffer.close(1000, "bye");
  socket.readyState = 3;
  socket.emit("close");
  buffer.close(1000, "twice");
  await clock.advance(10_000);
  expect([socket.log, clock.armed()]).toEqual([["close 1000 bye"], 0]);
});

test("who takes no byte for the whole time is closed; who takes some, or has nothing to take, is not", async () => {
  const { socket, clock, buffer } = sending();
  await clock.advance(5_000);
  buffer.checkProgress();
  buffer.send("a");
  socket.bufferedAmount = 50;
  await clock.advance(999);
  buffer.checkProgress();
  socket.taken[0]?.();
  await clock.advance(999);
  buffer.checkProgress();
  expect(socket.log).toEqual(["a"]);
  await clock.advance(1);
  buffer.checkProgress();
  expect(socket.log.at(-1)).toMatch(/^close 1013/);
});

test("whoever waits for room goes on when there is some, all at once, and when the socket is gone", async () => {
  const { socket, clock, buffer } = sending();
  const went: string[] = [];
  const waits = (name: string) => void buffer.room().then(() => went.push(name));
  socket.bufferedAmount = 99;
  waits("at once");
  await clock.advance(0);
  buffer.send("a");
  socket.bufferedAmount = 100;
  waits("b");
  waits("c");
  socket.taken[0]?.();
  await clock.advance(0);
  expect([went, buffer.hasRoom()]).toEqual([["at once"], false]);
  socket.bufferedAmount = 99;
  socket.taken[0]?.();
  await clock.advance(0);
  expect(went).toEqual(["at once", "b", "c"]);
  socket.bufferedAmount = 100;
  waits("d");
  socket.readyState = 3;
  socket.emit("close");
  await clock.advance(0);
  expect(buffer.hasRoom()).toBe(true);
  waits("e");
  await clock.advance(0);
  expect(went.slice(3)).toEqual(["d", "e"]);
});

/** A log of so many events, and what a follower from this seq is sent. */
function following(count: number, afterSeq = 0) {
  const hub = eventHub();
  const clock = virtualClock();
  const sent: string[] = [];
  const asked: number[] = [];
  let last = count;
  let [gone, failing] = [false, false];
  const stop = follow({
    stream: "s",
    afterSeq,
    hub,
    log: silentLog,
    outlet: {
      room: async () => {},
      hasRoom: () => true,
      send: (text: string) => void sent.push(text),
      offer: (text: string) => void sent.push(`shown ${text}`),
      close: (code: number) => void sent.push(`close ${code}`),
      checkProgress: () => {},
    },
    events: {
      async after(_stream: string, seq: number, limit: number) {
        asked.push(seq);
        if (failing) throw new Error("no");
        if (gone) {
          gone = false;
          return { gone: true, lastSeq: last, events: [] };
        }
        const events = Array.from({ length: Math.min(limit, Math.max(0, last - seq)) }, (_, n) => ({
          seq: seq + n + 1,
          body: JSON.stringify({ n: seq + n + 1 }),
        }));
        return { gone: false, lastSeq: last, events };
      },
    } as never,
  });
  const seqs = () => sent.map((text) => (JSON.parse(text) as { seq: number }).seq);
  return {
    hub,
    sent,
    asked,
    seqs,
    stop,
    settle: () => clock.advance(0),
    grow: (by: number) => void (last += by),
    forget: () => void (gone = true),
    fail: () => void (failing = true),
  };
}

test.for([0, 1, 99, 100, 101, 250])("of %d events each is sent once, in order", async (count) => {
  const one = following(count);
  await one.settle();
  expect(one.seqs()).toEqual(Array.from({ length: count }, (_, n) => n + 1));
});

test("a follower goes on where it was, hears what is new, and nothing once it stopped", async () => {
  const one = following(7, 5);
  await one.settle();
  one.grow(2);
  one.hub.appended("other");
  await one.settle();
  expect(one.seqs()).toEqual([6, 7]);
  one.hub.appended("s");
  one.hub.appended("s");
  await one.settle();
  expect(one.seqs()).toEqual([6, 7, 8, 9]);
  expect(JSON.parse(one.sent[0] ?? "")).toEqual({
    type: "event",
    event: "chat.message",
    payload: { n: 6, seq: 6 },
    seq: 6,
  });
  one.hub.show("s", "chat.typing" as never, {} as never);
  expect(one.sent.at(-1)).toMatch(/^shown /);
  one.forget();
  one.hub.appended("s");
  await one.settle();
  expect(JSON.parse(one.sent.at(-1) ?? "")).toEqual({ type: "event", event: "resync", payload: {}, seq: 9 });
  one.stop();
  one.grow(1);
  one.hub.appended("s");
  one.hub.show("s", "chat.typing" as never, {} as never);
  await one.settle();
  expect([one.sent.length, one.hub.isFollowed("s")]).toEqual([6, false]);
});

test("a follower whose log cannot be read is closed, so that it comes back", async () => {
  const one = following(1);
  one.fail();
  one.hub.appended("s");
  await one.settle();
  expect(one.sent.at(-1)).toBe("close 1011");
});

test("a key runs once: at the same time, later, after a restart; not for others, other methods and other params", async () => {
  const cells = new Map<string, string>();
  const lives: (number | undefined)[] = [];
  const store = {
    get: async (key: string) => (cells.has(key) ? { value: cells.get(key) } : null),
    put: async (key: string, value: string, how: { ttlMs?: number }) => {
      lives.push(how.ttlMs);
      cells.set(key, value);
      return {};
    },
  } as never;
  let runs = 0;
  const run = async () => {
    runs += 1;
    if (runs === 9) throw new Error("it fails");
    return { run: runs };
  };
  const first = onceByKey(store);
  const ask = (more: object = {}, by = first) =>
    by({ peer: "p", method: "m", key: "k", params: { a: 1 }, ...more }, run);
  expect(await Promise.all([ask(), ask()])).toEqual([{ run: 1 }, { run: 1 }]);
  const [open, other] = [ask({ key: "open" }), ask({ key: "open", params: { a: 2 } })];
  await expect(other).rejects.toMatchObject({ code: "conflict" });
  expect([await open, await ask(), await ask({}, onceByKey(store))]).toEqual([
    { run: 2 },
    { run: 1 },
    { run: 1 },
  ]);
  await expect(ask({ params: { a: 2 } })).rejects.toMatchObject({ code: "conflict" });
  for (const more of [{ peer: "q" }, { method: "n" }, { key: "l" }]) await ask(more);
  expect([runs, new Set(lives)]).toEqual([5, new Set([86_400_000])]);
  // What failed runs again, also after a death in between.
  runs = 8;
  await expect(ask({ key: "fails" })).rejects.toThrow("it fails");
  expect(await ask({ key: "fails" })).toEqual({ run: 10 });
});
