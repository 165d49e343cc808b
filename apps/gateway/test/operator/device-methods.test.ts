// The devices that an operator sees, makes and takes away: whole, with what ends at the same time.
import type { Caller } from "@parley/control";
import { expect, test } from "vitest";
import { deviceMethods, held } from "../../src/operator/access/devices.ts";
import { loginMethods } from "../../src/operator/access/logins.ts";
import { pairingMethods } from "../../src/operator/access/pairing.ts";

const caller = (...scopes: readonly string[]): Caller => ({ peer: "web-op", scopes }) as never;

function stage() {
  const did: unknown[] = [];
  const does =
    <T>(what: string, answer: (...given: never[]) => T) =>
    (...given: never[]): T => {
      did.push([what, ...given]);
      return answer(...given);
    };
  const phone = {
    id: "d1",
    name: "phone",
    scopes: [],
    grants: ["notify", "run"],
    most: ["notify", "run", "camera"],
    pairedBy: "web-op",
    rotation: 2,
    peer: "web-d1",
  };
  const old = { id: "d2", name: "tablet", scopes: [], grants: ["share"], peer: "web-d2" };
  const client = { id: "d3", name: "script", scopes: ["read"], peer: "web-d3" };
  const methods = deviceMethods({
    devices: {
      list: async () => [phone, old, client],
      setGrants: does("setGrants", async (id: string) =>
        id === "d1" ? { grants: ["run"], most: [] } : null,
      ),
      mintDevice: does("mint", async () => ({ id: "d4", token: "t", peer: "web-d4", more: 1 })),
      revoke: does("revoke", async (id: string) => (id === "d1" ? "phone" : null)),
    },
    clients: { count: (id: string) => (id === "d1" ? 2 : 0), close: does("close", () => 3) },
    deviceCalls: {
      lastSeenAtMs: does("seen", async (id: string) => (id === "d1" ? 77 : null)),
      endOf: does("end", async () => undefined),
    },
  } as never);
  return { did, methods };
}

test("are listed with their connections; a paired one with what it may, what it may at most, and when it was there", async () => {
  const { methods, did } = stage();
  expect(await methods["devices.list"]({})).toEqual({
    devices: [
      {
        id: "d1",
        name: "phone",
        peer: "web-d1",
        scopes: [],
        connections: 2,
        grants: ["notify", "run"],
        most: ["notify", "run", "camera"],
        lastSeenAtMs: 77,
      },
      {
        id: "d2",
        name: "tablet",
        peer: "web-d2",
        scopes: [],
        connections: 0,
        grants: ["share"],
        most: ["share"],
      },
      { id: "d3", name: "script", peer: "web-d3", scopes: ["read"], connections: 0 },
    ],
  });
  expect(did).toEqual([
    ["seen", "d1"],
    ["seen", "d2"],
  ]);
});

test("a new one has scopes that its maker has, each once", async () => {
  const { methods, did } = stage();
  const by = caller("read", "write");
  expect(await methods["devices.mint"]({ name: "n", scopes: ["write", "read", "write"] }, by)).toEqual({
    id: "d4",
    token: "t",
    peer: "web-d4",
  });
  expect(did).toEqual([["mint", ["write", "read"], "n"]]);
  expect(() => held(["read", "admin", "approve"], by)).toThrow(
    "your own token does not have the scope admin, approve",
  );
});

test("one that is put out loses its connections and its calls; one that loses grants only the calls that needed them", async () => {
  const { methods, did } = stage();
  expect(await methods["devices.revoke"]({ id: "d1" })).toEqual({ id: "d1", name: "phone", closed: 3 });
  expect(did.splice(0)).toEqual([
    ["revoke", "d1"],
    ["close", "d1"],
    ["end", "d1"],
  ]);
  expect(await methods["devices.revoke"]({ id: "d1", grants: ["notify"] })).toEqual({
    id: "d1",
    name: "phone",
    closed: 0,
    grants: ["run"],
  });
  expect(did.splice(0)).toEqual([
    ["setGrants", "d1", null, ["notify"]],
    ["end", "d1", ["run"]],
  ]);
  await expect(methods["devices.revoke"]({ id: "none" })).rejects.toThrow('there is no device "none"');
  for (const id of ["none", "d3"])
    await expect(methods["devices.revoke"]({ id, grants: [] })).rejects.toThrow(
      `there is no paired device "${id}"`,
    );
  expect(did.filter((each) => (each as readonly unknown[])[0] === "end")).toEqual([]);
});

test("a link admits with the scopes that were asked for, all of the caller's without; the pause is lifted", async () => {
  const asked: unknown[] = [];
  const methods = loginMethods({
    loginUrl: async (scopes) => (asked.push(scopes), "http://x/#code=1"),
    unlock: () => 4,
  });
  expect(await methods["devices.unlock"]({})).toEqual({ lifted: 4 });
  const by = caller("read", "write");
  expect(await methods["devices.link"]({ scopes: ["read"] }, by)).toEqual({ url: "http://x/#code=1" });
  await methods["devices.link"]({}, by);
  expect(asked).toEqual([["read"], ["read", "write"]]);
  await expect(methods["devices.link"]({ scopes: ["admin"] }, by)).rejects.toThrow("the scope admin");
});

test("who waits to be let in and who was is told without where they asked; decisions say whom they were about", async () => {
  const person = (senderId: string) => ({
    channel: "telegram",
    account: "work",
    senderId,
    senderName: "Eve",
  });
  const did: unknown[] = [];
  const methods = pairingMethods({
    pairing: {
      list: async () => ({
        pending: [{ ...person("7"), code: "c", askedBy: { secret: 1 } }],
        paired: [{ ...person("8"), id: "x" }],
      }),
      approve: async (code: string) => (did.push(["approve", code]), { ...person("7"), more: 1 }),
      revoke: async (id: string) => (did.push(["revoke", id]), { ...person("8"), more: 1 }),
    } as never,
  });
  expect(await methods["pairing.list"]({})).toEqual({
    pending: [{ ...person("7"), code: "c" }],
    paired: [{ ...person("8"), id: "x" }],
  });
  expect(await methods["pairing.approve"]({ code: "c" })).toEqual(person("7"));
  expect(await methods["pairing.revoke"]({ id: "x" })).toEqual(person("8"));
  expect(did).toEqual([
    ["approve", "c"],
    ["revoke", "x"],
  ]);
});
