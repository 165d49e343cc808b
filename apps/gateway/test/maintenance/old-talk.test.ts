// Which words of which sessions are past their time, and what goes with them; over a store that is filled by
// hand.
import { expect, onTestFinished, test } from "vitest";
import type { Config } from "@parley/config";
import { silentLog, type ConversationKey, type SessionKey } from "@parley/protocol";
import { sqliteStore, type SqliteStore, type Turn } from "@parley/store";
import { virtualClock, type VirtualClock } from "@parley/testkit";
import { referencedMedia } from "../../src/maintenance/media-references.ts";
import { countTalk, oldTalk, removeTalk, type OldTalk } from "../../src/maintenance/old-talk.ts";
import { heldResults, pinnedSessions } from "../../src/maintenance/pinned-talk.ts";
import { threadIndex } from "../../src/operator/sessions/thread-index.ts";

const dayMs = 86_400_000;
const session = (name: string): SessionKey => `agent:main:telegram:dm:${name}` as SessionKey;

async function filled(): Promise<{
  readonly store: SqliteStore;
  readonly clock: VirtualClock;
  /** One turn of the session that leaves these words. */
  say(key: SessionKey, ...words: readonly string[]): Promise<void>;
  open(key: SessionKey, log?: string): Promise<Turn>;
}> {
  const clock = virtualClock();
  const onFatal = (error: unknown): void => expect.unreachable(String(error));
  const store = await sqliteStore({ path: ":memory:", clock, log: silentLog, bootId: "boot", onFatal });
  onTestFinished(() => store.close());
  let rows = 0;
  const open = async (key: SessionKey, log?: string): Promise<Turn> => {
    const row = {
      pool: "main",
      lane: key,
      conversation: "c" as ConversationKey,
      authority: "a",
      payload: "{}",
    };
    await store.inbox.accept([{ ...row, id: `row-${(rows += 1)}`, as: { kind: "work" } }]);
    const turn = await store.turns.take({ pool: "main", holder: "me", leaseMs: 1e12, maxRows: 9 });
    if ("idle" in turn) throw new Error("a row waited");
    if (log !== undefined) await store.turns.checkpoint(turn, 0, { steps: [{ kind: "result", body: log }] });
    return turn;
  };
  return {
    store,
    clock,
    open,
    async say(key, ...words) {
      const turn = await open(key);
      const entries = words.map((text) => JSON.stringify({ type: "user", text, atMs: clock.now() }));
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries });
    },
  };
}

const found = async (store: SqliteStore, beforeMs: number, prefix?: string): Promise<readonly OldTalk[]> => {
  const all: OldTalk[] = [];
  for await (const old of oldTalk(store, beforeMs, prefix)) all.push(old);
  return all.toSorted((a, b) => (a.key < b.key ? -1 : 1));
};
const words = async (store: SqliteStore, key: SessionKey, epoch: number): Promise<string> =>
  (await store.sessions.transcript(key, { epoch, limit: 9_999 }))
    .map(({ body }) => (JSON.parse(body) as { text: string }).text)
    .join(" ");

test("all of a session goes once its last words are older than the age, to the millisecond", async () => {
  const { store, clock, say } = await filled();
  await say(session("a"), "a1", "a2");
  await store.sessions.patch(session("a"), { model: "m" });
  await clock.advance(1);
  await say(session("b"), "b1");
  await store.sessions.open(session("silent"));
  const beforeMs = clock.now();
  const old = await found(store, beforeMs);
  expect(old).toEqual([{ key: session("a"), epoch: 1, before: null, beforeMs }]);
  expect(await countTalk(store, old[0] as OldTalk)).toBe(2);
  await clock.advance(dayMs);
  expect(await removeTalk(store, old[0] as OldTalk, clock.now())).toBe(2);
  expect([await words(store, session("a"), 1), await words(store, session("b"), 1)]).toEqual(["", "b1"]);
  expect(await store.sessions.open(session("a"))).toMatchObject({
    epoch: 2,
    lastSeq: 2,
    fields: { model: "m", forgotten: { atMs: clock.now(), entries: 2 }, startedAtMs: clock.now() },
  });
  expect(await found(store, beforeMs)).toEqual([]);
  expect(await found(store, clock.now(), "agent:main:telegram:dm:b")).toMatchObject([{ key: session("b") }]);
  expect(await found(store, clock.now(), "agent:other:")).toEqual([]);
});

