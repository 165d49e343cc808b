// Which calls a caller is refused, under whose name that is noted, and what of a fault goes over the wire.
import { Fault, methods, silentLog, systemIds, type Scope } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Caller } from "../src/auth/authenticate.ts";
import { dispatcher } from "../src/dispatch.ts";

function stage(answer: () => Promise<unknown> = async () => ({ done: true })) {
  const noted: unknown[] = [];
  const dispatch = dispatcher({
    handlers: Object.fromEntries(Object.keys(methods).map((name) => [name, answer])) as never,
    ownsSession: (_caller, key) => key === "own",
    once: (_request, run) => run(),
    refusals: { note: (...what: readonly unknown[]) => void noted.push(what.slice(0, 2)) } as never,
    clock: virtualClock(),
    ids: systemIds(),
    log: silentLog,
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
  return { ask, noted };
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
  expect(noted.map((each) => (each as string[]).join(" "))).toEqual(refused === null ? [] : [refused]);
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
  const broken = stage(async () => {
    throw new Error("a secret path");
  });
  const { error } = await broken.ask("status", {}, { scopes: ["read"] });
  expect([error?.code, error?.message]).toEqual(["internal", expect.not.stringContaining("secret")]);
});
