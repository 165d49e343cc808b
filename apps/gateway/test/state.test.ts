import { loopback, type Channel, type ChannelHealth } from "@parley/channels";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { gatewayState, type Phase } from "../src/state.ts";

const healths: ChannelHealth["state"][] = ["starting", "ok", "degraded", "down", "stopped"];
const phases: Phase[] = ["starting", "running", "draining", "safe-mode"];

function channel(account: string, state: ChannelHealth["state"]): Channel {
  return { ...loopback({ account, clock: virtualClock() }), health: () => ({ state, reason: "because" }) };
}

describe("ready means that the daemon runs and every channel hears", () => {
  test.for(phases.flatMap((phase) => healths.map((health) => [phase, health] as const)))(
    "phase %s, a channel that is %s",
    ([phase, health]) => {
      const state = gatewayState({ check: () => Promise.reject(new Error("not asked")) }, () => [channel("a", "ok"), channel("b", health)]);
      state.enter(phase);
      expect(state.ready()).toEqual({ ok: phase === "running" && health === "ok" });
    },
  );
});

test("the report names each channel that does not hear, and heals with it", async () => {
  let health: ChannelHealth["state"] = "down";
  const state = gatewayState({ check: async () => ({ ok: true }) }, () => [channel("a", "ok"), channel("b", health)]);
  state.enter("running");
  expect(await state.report()).toEqual({ state: "degraded", reasons: ["loopback:b is down: because"] });
  health = "ok";
  expect(await state.report()).toEqual({ state: "ok", reasons: [] });
});
