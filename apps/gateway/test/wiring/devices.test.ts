// What devices are wired to: the row that tells of an answer, recordings and their words, pushes over the
// guarded way out, and the calls of a step, of which each device is told.
import { createECDH, randomBytes } from "node:crypto";
import { deviceStore } from "@parley/control";
import {
  parseRowPayload,
  systemIds,
  type DeviceGrant,
  type DeviceRequest,
  type SessionKey,
} from "@parley/protocol";
import type { Store } from "@parley/store";
import { oggOpusFile } from "@parley/testkit";
import { expect, test } from "vitest";
import { devicesPort, noticingCalls, wireDevices, wirePush } from "../../src/devices/wire-devices.ts";
import { saidLog } from "../daemon/said-log.ts";
import { operateFixture } from "../operator/operate-fixture.ts";

const recording = Buffer.from(oggOpusFile([10, 20])).toString("base64");

async function stage(more: object = {}) {
  const at = await operateFixture();
  const { log, said } = saidLog();
  const connected = new Set<string>();
  const hub = { isFollowed: (stream: string) => connected.has(stream) };
  const wiring = { hub, clock: at.clock, ids: systemIds(), log };
  const calls = wireDevices({ ...wiring, ...more }, at.store);
  const devices = deviceStore(at.store.cells, at.clock, systemIds());
  async function pair(name: string, ...grants: DeviceGrant[]): Promise<string> {
    calls.pairing();
    return (await devices.redeemCode(await devices.mintCode([], { name, grants }), "x"))?.id ?? "";
  }
  /** Makes a call of this turn, and returns its id. */
  async function invoke(device: string, turn: string, what: Partial<DeviceRequest>): Promise<string> {
    const by = { session: "agent:main:main", turn, callId: `${JSON.stringify(what)}` };
    const asked = await calls.invoke(by, { node: device, timeoutSeconds: 600, command: "notify", ...what });
    for (const { key, value } of asked.cells ?? []) await at.store.cells.put(key, value ?? "", {});
    const [waits] = await calls.waiting(device, undefined);
    return waits?.id ?? "";
  }
  async function turn(): Promise<string> {
    await at.accept("1");
    return (await at.take()).id;
  }
  /** What the session was told, by the rows that came of a device. */
  async function told(): Promise<readonly string[]> {
    const rows = await at.store.inbox.find({ limit: 9 });
    return rows.flatMap(({ id, payload }) =>
      id.startsWith("device:") ? [parseRowPayload(payload).inbound.text] : [],
    );
  }
  return { at, calls, wiring, said, connected, pair, invoke, turn, told };
}

test("an answer becomes a row of the session and the conversation whose turn asked", async () => {
  const s = await stage();
  const device = await s.pair("phone", "notify");
  const id = await s.invoke(device, await s.turn(), { text: "tea" });
  expect(await s.calls.finish(device, id, { ok: true, text: "shown" })).toBe(true);
  expect(await s.told()).toEqual([expect.stringContaining("shown")]);
  const [row] = await s.at.store.inbox.find({ id: `device:${id}`, limit: 1 });
  expect([row?.lane, row?.conversation]).toEqual(["agent:main:telegram:dm:7", "telegram:default:dm:7"]);
  expect(await s.told()).toHaveLength(1);
});

test("an answer to a turn of which nothing is known any more is told in the log, and becomes nobody's row", async () => {
  const s = await stage();
  const device = await s.pair("phone", "notify");
  const turn = await s.turn();
  const id = await s.invoke(device, turn, { text: "tea" });
  const { store } = s.at;
  const calls = wireDevices(s.wiring, { ...store, inbox: { ...store.inbox, find: async () => [] } });
  await calls.finish(device, id, { ok: true, text: "shown" });
  expect([await s.told(), s.said]).toEqual([
    [],
    [["warn", "a device answered, and nobody is known any more", { call: id, turn }]],
  ]);
});

test("a call is handed out while its turn goes on: not of one that is gone, was stopped, or has ended", async () => {
  const s = await stage();
  const device = await s.pair("phone", "notify");
  expect(await s.invoke(device, "a turn that is gone", { text: "milk" })).toBe("");
  await s.at.accept("1");
  const turn = await s.at.take();
  expect(await s.invoke(device, turn.id, { text: "tea" })).not.toBe("");
  await s.at.store.inbox.stop(turn.lane as SessionKey, { turn: "open", reason: "/stop" });
  expect(await s.calls.waiting(device, undefined)).toEqual([]);
  const other = await stage();
  const laptop = await other.pair("laptop", "notify");
  await other.at.accept("1");
  const ended = await other.at.take();
  expect(await other.invoke(laptop, ended.id, { text: "tea" })).not.toBe("");
  await other.at.store.turns.commit(ended, ended.id, { outcome: "answered", entries: [] });
  expect(await other.calls.waiting(laptop, undefined)).toEqual([]);
});

