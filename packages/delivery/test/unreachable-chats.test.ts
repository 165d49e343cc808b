// Chats that a platform will not let us write to: known over a restart, each alone, until they write again.
import { type Address, silentLog } from "@parley/protocol";
import { sqliteStore, type SqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { unreachableChats } from "../src/unreachable-chats.ts";

const chat = (peer: string, account = "default"): Address => ({
  channel: "telegram",
  account,
  kind: "dm",
  peer,
});

let store: SqliteStore;
beforeEach(async () => {
  store = await sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock: virtualClock(),
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
});
afterEach(() => store.close());

test("a closed chat stays closed over a restart, and one that writes again opens alone", async () => {
  const { cells } = store;
  const chats = unreachableChats(cells);
  const all = [chat("1"), chat("2"), chat("1", "second")];
  for (const [nth, each] of all.entries()) await chats.close(each, `reason ${nth}`);
  const next = unreachableChats(cells);
  const reasons = (of: typeof next) => Promise.all([...all, chat("3")].map((each) => of.reason(each)));
  expect(await reasons(next)).toEqual(["reason 0", "reason 1", "reason 2", null]);
  await next.open([chat("3"), chat("2"), chat("2")]);
  expect(await reasons(next)).toEqual(["reason 0", null, "reason 2", null]);
  expect(await reasons(unreachableChats(cells))).toEqual(["reason 0", null, "reason 2", null]);
});

test("a thread that is gone closes nothing else; a chat that is closed closes its threads, until one writes", async () => {
  const opened: string[] = [];
  const chats = unreachableChats(store.cells, async (places) => {
    for (const { peer, thread } of places) opened.push(`${peer}/${thread ?? ""}`);
  });
  const [general, one] = [chat("g"), { ...chat("g"), thread: "1" }];
  const reasons = () => Promise.all([general, one, { ...one, thread: "2" }].map(chats.reasonNow));
  await chats.close(one, "gone");
  expect(await reasons()).toEqual([null, "gone", null]);
  await chats.close(general, "kicked");
  expect(await reasons()).toEqual(["kicked", "kicked", "kicked"]);
  await chats.open([{ ...one, thread: "2" }, chat("other")]);
  expect([await reasons(), opened]).toEqual([[null, "gone", null], ["g/2"]]);
});

test("a store that could not be read once is read again", async () => {
  const { cells } = store;
  await unreachableChats(cells).close(chat("1"), "blocked");
  let fails = true;
  const chats = unreachableChats({
    get: cells.get,
    put: cells.put,
    remove: cells.remove,
    list: async (prefix, limit) => {
      if (!fails) return cells.list(prefix, limit);
      fails = false;
      throw new Error("the store is busy");
    },
  });
  await expect(chats.reason(chat("1"))).rejects.toThrow("busy");
  expect(await chats.reason(chat("1"))).toBe("blocked");
});

test("a chat that the store could not keep as closed is told so, and is tried again", async () => {
  const { cells } = store;
  const chats = unreachableChats({
    get: cells.get,
    list: cells.list,
    remove: cells.remove,
    put: async () => {
      throw new Error("the disk is full");
    },
  });
  await expect(chats.close(chat("1"), "blocked")).rejects.toThrow("full");
  expect([await chats.reason(chat("1")), await chats.reasonNow(chat("1"))]).toEqual([null, null]);
});
