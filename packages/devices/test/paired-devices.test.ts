// Which devices are paired, as they are listed and named, how long what they said is kept, and when the store
// is asked again; and when a push is sent again, to the millisecond.
import { createECDH, randomBytes } from "node:crypto";
import type { KnownDevice } from "@parley/control";
import { silentLog, systemIds, type Log } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { pushCalls } from "../src/index.ts";
import { pairedDevices } from "../src/paired-devices.ts";
import { newPushKeys, pushRequest } from "../src/push/push-message.ts";

const device = (id: string, name: string, grants?: KnownDevice["grants"]): KnownDevice =>
  ({ id, name, ...(grants === undefined ? {} : { grants }) }) as KnownDevice;

function stage(known: KnownDevice[]) {
  const clock = virtualClock({ startMs: 1_000 });
  const cells = new Map<string, { value: string; ttlMs: number | undefined }>();
  const connected = new Set<string>();
  const state = { looks: 0, broken: false };
  const paired = pairedDevices({
    cells: {
      get: async (key: string) => {
        const cell = cells.get(key);
        return cell === undefined ? null : { key, value: cell.value, version: 1 };
      },
      put: async (key: string, value: string, { ttlMs }: { ttlMs?: number }) => {
        cells.set(key, { value, ttlMs });
        return { key, value, version: 1 };
      },
    } as unknown as Parameters<typeof pairedDevices>[0]["cells"],
    devices: {
      list: async () => {
        state.looks += 1;
        if (state.broken) throw new Error("the store is away");
        return known;
      },
    },
    isConnected: (id) => connected.has(id),
    clock,
  });
  return { clock, cells, connected, paired, state, known };
}

const phone = device("d1", "Phone", ["notify", "camera"]);
const laptop = device("d2", "Laptop", ["run"]);
const browser = device("d3", "Only a browser");

test("devices are those with grants, with what each said last and whether it is there", async () => {
  const { paired, cells, connected, clock } = stage([phone, browser, laptop]);
  const about = { host: "pixel", platform: "android", commands: ["camera" as const] };
  await paired.saw("d1", about);
  connected.add("d2");
  connected.add("d3");
  expect(await paired.list()).toEqual([
    { id: "d1", name: "Phone", grants: ["notify", "camera"], connected: false, lastSeenAtMs: 1_000, about },
    { id: "d2", name: "Laptop", grants: ["run"], connected: true, lastSeenAtMs: null, about: null },
  ]);
  expect([await paired.connected(), await paired.withId("d2"), await paired.withId("d3")]).toEqual([
    1,
    laptop,
    null,
  ]);
  await clock.advance(500);
  // One that says nothing of itself this time said it before.
  await paired.saw("d1", undefined);
  expect((await paired.list())[0]).toMatchObject({ lastSeenAtMs: 1_500, about });
  await paired.saw("d2", undefined);
  expect((await paired.list())[1]).toMatchObject({ lastSeenAtMs: 1_500, about: null });
  expect([await paired.lastSeenAtMs("d1"), await paired.lastSeenAtMs("d3")]).toEqual([1_500, null]);
  expect([...cells].map(([key, { ttlMs }]) => [key, ttlMs])).toEqual([
    ["device-seen:d1", 90 * 86_400_000],
    ["device-seen:d2", 90 * 86_400_000],
  ]);
  cells.set("device-seen:d1", { value: '{"atMs":7,"about":{"host":5}}', ttlMs: undefined });
  expect((await paired.list())[0]).toMatchObject({ lastSeenAtMs: 7, about: null });
});