test("a recording is kept and heard for a minute at most; without ears, or where they fail, it has no words", async () => {
  const heard: unknown[] = [];
  let hear: (signal: AbortSignal) => Promise<string> = async () => " hello there \n";
  let isDeaf = false;
  const folder = {
    keep: async (bytes: Uint8Array, extension: string) => `${bytes.length > 0 ? "sound" : ""}.${extension}`,
  };
  const s = await stage({
    sounds: () => ({
      folder,
      ...(isDeaf
        ? {}
        : { transcribe: (sound: object, signal: AbortSignal) => (heard.push(sound), hear(signal)) }),
    }),
  });
  const device = await s.pair("phone", "microphone");
  const turn = await s.turn();
  let nth = 0;
  const said = async (sound = recording): Promise<string> => {
    const id = await s.invoke(device, turn, { command: "microphone", seconds: (nth += 1) } as never);
    const finishing = s.calls.finish(device, id, { ok: true, text: "", sound });
    await s.at.clock.advance(60_000);
    await finishing;
    return (await s.told())[0] ?? "";
  };
  expect(await said()).toMatch(/media\/sound\.\w+[^]*hello there/);
  expect(heard).toMatchObject([{ mediaType: expect.stringContaining("ogg") }]);
  // As long as it hangs it is waited for, and no longer.
  hear = (signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const unheard = await said();
  expect(unheard).toContain("media/sound.");
  expect(unheard).not.toContain("hello");
  expect(s.said.at(-1)).toMatchObject(["warn", "a recording of a device could not be transcribed", {}]);
  expect(heard).toHaveLength(2);
  isDeaf = true;
  expect(await said()).toContain("media/sound.");
  expect(heard).toHaveLength(2);
  expect(await said(Buffer.from("no sound").toString("base64"))).toContain("it is no recording");
  const nowhere = await stage();
  const other = await nowhere.pair("phone", "microphone");
  const id = await nowhere.invoke(other, await nowhere.turn(), {
    command: "microphone",
    seconds: 1,
  } as never);
  await nowhere.calls.finish(other, id, { ok: true, text: "", sound: recording });
  expect(await nowhere.told()).toEqual([expect.stringContaining("no recording is kept here")]);
});

test("a push goes out without redirects, is tried again when the service says, and names the gateway by https alone", async () => {
  const s = await stage();
  const device = await s.pair("phone", "notify");
  const asked: { url: string; method: string; limits: object; headers: { [name: string]: string } }[] = [];
  let discarded = 0;
  let answers = [
    { status: 429, headers: { "retry-after": "30" } },
    { status: 503, headers: { "retry-after": "Wed, 21 Oct" } },
    { status: 201, headers: {} },
  ];
  let publicUrl: string | undefined = "https://gateway.test/";
  const push = wirePush(
    {
      ...s.wiring,
      calls: s.calls,
      publicUrl: () => publicUrl,
      dial: (async (request: (typeof asked)[number]) => {
        asked.push(request);
        const [answer, ...rest] = answers;
        answers = rest;
        return { ...answer, discard: () => (discarded += 1) };
      }) as never,
    },
    s.at.store,
  );
  const keys = createECDH("prime256v1");
  await push.subscribe(device, {
    endpoint: "https://push.test/abc",
    p256dh: keys.generateKeys("base64url"),
    auth: randomBytes(16).toString("base64url"),
  });
  push.made(device, await s.invoke(device, await s.turn(), { text: "tea" }));
  await s.at.clock.advance(29_999);
  expect([asked.length, discarded]).toEqual([1, 1]);
  await s.at.clock.advance(1);
  expect(asked).toHaveLength(2);
  // A date is no number of seconds: the service is asked again as after any trouble.
  publicUrl = "http://127.0.0.1:1/";
  await s.at.clock.advance(10_000);
  expect([asked.length, discarded, push.counts.get("sent")]).toEqual([3, 3, 1]);
  expect(asked[0]).toMatchObject({
    url: "https://push.test/abc",
    method: "POST",
    limits: { totalMs: 20_000, bodyBytes: 65_536, redirects: 0 },
  });
  const claims = asked.map(({ headers }) => {
    const token = /t=([^,]+)/.exec(headers["authorization"] ?? headers["Authorization"] ?? "")?.[1] ?? "";
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString() || "{}") as object;
  });
  expect(claims[0]).toMatchObject({ sub: "https://gateway.test/" });
  expect(claims[2]).not.toMatchObject({ sub: expect.stringContaining("127.0.0.1") });
  await push.stop();
});

test("each device is told of the calls that a step made for it, on its connection and by a push, once they are written", async () => {
  const did: unknown[] = [];
  const store = noticingCalls<Pick<Store, "turns">>(
    {
      turns: { checkpoint: async (...what: readonly unknown[]) => (did.push(["written", ...what]), 7) },
    } as never,
    { show: (...what: readonly unknown[]) => void did.push(["show", ...what]) } as never,
    { made: (...what) => void did.push(["made", ...what]) },
  );
  const cells = [
    { key: "other:1", value: "x" },
    { key: "device-open:d1:c1", value: "x" },
    { key: "device-open:with:colon:c2", value: "x" },
  ];
  expect(await store.turns.checkpoint("lease" as never, 3, { cells } as never)).toBe(7);
  expect(did).toEqual([
    ["written", "lease", 3, { cells }],
    ["show", "device:d1", "device.call", {}],
    ["made", "d1", "c1"],
    ["show", "device:with:colon", "device.call", {}],
    ["made", "with:colon", "c2"],
  ]);
  await store.turns.checkpoint("lease" as never, 4, {} as never);
  expect(did).toHaveLength(6);
});

test("the tool sees whether there are devices, and may list and call them", async () => {
  const s = await stage();
  const port = devicesPort(s.calls);
  expect([port.some, port.list, port.invoke]).toEqual([s.calls.some, s.calls.list, s.calls.invoke]);
});
