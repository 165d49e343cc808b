// Pushes: read by their browser alone, sent until the service took them, and never after the call is over.
import { createDecipheriv, createECDH, createPublicKey, hkdfSync, randomBytes, verify } from "node:crypto";
import { Fault, silentLog, systemIds, type DeviceRequest } from "@parley/protocol";
import { sqliteStore, type Store } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { pushCalls, type PushCalls } from "../src/index.ts";
import { newPushKeys, pushBytes, pushRequest, type PushRequest } from "../src/push/push-message.ts";

const browser = createECDH("prime256v1");
const secret = randomBytes(16);
const subscription = {
  endpoint: "https://push.example/send/abc",
  p256dh: browser.generateKeys("base64url"),
  auth: secret.toString("base64url"),
};

function derived(from: Uint8Array, salt: Uint8Array, info: string | Uint8Array, bytes: number): Buffer {
  return Buffer.from(hkdfSync("sha256", from, salt, info, bytes));
}

/** As RFC 8291 has a browser do it. */
function opened(body: Uint8Array): string {
  const whole = Buffer.from(body);
  const salt = whole.subarray(0, 16);
  expect(whole.readUInt32BE(16)).toBe(4_096);
  const theirs = whole.subarray(21, 21 + (whole[20] ?? 0));
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), browser.getPublicKey(), theirs]);
  const key = derived(browser.computeSecret(theirs), secret, info, 32);
  const sealed = whole.subarray(21 + theirs.length);
  const decipher = createDecipheriv(
    "aes-128-gcm",
    derived(key, salt, "Content-Encoding: aes128gcm\0", 16),
    derived(key, salt, "Content-Encoding: nonce\0", 12),
  );
  decipher.setAuthTag(sealed.subarray(-16));
  const plain = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  expect(plain.at(-1)).toBe(2);
  return plain.subarray(0, -1).toString();
}

test("a push is read by its browser, signed by the gateway, and fits what services take", () => {
  const keys = newPushKeys();
  const words = {
    text: "tea ☕",
    ttlSeconds: 59.7,
    topic: "a".repeat(32),
    contact: "https://gateway.example/",
  };
  const { url, headers, body } = pushRequest(subscription, words, keys, {
    nowMs: 1_000_000,
    ids: systemIds(),
  });
  expect(url).toBe(subscription.endpoint);
  expect(opened(body)).toBe("tea ☕");
  expect(headers).toMatchObject({ ttl: "59", topic: "a".repeat(32), "content-encoding": "aes128gcm" });
  const [, token = "", key = ""] = /^vapid t=([^,]+), k=(.+)$/.exec(headers["authorization"] ?? "") ?? [];
  const [head = "", claims = "", signature = ""] = token.split(".");
  expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toEqual({
    aud: "https://push.example",
    exp: 1_000 + 12 * 3_600,
    sub: "https://gateway.example/",
  });
  const point = Buffer.from(key, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const known = createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" } });
  const told = { key: known, dsaEncoding: "ieee-p1363" } as const;
  expect(verify("sha256", Buffer.from(`${head}.${claims}`), told, Buffer.from(signature, "base64url"))).toBe(
    true,
  );
  const long = { ...words, text: "x".repeat(pushBytes) };
  expect(pushRequest(subscription, long, keys, { nowMs: 0, ids: systemIds() }).body.length).toBe(4_096);
  expect(() =>
    pushRequest(subscription, { ...words, text: `${long.text}x` }, keys, { nowMs: 0, ids: systemIds() }),
  ).toThrow(/at most/);
  for (const p256dh of ["", "A".repeat(87)])
    expect(() =>
      pushRequest({ ...subscription, p256dh }, words, keys, { nowMs: 0, ids: systemIds() }),
    ).toThrow(/none/);
});

const clock = virtualClock();
let store: Store;
let push: PushCalls;
let sent: PushRequest[];
let sentAtMs: number[];
let answers: (number | Fault | { readonly status: number; readonly retryAfterMs: number })[];
let waiting: { request: DeviceRequest; untilMs: number } | null;
let connected: boolean;

beforeEach(async () => {
  store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: (error) => {
      throw error;
    },
  });
  [sent, sentAtMs, answers, connected] = [[], [], [], false];
  const begunMs = clock.now();
  waiting = { request: { command: "notify", text: "tea" }, untilMs: clock.now() + 600_000 };
  push = pushCalls({
    cells: store.cells,
    calls: {
      open: async () =>
        waiting === null || waiting.untilMs <= clock.now()
          ? null
          : { request: waiting.request, forMs: waiting.untilMs - clock.now() },
    },
    async send(request) {
      sent.push(request);
      sentAtMs.push(clock.now() - begunMs);
      const answer = answers.shift() ?? 201;
      if (answer instanceof Fault) throw answer;
      return typeof answer === "number" ? { status: answer } : answer;
    },
    isConnected: () => connected,
    contact: () => undefined,
    clock,
    ids: systemIds(),
    log: silentLog,
  });
  await push.subscribe("phone", subscription);
});
afterEach(async () => {
  await push.stop();
  await store.close();
});

