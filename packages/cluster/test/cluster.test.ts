// A node over one store: which connections it opens, stops and makes anew as it leads, loses an account, or
// the config changes.
import type { Channel, ChannelHealth, Receive } from "@parley/channels";
import { accountKey, silentLog } from "@parley/protocol";
import { silentBus } from "@parley/queue";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { cluster } from "../src/index.ts";
import type { NodeView } from "../src/node-registry.ts";
import type { Role } from "../src/node-identity.ts";

async function fixture(...names: readonly string[]) {
  return fixtureOf({ role: "all" }, names);
}

async function fixtureOf(
  { role, lines = [] }: { readonly role: Role; readonly lines?: readonly NodeView[] },
  names: readonly string[],
) {
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
  const logged: unknown[] = [];
  /** How long an old connection takes to stop. */
  let stopping: Promise<void> = Promise.resolve();
  const channel = (key: string): Channel =>
    ({
      name: key.split(":")[0],
      account: key.split(":")[1],
      capabilities: {},
      start: async () => {},
      stop: async () => {
        told.push(`stop ${key}`);
        await stopping;
      },
      health: () => health(key),
    }) as unknown as Channel;
  let health = (_account: string): ChannelHealth => ({ state: "ok" });
  let others = false;
  const freed: unknown[] = [];
  const terms = new Map<string, () => number | undefined>();
  const received = new Map<string, Receive>();
  /** Accounts of the config; `renew` follows it. */
  const accounts = new Set(names);
  const channels = new Map(names.map((key) => [key, channel(key)]));
  const node = cluster({
    role,
    node: "here",
    bootId: "boot",
    store: { cells: store.cells, freeLeases: async (of) => (freed.push(of), 0) },
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
    log: {
      ...silentLog,
      info: (...line: unknown[]) => void logged.push(line),
      warn: (...line: unknown[]) => void logged.push(line),
    },
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
      pools: {
        lead(key, term) {
          terms.set(key, term);
          return { end: async () => void told.push(`unlead ${key}`) };
        },
      },
      workNotifier: { serve: (key) => () => void told.push(`unserve ${key}`) },
      receive: async () => ({ rows: 1 }) as never,
      async startChannel(started, _signal, receive) {
        const key = accountKey({ channel: started.name, account: started.account });
        received.set(key, receive);
        told.push(`start ${key}`);
      },
      nodeRegistry: { list: async () => lines, othersLead: async () => others },
    });
    await pass(2_000);
  };
  const shown = (): readonly string[] => [...node.channels.keys()].toSorted();
  /** What happened since the last look. */
  const since = (): readonly string[] => told.splice(0).toSorted();
  return {
    node,
    store,
    accounts,
    channels,
    open,
    pass,
    shown,
    since,
    freed,
    terms,
    received,
    sick: (of: typeof health) => void (health = of),
    meet: (isThere: boolean) => void (others = isThere),
    /** What was said since the last look, but for who leads. */
    lines: () => logged.splice(0).filter((line) => !JSON.stringify(line).includes("leads the account")),
    stops: (how: Promise<void>) => void (stopping = how),
  };
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
    "unserve telegram:called",
    "unserve telegram:one",
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

test("a new leader frees what earlier leaders of this account hold, gives its term to what it delivers, and hears nothing once its term is over", async () => {
  const { node, store, open, pass, freed, terms, received, since } = await fixture("telegram:one");
  await open();
  expect(freed).toEqual([{ outboxOf: "telegram:one", besides: "boot" }]);
  const cell = await store.cells.get("leader:telegram:one");
  expect(terms.get("telegram:one")?.()).toBe(cell?.version);
  const receive = received.get("telegram:one");
  expect(await receive?.([])).toEqual({ rows: 1 });
  since();
  // Another process takes the cell, as it does once this one was paused past its term.
  await store.cells.put("leader:telegram:one", "{}", {});
  await pass(2_000);
  expect(terms.get("telegram:one")?.()).toBe(0);
  await expect(receive?.([])).rejects.toThrow("this node leads telegram:one no longer");
  expect([node.leads(), since()]).toEqual([
    [],
    ["renew telegram:one", "stop telegram:one", "unlead telegram:one", "unserve telegram:one"],
  ]);
});

