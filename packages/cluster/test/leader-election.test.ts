// Who leads, on a virtual clock: never two at once, also when one is paused past its term, is cut off from
// the store, or its answers are lost.
import { Fault, silentLog, type Log } from "@parley/protocol";
import { sqliteStore, type Cells, type SqliteStore } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freeLeaders, leaderCell, leaderElection, type LeaderElection } from "../src/leader-election.ts";

const account = "telegram:default";
let clock: VirtualClock;
let store: SqliteStore;
let dir: string;
let told: string[];
let standing: LeaderElection[];
/** Level, sentence and reason of what leaders say. */
let logged: string[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "parley-leaders-"));
  clock = virtualClock();
  store = await sqliteStore({
    path: join(dir, "state.db"),
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  [told, standing, logged] = [[], [], []];
});
afterEach(async () => {
  await Promise.all(standing.map((each) => each.resign()));
  await store.close();
  rmSync(dir, { recursive: true });
});

const line =
  (level: string) =>
  (fields: object, message: string): void => {
    const { reason } = fields as { readonly reason?: string };
    logged.push(`${level}: ${message}${reason === undefined ? "" : ` (${reason})`}`);
  };
const log: Log = { ...silentLog, info: line("info"), warn: line("warn"), error: line("error") };

type Weather = "fine" | "away" | "answers are lost";

function stand(
  node: string,
  weather: () => Weather = () => "fine",
  begins: () => Promise<void> = async () => {},
): LeaderElection {
  const through =
    <A extends readonly unknown[], T>(verb: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      if (weather() === "away") throw new Fault("unavailable", "away");
      const answer = await verb(...args);
      if (weather() === "answers are lost") throw new Fault("ambiguous", "lost");
      return answer;
    };
  const cells: Pick<Cells, "get" | "put" | "touch"> = {
    get: through(store.cells.get),
    put: through(store.cells.put),
    touch: through(store.cells.touch),
  };
  const made = leaderElection({
    account,
    node,
    bootId: `boot-${node}`,
    cells,
    clock,
    log,
    async lead() {
      await begins();
      told.push(`${node} leads`);
    },
    lost: async () => void told.push(`${node} ended`),
  });
  standing.push(made);
  return made;
}

/** Steps small enough that no two timers share one. */
async function pass(ms: number, look: () => void = () => {}): Promise<void> {
  for (let at = 0; at < ms; at += 100) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
    look();
  }
}

test("one leads; when it is cut off it ends before the next one begins, within ten seconds, and takes no new term while another has it", async () => {
  let weather: Weather = "fine";
  const first = stand("a", () => weather);
  await pass(300);
  const second = stand("b");
  const never = (): void =>
    expect([first.term(), second.term()].filter((term) => term !== null).length).toBeLessThan(2);
  await pass(20_000, never);
  expect(told).toEqual(["a leads"]);
  const term = first.term();
  weather = "away";
  await pass(9_000, never);
  expect(told).toEqual(["a leads", "a ended", "b leads"]);
  expect(second.term()).toBeGreaterThan(term ?? Infinity);
  weather = "fine";
  await pass(10_000, never);
  expect([first.term(), told.length]).toEqual([null, 3]);
});

test("who resigns is followed within a second or two", async () => {
  const first = stand("a");
  await pass(300);
  const second = stand("b");
  await pass(2_000);
  await first.resign();
  await pass(2_000);
  expect(told).toEqual(["a leads", "a ended", "b leads"]);
  expect(second.term()).not.toBeNull();
});

test("a node whose answers are lost does not think that it leads; it does once they come again, in one term", async () => {
  let weather: Weather = "answers are lost";
  const only = stand("a", () => weather);
  await pass(3_000);
  expect([only.term(), told]).toEqual([null, []]);
  weather = "fine";
  await pass(3_000);
  expect(told).toEqual(["a leads"]);
  expect(only.term()).toBe((await store.cells.get(`leader:${account}`))?.version);
});

test("a leader that could not begin, because the store was away just then, begins again; nobody else leads meanwhile", async () => {
  let times = 0;
  const first = stand("a", undefined, async () => {
    times += 1;
    if (times === 1) throw new Fault("unavailable", "away");
  });
  await pass(300);
  const second = stand("b");
  await pass(10_000, () => expect(second.term()).toBeNull());
  expect([told, times]).toEqual([["a ended", "a leads"], 2]);
  expect(logged).toEqual([
    "info: leads the account",
    "error: could not begin to lead",
    "warn: leads the account no longer (could not begin)",
    "info: leads the account",
  ]);
  expect(first.term()).not.toBeNull();
});

