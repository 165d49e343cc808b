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

test("a store that could not be read once is read again", async () => {
  const { cells } = store;
  await unreachableChats(cells).close(chat("1"), "blocked");
  let fails = true;
  const chats = unreachableChats({
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