test("an account that hears nothing is left to others where there are some, once in ten minutes, and nobody looks after one that is not led", async () => {
  const { node, open, pass, since, sick, meet } = await fixture("telegram:one");
  await open();
  since();
  sick(() => ({ state: "down", reason: "no network" }));
  await pass(60_000);
  expect([since(), node.leads()]).toEqual([[], ["telegram:one"]]);
  meet(true);
  await pass(4_000);
  expect([since(), node.leads()]).toEqual([
    ["renew telegram:one", "stop telegram:one", "unlead telegram:one", "unserve telegram:one"],
    [],
  ]);
  // Nobody took it: this node does again, and bears it for ten minutes.
  await pass(8_000);
  expect([since(), node.leads()]).toEqual([["start telegram:one"], ["telegram:one"]]);
  await pass(580_000);
  expect(since()).toEqual([]);
  await pass(40_000);
  expect(since().filter((each) => each.startsWith("stop"))).toEqual(["stop telegram:one"]);
});

const line = (boot: string, leads: readonly string[]): NodeView => ({
  node: boot,
  boot,
  role: "all",
  version: "0",
  pid: 1,
  url: "",
  startedAtMs: 0,
  state: "running",
  turns: 0,
  deliveries: 0,
  leads,
  up: true,
  silentMs: 0,
});

test.each([
  ["two more than another one leaves its last", ["telegram:a", "telegram:b"], [], ["stop telegram:b"]],
  ["one more keeps them", ["telegram:a", "telegram:b"], ["telegram:c"], []],
  ["a single one keeps it", ["telegram:a"], [], []],
])("a node that leads %s", async (_what, names, theirs, stopped) => {
  const { open, pass, since } = await fixtureOf({ role: "all", lines: [line("other", theirs)] }, names);
  await open();
  await pass(17_500);
  since();
  await pass(1_500);
  expect(since().filter((each) => each.startsWith("stop"))).toEqual(stopped);
});

test.each<[Role, readonly string[], readonly boolean[]]>([
  ["all", ["start telegram:called", "start telegram:one"], [true, true, true]],
  ["edge", ["start telegram:called", "start telegram:one"], [true, true, true]],
  ["worker", [], [false, false, true]],
])("a node of the role %s opens and hears what its role has", async (role, started, hears) => {
  const names = ["telegram:one", "telegram:called", "web:default"];
  const { node, channels, open, since } = await fixtureOf({ role }, names);
  await open();
  expect(since()).toEqual(started);
  expect([...channels.values()].map((each) => node.hears(each))).toEqual(hears);
});

test("a stand-by hears what every node is called for, and no more; an account that is gone and comes back is led anew", async () => {
  const { node, store, accounts, channels, open, pass, since } = await fixture(
    "telegram:one",
    "telegram:called",
  );
  for (const key of channels.keys()) await store.cells.put(`leader:${key}`, "{}", { ttlMs: 20_000 });
  await open();
  expect(since()).toEqual(["start telegram:called"]);
  expect([...channels.values()].map((each) => node.hears(each))).toEqual([false, true]);
  await pass(20_000);
  expect(since()).toEqual(["start telegram:one"]);
  accounts.delete("telegram:one");
  await node.change("telegram:one", {} as never);
  accounts.add("telegram:one");
  await node.change("telegram:one", {} as never);
  await pass(2_000);
  expect(since().filter((each) => each.startsWith("st"))).toEqual([
    "start telegram:one",
    "stop telegram:one",
  ]);
  expect(node.leads().toSorted()).toEqual(["telegram:called", "telegram:one"]);
});

test("a connection that does not stop is waited for ten seconds, then made anew all the same; each change is told", async () => {
  const { node, accounts, open, pass, since, lines, stops } = await fixture(
    "telegram:one",
    "telegram:called",
  );
  await open();
  since();
  lines();
  stops(new Promise(() => {}));
  let isOver = false;
  const changing = node.change("telegram:called", {} as never).then(() => (isOver = true));
  await pass(9_500);
  expect([isOver, since().filter((each) => !each.startsWith("un"))]).toEqual([
    false,
    ["stop telegram:called"],
  ]);
  await pass(500);
  await changing;
  expect(since()).toContain("renew telegram:called");
  accounts.delete("telegram:one");
  stops(Promise.resolve());
  await node.change("telegram:one", {} as never);
  const said = "the account's connection changed with the config";
  expect(lines()).toEqual([
    [{ account: "telegram:called", gone: false }, said],
    [{ account: "telegram:one", gone: true }, said],
  ]);
});

test("who leaves an account because nothing is heard says why", async () => {
  const { open, pass, sick, meet, lines } = await fixture("telegram:one");
  await open();
  lines();
  meet(true);
  sick(() => ({ state: "down", reason: "no network" }));
  await pass(24_000);
  expect(lines()).toEqual([
    [{ account: "telegram:one", reason: "no network" }, "nothing is heard here: another node may try"],
  ]);
});
