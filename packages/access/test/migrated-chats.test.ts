import { expect, test } from "vitest";
import type { Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { firstBot, migratedChats } from "../src/migrated-chats.ts";
import { memoryStore } from "./store.ts";

const account = { channel: "telegram", account: "default" };
const chat = (peer: string, account_ = "default"): Address => ({
  channel: "telegram",
  account: account_,
  kind: "group",
  peer,
  thread: "3",
});

test("a chat that moved is found by every id it had, also by the next process", async () => {
  const store = await memoryStore(virtualClock());
  const before = migratedChats(store.cells);
  await before.load();
  await before.learn(account, "-1", "-2");
  await before.learn(account, "-2", "-3");
  await before.learn(account, "-1", "-2");
  const after = migratedChats(store.cells);
  await after.load();
  for (const moved of [before, after]) {
    expect(["-1", "-2", "-3", "-4"].map((peer) => moved.current(chat(peer)).peer)).toEqual([
      "-3",
      "-3",
      "-3",
      "-4",
    ]);
    expect(["-1", "-2", "-3", "-4"].map((peer) => moved.first(chat(peer)).peer)).toEqual([
      "-1",
      "-1",
      "-1",
      "-4",
    ]);
    expect(moved.ids(chat("-2"))).toEqual(["-3", "-2", "-1"]);
    expect(moved.current(chat("-1"))).toEqual(chat("-3"));
    expect(moved.current(chat("-1", "work"))).toEqual(chat("-1", "work"));
  }
  await store.close();
});

test("a chat that moved seven times is the same chat still", async () => {
  const moved = migratedChats({ list: async () => [], put: async () => null });
  for (let n = 1; n < 8; n += 1) await moved.learn(account, `-${n}`, `-${n + 1}`);
  expect([moved.current(chat("-1")).peer, moved.first(chat("-8")).peer]).toEqual(["-8", "-1"]);
  expect(moved.ids(chat("-1"))).toEqual(["-8", "-7", "-6", "-5", "-4", "-3", "-2", "-1"]);
});

test("what could not be kept is not believed", async () => {
  const moved = migratedChats({ list: async () => [], put: () => Promise.reject(new Error("disk full")) });
  await expect(moved.learn(account, "-1", "-2")).rejects.toThrow("disk full");
  expect(moved.current(chat("-1")).peer).toBe("-1");
});

test("a circle of damaged cells ends", async () => {
  const moved = migratedChats({ list: async () => [], put: async () => null });
  await moved.learn(account, "-1", "-2");
  await moved.learn(account, "-2", "-1");
  expect(moved.current(chat("-1")).peer).toBe("-2");
  expect(moved.ids(chat("-1")).length).toBeLessThan(5);
});

test("an account remembers which bot it was first, each for itself and over a restart", async () => {
  const store = await memoryStore(virtualClock());
  const first = firstBot(store.cells, "default");
  expect([await first("100"), await first("200")]).toEqual(["100", "100"]);
  expect(await firstBot(store.cells, "default")("300")).toBe("100");
  expect(await firstBot(store.cells, "work")("200")).toBe("200");
  expect(await firstBot(store.cells, "default")("100")).toBe("100");
  await store.close();
});

test("up to ten thousand moves are read, each kept under its account and old id; a move to itself is none", async () => {
  const did: unknown[] = [];
  const moved = migratedChats({
    list: async (...asked) => (did.push(asked), []),
    put: async (...kept) => (did.push(kept), null),
  });
  await moved.load();
  await moved.learn(account, "-1", "-1");
  await moved.learn(account, "-1", "-2");
  await moved.learn(account, "-1", "-2");
  await moved.learn({ ...account, account: "work" }, "-1", "-2");
  const value = (of: string) => JSON.stringify({ channel: "telegram", account: of, from: "-1", to: "-2" });
  expect(did).toEqual([
    ["moved:", 10_000],
    ["moved:telegram:default:-1", value("default"), {}],
    ["moved:telegram:work:-1", value("work"), {}],
  ]);
  expect([moved.first(chat("-2")), moved.ids(chat("-2", "other"))]).toEqual([chat("-1"), ["-2"]]);
});
