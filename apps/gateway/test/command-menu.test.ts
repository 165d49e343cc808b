import { loopback, type Channel } from "@parley/channels";
import { Fault, silentLog, type Action } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { keepMenu, registerMenu } from "../src/commands/command-menu.ts";
import { tellingCommands } from "../src/commands/parse-command.ts";
import { memoryStore } from "./receive/store.ts";

const menu = [{ name: "stop", description: "stop what I am doing" }];

async function account(refusals: readonly Fault[] = [], state: () => "ok" | "stopped" = () => "ok") {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const told: Action[] = [];
  const left = [...refusals];
  const channel: Channel = {
    ...loopback({ account: "default", clock }),
    actions: ["setCommands"],
    health: () => ({ state: state() }),
    act: async (_to, action) => {
      const refusal = left.shift();
      if (refusal !== undefined) throw refusal;
      told.push(action);
      return null;
    },
  };
  const ending = new AbortController();
  const start = (commands = menu): Promise<void> =>
    registerMenu({ channel, menu: commands, cells, clock, log: silentLog, signal: ending.signal });
  const keep = (menuNow: () => Promise<typeof menu>, more: Partial<Channel> = {}): Promise<void> =>
    keepMenu({
      channel: { ...channel, ...more },
      menuNow,
      cells,
      clock,
      log: silentLog,
      signal: ending.signal,
    });
  return { clock, told, start, keep, ending };
}

test("the menu is told once, and again only when it changed", async () => {
  const { told, start } = await account();
  await start();
  await start();
  expect(told).toEqual([{ kind: "setCommands", commands: menu }]);
  const longer = [...menu, { name: "help", description: "what I understand" }];
  await start(longer);
  await start(longer);
  expect(told).toHaveLength(2);
});

test("a platform that is away is asked again, as late as it says", async () => {
  const { clock, told, start } = await account([
    new Fault("unavailable", "the network is down"),
    new Fault("rate_limited", "slow down", { retryAfterMs: 5_000 }),
  ]);
  const done = start();
  await clock.advance(60_000);
  expect(told).toEqual([]);
  await clock.advance(5_000);
  await done;
  expect(told).toHaveLength(1);
});

test("a refusal for good is not repeated before the next start", async () => {
  const { told, start } = await account([new Fault("denied", "no")]);
  await start();
  expect(told).toEqual([]);
  await start();
  expect(told).toHaveLength(1);
});

test("what is refused for good is not told again each minute, before the menu is another one", async () => {
  for (const refusal of [
    ...(["invalid", "unsupported", "denied", "missing"] as const).map((code) => new Fault(code, "no")),
    new TypeError("a bug") as Fault,
  ]) {
    const { clock, told, keep, ending } = await account([refusal]);
    let now = menu;
    const done = keep(async () => now);
    await clock.advance(180_000);
    expect([told, clock.armed()]).toEqual([[], 1]);
    now = [...menu, { name: "help", description: "what I understand" }];
    await clock.advance(60_000);
    expect(told).toHaveLength(1);
    ending.abort();
    await done;
  }
});

test("the end of the daemon ends the waiting", async () => {
  const { clock, told, start, ending } = await account([new Fault("unavailable", "the network is down")]);
  const done = start();
  await clock.advance(1_000);
  ending.abort();
  await done;
  expect([told, clock.armed()]).toEqual([[], 0]);
});

test("a channel that was stopped is told nothing, not even once it answers again", async () => {
  let state: "ok" | "stopped" = "stopped";
  const { clock, told, start, keep } = await account([new Fault("unavailable", "away")], () => state);
  await start();
  await keep(async () => menu);
  state = "ok";
  const done = start();
  await clock.advance(59_999);
  state = "stopped";
  await clock.advance(1);
  await done;
  expect([told, clock.armed()]).toEqual([[], 0]);
});

test("a menu is looked at each minute and told when it changed, until its channel stops", async () => {
  let state: "ok" | "stopped" = "ok";
  const { clock, told, keep } = await account([], () => state);
  const menus = [menu, menu, [...menu, { name: "help", description: "what I understand" }], menu, []];
  let asked = 0;
  const done = keep(async () => menus[(asked += 1) - 1] ?? []);
  const after = async (ms: number): Promise<readonly [number, number]> => {
    await clock.advance(ms);
    return [asked, told.length];
  };
  expect(await after(59_999)).toEqual([1, 1]);
  expect(await after(1)).toEqual([2, 1]);
  expect(await after(60_000)).toEqual([3, 2]);
  expect(await after(60_000)).toEqual([4, 3]);
  state = "stopped";
  expect(await after(60_000)).toEqual([4, 3]);
  await done;
  expect(told.map((action) => (action.kind === "setCommands" ? action.commands : []))).toEqual([
    menu,
    menus[2],
    menu,
  ]);
});

test("a platform without menus is not asked what to show", async () => {
  const { keep, told } = await account();
  const unasked = () => expect.unreachable("no menu is needed");
  await keep(unasked, { actions: ["react"] });
  await keep(unasked, { act: undefined } as never);
  expect(told).toEqual([]);
});

test("commands that report, or show what is private, answer where nobody else sees it", () => {
  expect(
    tellingCommands.toSorted(),
    "a command with onlyTells belongs into this list, and into the row of slash commands in docs/discord.md",
  ).toEqual([
    "agents",
    "commands",
    "context",
    "forget",
    "help",
    "mcp",
    "memory",
    "start",
    "status",
    "tasks",
    "tools",
    "usage",
    "whoami",
    "why",
  ]);
});

test("an account's menu is kept under its own name; a platform that does not answer has thirty seconds, and the log says what came of it", async () => {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const lines: unknown[] = [];
  const say = (level: string) => (about: object, words: string) => lines.push([level, words, about]);
  const calls: unknown[] = [];
  let hangs = true;
  const channel: Channel = {
    ...loopback({ account: "work", clock }),
    actions: ["setCommands"],
    act: (to, _action, { idempotencyKey, signal }) => {
      calls.push([to, idempotencyKey.replace(/[0-9a-f]{64}$/, "HASH")]);
      return hangs
        ? new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error)))
        : Promise.resolve(null);
    },
  };
  const ending = new AbortController();
  const log = { ...silentLog, info: say("info"), warn: say("warn") } as never;
  const done = registerMenu({ channel, menu, cells, clock, log, signal: ending.signal });
  await clock.advance(29_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  const about = { channel: "loopback", account: "work" };
  const late = ["warn", "could not set the menu of commands", { ...about, error: expect.any(Fault) }];
  expect(lines).toEqual([late]);
  hangs = false;
  await clock.advance(60_000);
  await done;
  expect(lines).toEqual([late, ["info", "the menu of commands was set", { ...about, commands: 1 }]]);
  const anywhere = { ...about, kind: "dm", peer: "0" };
  expect(calls).toEqual([
    [anywhere, "menu:loopback:work/HASH"],
    [anywhere, "menu:loopback:work/HASH"],
  ]);
  expect((await cells.list("", 9)).map(({ key, value }) => [key, value.length])).toEqual([
    ["menu:loopback:work", 64],
  ]);
  expect(clock.armed()).toBe(0);
});
