// Hand-overs as cells and memory keep them.
import { expect, test } from "vitest";
import type { Address, SessionKey } from "@parley/protocol";
import type { Cell } from "@parley/store";
import { conversationBindings, linkedPeople, placeNow, type ConversationBindings } from "../src/index.ts";

const at = (channel: string, peer: string, account = "default"): Address => ({
  channel,
  account,
  kind: "dm",
  peer,
});
const session = "agent:main:telegram:dm:1" as SessionKey;

function book(kept = new Map<string, string>(), fails: { now?: boolean } = {}) {
  const asked: string[] = [];
  const away = (): void => {
    if (fails.now === true) throw new Error("the store is away");
  };
  const cell = (key: string): Cell => ({ key, value: kept.get(key) ?? "", version: 1, expiresAtMs: null });
  return {
    kept,
    asked,
    open: (): ConversationBindings =>
      conversationBindings({
        list: async (prefix, limit) => {
          asked.push(`${prefix} ${limit}`);
          return [...kept.keys()].filter((key) => key.startsWith(prefix)).map(cell);
        },
        async put(key, value, how) {
          away();
          expect(how).toEqual({});
          kept.set(key, value);
          return cell(key);
        },
        remove: async (key) => (away(), kept.delete(key)),
      }),
  };
}

test("a hand-over is found by its place and by its session, also by the next process", async () => {
  const { open } = book();
  const first = open();
  await first.handOver(session, at("telegram", "1"), at("discord", "2"));
  const next = open();
  expect(next.at(at("discord", "2"))).toBeNull();
  await next.load();
  for (const each of [first, next]) {
    expect(each.at(at("discord", "2"))?.session).toBe(session);
    expect(each.of(session)?.to).toEqual(at("discord", "2"));
    for (const other of [at("discord", "3"), at("discord", "2", "work"), at("telegram", "1")])
      expect(each.at(other)).toBeNull();
  }
});

test("a second hand-over of a session ends the first, and taking back ends both ways of finding it", async () => {
  const { open } = book();
  const known = open();
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  await known.handOver(session, at("telegram", "1"), at("web", "3"));
  expect([known.at(at("discord", "2")), known.at(at("web", "3"))?.session]).toEqual([null, session]);
  expect(await known.takeBack(session)).toBe(true);
  expect([known.at(at("web", "3")), known.of(session)]).toEqual([null, null]);
  expect(await known.takeBack(session)).toBe(false);
  // Another process removed it meanwhile.
  await known.handOver(session, at("telegram", "1"), at("web", "3"));
  await open().takeBack(session);
  await known.load();
  expect(known.of(session)).toBeNull();
});

test("a session that is taken back leaves the place to another that was handed over there since", async () => {
  const known = book().open();
  const later = "agent:main:web:dm:1" as SessionKey;
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  await known.handOver(later, at("web", "1"), at("discord", "2"));
  await known.takeBack(session);
  expect(known.at(at("discord", "2"))?.session).toBe(later);
});

test("a place holds one session, the one handed over last, also for the next process and when that is taken back", async () => {
  const { open } = book();
  const known = open();
  const later = "agent:main:email:dm:1" as SessionKey;
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  await known.handOver(later, at("email", "1"), at("discord", "2"));
  const next = open();
  await next.load();
  for (const each of [known, next]) {
    expect(each.at(at("discord", "2"))?.session).toBe(later);
    expect(each.of(session)).toBeNull();
  }
  await known.takeBack(later);
  await next.load();
  expect([known.at(at("discord", "2")), next.at(at("discord", "2"))]).toEqual([null, null]);
});

test("two places are one person's only when one link names both", () => {
  const linked = linkedPeople({ olga: ["telegram:1", "discord:2"], eve: ["telegram:3"] });
  expect(linked(at("telegram", "1"), at("discord", "2"))).toBe(true);
  expect(linked(at("telegram", "3"), at("discord", "2"))).toBe(false);
  expect(linkedPeople({})(at("telegram", "1"), at("discord", "2"))).toBe(false);
});

