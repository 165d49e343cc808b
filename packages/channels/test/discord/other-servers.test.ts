// Servers that speak Discord's protocol more carelessly than Discord does: nothing that can be done without
// is asked of them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
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
  rig.fake.inject({
    method: create,
    trouble: { kind: "answer", status: 429, body: { retry_after: 30, global: true } },
  });
  await expectFault("rate_limited", rig.channel.send(room(), part, how("1")));
  await expectFault("rate_limited", rig.channel.typing?.(room()) ?? Promise.resolve());
  expect(rig.fake.calls("POST /channels/:channel/typing")).toEqual([]);
});

test.each(["ftp://127.0.0.1/", "https://127.0.0.1/", 5, null])(
  "where to resume (%s) is left out when it is no such address",
  async (url) => {
    const texts: string[] = [];
    await rig.channel.start(
      async (batch) => void texts.push(...batch.flatMap((event) => ("text" in event ? [event.text] : []))),
    );
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
  rig.fake.inject({
    method: "GET /applications/@me",
    trouble: { kind: "answer", status: 404, body: { message: "404: Not Found" } },
  });
  await rig.channel.act?.(
    dm,
    { kind: "setCommands", commands: [{ name: "ask", description: "Ask" }] },
    how("1"),
  );
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
  rig.fake.inject({
    method: "GET /channels/:channel/messages",
    trouble: { kind: "answer", status: 200, body: [mine] },
  });
  expect(await rig.channel.sentSince?.(room(), part, Date.now(), new AbortController().signal)).toEqual([
    { messageId: "2000" },
  ]);
});

test("files are fetched from Discord's hosts and the API's own address, and from no other program on its machine", async () => {
  const asked: string[] = [];
  const other = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.end("secret");
  });
  await new Promise<void>((listening) => other.listen(0, "127.0.0.1", listening));
  const { port } = other.address() as AddressInfo;
  const own = new URL(rig.fake.apiRoot);
  try {
    for (const url of [
      `http://127.0.0.1:${port}/latest/meta-data`,
      `http://${own.host}@127.0.0.1:${port}/`,
      `https://cdn.discordapp.com:${port}/`,
      "https://cdn.discordapp.com.evil.example/",
      "file:///etc/passwd",
      "http://cdn.discordapp.com/",
      "",
    ]) {
      const ref = JSON.stringify(["1", "2", "3", url]);
      await expectFault(
        "denied",
        rig.channel.download?.(ref, 1_000, new AbortController().signal) ?? Promise.resolve(),
      );
    }
    expect(asked).toEqual([]);
  } finally {
    other.close();
  }
});

test("two hundred conversations are read back side by side", async () => {
  const watched = Array.from({ length: 200 }, (_, n) => ({
    channel: `12345678901234${String(n).padStart(3, "0")}`,
    guild: rig.guild,
    seenAtMs: Date.now(),
  }));
  await rig.memory.save("watched", JSON.stringify(watched));
  const note = {
    id: "gone",
    user: rig.fake.bot().id,
    application: "",
    resumeUrl: "",
    sequence: 1,
    lastMessageId: "1234567890123456789",
    identifiedAtMs: 0,
  };
  await rig.memory.save("session", JSON.stringify({ ...note, id: null }));
  rig.fake.inject({ method: "GET /channels/:channel/messages", times: null, trouble: { kind: "hang" } });
  await rig.channel.start(async () => {});
  await expect.poll(() => rig.fake.calls("GET /channels/:channel/messages").length).toBe(8);
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