test("a service that is away is asked again until it takes the push, and one that takes it is not", async () => {
  answers = [503, new Fault("unavailable", "no route"), 429, 201];
  push.made("phone", "c1");
  await clock.advance(300_000);
  expect(sent).toHaveLength(4);
  expect(new Set(sent.map(({ headers }) => headers["topic"]))).toEqual(new Set(["c1"]));
  expect(JSON.parse(opened(sent[3]?.body ?? new Uint8Array()))).toEqual({
    v: 1,
    id: "c1",
    command: "notify",
    text: "tea",
  });
  expect(Object.fromEntries(push.counts)).toEqual({ sent: 1 });
});

test.each([404, 410])("a subscription that the service answers with %i is dropped", async (status) => {
  answers = [status];
  push.made("phone", "c1");
  await clock.advance(1_000);
  push.made("phone", "c2");
  await clock.advance(600_000);
  expect(sent).toHaveLength(1);
});

test("a refusal of the service or of the way out is not repeated, and drops nothing", async () => {
  answers = [403, new Fault("denied", "closed to agents"), new Fault("invalid", "no address"), 201];
  for (const id of ["c1", "c2", "c3", "c4"]) {
    push.made("phone", id);
    await clock.advance(600);
  }
  expect(sent).toHaveLength(4);
  expect(Object.fromEntries(push.counts)).toEqual({ refused: 3, sent: 1 });
});

test("an open page has a moment to take its call; what is over wakes nobody", async () => {
  connected = true;
  push.made("phone", "c1");
  await clock.advance(1_000);
  waiting = null;
  await clock.advance(60_000);
  expect(sent).toEqual([]);
});

test("of anything but a message the push tells its name alone, and a long text is cut to what fits", async () => {
  waiting = { request: { command: "clipboard_write", text: "a secret" }, untilMs: clock.now() + 9_000 };
  push.made("phone", "c1");
  await clock.advance(10);
  waiting = {
    request: { command: "notify", text: "\u{1f375}".repeat(5_000), title: "t" },
    untilMs: clock.now() + 9_000,
  };
  push.made("phone", "c2");
  await clock.advance(10);
  waiting = { request: { command: "notify", text: "\u0007".repeat(5_000) }, untilMs: clock.now() + 9_000 };
  push.made("phone", "c3");
  await clock.advance(10);
  waiting = {
    request: { command: "notify", text: `x${"\u{1f375}".repeat(500)}`, title: "t".repeat(900) },
    untilMs: clock.now() + 9_000,
  };
  push.made("phone", "c4");
  await clock.advance(10);
  const [other, tea, bells, odd] = sent.map(({ body }) => JSON.parse(opened(body)));
  expect(other).toEqual({ v: 1, id: "c1", command: "clipboard_write" });
  expect(tea).toEqual({ v: 1, id: "c2", command: "notify", title: "t", text: "\u{1f375}".repeat(400) });
  expect(bells).toEqual({ v: 1, id: "c3", command: "notify", text: "\u0007".repeat(400) });
  expect(odd).toEqual({
    v: 1,
    id: "c4",
    command: "notify",
    title: "t".repeat(800),
    text: `x${"\u{1f375}".repeat(399)}\ufffd`,
  });
  expect(sent.map(({ headers }) => headers["ttl"])).toEqual(["9", "9", "9", "9"]);
});

test("calls that the last process left are pushed at the start; a device that is put out gets none", async () => {
  await store.cells.put("device-open:phone:c9", "c9", {});
  push.begin();
  await clock.advance(10);
  expect(sent.map(({ headers }) => headers["topic"])).toEqual(["c9"]);
  await push.subscribe("phone", null);
  push.made("phone", "c10");
  await clock.advance(60_000);
  expect(sent).toHaveLength(1);
});

test("the gateway's key stays the same", async () => {
  expect(await push.key()).toBe(await push.key());
  expect(Buffer.from(await push.key(), "base64url")).toHaveLength(65);
});