test("of a session that is spoken in, what stands before the last old epoch goes, empty ones in between and all", async () => {
  const { store, clock, say } = await filled();
  const key = session("a");
  await say(key, "one");
  await store.sessions.reset(key);
  await say(key, "two", "too");
  const beforeMs = clock.now() + 1;
  // Fewer than a hundred in a row; together they are more.
  const pause = async (): Promise<void> => {
    for (let n = 0; n < 60; n += 1) await store.sessions.reset(key);
  };
  await pause();
  await clock.advance(dayMs);
  await say(key, "young");
  await pause();
  await say(key, "now");
  const [old] = await found(store, beforeMs);
  expect(old).toEqual({ key, epoch: 122, before: 3, beforeMs });
  expect(await countTalk(store, old as OldTalk)).toBe(3);
  expect(await removeTalk(store, old as OldTalk, clock.now())).toBe(3);
  expect([await words(store, key, 1), await words(store, key, 2)]).toEqual(["", ""]);
  expect([await words(store, key, 62), await words(store, key, 122)]).toEqual(["young", "now"]);
  const { epoch, fields } = await store.sessions.open(key);
  expect([epoch, fields]).toEqual([122, { forgotten: { atMs: clock.now(), entries: 3 } }]);
  expect(await found(store, beforeMs)).toEqual([]);
  // Nothing more goes, and nothing is written down of it.
  await clock.advance(5);
  expect(await removeTalk(store, old as OldTalk, clock.now())).toBe(0);
  expect((await store.sessions.open(key)).fields).toEqual({
    forgotten: { atMs: clock.now() - 5, entries: 3 },
  });
});

test.each(["waits", "is being answered"])("a session in which a message %s is left alone", async (how) => {
  const { store, clock, say, open } = await filled();
  const [old, split] = [session("old"), session("split")];
  for (const key of [old, split]) await say(key, "before");
  await store.sessions.reset(split);
  await clock.advance(dayMs);
  await say(split, "after");
  const beforeMs = clock.now() - 1;
  const all = await found(store, beforeMs);
  expect(all.map(({ before }) => before)).toEqual([null, 2]);
  for (const key of [old, split]) {
    const turn = await open(key);
    if (how === "waits") continue;
    expect(turn.lane).toBe(key);
  }
  if (how === "waits")
    for (const key of [old, split]) {
      const [claimed] = await store.inbox.find({ lane: key, state: "claimed", limit: 1 });
      const turn = (claimed?.turn ?? "").slice(key.length + 1);
      const lease = { lane: key, token: Number(turn), holder: "me" };
      await store.turns.commit(lease, claimed?.turn ?? "", { outcome: "silent", entries: [] });
      const row = {
        pool: "none",
        lane: key,
        conversation: "c" as ConversationKey,
        authority: "a",
        payload: "{}",
      };
      await store.inbox.accept([{ ...row, id: `waits-${key}`, as: { kind: "work" } }]);
    }
  expect(await found(store, beforeMs)).toEqual([]);
  for (const each of all) expect(await removeTalk(store, each, clock.now())).toBe(0);
  expect([await words(store, old, 1), await words(store, split, 1)]).toEqual(["before", "before"]);
});

const hex = (letter: string): string => letter.repeat(64);
const file = (letter: string): string => `${hex(letter)}.png`;

