// What one node learns of moved chats and hand-overs, and when the others read it: never before it is stored.
import { conversationKey, silentLog, type Address, type Log, type SessionKey } from "@parley/protocol";
import type { Bus } from "@parley/queue";
import { sqliteStore, type Cells } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { clusterHandOvers, clusterMigratedChats } from "../src/cluster-chats.ts";
import { buses } from "./buses.ts";

const account = { channel: "telegram", account: "default" } as const;
const group = (peer: string): Address => ({ ...account, kind: "group", peer });
const session = "agent:main:telegram:dm:ann" as SessionKey;
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

async function stage() {
  const { cells, close } = await sqliteStore({
    path: ":memory:",
    clock: virtualClock(),
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  });
  onTestFinished(close);
  const told: string[] = [];
  const [one, two] = buses(2).map((bus): Bus => ({
    ...bus,
    tell: (topic, body) => (told.push(`${topic} ${body}`), bus.tell(topic, body)),
  }));
  if (one === undefined || two === undefined) throw new Error("two buses were asked for");
  const logged: string[] = [];
  const log: Log = { ...silentLog, warn: (_fields, message) => void logged.push(message) };
  let isAway = false;
  const elsewhere: Pick<Cells, "list" | "put" | "remove"> = {
    put: cells.put,
    remove: cells.remove,
    list: (...args) => (isAway ? Promise.reject(new Error("away")) : cells.list(...args)),
  };
  return {
    one: { store: { cells }, bus: one },
    two: { store: { cells: elsewhere as Cells }, bus: two },
    log,
    logged,
    since: (): readonly string[] => told.splice(0),
    away: (is: boolean) => void (isAway = is),
  };
}

test("a chat that moved is known to the other nodes too, and to those that begin later", async () => {
  const { one, two, log, logged, since, away } = await stage();
  const here = await clusterMigratedChats(one.store, one.bus, log);
  const there = await clusterMigratedChats(two.store, two.bus, log);
  await here.learn(account, "-1", "-100");
  await settle();
  expect([here, there].map((book) => book.current(group("-1")).peer)).toEqual(["-100", "-100"]);
  const later = await clusterMigratedChats(two.store, two.bus, log);
  expect([later.first(group("-100")).peer, since()]).toEqual(["-1", ["moved "]]);
  away(true);
  await here.learn(account, "-2", "-200");
  await settle();
  expect([there.current(group("-2")).peer, logged]).toEqual([
    "-2",
    ["moved chats could not be read", "moved chats could not be read"],
  ]);
});

test("hand-overs and threads of workers are the same on all nodes, and are told only where something changed", async () => {
  const { one, two, log, logged, since, away } = await stage();
  const here = await clusterHandOvers(one.store, one.bus, log);
  const there = await clusterHandOvers(two.store, two.bus, log);
  const [from, to, thread] = [group("1"), group("2"), { ...group("3"), thread: "7" }];
  const seen = async () => {
    await settle();
    return [
      since().length,
      there.of(session)?.to.peer ?? null,
      there.worker(thread),
      there.at(to)?.session ?? null,
    ];
  };
  await here.handOver(session, from, to);
  expect(await seen()).toEqual([1, "2", null, session]);
  await here.bind(session, thread);
  expect(await seen()).toEqual([1, "2", session, session]);
  expect([await here.takeBack(session), await seen()]).toEqual([true, [1, null, session, null]]);
  expect((await here.unbind(session)).map(conversationKey)).toEqual([conversationKey(thread)]);
  expect(await seen()).toEqual([1, null, null, null]);
  expect([await here.unbind(session), await seen()]).toEqual([[], [0, null, null, null]]);
  expect(await here.takeBack(session)).toBe(false);
  away(true);
  await here.handOver(session, from, to);
  await seen();
  expect(logged).toContain("hand-overs could not be read");
  away(false);
  const later = await clusterHandOvers(two.store, two.bus, log);
  expect(later.of(session)).toEqual({ session, from, to });
});
