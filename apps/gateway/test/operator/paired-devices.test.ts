// What a paired device may ask and is told, and how an operator pairs one: over real records, without a
// socket.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { connectedClients, deviceStore, type Caller } from "@parley/control";
import { deviceCalls } from "@parley/devices";
import {
  silentLog,
  systemIds,
  type DeviceGrant,
  type DeviceRequest,
  type PushSubscription,
} from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { peopleMethods } from "../../src/operator/access/people.ts";
import { pairedDeviceMethods } from "../../src/operator/access/paired-devices.ts";
import { memoryStore } from "../receive/store.ts";

async function stage(publicUrl?: string) {
  const clock = virtualClock();
  const { cells, close } = await memoryStore(clock);
  onTestFinished(close);
  const devices = deviceStore(cells, clock, systemIds());
  const clients = connectedClients();
  const did: unknown[] = [];
  const calls = deviceCalls({
    cells,
    devices,
    ended: async ({ id }) => void did.push(["ended", id]),
    isWaited: async () => true,
    keepPicture: async () => ({ refused: "none" }),
    keepSound: async () => ({ refused: "none" }),
    isConnected: () => false,
    clock,
  });
  const ask = pairedDeviceMethods({
    devices,
    clients,
    deviceCalls: { ...calls, pairing: () => void did.push("pairing") },
    devicePush: {
      key: async () => "the-key",
      subscribe: async (...what: readonly unknown[]) => void did.push(["subscribe", ...what]),
    },
    controlUrl: () => "http://127.0.0.1:1/",
    configNow: () => ({ gateway: publicUrl === undefined ? {} : { publicUrl } }),
    wired: { web: { account: "default", submit: async (message: object) => void did.push(message) } },
  } as unknown as Parameters<typeof pairedDeviceMethods>[0]);
  const operator = { peer: "web-op", scopes: ["read", "admin"], device: null } as unknown as Caller;
  /** Pairs a device, which lets `wanted` of what was granted. */
  async function pair(name: string, granted: DeviceGrant[], wanted?: DeviceGrant[]) {
    const { code } = await ask["devices.pair"]({ name, grants: granted }, operator);
    const made = await devices.redeemCode(code, "own name", undefined, wanted);
    const followed: string[] = [];
    const caller = {
      ...made,
      device: made?.id ?? "",
      follow: (stream: string) => void followed.push(stream),
    } as unknown as Caller;
    return { id: made?.id ?? "", caller, followed };
  }
  return { clock, cells, devices, clients, calls, ask, operator, pair, did: () => did.splice(0) };
}

test.each([
  [undefined, "http://127.0.0.1:1/"],
  ["https://home.example", "https://home.example/"],
  ["https://home.example/parley//", "https://home.example/parley/"],
])("a code to pair is told with its link below %s, and a name is given once", async (publicUrl, base) => {
  const { ask, devices, operator, pair, did } = await stage(publicUrl);
  const asked = { name: "My Phone", grants: ["run", "notify", "run"] as DeviceGrant[] };
  const made = await ask["devices.pair"](asked, operator);
  expect(made).toEqual({
    name: "My Phone",
    grants: ["run", "notify"],
    code: made.code,
    url: publicUrl ?? "http://127.0.0.1:1/",
    link: `${base}device.html#pair=${made.code}&name=My+Phone&grants=run%2Cnotify`,
  });
  expect(did()).toEqual(["pairing"]);
  const { id } = await pair("Laptop", ["notify"]);
  await expect(ask["devices.pair"]({ ...asked, name: "LAPTOP" }, operator)).rejects.toThrow(
    `a device named "Laptop" is paired; choose another name, or put it out first: parley devices revoke ${id}`,
  );
  await expect(ask["devices.pair"](asked, operator)).resolves.toMatchObject({ name: "My Phone" });
  // A client of the control plane is no paired device, whatever it is called.
  await devices.mintDevice(["read"], "script");
  expect(await ask["devices.pair"]({ ...asked, name: "script" }, operator)).toMatchObject({ name: "script" });
});

