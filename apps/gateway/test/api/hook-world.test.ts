// What a webhook's call reaches: places that the config names, the owner's, and those where somebody wrote;
// models by any of their names.
import { conversationKey, type Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { hookWorld } from "../../src/api/hook-world.ts";
import { operateFixture } from "../operator/operate-fixture.ts";
import { memoryStore } from "../receive/store.ts";

const dm = (peer: string, more: Partial<Address> = {}): Address => ({
  channel: "telegram",
  account: "default",
  kind: "dm",
  peer,
  ...more,
});
const group = (peer: string, more: Partial<Address> = {}): Address => dm(peer, { kind: "group", ...more });

const config = {
  agents: { list: [{ id: "main" }, { id: "second" }] },
  channels: {
    telegram: {
      default: { allowFrom: ["1"], groups: { "-1": {} } },
      work: { allowFrom: ["2"], groups: undefined },
    },
  },
};

test("a place is reached where the config names it for the account, the owner is, or somebody wrote to the agent", async () => {
  const at = await operateFixture();
  await at.accept("1", { conversation: conversationKey(dm("7")) });
  await at.take();
  const world = hookWorld({
    configNow: () => config as never,
    path: {
      schedules: {
        homeOf: async (agent: string) => ({
          session: `agent:${agent}:main`,
          place: agent === "main" ? dm("9") : null,
        }),
      },
      reach: async ({ address: { peer } }: { readonly address: Address }) =>
        peer === "666" ? "it is blocked" : null,
    } as never,
    store: at.store,
  });
  expect(await world.homeOf("second")).toEqual({ session: "agent:second:main", place: null });
  const unknown = "the agent knows no such place";
  for (const [agent, address, why] of [
    ["main", dm("1"), null],
    ["second", dm("1"), null],
    ["main", dm("2"), unknown],
    ["main", dm("2", { account: "work" }), null],
    ["main", dm("1", { account: "work" }), unknown],
    ["main", dm("1", { account: "toString" }), unknown],
    ["main", dm("1", { channel: "discord" }), unknown],
    ["main", group("-1"), null],
    ["main", group("-1", { account: "work" }), unknown],
    ["main", group("1"), unknown],
    ["main", group("toString"), unknown],
    ["main", dm("9"), null],
    ["second", dm("9"), unknown],
    ["main", dm("7"), null],
    ["second", dm("7"), unknown],
    ["main", dm("666"), "it is blocked"],
  ] as const)
    expect([agent, address, await world.unreachable(agent, address, false)]).toEqual([agent, address, why]);
  // The operator's own words name a place that nobody else may.
  expect(await world.unreachable("main", dm("2"), true)).toBeNull();
  expect(await world.unreachable("main", dm("666"), true)).toBe("it is blocked");
});

test("a model is found by the agent's own words for it, and for no agent that there is not", async () => {
  const { close, ...store } = await memoryStore(virtualClock());
  onTestFinished(close);
  const world = hookWorld({
    configNow: () => config as never,
    path: {
      models: {
        find: async ({ id }: { readonly id: string }, word: string) =>
          word === "quick" ? { ref: `lab/${id}` } : { nearest: ["quick"] },
      },
    } as never,
    store,
  });
  expect([
    await world.model("second", "quick"),
    await world.model("main", "slow"),
    await world.model("gone", "quick"),
  ]).toEqual(["lab/second", null, null]);
});
