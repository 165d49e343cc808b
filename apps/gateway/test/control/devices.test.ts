import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { deviceMethods } from "../../src/operator/devices.ts";
import { loginMethods } from "../../src/operator/logins.ts";
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
      "devices.link": (...call) => methods()["devices.link"](...call),
    },
  });
  const methods = () => ({
    ...deviceMethods(started()),
    ...loginMethods({ loginUrl: (granted) => started().server.loginUrl(granted), unlock: () => 0 }),
  });
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
