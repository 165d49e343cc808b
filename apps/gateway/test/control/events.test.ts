import fc from "fast-check";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { startControl, streamOf, until, type Client, type Fixture } from "./control-fixture.ts";

const peer = "web-test";
const stream = streamOf(peer);

async function say(control: Fixture, n: number, to = stream): Promise<number> {
  const seq = await control.store.events.append(
    to,
    `e${to}${n}`,
    JSON.stringify({ role: "assistant", text: `t${n}`, html: "", atMs: n }),
  );
  control.hub.appended(to);
  return seq;
}

const textsOf = (client: Client): string[] =>
  client.events
    .filter(({ event }) => event === "chat.message")
    .map(({ payload }) => (payload as { text: string }).text);

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `t${from + index}`);

async function follower(control: Fixture, lastSeq?: number): Promise<Client> {
  const client = await control.client();
  const answer = await client.connect({ peer, ...(lastSeq === undefined ? {} : { lastSeq }) });
  expect(answer.ok).toBe(true);
  return client;
}

describe("a client that follows a conversation", () => {
  test("gets what happens from now on, with its seq, and nothing of other conversations", async () => {
    const control = await startControl();
    await say(control, 1);
    const client = await follower(control);
    await say(control, 7, streamOf("web-other"));
    const seq = await say(control, 2);
    await until(() => client.events.length > 0);
    expect(client.events).toEqual([
      {
        type: "event",
        event: "chat.message",
        seq,
        payload: { role: "assistant", text: "t2", html: "", atMs: 2, seq },
      },
    ]);
  });

  test("gets what it missed, in order, however much it was", async () => {
    const control = await startControl();
    const first = await say(control, 1);
    for (let n = 2; n <= 350; n += 1) await say(control, n);
    const client = await follower(control, first);
    await say(control, 351);
    await until(() => client.events.length >= 350);
    expect(textsOf(client)).toEqual(numbered(2, 351));
  });

  test("is told to start over when the log no longer has what it missed", async () => {
    const control = await startControl({ eventsKept: 5 });
    const first = await say(control, 1);
    for (let n = 2; n <= 20; n += 1) await say(control, n);
    const client = await control.client();
    const answer = await client.connect({ peer, lastSeq: first });
    expect(answer.payload).toMatchObject({ resync: true });
    // Who names no place in it has missed nothing.
    const fresh = await control.client();
    expect((await fresh.connect({ peer })).payload).toMatchObject({ resync: false });
    await say(control, 21);
    await until(() => client.events.length > 0);
    expect(textsOf(client)).toEqual(["t21"]);
  });

  test("is told to start over when it is ahead of a log that was restored", async () => {
    const client = await (await startControl()).client();
    expect((await client.connect({ peer, lastSeq: 999 })).payload).toMatchObject({ resync: true, seq: 0 });
  });

  test("sees what is shown at the moment, once, without seq", async () => {
    const control = await startControl();
    const client = await follower(control);
    control.hub.show(stream, "chat.delta", { turn: "t", text: "Hel" });
    control.hub.show(streamOf("web-other"), "chat.delta", { turn: "t", text: "no" });
    await until(() => client.events.length > 0);
    expect(client.events).toEqual([
      { type: "event", event: "chat.delta", payload: { turn: "t", text: "Hel" } },
    ]);
  });

  test("leaves nothing behind in the hub", async () => {
    const control = await startControl();
    const client = await follower(control);
    expect(control.hub.isFollowed(stream)).toBe(true);
    client.socket.terminate();
    await until(() => !control.hub.isFollowed(stream));
    expect(control.server.connections()).toBe(0);
  });
});

