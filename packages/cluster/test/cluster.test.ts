// A node over one store: which connections it opens, stops and makes anew as it leads, loses an account, or the config changes.
import type { Channel } from "@parley/channels";
import { accountKey, silentLog } from "@parley/protocol";
import { silentBus } from "@parley/queue";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { cluster } from "../src/index.ts";

async function fixture(...names: readonly string[]) {
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock,
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
  const told: string[] = [];
  const channel = (key: string): Channel =>
    ({
      name: key.split(":")[0],
      account: key.split(":")[1],
      capabilities: {},
      start: async () => {},
      stop: async () => void told.push(`stop ${key}`),
      health: () => ({ state: "ok" }),
    }) as unknown as Channel;
  /** Accounts of the config; `renew` follows it. */
  const accounts = new Set(names);
  const channels = new Map(names.map((key) => [key, channel(key)]));
  const node = cluster({
    role: "all",
    node: "here",
    bootId: "boot",
    store: { cells: store.cells, freeLeases: async () => 0 },
    bus: silentBus,
    wired: {
      channels,
      webhooks: new Map([["called", {}]]),
      async renew(key) {
        told.push(`renew ${key}`);
        if (accounts.has(key)) channels.set(key, channel(key));
        else channels.delete(key);
        return channels.get(key) ?? null;
      },
    },
    clock,
    log: silentLog,
  });
  onTestFinished(async () => {
    await node.handOver();
    node.close();
    await store.close();
  });
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 500) await clock.advance(500);
  };
  const open = async (): Promise<void> => {
    await node.open([...channels.values()], {
      pools: { lead: (key) => ({ end: async () => void told.push(`unlead ${key}`) }) },
      workNotifier: { serve: () => () => {} },
      receive: async () => ({}) as never,
      startChannel: async (started) =>
        void told.push(`start ${accountKey({ channel: started.name, account: started.account })}`),
      nodeRegistry: { list: async () => [], othersLead: async () => false },
    });
    await pass(2_000);
  };
  const shown = (): readonly string[] => [...node.channels.keys()].toSorted();
  /** What happened since the last look. */
  const since = (): readonly string[] => told.splice(0).toSorted();
  return { node, accounts, open, pass, shown, since };
}

test("a node leads every account and answers where the platform calls; what it hands over it stops, but not what is called", async () => {
  const { node, open, since, shown } = await fixture("telegram:one", "telegram:called", "web:default");
  expect(shown()).toEqual(["telegram:called", "telegram:one", "web:default"]);
  await open();
  expect(since()).toEqual(["start telegram:called", "start telegram:one"]);
  expect(node.leads().toSorted()).toEqual(["telegram:called", "telegram:one"]);
  await node.handOver();
  expect(since()).toEqual([
    "renew telegram:one",
    "stop telegram:one",
    "unlead telegram:called",
    "unlead telegram:one",
  ]);
  expect(node.leads()).toEqual([]);
});

test("an account that the config adds is shown and led, one that it drops is neither, one that it changes begins anew", async () => {
  const { node, accounts, open, pass, since, shown } = await fixture("telegram:one", "telegram:two");
  await open();
  since();
  const change = async (key: string): Promise<void> => {
    await node.change(key, {} as never);
    await pass(2_000);
  };
  accounts.add("telegram:three");
  await change("telegram:three");
  expect(since()).toEqual(["renew telegram:three", "start telegram:three"]);
  accounts.delete("telegram:two");
  await change("telegram:two");
  expect(since().filter((each) => each.startsWith("start"))).toEqual([]);
  await change("telegram:one");
  expect(since().filter((each) => each.startsWith("start"))).toEqual(["start telegram:one"]);
  expect(shown()).toEqual(["telegram:one", "telegram:three"]);
  expect(node.leads().toSorted()).toEqual(["telegram:one", "telegram:three"]);
});