test("a device is told its name, what it may and could, and its own calls; nobody else is told anything", async () => {
  const { ask, calls, cells, devices, operator, pair } = await stage();
  const phone = await pair("phone", ["notify", "run", "share"], ["notify"]);
  const laptop = await pair("laptop", ["notify"]);
  const asking = { session: "s", turn: "t", callId: "c" };
  const what = { node: "phone", command: "notify", text: "tea", timeoutSeconds: 60 } as const;
  const { cells: writes = [], waitsFor } = await calls.invoke(asking, what);
  for (const { key, value } of writes) await cells.put(key, value ?? "", {});
  const about = { host: "pocket", platform: "Linux", commands: ["notify" as const] };
  expect(await ask["device.calls"]({ about }, phone.caller)).toEqual({
    name: "phone",
    grants: ["notify"],
    most: ["notify", "run", "share"],
    calls: [{ id: waitsFor?.ticket, command: "notify", text: "tea", forMs: 60_000 }],
  });
  expect(phone.followed).toEqual([`device:${phone.id}`]);
  // What it says of itself is what turns are told of it.
  const known = async () => new Map((await calls.list()).map((device) => [device.name, device.about]));
  expect([(await known()).get("phone"), (await known()).get("laptop")]).toEqual([about, null]);
  expect(await ask["device.calls"]({}, laptop.caller)).toMatchObject({ name: "laptop", calls: [] });
  const result = { id: waitsFor?.ticket ?? "", ok: true, text: "shown" };
  expect(await ask["device.result"](result, laptop.caller)).toEqual({ accepted: false });
  expect(await ask["device.result"](result, phone.caller)).toEqual({ accepted: true });
  await expect(ask["device.calls"]({}, operator)).rejects.toThrow("this is no paired device");
  const plain = await devices.mintDevice(["read"], "browser");
  await expect(ask["device.calls"]({}, { ...operator, device: plain.id })).rejects.toThrow(
    "no paired device",
  );
});

test("a device that is gone is closed and gets nothing; one whose token was made anew gets nothing by the old one", async () => {
  const { ask, clients, devices, pair } = await stage();
  const { id, caller } = await pair("phone", ["notify"]);
  let left = 0;
  clients.join(id, () => (left += 1));
  await devices.rotate(id);
  await expect(ask["device.calls"]({}, caller)).rejects.toThrow("this device's token was made anew");
  expect(left).toBe(0);
  await expect(ask["device.calls"]({}, { ...caller, rotation: 1 })).resolves.toMatchObject({ name: "phone" });
  await expect(ask["device.calls"]({}, { ...caller, rotation: 2 })).rejects.toThrow("made anew");
  await devices.revoke(id);
  await expect(ask["device.calls"]({}, caller)).rejects.toThrow(
    "this is no paired device, or it was revoked",
  );
  expect(left).toBe(1);
});

test("its person switches its grants within what was granted, which ends the calls that need the others, and leaves", async () => {
  const { ask, calls, cells, devices, pair, did } = await stage();
  const { id, caller } = await pair("phone", ["notify", "run"]);
  const tickets = [];
  const requests: readonly DeviceRequest[] = [
    { command: "notify", text: "tea" },
    { command: "run", argv: ["ls"] },
  ];
  for (const request of requests) {
    const asking = { session: "s", turn: "t", callId: request.command };
    const { cells: writes = [], waitsFor } = await calls.invoke(asking, {
      ...request,
      node: "phone",
      timeoutSeconds: 9,
    });
    for (const { key, value } of writes) await cells.put(key, value ?? "", {});
    tickets.push(waitsFor?.ticket);
  }
  did();
  const grants: DeviceGrant[] = ["notify", "camera"];
  expect(await ask["device.grants"]({ grants }, caller)).toEqual({
    grants: ["notify"],
    most: ["notify", "run"],
  });
  expect(did()).toEqual([["ended", tickets[1]]]);
  expect(await ask["device.leave"]({}, caller)).toEqual({ name: "phone" });
  expect(did()).toEqual([["ended", tickets[0]]]);
  expect([await devices.isKnown(id), await devices.list()]).toEqual([false, []]);
});

test("a browser asks for the key of pushes, subscribes, and stops them", async () => {
  const { ask, pair, did } = await stage();
  const { id, caller } = await pair("phone", ["notify"]);
  did();
  const subscription = { endpoint: "https://push.example/1", p256dh: "p", auth: "a" } as PushSubscription;
  for (const params of [{}, { subscription }, { subscription: null }])
    expect(await ask["device.push"](params, caller)).toEqual({ key: "the-key" });
  expect(did()).toEqual([
    ["subscribe", id, subscription],
    ["subscribe", id, null],
  ]);
});