test("wherever the connection breaks, each event arrives once and in order", async () => {
  const control = await startControl();
  let told = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ say: fc.integer({ min: 1, max: 6 }), break: fc.boolean() }), {
        minLength: 1,
        maxLength: 8,
      }),
      async (steps) => {
        const from = told + 1;
        const seen: string[] = [];
        let lastSeq = (await control.store.events.after(stream, 0, 1)).lastSeq;
        let client = await follower(control, lastSeq);
        const collect = (): void => {
          for (const event of client.events.splice(0)) {
            seen.push((event.payload as { text: string }).text);
            lastSeq = event.seq ?? lastSeq;
          }
        };
        for (const step of steps) {
          for (let n = 0; n < step.say; n += 1) void say(control, (told += 1));
          if (!step.break) continue;
          client.socket.terminate();
          await client.closed;
          collect();
          client = await follower(control, lastSeq);
        }
        await until(() => {
          collect();
          return seen.length >= told - from + 1;
        });
        client.socket.terminate();
        expect(seen).toEqual(numbered(from, told));
      },
    ),
    { numRuns: 25 },
  );
});

test("a client that does not read bounds its buffer, loses no durable event, and does not hold others back", async () => {
  const control = await startControl({ eventsKept: 5_000 });
  const lazy = await follower(control);
  const quick = await follower(control);
  lazy.socket.pause();
  const count = 600;
  const body = "x".repeat(20_000);
  const heapBefore = process.memoryUsage().rss;
  for (let n = 1; n <= count; n += 1) {
    await control.store.events.append(
      stream,
      `big${n}`,
      JSON.stringify({ role: "assistant", text: `t${n}`, html: body, atMs: n }),
    );
    control.hub.appended(stream);
    control.hub.show(stream, "chat.delta", { turn: "t", text: body });
  }
  await until(() => textsOf(quick).length === count);
  expect(textsOf(quick)).toEqual(numbered(1, count));
  // 600 messages and 600 deltas are 24 MB: the lagging client must not have them queued.
  expect(process.memoryUsage().rss - heapBefore).toBeLessThan(200_000_000);
  lazy.socket.resume();
  await until(() => textsOf(lazy).length === count);
  expect(textsOf(lazy)).toEqual(numbered(1, count));
  expect(lazy.events.filter(({ event }) => event === "chat.delta").length).toBeLessThan(count / 2);
});

describe("a client that takes nothing at all", () => {
  test("is closed after half a minute and resumes without loss", async () => {
    const clock = virtualClock();
    const control = await startControl({ clock });
    const client = await follower(control, 0);
    client.socket.pause();
    const count = 700;
    const body = "x".repeat(20_000);
    for (let n = 1; n <= count; n += 1) {
      await control.store.events.append(
        stream,
        `big${n}`,
        JSON.stringify({ role: "assistant", text: `t${n}`, html: body, atMs: n }),
      );
    }
    control.hub.appended(stream);
    await clock.advance(30_000);
    await clock.advance(30_000);
    await clock.advance(2_000);
    await until(() => control.server.connections() === 0);
    client.socket.resume();
    await client.closed;
    const seen = textsOf(client);
    const again = await follower(control, client.events.at(-1)?.seq ?? 0);
    await until(() => seen.length + textsOf(again).length === count);
    expect([...seen, ...textsOf(again)]).toEqual(numbered(1, count));
  });

  test("is not one that asks for a large answer: that arrives, and the connection stays", async () => {
    const messages = [
      { seq: 1, role: "assistant" as const, text: "x".repeat(10_000_000), html: "", atMs: 1 },
    ];
    const control = await startControl({
      handlers: {
        "chat.history": () =>
          Promise.resolve({ sessionKey: "k", messages, working: false, hasEarlier: false }),
      },
    });
    const client = await follower(control);
    expect(await client.request("chat.history", {})).toMatchObject({ ok: true, payload: { messages } });
    expect(await client.request("health", {})).toMatchObject({ ok: true });
  });

  test("but asks for much is closed when eight mebibytes wait for it", async () => {
    const messages = [{ seq: 1, role: "assistant" as const, text: "x".repeat(1_000_000), html: "", atMs: 1 }];
    const control = await startControl({
      handlers: {
        "chat.history": () =>
          Promise.resolve({ sessionKey: "k", messages, working: false, hasEarlier: false }),
      },
    });
    const client = await follower(control);
    client.socket.pause();
    for (let n = 0; n < 40; n += 1) client.send({ type: "req", id: `h${n}`, method: "chat.history" });
    await until(() => control.server.connections() === 0);
    client.socket.resume();
    expect([1006, 1013]).toContain(await client.closed);
  });
});
