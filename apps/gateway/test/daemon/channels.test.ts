// How channels are opened: all at the start, the page's alone in safe mode, one after a reload; what cannot
// start keeps nobody from starting, and led accounts are the cluster's.
import type { Channel } from "@parley/channels";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { channelHand, openChannels, type ChannelParts } from "../../src/daemon/channels.ts";
import { saidLog } from "./said-log.ts";

const boom = new Error("a wrong token");

function stage({ led = [] as readonly string[], hasPools = true, broken = [] as readonly string[] } = {}) {
  const did: (readonly unknown[])[] = [];
  const { log, said } = saidLog();
  const channel = (name: string, account: string): Channel =>
    ({
      name,
      account,
      suggestsWith: (suggest: string) => void did.push(["suggests", `${name}:${account}`, suggest]),
      start: async (receive: string) => {
        did.push(["start", `${name}:${account}`, receive]);
        if (broken.includes(`${name}:${account}`)) throw boom;
      },
      stop: async () => void did.push(["stop", `${name}:${account}`]),
    }) as never;
  const web = channel("web", "default");
  const all = [channel("telegram", "a"), web, channel("telegram", "b")];
  let phase = "starting";
  const parts = {
    path: { receive: "receive", commands: { suggest: "suggest" } },
    wired: { channels: new Map(all.map((each) => [`${each.name}:${each.account}`, each])), web },
    workNotifier: "notifier",
    nodeRegistry: "registry",
    running: { pools: hasPools ? "pools" : null },
    isLed: (account: string) => led.includes(account),
    state: {
      phase: () => phase,
      enter: (next: string, reason?: string) => void did.push(["enter", (phase = next), reason]),
      channelFailed: ({ account }: Channel, error: unknown) => void did.push(["failed", account, error]),
    },
    setMenu: async ({ account }: Channel, signal?: AbortSignal) => {
      did.push(["menu", account, signal?.aborted]);
      if (account === "b") throw boom;
    },
    cluster: {
      open: async (channels: readonly Channel[], what: object) =>
        void did.push(["led", channels.map(({ account }) => account), what]),
    },
  } as unknown as ChannelParts;
  const named = (name: string): readonly unknown[] =>
    did.flatMap(([what, which]) => (what === name ? [which] : []));
  return { parts, did, said, log, all, web, named };
}

test("all are opened before the daemon runs; one that cannot start, or loses its menu, is told and keeps no other", async () => {
  const s = stage({ broken: ["telegram:a"] });
  expect(await openChannels(s.parts, null, virtualClock(), s.log)).toBeNull();
  expect(s.did.filter(([what]) => what !== "led")).toEqual([
    ["suggests", "telegram:a", "suggest"],
    ["start", "telegram:a", "receive"],
    ["suggests", "web:default", "suggest"],
    ["start", "web:default", "receive"],
    ["suggests", "telegram:b", "suggest"],
    ["start", "telegram:b", "receive"],
    ["failed", "a", boom],
    ["menu", "default", undefined],
    ["menu", "b", undefined],
    ["enter", "running", undefined],
  ]);
  expect(s.named("led")).toEqual([[]]);
  expect(s.said).toEqual([
    ["error", "a channel cannot start", { channel: "telegram", account: "a", error: boom }],
    ["warn", "the menu is no longer kept", { channel: "telegram", account: "b", error: boom }],
  ]);
});

test("in safe mode the page alone is open, until somebody resumes or ten minutes have passed, and then the rest once", async () => {
  for (const byHand of [true, false]) {
    const clock = virtualClock();
    const s = stage();
    const held = await openChannels(s.parts, "three crashes", clock, s.log);
    expect(s.named("start")).toEqual(["web:default"]);
    expect(s.did.at(-1)).toEqual(["enter", "safe-mode", "three crashes"]);
    // A reload meanwhile opens no other either.
    const hand = channelHand(s.parts, s.log);
    for (const each of s.all) await hand.start(each);
    expect(s.named("start")).toEqual(["web:default", "web:default"]);
    if (byHand) expect(await held?.resume()).toBe(true);
    else await clock.advance(600_000);
    expect(s.named("start").slice(2)).toEqual(["telegram:a", "telegram:b"]);
    expect(s.did.at(-1)).toEqual(["enter", "running", undefined]);
    expect(await held?.resume()).toBe(false);
    await clock.advance(600_000);
    expect(s.named("start")).toHaveLength(4);
    expect(s.said.slice(0, 2)).toEqual([
      ["error", "safe mode", { reason: "three crashes" }],
      ["info", "safe mode ends", {}],
    ]);
  }
});

test("after a reload one channel is started or stopped", async () => {
  const s = stage();
  s.parts.state.enter("running");
  const hand = channelHand(s.parts, s.log);
  const [first] = s.all;
  if (first === undefined) throw new Error("there is one");
  await hand.start(first);
  await hand.stop(first);
  expect([s.named("start"), s.named("stop")]).toEqual([["telegram:a"], ["telegram:a"]]);
});

test("accounts that a node leads are opened by the cluster, with what it needs, once there are pools", async () => {
  const s = stage({ led: ["telegram:a", "telegram:b"] });
  await openChannels(s.parts, null, virtualClock(), s.log);
  expect(s.named("start")).toEqual(["web:default"]);
  const [, accounts, given] = s.did.find(([what]) => what === "led") as unknown as [string, unknown, never];
  const { startChannel, ...rest } = given as { startChannel: (...of: readonly unknown[]) => Promise<void> };
  expect([accounts, rest]).toEqual([
    ["a", "b"],
    { pools: "pools", workNotifier: "notifier", receive: "receive", nodeRegistry: "registry" },
  ]);
  // The cluster may hear by a way of its own, and its menu ends with the lead.
  await startChannel(s.all[0], AbortSignal.abort(), "receive of a node");
  expect(s.did.slice(-2)).toEqual([
    ["start", "telegram:a", "receive of a node"],
    ["menu", "a", true],
  ]);
  const early = stage({ led: ["telegram:a"], hasPools: false });
  await openChannels(early.parts, null, virtualClock(), early.log);
  expect(early.named("led")).toEqual([]);
});