test("whatever the service says, a push is tried again within an hour", async () => {
  waiting = { request: { command: "notify", text: "tea" }, untilMs: clock.now() + 86_400_000 };
  answers = [{ status: 429, retryAfterMs: 9_000_000 }, 201];
  push.made("phone", "c1");
  push.made("phone", "c1");
  await clock.advance(3_599_999);
  expect(sentAtMs).toEqual([0]);
  await clock.advance(1);
  expect(sentAtMs).toEqual([0, 3_600_000]);
});

test("an open page that took no call in three seconds is woken; a service that stops ends every wait", async () => {
  connected = true;
  push.made("phone", "c1");
  await clock.advance(2_000);
  await clock.advance(2_000);
  expect(sentAtMs).toEqual([3_000]);
  connected = false;
  answers = [503];
  push.made("phone", "c2");
  await clock.advance(500);
  await push.stop();
  push.made("phone", "c3");
  await clock.advance(10_000);
  expect(sent).toHaveLength(2);
});

test("a browser that subscribed anew while its old address was gone keeps the new one", async () => {
  answers = [410, 201];
  const anew = { ...subscription, endpoint: "https://push.example/send/new" };
  push.made("phone", "c1");
  await push.subscribe("phone", anew);
  await clock.advance(1_000);
  push.made("phone", "c2");
  await clock.advance(1_000);
  expect(sent.at(-1)?.url).toBe(anew.endpoint);
});

test("of two gateways that make keys at once both use those of the first", async () => {
  let isBlind = true;
  const cells = {
    ...store.cells,
    get: async (key: string) => (isBlind ? ((isBlind = false), null) : store.cells.get(key)),
  };
  const second = pushCalls({
    cells,
    calls: { open: async () => null },
    send: async () => ({ status: 201 }),
    isConnected: () => false,
    contact: () => undefined,
    clock,
    ids: systemIds(),
    log: silentLog,
  });
  const first = await push.key();
  expect([await second.key(), await push.key()]).toEqual([first, first]);
});

test("a store that is away, and a failure that is nobody's decision, are logged and break nothing", async () => {
  const logged: (readonly [string, object, string | undefined])[] = [];
  const note = (fields: object, words: string): void => {
    const { error, ...rest } = fields as { readonly error?: unknown };
    logged.push([words, rest, error instanceof Error ? error.message : undefined]);
  };
  let isAway = true;
  const away = new Fault("unavailable", "the store is away");
  const get = async (key: string) => (isAway ? Promise.reject(away) : store.cells.get(key));
  const list = async () => Promise.reject(away);
  const own = pushCalls({
    cells: { ...store.cells, get, list },
    calls: { open: async () => ({ request: { command: "notify", text: "tea" }, forMs: 9_000 }) },
    send: async () => Promise.reject(new TypeError("ours")),
    isConnected: () => false,
    contact: () => undefined,
    clock,
    ids: systemIds(),
    log: { ...silentLog, warn: note } as typeof silentLog,
  });
  own.begin();
  own.made("phone", "c1");
  await clock.advance(10);
  isAway = false;
  own.made("phone", "c1");
  await clock.advance(10);
  expect(logged.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
    ["a device could not be woken", { device: "phone" }, "the store is away"],
    ["a push was not sent", { host: "push.example" }, "ours"],
    ["waiting calls of devices could not be read", {}, "the store is away"],
  ]);
  expect(Object.fromEntries(own.counts)).toEqual({ refused: 1 });
  const nothing = { ...store.cells, get: async () => null };
  const keyless = pushCalls({
    cells: nothing,
    calls: { open: async () => null },
    send: async () => ({ status: 201 }),
    isConnected: () => false,
    contact: () => undefined,
    clock,
    ids: systemIds(),
    log: silentLog,
  });
  await expect(keyless.key()).rejects.toMatchObject({
    code: "unavailable",
    message: "the keys for pushes could not be stored; try again",
  });
});

test("calls that wait at the start are told to their own devices, also where an id of one has colons in it", async () => {
  await push.subscribe("a:b", { ...subscription, endpoint: "https://push.example/send/other" });
  await store.cells.put("device-open:a:b:c7", "c7", {});
  await store.cells.put("device-open:phone:c8", "c8", {});
  push.begin();
  await clock.advance(10);
  expect(sent.map(({ url, headers }) => `${headers["topic"]} to ${url.slice(-6)}`).toSorted()).toEqual([
    "c7 to /other",
    "c8 to nd/abc",
  ]);
});
