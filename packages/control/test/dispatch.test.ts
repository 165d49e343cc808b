// Which calls a caller is refused, under whose name that is noted, and what of a fault goes over the wire.
import { ConfigFault } from "@parley/config";
import { Fault, methods, silentLog, systemIds, type Log, type Scope } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Caller } from "../src/auth/authenticate.ts";
import { dispatcher } from "../src/dispatch.ts";

function stage(answer: () => Promise<unknown> = async () => ({ done: true })) {
  const noted: (readonly unknown[])[] = [];
  const audited: unknown[] = [];
  const lines: unknown[] = [];
  const log: Log = { ...silentLog, error: (facts, words) => void lines.push([words, facts]) };
  const dispatch = dispatcher({
    handlers: Object.fromEntries(Object.keys(methods).map((name) => [name, answer])) as never,
    ownsSession: (_caller, key) => key === "own",
    once: (request, run) => (noted.push(["once", request]), run()),
    audit: (record) => void audited.push(record),
    refusals: { note: (...what: readonly unknown[]) => void noted.push(what) } as never,
    clock: virtualClock(),
    ids: systemIds(),
    log,
  });
  const ask = async (method: string, params: object, by: Partial<Caller>) => {
    const caller = {
      peer: "web-1",
      scopes: [],
      client: { name: "c", version: "" },
      address: "10.0.0.1",
      ...by,
    };
    return dispatch({ type: "req", id: "1", method, params } as never, { device: null, ...caller } as Caller);
  };
  return { ask, noted, audited, lines };
}

const all: Scope[] = ["read", "write", "approve"];
test.each<[string, object, Partial<Caller>, string | null]>([
  ["status", {}, { scopes: ["read"] }, null],
  ["status", {}, { scopes: ["write"] }, "scope 10.0.0.1"],
  ["status", {}, { scopes: ["write"], device: "d1" }, "scope d1"],
  ["sessions.reset", { key: "own" }, { scopes: all }, null],
  ["sessions.reset", { key: "other" }, { scopes: all }, "other_session 10.0.0.1"],
  ["sessions.reset", { key: "other" }, { scopes: all, device: "d2" }, "other_session d2"],
  ["sessions.reset", { key: "other" }, { scopes: [...all, "admin"] }, null],
  ["device.calls", {}, { scopes: [...all, "admin"], device: "d3" }, "scope d3"],
  ["device.calls", {}, { device: "d4", grants: [] }, null],
])("%s with %j by %j is refused: %s", async (method, params, by, refused) => {
  const { ask, noted } = stage();
  expect((await ask(method, params, by)).ok).toBe(refused === null);
  const { device = null } = by;
  const told = noted.map(([reason, source, fields]) => [`${String(reason)} ${String(source)}`, fields]);
  expect(told).toEqual(refused === null ? [] : [[refused, { address: "10.0.0.1", device, method }]]);
});

test("a fault goes out with its words and its time; of a bug nothing does but a reference", async () => {
  const slow = stage(async () => {
    throw new Fault("rate_limited", "too many", { retryAfterMs: 7 });
  });
  expect((await slow.ask("status", {}, { scopes: ["read"] })).error).toEqual({
    code: "rate_limited",
    message: "too many",
    retryAfterMs: 7,
  });
  expect(slow.lines).toEqual([]);
  const bug = new Error("a secret path");
  const broken = stage(() => Promise.reject(bug));
  const { error, ...rest } = await broken.ask("status", {}, { scopes: ["read"] });
  const [, reference = ""] =
    /^something went wrong inside the gateway; its log has more under (\w{8})$/.exec(error?.message ?? "") ??
    [];
  expect(rest).toEqual({ type: "res", id: "1", ok: false });
  expect([error?.code, reference.length]).toEqual(["internal", 8]);
  expect(broken.lines).toEqual([["a method failed", { error: bug, method: "status", reference }]]);
});

test("all that is wrong with a config goes out, and a call that failed without a reason is recorded as failed", async () => {
  const problems = [
    { path: "a", message: "wrong" },
    { path: "b[0]", line: 2, column: 3, message: "wrong too", fix: "mend it" },
  ];
  const config = stage(async () => {
    throw new ConfigFault("parley.json5", problems);
  });
  expect((await config.ask("status", {}, { scopes: ["read"] })).error).toEqual({
    code: "invalid",
    message: "parley.json5 a: wrong\nparley.json5:2:3 b[0]: wrong too. mend it",
    details: { problems },
  });
  const silent = stage(() => Promise.reject(undefined));
  expect((await silent.ask("devices.revoke", { id: "d1" }, { scopes: ["admin"] })).ok).toBe(false);
  expect(silent.audited).toMatchObject([{ method: "devices.revoke", ok: false, code: "internal" }]);
});

test("a repeated key is told by what was understood, not by how it was written", async () => {
  const { ask, noted } = stage();
  const params = { key: "own", text: "hi", idempotencyKey: "k1" };
  const answer = await ask("chat.send", { ...params, unknown: 1 }, { scopes: ["write"] });
  expect(answer.error).toBeUndefined();
  expect(noted).toEqual([
    [
      "once",
      {
        peer: "web-1",
        method: "chat.send",
        key: "k1",
        params: expect.not.objectContaining({ unknown: 1 }) as unknown,
      },
    ],
  ]);
});

test("what a caller may not, and what is none, is told by its method and what it lacks; nothing of it runs", async () => {
  const { ask, noted } = stage(() => Promise.reject(new Error("it ran")));
  const told = async (method: string, params: object, scopes: Scope[]) => {
    const { error } = await ask(method, params, { scopes });
    return `${error?.code}: ${error?.message}`;
  };
  expect([
    await told("toString", {}, all),
    await told("devices.revoke", {}, all),
    await told("device.calls", {}, all),
    await told("sessions.reset", { key: "other" }, all),
    await told("sessions.reset", {}, all),
    await told("lanes.list", { limit: "9" }, all),
  ]).toEqual([
    'unsupported: there is no method "toString"',
    'denied: "devices.revoke" needs the scope "admin", which this token does not have',
    'denied: "device.calls" needs the scope "device", which this token does not have',
    'denied: "sessions.reset" reaches your own sessions only, and this is none of them; for others\' it needs the scope "admin"',
    expect.stringMatching(/^invalid: params of "sessions\.reset": key: /),
    expect.stringMatching(/^invalid: params of "lanes\.list": limit: /),
  ]);
  expect(noted.map(([reason]) => reason)).toEqual(["scope", "scope", "other_session"]);
});
