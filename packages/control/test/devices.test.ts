// Codes and tokens of devices over a real store: how long and how often each counts, and for what.
import { silentLog, systemIds, type DeviceGrant } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { deviceStore } from "../src/auth/devices.ts";

async function stage() {
  const clock = virtualClock();
  const { cells, close } = await sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock,
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
  onTestFinished(close);
  return { clock, cells, devices: deviceStore(cells, clock, systemIds()) };
}
const token = (letter: string): string => letter.repeat(43);

test("a code counts for ten minutes less nothing, once, in whatever letters it is typed", async () => {
  const { clock, devices } = await stage();
  const [first, second, third] = [
    await devices.mintCode(["read"]),
    await devices.mintCode([]),
    await devices.mintCode([]),
  ];
  await clock.advance(599_999);
  expect(await devices.redeemCode(` ${first.toLowerCase()} `, "phone")).toMatchObject({ scopes: ["read"] });
  expect(await devices.redeemCode(first, "phone")).toBeNull();
  const both = await Promise.all(["a", "b"].map((letter) => devices.redeemCode(second, "x", token(letter))));
  expect(both.filter((each) => each !== null)).toHaveLength(1);
  expect(await devices.list()).toHaveLength(2);
  await clock.advance(1);
  expect(await devices.redeemCode(third, "phone")).toBeNull();
});

test("devices are listed newest first, without their tokens; a revoked one is gone with what led to it", async () => {
  const { clock, cells, devices } = await stage();
  const made = [];
  for (const name of ["old", "new"]) {
    made.push(await devices.mintDevice(["read"], name));
    await clock.advance(1_000);
  }
  expect((await devices.list()).map(({ name }) => name)).toEqual(["new", "old"]);
  const id = made[0]?.id ?? "";
  const anew = await devices.rotate(id);
  expect(JSON.stringify(await devices.list())).not.toMatch(/"token"/);
  expect(await devices.find(anew?.token ?? "")).toMatchObject({ id, rotation: 1, peer: made[0]?.peer });
  expect([await devices.isKnown(id), await devices.isKnown(id, 0), await devices.isKnown(id, 1)]).toEqual([
    true,
    false,
    true,
  ]);
  expect(await devices.revoke(id)).toBe("old");
  expect([await devices.find(anew?.token ?? ""), await devices.isKnown(id)]).toEqual([null, false]);
  expect(await cells.list("auth:token:", 9)).toEqual([]);
});

test("a paired device whose token is made anew chooses its own by the last code, with what it may switch on", async () => {
  const { cells, devices } = await stage();
  const grants: DeviceGrant[] = ["notify", "run", "share"];
  const code = await devices.mintCode([], { name: "phone", grants, by: "web-op" });
  const paired = await devices.redeemCode(code, "own name", token("A"), ["notify", "camera"]);
  const id = paired?.id ?? "";
  expect(paired).toMatchObject({ scopes: [], grants: ["notify"], rotation: 0 });
  expect(await devices.list()).toMatchObject([{ name: "phone", most: grants, pairedBy: "web-op" }]);
  const whole = await devices.redeemCode(await devices.mintCode([], { name: "laptop", grants }), "own name");
  expect(whole?.grants).toEqual(grants);
  await devices.revoke(whole?.id ?? "");
  const [void1, last] = [(await devices.rotate(id))?.code ?? "", (await devices.rotate(id))?.code ?? ""];
  expect(await devices.find(token("A"))).toBeNull();
  expect(await devices.redeemCode(void1, "x", token("B"))).toBeNull();
  expect(await cells.list("auth:token:", 9)).toEqual([]);
  expect(await devices.redeemCode(last, "x", token("C"), ["run"])).toMatchObject({
    id,
    grants: ["run"],
    rotation: 2,
  });
  expect(await devices.redeemCode(last, "x", token("D"))).toBeNull();
  expect(await devices.redeemCode(last, "x", token("C"))).toMatchObject({ id });
  expect([await devices.find(token("C")), await devices.find(token("D"))]).toMatchObject([{ id }, null]);
  expect(await devices.setGrants(id, ["notify", "share"])).toEqual({
    grants: ["notify", "share"],
    most: grants,
  });
  expect(await devices.setGrants(id, null, ["share"])).toEqual({
    grants: ["notify"],
    most: ["notify", "run"],
  });
});