test("what a device shares comes as a guest's words in the chat of whoever paired it, and only by its grant", async () => {
  const { ask, pair, did } = await stage();
  const { id, caller } = await pair("phone", ["notify", "share"]);
  did();
  const file = { name: "a.txt", mediaType: "text/plain", data: Buffer.from("hello").toString("base64") };
  const share = { text: "look", files: [file], idempotencyKey: "k" } as never;
  const said = `web-op:device:${id}:k`;
  expect(await ask["device.share"](share, caller)).toEqual({ id: `web:default:${said}` });
  expect(did()).toEqual([
    {
      id: said,
      address: { channel: "web", account: "default", kind: "dm", peer: "web-op" },
      senderName: "web-op",
      text: "",
      guest: true,
      enclosed: [{ kind: "forward", from: "device phone", words: ["look"] }],
      files: [{ ...file, bytes: Buffer.from("hello") }],
    },
  ]);
  await ask["device.share"]({ text: " \n", files: [file], idempotencyKey: "l" } as never, caller);
  expect(did()).toMatchObject([{ enclosed: [{ words: [] }] }]);
  await expect(
    ask["device.share"]({ text: " ", files: [], idempotencyKey: "m" } as never, caller),
  ).rejects.toThrow("nothing was shared");
  await ask["device.grants"]({ grants: ["notify"] }, caller);
  await expect(ask["device.share"](share, caller)).rejects.toThrow(
    'phone was paired without the grant "share", or it is switched off',
  );
  expect(did()).toEqual([]);
});

test("a token made anew is handed to a paired device as a code, by hand to nobody, and only by who has its scopes", async () => {
  const { ask, clients, devices, operator, pair } = await stage("https://home.example");
  const { id } = await pair("phone", ["notify", "run"], ["notify"]);
  const told: string[] = [];
  clients.join(id, () => undefined, { rotation: 0, tell: (frame) => void told.push(frame) });
  const made = await ask["devices.rotate"]({ id }, operator);
  expect(made).toEqual({
    id,
    name: "phone",
    closed: 1,
    code: made.code,
    url: "https://home.example",
    link: `https://home.example/device.html#pair=${made.code}&name=phone&grants=notify%2Crun`,
    grants: ["notify"],
    handed: true,
  });
  expect(told.map((frame) => JSON.parse(frame) as object)).toEqual([
    { type: "event", event: "device.rotate", payload: { code: made.code } },
  ]);
  clients.join(id, () => undefined, { rotation: 1, tell: (frame) => void told.push(frame) });
  expect(await ask["devices.rotate"]({ id, byHand: true }, operator)).toMatchObject({
    handed: false,
    closed: 1,
  });
  expect(told).toHaveLength(1);
  const browser = await devices.mintDevice(["read", "admin"], "browser");
  const low = { ...operator, scopes: ["read"] } as Caller;
  await expect(ask["devices.rotate"]({ id: browser.id }, low)).rejects.toThrow(
    "does not have the scope admin",
  );
  const anew = await ask["devices.rotate"]({ id: browser.id }, operator);
  expect(anew).toEqual({ id: browser.id, name: "browser", closed: 0, token: anew.token });
  expect(await devices.find(browser.token)).toBeNull();
  expect((await devices.find(anew.token ?? ""))?.id).toBe(browser.id);
  await expect(ask["devices.rotate"]({ id: "x" }, operator)).rejects.toThrow('there is no device "x"');
});

test("a person is only looked at where nothing says that it is to be forgotten, and handed out to an absolute path", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(store.close);
  const home = mkdtempSync(join(tmpdir(), "parley-people-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const { config } = await loadConfig({ env: {}, home, readFile: async () => "{}" });
  const ports = { store, config, home, clock, ids: systemIds(), log: silentLog };
  const people = peopleMethods(ports as unknown as Parameters<typeof peopleMethods>[0]);
  expect(await people["people.forget"]({ person: "telegram:7" })).toMatchObject({ done: false });
  expect(await people["people.forget"]({ person: "telegram:7", confirm: false })).toMatchObject({
    done: false,
  });
  expect(await people["people.forget"]({ person: "telegram:7", confirm: true })).toMatchObject({
    done: true,
  });
  const path = join(home, "seven.tar");
  const written = await people["people.export"]({ person: "telegram:7", path });
  expect([written.path, existsSync(path)]).toEqual([path, true]);
  await expect(people["people.export"]({ person: "telegram:7", path: "here.tar" })).rejects.toThrow(
    "not an absolute path",
  );
});
