import { loopback, type Channel, type ChannelHealth } from "@parley/channels";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { checkStoreRegularly } from "../src/daemon/periodic-work.ts";
import { gatewayState, type Phase } from "../src/gateway-state.ts";
import { modelTrouble } from "@parley/runner";

const healths: ChannelHealth["state"][] = ["starting", "ok", "degraded", "down", "stopped"];
const phases: Phase[] = ["starting", "running", "draining", "safe-mode"];

function channel(account: string, state: ChannelHealth["state"]): Channel {
  return { ...loopback({ account, clock: virtualClock() }), health: () => ({ state, reason: "because" }) };
}

describe("ready means that the daemon runs, however a channel is", () => {
  test.for(phases.flatMap((phase) => healths.map((health) => [phase, health] as const)))(
    "phase %s, a channel that is %s",
    ([phase, health]) => {
      const state = gatewayState({ check: () => Promise.reject(new Error("not asked")) }, () => [
        channel("a", "ok"),
        channel("b", health),
      ]);
      state.enter(phase);
      expect(state.ready()).toEqual({ ok: phase === "running" });
    },
  );
});

describe("the truth table of docs/operations.md", () => {
  const rows = [
    ["starting", "ok", true, 503],
    ["running", "ok", true, 200],
    ["running", "starting", true, 200],
    ["running", "down", true, 200],
    ["running", "ok", false, 503],
    ["safe-mode", "ok", true, 503],
    ["draining", "ok", true, 503],
  ] as const;

  test.for(rows)(
    "phase %s, a channel that is %s, a store that takes writes: %s",
    async ([phase, health, storeOk, expected]) => {
      const check = async () =>
        storeOk ? ({ ok: true } as const) : ({ ok: false, reason: "read-only" } as const);
      const state = gatewayState({ check }, () => [channel("a", health)]);
      state.enter(phase);
      await state.look();
      expect(state.ready().ok ? 200 : 503).toBe(expected);
      expect(state.store()).toBe(storeOk);
    },
  );

  test("the log hears once that the store takes no writes, why, and that it does again", async () => {
    let reason: string | null = null;
    const check = async () => (reason === null ? ({ ok: true } as const) : ({ ok: false, reason } as const));
    const state = gatewayState({ check }, () => []);
    const said: string[] = [];
    const say = (fields: object, words: string): void => void said.push(`${words} ${JSON.stringify(fields)}`);
    const clock = virtualClock();
    const stop = checkStoreRegularly(state, clock, { ...silentLog, error: say, info: say });
    for (const now of [null, "the disk is full", "the disk is full", null, null]) {
      reason = now;
      await clock.advance(10_000);
    }
    stop();
    expect(said).toEqual([
      'the store takes no writes: nothing is acknowledged until it does {"reason":"the disk is full"}',
      "the store takes writes again {}",
    ]);
  });

  test("a config that was refused keeps nobody from being ready, and shows in the report", async () => {
    let refused: readonly string[] = ["parley.json5:3:5 gatway: unknown key"];
    const state = gatewayState(
      { check: async () => ({ ok: true }) },
      () => [channel("a", "ok")],
      () => null,
      () => refused,
    );
    state.enter("running");
    expect(state.ready().ok).toBe(true);
    expect((await state.report()).state).toBe("degraded");
    refused = [];
    expect(await state.report()).toEqual({ state: "ok", reasons: [] });
  });
});

test("a channel that only opens is no trouble, and with trouble beside it it is named as well", async () => {
  let store: { readonly ok: true } | { readonly ok: false; readonly reason: string } = { ok: true };
  const state = gatewayState({ check: async () => store }, () => [
    channel("a", "ok"),
    channel("b", "starting"),
  ]);
  state.enter("running");
  expect(await state.report()).toEqual({ state: "starting", reasons: ["loopback:b is starting: because"] });
  store = { ok: false, reason: "read-only" };
  expect((await state.report()).state).toBe("degraded");
});

test("why it is in a phase is told as long as the phase lasts", async () => {
  const state = gatewayState({ check: async () => ({ ok: true }) }, () => []);
  state.enter("safe-mode", "it died three times");
  expect((await state.report()).reasons).toContain("it died three times");
  state.enter("running");
  expect((await state.report()).reasons).toEqual([]);
});

test("the report names each channel that does not hear, and heals with it", async () => {
  let health: ChannelHealth["state"] = "down";
  const state = gatewayState({ check: async () => ({ ok: true }) }, () => [
    channel("a", "ok"),
    channel("b", health),
  ]);
  state.enter("running");
  expect(await state.report()).toEqual({ state: "degraded", reasons: ["loopback:b is down: because"] });
  health = "ok";
  expect(await state.report()).toEqual({ state: "ok", reasons: [] });
});

test("a model that waits for a person is told with what to do, and takes no channel out of service", async () => {
  let refused = true;
  const words = (): readonly string[] =>
    refused ? [modelTrouble({ model: "openai/gpt-5", kind: "auth" })] : [];
  const state = gatewayState(
    { check: async () => ({ ok: true }) },
    () => [channel("a", "ok")],
    () => null,
    () => [],
    words,
  );
  state.enter("running");
  const report = await state.report();
  expect(report.state).toBe("degraded");
  expect(report.reasons.join()).toMatch(
    /openai\/gpt-5 .* refuses the key\. Set models\.providers\.openai\.apiKey/,
  );
  expect(state.ready().ok).toBe(true);
  refused = false;
  expect(await state.report()).toEqual({ state: "ok", reasons: [] });
});