test("a token has 43 to 128 letters and digits; no other costs a look into the store", async () => {
  const { clock, cells } = await stage();
  let looks = 0;
  const store = { ...cells, get: (key: string) => ((looks += 1), cells.get(key)) };
  const devices = deviceStore(store, clock, systemIds());
  const long = "t".repeat(128);
  const code = await devices.mintCode(["read"]);
  expect(await devices.redeemCode(code, "phone", long)).toMatchObject({ token: long });
  expect(await devices.find(long)).toMatchObject({ scopes: ["read"] });
  looks = 0;
  for (const other of ["t".repeat(129), "t".repeat(42), `${"t".repeat(43)}!`, ""])
    expect(await devices.find(other)).toBeNull();
  expect(looks).toBe(0);
});

test("a code leaves the store with its time, and the beginning of an id names no device", async () => {
  const { clock, cells, devices } = await stage();
  await devices.mintCode(["read"]);
  const { id } = await devices.mintDevice(["read"], "phone");
  expect(await cells.list("auth:code:", 9)).toHaveLength(1);
  await clock.advance(600_000);
  expect(await cells.list("auth:code:", 9)).toEqual([]);
  const part = id.slice(0, 6).replace(/^\./, "-");
  expect([await devices.isKnown(part), await devices.rotate(part), await devices.revoke(part)]).toEqual([
    false,
    null,
    null,
  ]);
  expect(await devices.list()).toMatchObject([{ id, name: "phone" }]);
});

test("a token that is made anew twice at once is given to one; where that fails, the one before still counts", async () => {
  const { clock, cells, devices } = await stage();
  const { id } = await devices.mintDevice(["read"], "phone");
  const both = await Promise.allSettled([devices.rotate(id), devices.rotate(id)]);
  const given = both.flatMap((each) => (each.status === "fulfilled" ? [each.value?.token ?? ""] : []));
  expect(given).toHaveLength(1);
  expect(both.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "conflict" } });
  const [now = ""] = given;
  expect(await devices.find(now)).toMatchObject({ id, rotation: 1 });
  const failing: typeof cells = {
    ...cells,
    put: async (key, ...rest) => {
      if (key.startsWith("auth:token:")) throw new Error("the store is away");
      return cells.put(key, ...rest);
    },
  };
  await expect(deviceStore(failing, clock, systemIds()).rotate(id)).rejects.toThrow("away");
  expect(await devices.find(now)).toMatchObject({ id, rotation: 1 });
});

test("a code that two trade at once makes one device; a token made anew, or a revoked device, takes nothing from another", async () => {
  const { cells, devices } = await stage();
  const code = await devices.mintCode(["read", "write"]);
  const both = await Promise.all([
    devices.redeemCode(` ${code.toLowerCase()} `, "a"),
    devices.redeemCode(code, "b"),
  ]);
  const [won, ...others] = both.filter((each) => each !== null);
  expect([others, await devices.list()]).toEqual([
    [],
    [expect.objectContaining({ id: won?.id, scopes: ["read", "write"] })],
  ]);
  const [one, two] = [await devices.mintDevice(["read"], "one"), await devices.mintDevice(["admin"], "two")];
  expect([
    await devices.isKnown(one.id),
    await devices.isKnown(one.id, 0),
    await devices.isKnown(one.id, 1),
  ]).toEqual([true, true, false]);
  const [first, second] = [await devices.rotate(one.id), await devices.rotate(two.id)];
  const third = await devices.rotate(one.id);
  expect([
    await devices.isKnown(one.id, 1),
    await devices.isKnown(one.id, 2),
    await devices.isKnown(two.id, 1),
  ]).toEqual([false, true, true]);
  const found = async (token: string | undefined) => (await devices.find(token ?? ""))?.id ?? null;
  expect([
    await found(one.token),
    await found(first?.token),
    await found(third?.token),
    await found(second?.token),
  ]).toEqual([null, null, one.id, two.id]);
  expect([await devices.revoke(one.id), await devices.revoke(one.id)]).toEqual(["one", null]);
  expect([await found(third?.token), await found(second?.token), await devices.isKnown(one.id)]).toEqual([
    null,
    two.id,
    false,
  ]);
  expect(await cells.list("auth:token:", 9)).toHaveLength(1);
  // Grants are of paired devices alone.
  expect([await devices.setGrants(two.id, ["notify"]), await devices.setGrants(one.id, ["notify"])]).toEqual([
    null,
    null,
  ]);
});

test("the operator's peer is drawn once, and stays over restarts and beside another gateway", async () => {
  const { clock, cells, devices } = await stage();
  const peer = await devices.operatorPeer();
  expect(peer).toMatch(/^web-[a-z0-9]+$/);
  const other = deviceStore(cells, clock, systemIds());
  expect([await devices.operatorPeer(), await other.operatorPeer()]).toEqual([peer, peer]);
});
