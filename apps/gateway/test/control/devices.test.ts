import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { deviceMethods } from "../../src/operator/access/devices.ts";
import { pairedDeviceMethods } from "../../src/operator/access/paired-devices.ts";
import { loginMethods } from "../../src/operator/access/logins.ts";
import { startControl, type Client, type Fixture } from "./control-fixture.ts";

type Control = Fixture & { readonly operator: Client };

async function control(options: Parameters<typeof startControl>[0] = {}): Promise<Control> {
  let fixture: Fixture | null = null;
  const started = (): Fixture => {
    if (fixture === null) throw new Error("not started yet");
    return fixture;
  };
  fixture = await startControl({
    ...options,
    handlers: {
      "devices.list": (params) => methods()["devices.list"](params),
      "devices.mint": (...call) => methods()["devices.mint"](...call),
      "devices.revoke": (params) => methods()["devices.revoke"](params),
      "devices.rotate": (...call) => paired()["devices.rotate"](...call),
      "device.calls": (...call) => paired()["device.calls"](...call),
      "devices.link": (...call) => methods()["devices.link"](...call),
    },
  });
  const methods = () => ({
    ...deviceMethods(started()),
    ...loginMethods({ loginUrl: (granted) => started().server.loginUrl(granted), unlock: () => 0 }),
  });
  const paired = () =>
    pairedDeviceMethods({
      ...started(),
      controlUrl: () => "http://127.0.0.1:1/",
      configNow: () => ({ gateway: {} }),
    } as unknown as Parameters<typeof pairedDeviceMethods>[0]);
  const operator = await fixture.client();
  await operator.connect();
  return { ...fixture, operator };
}

interface Minted {
  readonly id: string;
  readonly token: string;
  readonly peer: string;
}

async function mint({ operator }: Control, scopes: readonly string[], name = "phone"): Promise<Minted> {
  const answer = await operator.request("devices.mint", { name, scopes });
  expect(answer).toMatchObject({ ok: true });
  return answer.payload as Minted;
}

test("a minted device logs in with its own scopes and peer, and is listed without its token", async () => {
  const at = await control();
  const { id, token, peer } = await mint(at, ["read"]);
  const device = await at.client();
  expect(await device.connect({ auth: { token } })).toMatchObject({
    ok: true,
    payload: { scopes: ["read"], peer },
  });
  const listed = await at.operator.request("devices.list");
  expect(listed.payload).toMatchObject({
    devices: [{ id, name: "phone", scopes: ["read"], peer, connections: 1 }],
  });
  expect(JSON.stringify(listed)).not.toContain(token);
});

test("devices are listed the newest first", async () => {
  const clock = virtualClock();
  const at = await control({ clock });
  for (const name of ["b", "c", "a"]) {
    await clock.advance(1_000);
    await mint(at, ["read"], name);
  }
  const { payload } = await at.operator.request("devices.list");
  expect((payload as { devices: { name: string }[] }).devices.map(({ name }) => name)).toEqual([
    "a",
    "c",
    "b",
  ]);
});

test("a login code counts once; the client that chose its token may ask again, when the answer was lost", async () => {
  const at = await control();
  const code = new URL(await at.server.loginUrl()).hash.slice(6);
  const auth = { code, deviceToken: "A".repeat(43) };
  const first = await (await at.client()).connect({ auth });
  expect(first).toMatchObject({ ok: true, payload: { deviceToken: auth.deviceToken } });
  expect(await (await at.client()).connect({ auth })).toMatchObject({
    ok: true,
    payload: { deviceToken: auth.deviceToken },
  });
  expect((await at.operator.request("devices.list")).payload).toMatchObject({
    devices: [{ connections: 2 }],
  });
  for (const other of [{ code }, { code, deviceToken: "B".repeat(43) }])
    expect(await (await at.client()).connect({ auth: other })).toMatchObject({
      ok: false,
      error: { code: "unauthorized" },
    });
  expect((await at.operator.request("devices.list")).payload).toMatchObject({
    devices: [{ connections: 2 }],
  });
  const weak = await (await at.client()).connect({ auth: { code, deviceToken: "short" } });
  expect(weak).toMatchObject({ ok: false, error: { code: "invalid" } });
});