test("who steps aside is followed by another one, and leads again where there is none", async () => {
  const first = stand("a");
  await pass(300);
  await first.stepAside();
  await pass(7_000);
  expect(told).toEqual(["a leads", "a ended", "a leads"]);
  const second = stand("b");
  await pass(300);
  await first.stepAside();
  await pass(7_000, () =>
    expect([first.term(), second.term()].filter((term) => term !== null).length).toBeLessThan(2),
  );
  expect(told.slice(3)).toEqual(["a ended", "b leads"]);
});

test("made anew, a leader ends and begins in the same term, and one who stands by does not begin", async () => {
  const [first, between] = [stand("a"), async () => void told.push("changed")];
  await pass(300);
  const second = stand("b");
  await pass(300);
  const term = first.term();
  await Promise.all([first.anew(between), second.anew(between)]);
  expect([told.toSorted(), first.term()]).toEqual([
    ["a ended", "a leads", "a leads", "changed", "changed"],
    term,
  ]);
  await first.anew(async () => {
    throw new Error("no such config");
  });
  expect([told.slice(-2), first.term()]).toEqual([["a ended", "a leads"], term]);
  expect(logged).toEqual(["info: leads the account", "error: could not be made anew"]);
});

test("a lost term leaves one look a second, not one more for each loss", async () => {
  let [weather, asked]: [Weather, number] = ["fine", 0];
  stand("a", () => {
    asked += 1;
    return weather;
  });
  await pass(300);
  stand("b");
  weather = "away";
  await pass(12_000);
  expect(told).toEqual(["a leads", "a ended", "b leads"]);
  [weather, asked] = ["fine", 0];
  await pass(10_000);
  // The weather is asked before and after each verb.
  expect(asked / 2).toBe(10);
});

test("who steps aside looks no sooner than after five seconds, though nobody took its place", async () => {
  const first = stand("a");
  await pass(300);
  await first.stepAside();
  await pass(4_500);
  expect(told).toEqual(["a leads", "a ended"]);
  await pass(2_000);
  expect(told).toEqual(["a leads", "a ended", "a leads"]);
});

test("what a dead boot led is free at once, and nothing of another boot of that node", async () => {
  for (const [name, value] of [
    ["dead", { node: "a", boot: "boot-1" }],
    ["alive", { node: "boot-1", boot: "boot-2" }],
  ] as const)
    await store.cells.put(leaderCell(name), JSON.stringify(value), { ttlMs: 60_000 });
  await freeLeaders(store.cells, "boot-1");
  await clock.advance(2);
  const [dead, alive] = await Promise.all(["dead", "alive"].map((name) => store.cells.get(leaderCell(name))));
  expect([dead, alive?.expiresAtMs]).toEqual([null, clock.now() - 2 + 60_000]);
});

test("who resigns while its claim is on its way leaves no claim and does not begin", async () => {
  let release: (() => void) | null = null;
  const held: Pick<Cells, "get" | "put" | "touch"> = {
    get: store.cells.get,
    touch: store.cells.touch,
    async put(...args) {
      const cell = await store.cells.put(...args);
      await new Promise<void>((resolve) => (release = resolve));
      return cell;
    },
  };
  const first = leaderElection({
    account,
    node: "a",
    bootId: "boot-a",
    cells: held,
    clock,
    log: silentLog,
    lead: async () => void told.push("a leads"),
    lost: async () => void told.push("a ended"),
  });
  await pass(300);
  await first.resign();
  (release as (() => void) | null)?.();
  await pass(300);
  expect([told, await store.cells.get(leaderCell(account))]).toEqual([[], null]);
});

test("who loses an account unwished says so as a warning with the reason, who gives it up as news", async () => {
  let weather: Weather = "fine";
  const first = stand("a", () => weather);
  await pass(300);
  weather = "away";
  await pass(7_000);
  weather = "fine";
  await pass(2_000);
  await store.cells.put(leaderCell(account), JSON.stringify({ node: "b", boot: "boot-b" }), { ttlMs: 2_000 });
  await pass(6_000);
  await first.stepAside();
  await pass(7_000);
  await first.resign();
  const [leads, no] = ["info: leads the account", "leads the account no longer"];
  expect(logged).toEqual([
    leads,
    `warn: ${no} (could not renew in time)`,
    leads,
    `warn: ${no} (another node leads)`,
    leads,
    `info: ${no} (steps aside)`,
    leads,
    `info: ${no} (resigned)`,
  ]);
});
