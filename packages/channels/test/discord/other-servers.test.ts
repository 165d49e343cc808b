// Servers that speak Discord's protocol more carelessly than Discord does: nothing that can be done without is asked of them.
import { silentLog } from "@parley/protocol";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { expectFault } from "../contract.ts";
import { alice, dm, discordRig, type Rig } from "./rig.ts";

let rig: Rig;
beforeEach(async () => {
  rig = await discordRig();
});
afterEach(async () => {
  await rig.close();
});

const part = { kind: "text", text: "hi", plain: "hi", entities: [] } as const;
const how = (key: string) => ({ idempotencyKey: key, signal: new AbortController().signal });
const room = () => ({ channel: "discord", account: "default", kind: "channel", peer: rig.room }) as const;
const create = "POST /channels/:channel/messages";
/** Begins a session by hand, with what the server says of it. */
const ready = (body: object) => {
  const told = { session_id: "by-hand", user: { id: rig.fake.bot().id }, ...body };
  rig.fake.gateway.pushText(JSON.stringify({ op: 0, t: "READY", s: 1, d: told }));
};
const isLive = () => rig.fake.gateway.sessions().some((session) => session.isConnected);

test.each<[string, object, Record<string, string>, number]>([
  ["says no wait", { message: "slow down" }, {}, 1_000],
  ["names a date", {}, { "Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT" }, 1_000],
  ["asks for years", { retry_after: 1e9 }, {}, 3_600_000],
  ["asks for less than nothing", { retry_after: -5 }, {}, 1],
])("a limit that %s is a wait of some length", async (_what, body, headers, retryAfterMs) => {
  rig.fake.inject({ method: create, trouble: { kind: "answer", status: 429, body, headers } });
  const fault = await expectFault("rate_limited", rig.channel.send(room(), part, how("1")));
  expect(fault.retryAfterMs).toBe(retryAfterMs);
});

test("a limit that only its body calls global holds back every other call", async () => {
  rig.fake.inject({ method: create, trouble: { kind: "answer", status: 429, body: { retry_after: 30, global: true } } });
  await expectFault("rate_limited", rig.channel.send(room(), part, how("1")));
  await expectFault("rate_limited", rig.channel.typing?.(room()) ?? Promise.resolve());
  expect(rig.fake.calls("POST /channels/:channel/typing")).toEqual([]);
});

test.each(["ftp://127.0.0.1/", "https://127.0.0.1/", 5, null])(
  "where to resume (%s) is left out when it is no such address",
  async (url) => {
    const texts: string[] = [];
    await rig.channel.start(async (batch) => void texts.push(...batch.flatMap((event) => ("text" in event ? [event.text] : []))));
    ready({ resume_gateway_url: url });
    rig.fake.as(alice).says("one");
    await expect.poll(() => texts).toEqual(["one"]);
    rig.fake.gateway.drop(4000);
    await expect.poll(isLive).toBe(false);
    await expect.poll(async () => (await rig.clock.advance(1_000), isLive()), { timeout: 8_000 }).toBe(true);
    rig.fake.as(alice).says("two");
    await expect.poll(() => texts.includes("two")).toBe(true);
  },
);

test("the menu finds its application where neither READY nor the API tells it", async () => {
  await rig.channel.start(async () => {});
  ready({});
  rig.fake.as(alice).says("heard");
  await expect.poll(() => rig.memory.sequence()).toBeGreaterThan(1);
  rig.fake.inject({ method: "GET /applications/@me", trouble: { kind: "answer", status: 404, body: { message: "404: Not Found" } } });
  await rig.channel.act?.(dm, { kind: "setCommands", commands: [{ name: "ask", description: "Ask" }] }, how("1"));
  expect(
    rig.fake
      .bot()
      .commands()
      .map(({ name }) => name),
  ).toEqual(["ask"]);
});

test("our own messages are known again where the history has no times", async () => {
  await rig.channel.start(async () => {});
  const mine = { id: "2000", content: "hi", author: { id: rig.fake.bot().id } };
  rig.fake.inject({ method: "GET /channels/:channel/messages", trouble: { kind: "answer", status: 200, body: [mine] } });
  expect(await rig.channel.sentSince?.(room(), part, Date.now(), new AbortController().signal)).toEqual([{ messageId: "2000" }]);
});

test("a channel that is stopped leaves no timer behind", async () => {
  const made = vi.spyOn(globalThis, "setInterval");
  const ended = vi.spyOn(globalThis, "clearInterval");
  try {
    const channel = await rig.open({ log: silentLog });
    const timers = made.mock.results.map(({ value }) => value as unknown);
    await channel.stop();
    const left = timers.filter((timer) => !ended.mock.calls.some(([each]) => each === timer));
    expect(timers.length).toBeGreaterThan(0);
    expect(left).toEqual([]);
  } finally {
    made.mockRestore();
    ended.mockRestore();
  }
});
