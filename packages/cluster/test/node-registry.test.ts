// The roll of a process that is alone on its store lets the disk rest, and is right all the same when
// somebody looks.
import { silentLog, type Log } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { sqliteStore } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { canLead, keepNodeRegistry, readNodeRegistry, type NodeLine } from "../src/node-registry.ts";

const line: NodeLine = {
  node: "here",
  boot: "boot",
  role: "all",
  version: "0",
  pid: 1,
  url: "http://127.0.0.1:1/",
  startedAtMs: 0,
  state: "running",
  turns: 0,
  deliveries: 0,
  leads: [],
};

test.each([
  ["alone", true, 1],
  ["one of several", false, 21],
])("%s: a minute of rest, then a look", async (_who, alone, writes) => {
  const clock = virtualClock();
  const fatal = (error: unknown): never => {
    throw error;
  };
  const { cells, close } = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: fatal,
  });
  onTestFinished(close);
  let written = 0;
  let turns = 0;
  const roll = keepNodeRegistry({
    alone,
    cells: { ...cells, put: (...args) => ((written += 1), cells.put(...args)) },
    line: () => ({ ...line, turns }),
    clock,
    log: silentLog,
  });
  for (let at = 0; at < 60_000; at += 500) await clock.advance(500);
  expect(written).toBeGreaterThanOrEqual(writes - 1);
  expect(written).toBeLessThanOrEqual(writes);
  turns = 3;
  if (!alone) await clock.advance(3_000);
  const before = written;
  expect(await roll.list()).toMatchObject([{ node: "here", turns: 3, up: true }]);
  // Only who is alone writes because somebody looks: the others' lines are fresh.
  expect(written - before).toBe(alone ? 1 : 0);
  await roll.leave();
  expect(await roll.list()).toMatchObject([{ node: "here", state: "gone", up: false }]);
});

test("a node is up for ten seconds after its line, stays in the list for a day, and the newest line tells the time", async () => {
  const clock = virtualClock();
  const lines = new Map<
    string,
    { readonly key: string; readonly value: string; expiresAtMs: number; readonly version: number }
  >();
  const write = (each: Partial<NodeLine>): void => {
    const value = { ...line, ...each };
    const key = `node:${value.node}`;
    lines.set(key, {
      key,
      value: JSON.stringify(value),
      expiresAtMs: clock.now() + 24 * 3_600_000,
      version: 1,
    });
  };
  const read = readNodeRegistry({ list: async () => [...lines.values()] }, clock);
  const seen = async (): Promise<readonly string[]> =>
    (await read()).map(({ node, up, silentMs }) => `${node} ${up ? "up" : "down"} ${silentMs}`);
  write({ node: "a" });
  write({ node: "gone", state: "gone" });
  expect(await seen()).toEqual(["a up 0", "gone down 0"]);
  await clock.advance(9_999);
  expect(await seen()).toEqual(["a up 9999", "gone down 9999"]);
  await clock.advance(1);
  expect(await seen()).toEqual(["a down 10000", "gone down 10000"]);
  // A clock that is behind the store's learns the time from the newest line.
  write({ node: "b" });
  clock.jumpWall(-3_600_000);
  expect(await seen()).toEqual(["a down 10000", "gone down 10000", "b up 0"]);
});

test.each([
  [{}, true],
  [{ role: "edge" as const }, true],
  [{ role: "worker" as const }, false],
  [{ state: "draining" }, false],
  [{ state: "safe-mode" }, false],
  [{ up: false }, false],
])("a node that is %j could lead an account: %j", (more, leads) => {
  expect(canLead({ ...line, up: true, silentMs: 0, ...more })).toBe(leads);
});

test.each<[string, boolean, readonly Partial<NodeLine>[], boolean]>([
  ["none, of itself alone", false, [], false],
  ["none, of workers and nodes that end", false, [{ role: "worker" }, { state: "draining" }], false],
  ["one that may", false, [{ role: "worker" }, { role: "edge" }], true],
  ["one, but this process says that it is alone", true, [{ role: "edge" }], false],
])("the others that could lead: %s", async (_what, alone, others, could) => {
  const clock = virtualClock();
  const { cells, close } = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  onTestFinished(close);
  const log = silentLog;
  const keeping = [
    line,
    ...others.map((each, n) => ({ ...line, ...each, node: `n${n}`, boot: `b${n}` })),
  ].map((own, n) => keepNodeRegistry({ alone: n === 0 && alone, cells, line: () => own, clock, log }));
  await clock.advance(100);
  expect(await keeping[0]?.othersLead()).toBe(could);
  for (const each of keeping) await each.leave();
});

test("who leaves leads nothing any more in the list, whatever it led", async () => {
  const clock = virtualClock();
  const written: string[] = [];
  const registry = keepNodeRegistry({
    alone: false,
    cells: { list: async () => [], put: async (key, value) => (written.push(`${key} ${value}`), null) },
    line: () => ({ ...line, leads: ["telegram:a"] }),
    clock,
    log: silentLog,
  });
  await clock.advance(1);
  await registry.leave();
  const shown = (more: Partial<NodeLine>): string => `node:here ${JSON.stringify({ ...line, ...more })}`;
  expect(written).toEqual([shown({ leads: ["telegram:a"] }), shown({ state: "gone", leads: [] })]);
});

test("a line that cannot be written is told to the log and written three seconds later; who left writes no more", async () => {
  const clock = virtualClock();
  const away = new Error("the store is away");
  const lines: unknown[] = [];
  const puts: unknown[] = [];
  const log: Log = { ...silentLog, debug: (fields, words) => void lines.push([words, fields]) };
  const registry = keepNodeRegistry({
    alone: false,
    cells: {
      list: async () => [],
      put: async (key, _value, how) => {
        puts.push([clock.mono(), key, how]);
        throw away;
      },
    },
    line: () => line,
    clock,
    log,
  });
  for (let at = 0; at < 6_000; at += 500) await clock.advance(500);
  const day = { ttlMs: 86_400_000 };
  expect(puts).toEqual([0, 3_000, 6_000].map((at) => [at, "node:here", day]));
  await registry.leave();
  await clock.advance(9_000);
  const told = ["the roll of nodes could not be written", { error: away }];
  expect([puts.length, lines, clock.armed()]).toEqual([4, [told, told, told, told], 0]);
});