test("a file is in use by whatever names it: a message in any state, a turn's record, an answer, a device, any page of any epoch", async () => {
  const { store, say, open } = await filled();
  const key = session("a");
  const base = { pool: "none", lane: session("r"), conversation: "c" as ConversationKey, authority: "a" };
  const row = (id: string, letter: string) => ({
    ...base,
    id,
    payload: JSON.stringify({ at: file(letter) }),
  });
  await store.inbox.accept([
    { ...row("waiting", "1"), as: { kind: "work" } },
    { ...row("context", "2"), as: { kind: "context", keep: 9 } },
    { ...row("ended", "3"), as: { kind: "closed", outcome: "refused", reason: "no" } },
  ]);
  await say(key, `first ${file("4")}`);
  for (let n = 0; n < 60; n += 1) await store.sessions.reset(key);
  await say(key, "in between");
  for (let n = 0; n < 60; n += 1) await store.sessions.reset(key);
  await say(key, ...Array.from({ length: 1_000 }, () => "x"), `on the second page ${file("5")}`);
  await say(session("b"), file("6"));
  await open(session("t"), `a result ${file("7")}, ${hex("8")}.tool and ${hex("9")}.png`);
  await store.cells.put("device-call:1", `"${file("a")}"`, {});
  await store.cells.put("other:1", `"${file("b")}"`, {});
  await store.outbox.post([
    {
      id: "d",
      pool: "p",
      lane: "c" as ConversationKey,
      cause: "t",
      parts: [{ content: "x" }, { content: file("c") }],
    },
  ]);
  const names = new Set("1234567abcd".split("").map(file));
  const used = await referencedMedia(store, names);
  expect(
    [...used]
      .map((name) => name[0] ?? "")
      .toSorted()
      .join(""),
  ).toBe("1234567ac");
});

const result = (nth: number): string => `0123456789ab-call_${nth}.txt`;
const output = (letter: string): string => `m1-${letter.repeat(8)}.log`;

test("a result is held by a turn at work, by what was said in its session now, and by what is pinned", async () => {
  const { store, say, open } = await filled();
  await say(session("a"), `${result(1)} and ${output("a")}`);
  await store.sessions.reset(session("old"));
  await say(session("old"), result(2));
  await store.sessions.reset(session("old"));
  await open(session("old"), `${result(3)} ${output("b")}`);
  await open(session("a"), "nothing");
  await say(session("idle"), result(4));
  await threadIndex(store.cells, "default").set("ann", "t1", { pinned: true });
  await say(
    "agent:second:web:dm:anna:thread:t1" as SessionKey,
    ...Array.from({ length: 1_000 }, () => "x"),
    result(5),
  );
  await say("agent:second:web:dm:anna:thread:t2" as SessionKey, result(6));
  const names = new Set([...[1, 2, 3, 4, 5, 6, 7].map(result), ...["a", "b", "c"].map(output)]);
  const held = await heldResults(store, config, names);
  expect([...held].toSorted()).toEqual([result(1), result(3), result(5), output("a"), output("b")]);
});

const config = {
  agents: { list: [{ id: "main" }, { id: "second" }] },
  session: { identityLinks: { anna: ["web:ann"] } },
} as unknown as Pick<Config, "agents" | "session">;

test("what a person pinned is pinned for each agent, in each scope that may hold there; nothing else of hers is", async () => {
  const { store } = await filled();
  const threads = threadIndex(store.cells, "home");
  await threads.set("ben/x", "", { pinned: true });
  await threads.set("ann", "t/1", { pinned: true });
  await threads.set("ann", "off", { pinned: true });
  await threads.set("ann", "off", { pinned: false });
  await threads.set("ann", "never", { name: "x" });
  const of = (agent: string) => [
    `agent:${agent}:dm:anna:thread:t%2F1`,
    `agent:${agent}:dm:ben%2Fx`,
    `agent:${agent}:main`,
    `agent:${agent}:web:dm:anna:thread:t%2F1`,
    `agent:${agent}:web:dm:ben%2Fx`,
    `agent:${agent}:web:home:dm:anna:thread:t%2F1`,
    `agent:${agent}:web:home:dm:ben%2Fx`,
  ];
  expect([...(await pinnedSessions(store, config))].toSorted()).toEqual([...of("main"), ...of("second")]);
});