test("a device is meant by its id or its name in any case; two of one name, and none, are said", async () => {
  const { paired, known } = stage([phone, laptop, browser]);
  const named = (node: string) =>
    paired.named(node).then(
      ({ id }) => id,
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  expect([
    await named("d1"),
    await named(" PHONE "),
    await named("laptop"),
    await named("D1"),
    await named("Only a browser"),
  ]).toEqual([
    "d1",
    "d1",
    "d2",
    'missing: there is no device "D1"; there are Phone, Laptop',
    'missing: there is no device "Only a browser"; there are Phone, Laptop',
  ]);
  known.push(device("d4", "phone", []));
  expect([await named("Phone"), await named("d4")]).toEqual([
    'invalid: several devices are named "Phone": name one by its id, d1 or d4',
    "d4",
  ]);
  known.length = 0;
  expect(await named("d1")).toBe(
    "missing: no device is paired: an operator pairs one by `parley devices pair`",
  );
});

test("whether there is one is asked of the store once a minute, and holds while that is away", async () => {
  const { paired, state, clock, known } = stage([]);
  expect([paired.some(), paired.some(), state.looks]).toEqual([false, false, 1]);
  await clock.advance(0);
  known.push(phone);
  await clock.advance(60_000);
  expect([paired.some(), state.looks]).toEqual([false, 1]);
  await clock.advance(1);
  expect([paired.some(), state.looks]).toEqual([false, 2]);
  await clock.advance(0);
  expect(paired.some()).toBe(true);
  state.broken = true;
  await clock.advance(60_001);
  expect([paired.some(), state.looks]).toEqual([true, 3]);
  await clock.advance(0);
  expect(paired.some()).toBe(true);
  const other = stage([]);
  other.paired.pairing();
  expect([other.paired.some(), other.state.looks]).toEqual([true, 0]);
  await other.paired.look();
  expect([other.paired.some(), other.state.looks]).toEqual([false, 1]);
});

const ecdh = createECDH("prime256v1");
const subscription = {
  endpoint: "https://push.test/send/abc",
  p256dh: ecdh.generateKeys("base64url"),
  auth: randomBytes(16).toString("base64url"),
};

function pushing(answers: readonly { status: number; retryAfterMs?: number }[], connected = false) {
  const clock = virtualClock();
  const cells = new Map<string, string>([["device-push:phone", JSON.stringify(subscription)]]);
  const removed: string[] = [];
  const sentAt: number[] = [];
  const logged: unknown[] = [];
  const push = pushCalls({
    cells: {
      get: async (key: string) => {
        const value = cells.get(key);
        return value === undefined ? null : { key, value, version: 3 };
      },
      put: async (key: string, value: string) => void cells.set(key, value),
      remove: async (key: string, version?: number) => void removed.push(`${key} ${version}`),
      list: async () => [],
    } as unknown as Parameters<typeof pushCalls>[0]["cells"],
    calls: { open: async () => ({ request: { command: "notify", text: "tea" }, forMs: 600_000 }) },
    send: async () => {
      sentAt.push(clock.mono());
      return answers[sentAt.length - 1] ?? { status: 201 };
    },
    isConnected: () => connected,
    contact: () => "https://gateway.test",
    clock,
    ids: systemIds(),
    log: {
      ...silentLog,
      info: (fields, words) => void logged.push([fields, words]),
      warn: (fields, words) => void logged.push([fields, words]),
    } as Log,
  });
  return { clock, cells, removed, sentAt, logged, push };
}

test("a service that is away is asked after 2, 10, 60 and then every 300 seconds, or as it asks", async () => {
  const away = pushing(Array(7).fill({ status: 500 }));
  away.push.made("phone", "c1");
  away.push.made("phone", "c1");
  await away.clock.advance(2_000_000);
  const after = (times: readonly number[]) => times.map((at, index) => at - (times[index - 1] ?? 0));
  expect(after(away.sentAt)).toEqual([0, 2_000, 10_000, 60_000, 300_000, 300_000, 300_000, 300_000]);
  expect([...away.push.counts]).toEqual([["sent", 1]]);
  const asks = pushing([
    { status: 429, retryAfterMs: 1_999 },
    { status: 429, retryAfterMs: 30_000 },
    { status: 503, retryAfterMs: 3_600_001 },
  ]);
  asks.push.made("phone", "c1");
  await asks.clock.advance(4_000_000);
  expect(after(asks.sentAt)).toEqual([0, 2_000, 30_000, 3_600_000]);
  const there = pushing([], true);
  there.push.made("phone", "c1");
  await there.clock.advance(2_999);
  expect(there.sentAt).toEqual([]);
  await there.clock.advance(1);
  expect(there.sentAt).toEqual([3_000]);
});

test("each answer of a service is counted and logged by its host, and only what is gone is forgotten", async () => {
  const rows: readonly (readonly [status: number, count: string, removed: boolean, words: unknown])[] = [
    [200, "sent", false, undefined],
    [299, "sent", false, undefined],
    [404, "gone", true, [{ host: "push.test" }, "a browser takes no pushes any more"]],
    [410, "gone", true, [{ host: "push.test" }, "a browser takes no pushes any more"]],
    [300, "refused", false, [{ host: "push.test", status: 300 }, "a push was refused"]],
    [400, "refused", false, [{ host: "push.test", status: 400 }, "a push was refused"]],
    [403, "refused", false, [{ host: "push.test", status: 403 }, "a push was refused"]],
    [499, "refused", false, [{ host: "push.test", status: 499 }, "a push was refused"]],
  ];
  for (const [status, count, isRemoved, words] of rows) {
    const { push, clock, removed, logged, sentAt } = pushing([{ status }]);
    push.made("phone", "c1");
    await clock.advance(1_000_000);
    expect([status, [...push.counts], removed, logged[0], sentAt.length]).toEqual([
      status,
      [[count, 1]],
      isRemoved ? ["device-push:phone 3"] : [],
      words,
      1,
    ]);
  }
});

test("a stop ends every wait, and nothing is sent after it", async () => {
  const { push, clock, sentAt } = pushing([{ status: 500 }]);
  push.made("phone", "c1");
  await clock.advance(1_000);
  await push.stop();
  push.made("phone", "c2");
  await clock.advance(1_000_000);
  expect([sentAt.length, clock.armed()]).toEqual([1, 0]);
});

test("a push says how long it is kept and who sends it, for half a day", () => {
  const of = (ttlSeconds: number, contact?: string) => {
    const { url, headers } = pushRequest(
      subscription,
      { text: "a", ttlSeconds, topic: "t", ...(contact === undefined ? {} : { contact }) },
      newPushKeys(),
      { nowMs: 1_000_999, ids: systemIds() },
    );
    const [, claims = ""] = /t=[^.]+\.([^.]+)\./.exec(headers["authorization"] ?? "") ?? [];
    return [
      url,
      headers["ttl"],
      headers["urgency"],
      headers["topic"],
      JSON.parse(Buffer.from(claims, "base64url").toString()) as unknown,
    ];
  };
  const [url, ttl, urgency, topic, claims] = of(9.9, "https://gateway.test");
  expect([url, ttl, urgency, topic]).toEqual([subscription.endpoint, "9", "high", "t"]);
  expect(claims).toMatchObject({
    aud: "https://push.test",
    exp: 1_000 + 12 * 3_600,
    sub: "https://gateway.test",
  });
  expect(of(-1)[1]).toBe("0");
});
