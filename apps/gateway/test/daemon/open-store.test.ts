// What a start does with what the process before it in its place held, before anything is taken.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freeLeaders } from "@parley/cluster";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../../src/daemon/open-store.ts";
import { memoryStore } from "../receive/store.ts";
import { saidLog } from "./said-log.ts";

const leader = (boot: string): string => JSON.stringify({ node: "n", boot });
const ttlMs = 6_000;

function place() {
  const home = mkdtempSync(join(tmpdir(), "parley-open-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const clock = virtualClock();
  const settled: string[] = [];
  const { log, said } = saidLog();
  const freed: unknown[] = [];
  let held = 0;
  const open = (bootId: string, deadBoot: string | null) =>
    openStore({
      config: { store: { driver: "sqlite" } } as never,
      home,
      place: { name: "n", deadBoot, settle: (boot: string) => void settled.push(boot), release: () => {} },
      bootId,
      metrics: {
        store: (store: object) => ({
          ...store,
          freeLeases: async (of: unknown) => (freed.push(of), held),
        }),
      } as never,
      jobs: { check: async () => [] },
      onFatal: () => expect.unreachable("the store can be trusted"),
      clock,
      log,
    });
  return { open, clock, settled, said, freed, leases: (count: number) => (held = count) };
}

test("the accounts that a dead boot led are free at once, and those of others stay led", async () => {
  const { open, clock, settled } = place();
  const { store: before } = await open("first", null);
  for (const [account, boot] of [
    ["telegram:a", "first"],
    ["discord:b", "elsewhere"],
    ["web:c", "first"],
  ] as const)
    await before.cells.put(`leader:${account}`, leader(boot), { ttlMs });
  await before.close();
  const { store, damage } = await open("second", "first");
  await clock.advance(2);
  expect((await store.cells.list("leader:", 10)).map(({ key }) => key)).toEqual(["leader:discord:b"]);
  expect([settled, damage()]).toEqual([["first", "second"], null]);
  await store.close();
});

test("what a dead boot had leased is freed where nodes share a store, and told in the log where it was something", async () => {
  const { open, said, freed, leases } = place();
  const { store: before } = await open("first", null);
  await before.close();
  expect(freed).toEqual([]);
  leases(2);
  await (await open("second", "first")).store.close();
  leases(0);
  await (await open("third", "second")).store.close();
  expect(freed).toEqual([{ holder: "first" }, { holder: "second" }]);
  expect(said).toEqual([
    ["info", "freed what the process before this one held", { boot: "first", leases: 2 }],
  ]);
});

test("nothing is freed where no boot before is proven dead", async () => {
  const { open, clock } = place();
  const { store: before } = await open("first", null);
  await before.cells.put("leader:telegram:a", leader("first"), { ttlMs });
  await before.close();
  const { store } = await open("second", null);
  await clock.advance(2);
  expect(await store.cells.list("leader:", 10)).toHaveLength(1);
  await store.close();
});

test("a trial of suspects ends with a boot that stopped in order, and a death in it is kept as a proof", async () => {
  const trial = JSON.stringify({
    boot: "first",
    sinceMs: 0,
    forMs: 5_000,
    alone: null,
    unclear: 0,
    untilMs: 1,
  });
  const proofOf = async (endsWell: boolean, deadBoot: string): Promise<string | null> => {
    const { open } = place();
    const { store: before } = await open("first", null);
    await before.cells.put("suspects:trial", trial, {});
    // A store that was not closed is how a death looks to the next start.
    if (endsWell) await before.close();
    const { store } = await open("second", deadBoot);
    const found = await store.cells.get("suspects:trial");
    await store.close();
    return found?.value ?? null;
  };
  expect(await proofOf(true, "first")).toBeNull();
  expect(JSON.parse((await proofOf(false, "first")) ?? "{}")).toMatchObject({
    boot: "first",
    diedByMs: Date.UTC(2026, 0, 1),
  });
  expect(await proofOf(true, "another")).toBe(trial);
});

test("every account of a dead boot is freed, however many there are, and nothing else of its cells", async () => {
  const clock = virtualClock();
  const { cells, close } = await memoryStore(clock);
  for (let nth = 0; nth < 300; nth += 1)
    await cells.put(`leader:telegram:a${nth}`, leader(nth % 3 === 1 ? "other" : "dead"), { ttlMs });
  await cells.put("leaders-beside", leader("dead"), { ttlMs });
  await freeLeaders(cells, "dead");
  await clock.advance(2);
  const left = await cells.list("leader", 1_000);
  expect(left.map(({ key }) => key).filter((key) => !key.startsWith("leader:"))).toEqual(["leaders-beside"]);
  expect(left).toHaveLength(101);
  expect(left.every(({ key, value }) => key === "leaders-beside" || value === leader("other"))).toBe(true);
  await close();
});