test("a thread belongs to the session that works in it until it is given back, also for the next process", async () => {
  const { open } = book();
  const known = open();
  const worker = "agent:main:subagent:0123456789ab-1" as SessionKey;
  const other = "agent:main:subagent:0123456789ab-2" as SessionKey;
  const thread = (id: string): Address => ({ ...at("discord", "5"), kind: "channel", thread: id });
  await known.bind(worker, thread("1"));
  await known.bind(other, thread("2"));
  await known.bind(worker, thread("3"));
  const next = open();
  await next.load();
  for (const each of [known, next]) {
    expect([each.worker(thread("1")), each.worker(thread("2")), each.worker(thread("4"))]).toEqual([
      worker,
      other,
      null,
    ]);
    expect(each.threadsOf(worker)).toEqual([thread("1"), thread("3")]);
    expect(each.threads()).toEqual([
      { session: worker, thread: thread("1") },
      { session: other, thread: thread("2") },
      { session: worker, thread: thread("3") },
    ]);
  }
  expect(await known.unbind(worker)).toEqual([thread("1"), thread("3")]);
  expect(await known.unbind(worker)).toEqual([]);
  await next.load();
  for (const each of [known, next])
    expect([each.worker(thread("1")), each.threads()]).toEqual([
      null,
      [{ session: other, thread: thread("2") }],
    ]);
});

test("a session that is handed over to the same place again stays known there to the next process", async () => {
  const { open } = book();
  const known = open();
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  await known.handOver(session, at("web", "9"), at("discord", "2"));
  const next = open();
  await next.load();
  expect([known.of(session)?.from, next.of(session)?.from]).toEqual([at("web", "9"), at("web", "9")]);
});

test("what a person began goes on where they handed it over to, as long as the config links both; what others began stays", async () => {
  const known = book().open();
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  const now = (
    links: { readonly [person: string]: readonly string[] },
    from: Address,
    of: string = session,
  ) => placeNow(known, links)(of, from);
  const olga = ["telegram:1", "discord:2", "web:3"];
  expect([
    now({ olga }, at("telegram", "1")),
    now({ olga }, at("web", "3")),
    // Somebody else in the same session.
    now({ olga }, at("telegram", "7")),
    // The link of the two accounts is gone, though another one of theirs stays.
    now({ olga: ["web:3", "discord:2"] }, at("web", "3")),
    now({}, at("telegram", "1")),
    now({ olga }, at("telegram", "1"), "agent:main:main"),
  ]).toEqual([at("discord", "2"), at("discord", "2"), null, null, null, null]);
});

test("what the store could not keep is not believed, and what it could not take back still holds", async () => {
  const fails = { now: true };
  const known = book(new Map(), fails).open();
  const thread: Address = { ...at("discord", "5"), kind: "channel", thread: "1" };
  const worker = "agent:main:subagent:0123456789ab-1" as SessionKey;
  await expect(known.handOver(session, at("telegram", "1"), at("discord", "2"))).rejects.toThrow("away");
  await expect(known.bind(worker, thread)).rejects.toThrow("away");
  expect([known.of(session), known.at(at("discord", "2")), known.worker(thread)]).toEqual([null, null, null]);
  fails.now = false;
  await known.handOver(session, at("telegram", "1"), at("discord", "2"));
  await known.bind(worker, thread);
  fails.now = true;
  await expect(known.takeBack(session)).rejects.toThrow("away");
  await expect(known.unbind(worker)).rejects.toThrow("away");
  // Another session takes the place only once the one that has it is gone from the store.
  const later = "agent:main:web:dm:1" as SessionKey;
  await expect(known.handOver(later, at("web", "1"), at("discord", "2"))).rejects.toThrow("away");
  expect([known.of(session)?.to, known.at(at("discord", "2"))?.session, known.worker(thread)]).toEqual([
    at("discord", "2"),
    session,
    worker,
  ]);
});

test("of two sessions that two processes handed over to one place, taking one back leaves it to the other", async () => {
  const { open, kept, asked } = book();
  const later = "agent:main:email:dm:1" as SessionKey;
  const [one, two] = [open(), open()];
  await one.handOver(session, at("telegram", "1"), at("discord", "2"));
  await two.handOver(later, at("email", "1"), at("discord", "2"));
  await one.bind(later, { ...at("discord", "5"), kind: "channel", thread: "1" });
  expect([...kept]).toEqual([
    [
      `handed-over:${session}`,
      JSON.stringify({ session, from: "telegram:default:dm:1", to: "discord:default:dm:2" }),
    ],
    [
      `handed-over:${later}`,
      JSON.stringify({ session: later, from: "email:default:dm:1", to: "discord:default:dm:2" }),
    ],
    [expect.stringMatching(/^bound-thread:discord:default:channel:5:/), later],
  ]);
  const next = open();
  await next.load();
  expect(next.of(session)).toEqual({ session, from: at("telegram", "1"), to: at("discord", "2") });
  await next.takeBack(session);
  expect([next.of(session), next.at(at("discord", "2"))?.session]).toEqual([null, later]);
  expect(asked).toEqual(["handed-over: 10000", "bound-thread: 10000"]);
});