test("revoking closes what the device has open, at once, and lets it in no more; others stay", async () => {
  const at = await control();
  const [gone, kept] = [await mint(at, ["read"]), await mint(at, ["read"], "laptop")];
  const [one, two, other] = [await at.client(), await at.client(), await at.client()];
  await one.connect({ auth: { token: gone.token } });
  await two.connect({ auth: { token: gone.token } });
  await other.connect({ auth: { token: kept.token } });
  expect(await at.operator.request("devices.revoke", { id: gone.id })).toMatchObject({
    payload: { name: "phone", closed: 2 },
  });
  expect([await one.closed, await two.closed]).toEqual([1008, 1008]);
  expect(await (await at.client()).connect({ auth: { token: gone.token } })).toMatchObject({
    ok: false,
    error: { code: "unauthorized" },
  });
  expect((await other.request("health")).ok).toBe(true);
  expect(await at.operator.request("devices.revoke", { id: gone.id })).toMatchObject({
    error: { code: "missing" },
  });
});

test("a part of an id, or none, revokes nothing", async () => {
  const at = await control();
  const { id } = await mint(at, ["read"]);
  for (const wrong of [id.slice(0, 4), `${id}x`, "%", "auth:code:"]) {
    expect(await at.operator.request("devices.revoke", { id: wrong })).toMatchObject({
      error: { code: "missing" },
    });
  }
  expect(await at.devices.isKnown(id)).toBe(true);
});

test("a device that another node revoked is closed within half a minute", async () => {
  const clock = virtualClock();
  const at = await control({ clock });
  const { id, token } = await mint(at, ["read"]);
  const device = await at.client();
  await device.connect({ auth: { token } });
  await at.devices.revoke(id);
  await clock.advance(30_000);
  expect(await device.closed).toBe(1008);
});

test("nobody hands on a scope that he does not have", async () => {
  const at = await control();
  const { token } = await mint(at, ["admin"]);
  const admin = await at.client();
  await admin.connect({ auth: { token } });
  expect(await admin.request("devices.mint", { name: "x", scopes: ["admin", "write"] })).toMatchObject({
    error: { code: "denied" },
  });
  expect(await admin.request("devices.link", { scopes: ["read"] })).toMatchObject({
    error: { code: "denied" },
  });
  const link = await admin.request("devices.link");
  const page = await at.client();
  const code = new URL((link.payload as { url: string }).url).hash.slice("#code=".length);
  expect(await page.connect({ auth: { code } })).toMatchObject({ payload: { scopes: ["admin"] } });
});

const denied = { ok: false, error: { code: "unauthorized" } };

test("a token that is made anew: the old one and what it has open end at once, all else stays", async () => {
  const at = await control();
  const { id, token: old, peer } = await mint(at, ["read"]);
  const other = await mint(at, ["read"], "laptop");
  const [open, kept] = [await at.client(), await at.client()];
  await open.connect({ auth: { token: old } });
  await kept.connect({ auth: { token: other.token } });
  const tokens = [old];
  for (const closed of [1, 0]) {
    const { payload } = await at.operator.request("devices.rotate", { id });
    expect(payload).toEqual({ id, name: "phone", closed, token: expect.any(String) });
    tokens.push((payload as Minted).token);
  }
  expect(await open.closed).toBe(1008);
  const newest = tokens.pop() ?? "";
  for (const worthless of tokens)
    expect(await (await at.client()).connect({ auth: { token: worthless } })).toMatchObject(denied);
  const device = await at.client();
  expect(await device.connect({ auth: { token: newest } })).toMatchObject({
    payload: { scopes: ["read"], peer },
  });
  const { payload } = await at.operator.request("devices.list");
  expect((payload as { devices: object[] }).devices).toHaveLength(2);
  expect(payload).toMatchObject({ devices: expect.arrayContaining([expect.objectContaining({ id, peer })]) });
  expect((await kept.request("health")).ok).toBe(true);
  expect(await at.operator.request("devices.rotate", { id: "nobody" })).toMatchObject({
    error: { code: "missing" },
  });
  await at.operator.request("devices.revoke", { id });
  expect(await device.closed).toBe(1008);
  expect(await (await at.client()).connect({ auth: { token: newest } })).toMatchObject(denied);
  expect(await at.store.cells.list("auth:token:", 9)).toEqual([]);
});

