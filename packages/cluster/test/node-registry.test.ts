// The roll of a process that is alone on its store lets the disk rest, and is right all the same when somebody looks.
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { sqliteStore } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { keepNodeRegistry, type NodeLine } from "../src/node-registry.ts";

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
  expect(await roll.list()).toMatchObject([{ node: "here", turns: 3, up: true }]);
  await roll.leave();
  expect(await roll.list()).toMatchObject([{ node: "here", state: "gone", up: false }]);
});