test("nobody gets a scope by making another's token anew; who makes his own anew reads it before he is closed", async () => {
  const at = await control();
  const [admin, full] = [await mint(at, ["admin"]), await mint(at, ["admin", "write"])];
  const device = await at.client();
  await device.connect({ auth: { token: admin.token } });
  expect(await device.request("devices.rotate", { id: full.id })).toMatchObject({
    error: { code: "denied" },
  });
  expect(await at.devices.find(full.token)).not.toBeNull();
  const { payload } = await device.request("devices.rotate", { id: admin.id });
  expect(await device.closed).toBe(1008);
  expect(await (await at.client()).connect({ auth: { token: (payload as Minted).token } })).toMatchObject({
    ok: true,
  });
});

async function paired(at: Control): Promise<{ readonly id: string; readonly token: string }> {
  const code = await at.devices.mintCode([], { name: "laptop", grants: ["notify", "run"] });
  const made = await at.devices.redeemCode(code, "x", "A".repeat(43), ["notify"]);
  if (made === null) throw new Error("not paired");
  return made;
}

test("a paired device that is connected hears a code, with which it chooses a new token; its grants stay", async () => {
  const at = await control();
  const { id, token } = await paired(at);
  const open = await at.client();
  await open.connect({ auth: { token }, follows: false });
  const { payload } = await at.operator.request("devices.rotate", { id });
  expect(payload).toMatchObject({ id, closed: 1, handed: true, grants: ["notify"] });
  expect(payload).not.toHaveProperty("token");
  expect(await open.closed).toBe(1008);
  expect(open.events).toEqual([
    { type: "event", event: "device.rotate", payload: { code: expect.any(String) } },
  ]);
  const { code } = payload as { code: string };
  expect(open.events).toMatchObject([{ payload: { code } }]);
  expect(await (await at.client()).connect({ auth: { token } })).toMatchObject(denied);
  const auth = { code, deviceToken: "B".repeat(43) };
  // The second time its answer was lost.
  for (const _ of [1, 2]) {
    const back = await at.client();
    expect(await back.connect({ auth })).toMatchObject({
      ok: true,
      payload: { deviceToken: auth.deviceToken },
    });
    expect(await back.request("device.calls", {})).toMatchObject({
      payload: { grants: ["notify"], most: ["notify", "run"] },
    });
  }
  for (const late of [{ code }, { code, deviceToken: "C".repeat(43) }])
    expect(await (await at.client()).connect({ auth: late })).toMatchObject(denied);
  expect((await at.devices.list()).map((device) => device.id)).toEqual([id]);
});

test("the code is told nobody where it was asked so, or where two have the token; a later one makes it void", async () => {
  const at = await control();
  const { id, token } = await paired(at);
  const one = await at.client();
  await one.connect({ auth: { token } });
  const byHand = await at.operator.request("devices.rotate", { id, byHand: true });
  expect(byHand.payload).toMatchObject({ closed: 1, handed: false });
  await one.closed;
  const first = (byHand.payload as { code: string }).code;
  const auth = { code: first, deviceToken: "B".repeat(43) };
  const [two, three] = [await at.client(), await at.client()];
  for (const each of [two, three]) expect((await each.connect({ auth })).ok).toBe(true);
  const { payload } = await at.operator.request("devices.rotate", { id });
  expect(payload).toMatchObject({ closed: 2, handed: false });
  await Promise.all([two.closed, three.closed]);
  expect([one, two, three].flatMap(({ events }) => events.map(({ event }) => event))).toEqual([]);
  const last = await at.operator.request("devices.rotate", { id });
  for (const [given, ok] of [
    [payload, false],
    [last.payload, true],
  ] as const) {
    const { code } = given as { code: string };
    expect((await (await at.client()).connect({ auth: { code } })).ok).toBe(ok);
  }
});

test("a device whose token another node made anew is asked nothing more, and closed within half a minute", async () => {
  const clock = virtualClock();
  const at = await control({ clock });
  const { id, token } = await paired(at);
  const device = await at.client();
  await device.connect({ auth: { token }, follows: false });
  await at.devices.rotate(id);
  expect(await device.request("device.calls", {})).toMatchObject({ error: { code: "denied" } });
  await clock.advance(30_000);
  expect(await device.closed).toBe(1008);
});
