// What is decided around a message: which ones an action means, what is looked up, dropped, overtaken, and
// who is told. The outbox stands by as a list.
import {
  conversationKey,
  Fault,
  formatContent,
  parseConversationKey,
  silentLog,
  type Address,
  type Content,
  type ConversationKey,
  type Log,
} from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { accountRateLimits } from "../src/account-rate-limits.ts";
import { answeredIn, causeRows } from "../src/cause-rows.ts";
import { dropAnswers } from "../src/drop-answers.ts";
import { inThread, placeOf, threadIn, threadOf, unsentParts } from "../src/opened-thread.ts";
import { noticeDelivery } from "../src/notice.ts";
import { ownerNotices } from "../src/owner-notices.ts";
import { personNotices } from "../src/person-notices.ts";
import { readBack } from "../src/read-back.ts";
import { editsEarlier, endedMeanwhile, isOvertaken } from "../src/stale-batch.ts";
import { messagesOf, quotedId, threadOpenedBy } from "../src/targets.ts";
import { unreachableChats } from "../src/unreachable-chats.ts";

const lane = "telegram:a:group:-1" as ConversationKey;
const text = (more: object = {}): Content =>
  ({ v: 1, kind: "rendered", part: { kind: "text", text: "hi", ...more } }) as never;
const reply = (markdown = "hi"): Content => ({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] });
const act = (kind: string): Content => ({ v: 1, kind: "act", action: { kind } }) as never;
const part = (content: Content, more: object = {}) => ({
  content: formatContent(content),
  state: "sent",
  attempts: 1,
  receipt: null as string | null,
  reason: null as string | null,
  ...more,
});
const receipt = (messageId: string, extra?: object): object => ({
  receipt: JSON.stringify({ messageId, ...(extra === undefined ? {} : { extra }) }),
});
const delivery = (parts: readonly object[], more: object = {}) =>
  ({
    id: "d1",
    lane,
    cause: "t1",
    createdAtMs: 1_000_000,
    done: true,
    open: false,
    split: true,
    parts,
    ...more,
  }) as never;
const holding = (...found: readonly unknown[]) => {
  const asked: unknown[] = [];
  return { asked, find: async (query: object) => (asked.push(query), found) } as never;
};

test("an action means all messages of a delivery, in order, and says why there are none", async () => {
  const parts = [
    part(text(), receipt("1")),
    part(text({ continues: true }), receipt("2", { thread: "t" })),
    part({ v: 1, kind: "rendered", part: { kind: "media" } } as never, receipt("3", { messageIds: [3, 4] })),
    part(act("edit"), receipt("5")),
    part(act("createThread"), receipt("6")),
    part(text(), receipt("")),
    part(text(), { ...receipt("7"), state: "ambiguous" }),
    part(text()),
  ];
  const sent = (messageId: string, more: object = {}) => ({
    messageId,
    isFile: false,
    continues: false,
    ...more,
  });
  expect(await messagesOf(holding(delivery(parts)), lane, { delivery: "d1" })).toEqual([
    sent("1"),
    sent("2", { continues: true, thread: "t" }),
    sent("3", { isFile: true }),
    sent("4", { isFile: true }),
    sent("5"),
  ]);
  expect(await messagesOf(holding(), lane, { messageId: "9" })).toEqual([sent("9")]);
  const why = async (...found: readonly unknown[]) =>
    (await messagesOf(holding(...found), lane, { delivery: "d1" })) as unknown;
  expect([
    await why(),
    await why(delivery(parts, { lane: "telegram:a:group:-2" })),
    await why(
      delivery([
        part(text(), { reason: null }),
        part(text(), { reason: "first" }),
        part(text(), { reason: "second" }),
      ]),
    ),
    await why(delivery([part(text())])),
    await why(delivery([part(text())], { done: false })),
  ]).toEqual([
    { gone: "there is no delivery d1" },
    { gone: "delivery d1 belongs to another conversation (telegram:a:group:-2)" },
    { gone: "delivery d1 has no message: first" },
    { gone: "delivery d1 has no message: it sent none" },
    { gone: "delivery d1 has no message: it was not sent yet" },
  ]);
  expect([
    await quotedId(holding(), lane, undefined),
    await quotedId(holding(), lane, "8"),
    await quotedId(holding(), lane, { delivery: "d1" }),
    await quotedId(holding(delivery(parts)), lane, { delivery: "d1" }),
  ]).toEqual([undefined, "8", undefined, "1"]);
  expect([
    await threadOpenedBy(holding(delivery(parts)), lane, "d1"),
    await threadOpenedBy(holding(delivery(parts)), "telegram:a:dm:1" as ConversationKey, "d1"),
    await threadOpenedBy(holding(), lane, "d1"),
  ]).toEqual(["t", undefined, undefined]);
});

test("parts stay in the thread that was opened last, and what was not sent goes on there", () => {
  const to: Address = { channel: "discord", account: "a", kind: "channel", peer: "1" };
  const named = (thread: unknown) => JSON.stringify({ messageId: "1", extra: { thread } });
  expect([threadIn(), threadIn(null, named("a"), named("b"), null), threadIn(named(7))]).toEqual([
    undefined,
    "b",
    undefined,
  ]);
  expect([placeOf(to, undefined), placeOf({ ...to, thread: "x" }, "y")]).toEqual([
    to,
    { ...to, thread: "y" },
  ]);
  expect(inThread({ messageId: "1", extra: { a: 1 } }, "t")).toEqual({
    messageId: "1",
    extra: { a: 1, thread: "t" },
  });
  expect(inThread({ messageId: "1" }, undefined)).toEqual({ messageId: "1" });
  const planned = { ...text(), thread: "planned" } as Content;
  const open = { receipt: named("opened") };
  expect([
    threadOf([]),
    threadOf([part(planned)] as never),
    threadOf([part(planned, open)] as never),
    threadOf([part(reply())] as never),
  ]).toEqual([undefined, "planned", "opened", undefined]);
  const parts = [
    part(text(), open),
    part(text(), { state: "failed", into: "d0/0" }),
    part(act("react"), { state: "queued" }),
    part(text(), { state: "ambiguous" }),
  ];
  expect(unsentParts(delivery(parts))).toEqual([
    { content: formatContent({ ...text(), thread: "opened" } as Content), into: "d0/0" },
    { content: formatContent(act("react")) },
    { content: formatContent({ ...text(), thread: "opened" } as Content) },
  ]);
  expect(unsentParts(delivery(parts.slice(1)))[0]).toEqual({ content: formatContent(text()), into: "d0/0" });
});

function looking(sentSince: unknown, idempotentSends = false, known: readonly unknown[] = []) {
  const clock = virtualClock();
  const queries: object[] = [];
  const outbox = {
    find: async (query: { receipt: string }) => (
      queries.push(query),
      known.includes(query.receipt) ? [{}] : []
    ),
  };
  const stopped = new AbortController();
  const channel = { capabilities: { idempotentSends }, ...(sentSince === undefined ? {} : { sentSince }) };
  const look = (content: Content = text()) =>
    readBack(
      { outbox: outbox as never, clock },
      { channel: channel as never, to: { peer: "7" } as Address, signal: stopped.signal },
      delivery([]),
      part(content) as never,
    );
  return { clock, look, queries, stopped };
}

test("a message of unknown outcome is looked up, but not one that another delivery said", async () => {
  const asked: unknown[] = [];
  const there = (...given: unknown[]) => {
    asked.push(given.slice(0, 3));
    return Promise.resolve([{ messageId: "1" }, { messageId: "2" }, { messageId: "3" }]);
  };
  expect(await looking(there).look()).toEqual({ messageId: "1" });
  expect(asked).toEqual([[{ peer: "7" }, { kind: "text", text: "hi" }, 940_000]]);
  const third = looking(there, false, ['"1"', '"2"']);
  expect(await third.look()).toEqual({ messageId: "3" });
  expect(third.queries).toEqual(['"1"', '"2"', '"3"'].map((id) => ({ receipt: id, lane, limit: 1 })));
  expect(await looking(there, false, ['"1"', '"2"', '"3"']).look()).toBe("not there");
  expect(await looking(there).look(act("createThread"))).toEqual({ messageId: "1" });
  expect(await looking(there).look(act("react"))).toBe("not there");
  expect([await looking(undefined).look(), await looking(undefined, true).look()]).toEqual([
    "unknown",
    "not there",
  ]);
  expect(await looking(async () => null).look()).toBe("unknown");
  const fails = async () => {
    throw new Fault("rate_limited", "slowly", { retryAfterMs: 9 });
  };
  const failing = looking(fails);
  expect([await failing.look(), failing.clock.armed()]).toEqual([{ againAfterMs: 9, reason: "slowly" }, 0]);
  await expect(looking(() => Promise.reject(new TypeError("bug"))).look()).rejects.toThrow("bug");
});

test("a look at what was sent ends after thirty seconds, or with the lease", async () => {
  const never = (_to: unknown, _part: unknown, _sinceMs: number, signal: AbortSignal) =>
    new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error)));
  const slow = looking(never);
  const ends: unknown[] = [];
  void slow.look().then((end) => ends.push(end));
  await slow.clock.advance(29_999);
  expect(ends).toEqual([]);
  await slow.clock.advance(1);
  expect(ends).toEqual([
    { againAfterMs: undefined, reason: expect.stringContaining("the look at what was sent") },
  ]);
  const left = looking(never);
  const look = left.look();
  left.stopped.abort(new Fault("aborted", "the lease is lost"));
  expect([await look, left.clock.armed()]).toEqual([
    { againAfterMs: undefined, reason: "the lease is lost" },
    0,
  ]);
});

test("what changed since a batch was read is told from an error", async () => {
  const invalid = new Fault("invalid", "gone");
  const ended = (found: unknown, index = 0, more: object = {}, error: unknown = invalid) =>
    endedMeanwhile(holding(...(found === null ? [] : [found])), delivery([], more), index, error);
  const failed = [part(text()), part(text(), { state: "failed" })];
  expect([
    await ended(delivery(failed), 1),
    await ended(delivery(failed), 0),
    await ended(delivery(failed.toReversed(), { split: false }), 1),
    await ended(null),
    await ended(delivery(failed), 1, {}, new Fault("unavailable", "no")),
    await ended(delivery([], { done: true }), 0, { open: true }),
    await ended(delivery(failed, { done: false }), 1, { open: true }),
    await ended(null, 0, { open: true }),
  ]).toEqual(["dropped", null, "dropped", null, null, "replaced", null, null]);
  const queued = (attempts: number) => part(text(), { state: "queued", attempts });
  const overtaken = (parts: readonly object[] | null, error: unknown = invalid) =>
    isOvertaken(holding(...(parts === null ? [] : [delivery(parts)])), delivery([]), error);
  expect([
    await overtaken([queued(0), queued(0)]),
    await overtaken([queued(0), queued(1)]),
    await overtaken([part(text(), { attempts: 0 })]),
    await overtaken(null),
    await overtaken([queued(0)], new Error("other")),
  ]).toEqual([true, false, false, false, false]);
  const [first, second] = [
    delivery([], { id: "d1" }),
    delivery([part(text(), { into: "d1/0" })], { id: "d2" }),
  ];
  const tenth = delivery([part(text(), { into: "d1/0" })], { id: "d3" });
  const deliveries = [first, second, tenth] as never;
  expect([
    editsEarlier({ deliveries } as never, second),
    editsEarlier({ deliveries } as never, tenth),
    editsEarlier({ deliveries } as never, first),
    editsEarlier({ deliveries: [second, first] } as never, second),
    editsEarlier({ deliveries: [delivery([], { id: "d" }), second] } as never, second),
  ]).toEqual([true, true, false, false, false]);
});

test("/stop drops the queued answers of its session, and nothing else", async () => {
  const queued = { state: "queued" };
  const answer = (id: string, more: object = {}, parts: readonly object[] = [part(reply(), queued)]) =>
    delivery(parts, { id: `${id}/0`, cause: id, ...more });
  const waiting = [
    answer("mine", {}, [part(text(), queued), part(text()), part(text(), queued)]),
    answer("preview", { open: true }),
    delivery([part(reply(), queued)], { id: "notice:x", cause: "x" }),
    answer("removal", {}, [part({ v: 1, kind: "remove" }, queued)]),
    answer("empty", {}, []),
    answer("others"),
    answer("command"),
    answer("stopped"),
    answer("unknown"),
    answer("going"),
    answer("last"),
  ];
  const rows: { [turn: string]: object } = {
    others: { lane: "agent:main:other" },
    command: { lane: "s", outcome: "commanded" },
    stopped: { lane: "s", outcome: "stopped" },
  };
  const dropped: string[] = [];
  const asked: object[] = [];
  const drop = dropAnswers(
    {
      find: async (query) => {
        const { turn = "" } = query;
        asked.push(query);
        return (turn === "unknown" ? [] : [rows[turn] ?? { lane: "s" }]) as never;
      },
    },
    {
      find: async (query: object) => (asked.push(query), waiting as never),
      drop: async ([id = ""]: readonly string[], why: string) => {
        dropped.push(`${id} ${why}`);
        return id === "going/0" ? 0 : 1;
      },
    } as never,
  );
  expect(await drop("s" as never, lane)).toBe(3);
  expect(dropped).toEqual(["mine/0 /stop", "going/0 /stop", "last/0 /stop"]);
  const turns = ["mine", "others", "command", "stopped", "unknown", "going", "last"];
  expect(asked).toEqual([
    { lane, state: "queued", limit: 100 },
    ...turns.map((turn) => ({ turn, dismissed: true, limit: 1 })),
  ]);
});

async function toldOwners(
  from: string,
  more: object = {},
  owners = ["telegram:1", "telegram:2", "discord:1"],
) {
  const posted: { id: string; lane: string; text: string }[] = [];
  const clock = virtualClock({ startMs: 4 * 3_600_000 * 3 - 1 });
  const tell = ownerNotices({
    outbox: {
      post: async (all: readonly { id: string; lane: string; parts: readonly { content: string }[] }[]) =>
        void posted.push(
          ...all.map(({ id, lane: to, parts }) => ({ id, lane: to, text: parts[0]?.content ?? "" })),
        ),
    } as never,
    owners: async () => owners,
    clock,
    log: silentLog,
  });
  tell(delivery([part(reply())], { lane: from, ...more }), "r".repeat(301));
  await clock.advance(1);
  tell(delivery([part(reply())], { lane: from, ...more }), "again");
  await clock.advance(0);
  return posted;
}

test("owners hear in private of an answer that did not arrive, once in four hours, and never in the chat itself", async () => {
  const topic = conversationKey({
    channel: "telegram",
    account: "a",
    kind: "group",
    peer: "-1",
    thread: "9",
  });
  const posted = await toldOwners(topic);
  expect(posted.map(({ id, lane: to }) => `${id} ${to}`)).toEqual([
    `trouble:${topic}:2:1 telegram:a:dm:1`,
    `trouble:${topic}:2:2 telegram:a:dm:2`,
    `trouble:${topic}:3:1 telegram:a:dm:1`,
    `trouble:${topic}:3:2 telegram:a:dm:2`,
  ]);
  const words = (reason: string) =>
    `⚠️ An answer did not arrive (telegram:a, group -1, topic 9): ${reason}\n\n\`parley outbox list --troubled\` shows what is in trouble.`;
  expect(posted.map(({ text }) => text)).toEqual(
    ["r".repeat(300), "r".repeat(300), "again", "again"].map((reason) => formatContent(reply(words(reason)))),
  );
  expect((await toldOwners("telegram:a:dm:2")).map(({ lane: to }) => to)).toEqual([
    "telegram:a:dm:1",
    "telegram:a:dm:1",
  ]);
  expect((await toldOwners("discord:a:channel:5")).map(({ lane: to }) => to)).toEqual([
    "discord:a:dm:1",
    "discord:a:dm:1",
  ]);
  for (const more of [
    { id: "trouble:x" },
    { id: "failed:x" },
    { parts: [part(act("react"))] },
    { parts: [part({ v: 1, kind: "action" } as never)] },
  ])
    expect(await toldOwners("telegram:a:group:-1", more)).toEqual([]);
  expect(await toldOwners("web:a:dm:1")).toEqual([]);
});

test("a person hears once of an answer that failed, where something can arrive", async () => {
  const posted: string[] = [];
  const tell = async (
    more: object = {},
    parts: readonly object[] = [part(reply())],
    reason: string | null = null,
  ) => {
    const clock = virtualClock();
    personNotices({
      outbox: {
        post: async (all: readonly { id: string }[]) => void posted.push(...all.map(({ id }) => id)),
      } as never,
      closed: { reason: async () => reason },
      log: silentLog,
    })(delivery(parts, more));
    await clock.advance(0);
    return posted.splice(0);
  };
  expect([await tell(), await tell({}, [part(text())])]).toEqual([["failed:d1"], ["failed:d1"]]);
  for (const none of [
    await tell({ id: "failed:d0" }),
    await tell({ id: "trouble:d0" }),
    await tell({ open: true }),
    await tell({}, [part(act("react"))]),
    await tell({}, [part({ v: 1, kind: "remove" })]),
    await tell({}, []),
    await tell({}, [part(reply())], "blocked"),
  ])
    expect(none).toEqual([]);
});

test("the rows behind an answer are those of its turn, oldest first, or the cause itself", async () => {
  const row = (id: string, outcome: string, conversation = lane) => ({ id, outcome, conversation });
  const found = [row("3", "answered"), row("2", "context"), row("1", "answered", "telegram:a:dm:1" as never)];
  const rows = await causeRows(holding(...found), silentLog)("t1");
  expect(rows.map(({ id }) => id)).toEqual(["1", "3"]);
  expect([answeredIn(rows, lane), answeredIn([{ id: "x", conversation: null }], lane)]).toEqual([
    ["3"],
    ["x"],
  ]);
  expect(await causeRows(holding(), silentLog)("row")).toEqual([{ id: "row", conversation: null }]);
  expect(rows[0]).toEqual({ id: "1", conversation: "telegram:a:dm:1" });
  const store = holding(row("9", "context"));
  expect(await causeRows(store, silentLog)("t2")).toEqual([]);
  expect((store as { asked: unknown }).asked).toEqual([{ turn: "t2", dismissed: true, limit: 200 }]);
  const error = new Error("slow");
  const logged: unknown[] = [];
  const log = { ...silentLog, debug: (...line: unknown[]) => void logged.push(line) } as Log;
  const broken = { find: () => Promise.reject(error) } as never;
  expect(await causeRows(broken, log)("row")).toEqual([{ id: "row", conversation: null }]);
  expect(logged).toEqual([[{ cause: "row", error }, "could not look up the rows of a delivery"]]);
});

test("a notice is a delivery of its own in the chat that it is about; one that cannot be kept is told to the log", async () => {
  const topic = conversationKey({
    channel: "telegram",
    account: "b",
    kind: "group",
    peer: "-1",
    thread: "9",
  });
  const about = delivery([part(reply())], { id: "d7", cause: "turn 7", lane: topic });
  const posted: unknown[] = [];
  const logged: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void logged.push(line) } as Log;
  const error = new Error("the disk is full");
  let keeps = true;
  const outbox = {
    post: async (all: readonly unknown[]) => {
      if (!keeps) throw error;
      posted.push(...all);
    },
  } as never;
  const asked: Address[] = [];
  const closed = { reason: async (to: Address) => (asked.push(to), null) };
  const clock = virtualClock({ startMs: 0 });
  const [person, owners] = [
    personNotices({ outbox, closed, log }),
    ownerNotices({ outbox, owners: async () => ["telegram:5"], clock, log }),
  ];
  for (const tells of [() => person(about), () => owners(about, "too long")]) {
    tells();
    await clock.advance(0);
  }
  const words =
    "⚠️ I had an answer here that could not be delivered. Please ask again, perhaps for something shorter or simpler; the operator can see why.";
  expect(posted).toEqual([
    {
      id: "failed:d7",
      pool: "telegram:b",
      lane: topic,
      cause: "turn 7",
      parts: [{ content: formatContent(reply(words)) }],
    },
    {
      id: `trouble:${topic}:0:5`,
      pool: "telegram:b",
      lane: "telegram:b:dm:5",
      cause: "turn 7",
      parts: [expect.anything()],
    },
  ]);
  expect(asked).toEqual([parseConversationKey(topic)]);
  expect(logged).toEqual([]);
  keeps = false;
  person(about);
  owners(about, "too long");
  await clock.advance(0);
  expect(logged).toEqual([
    [{ delivery: "d7", error }, "the person could not be told of a failed answer"],
    [{ delivery: "d7", error }, "the owners could not be told"],
  ]);
  expect(noticeDelivery({ id: "u1", address: parseConversationKey(topic) }, "**hi**")).toEqual({
    id: "notice:u1",
    pool: "telegram:b",
    lane: topic,
    cause: "u1",
    parts: [{ content: formatContent(reply("**hi**")) }],
  });
});

test("an account keeps one limit; one that is not paced has none, and each platform has its own rates", () => {
  const clock = virtualClock();
  const telegram = { a: { pacing: "on" }, b: { pacing: "off" } };
  const config = { channels: { telegram, discord: { a: { pacing: "on" } } } } as never;
  const limitOf = accountRateLimits({ config, kept: new Map(), clock });
  const waits = (account: string, group: boolean, count: number, key = "c") =>
    Array.from({ length: count }, () => limitOf(account).reserve(key, group, 1_000_000)).slice(-2);
  expect(waits("telegram:a", false, 4)).toEqual([0, 1_000]);
  expect(waits("telegram:a", true, 4, "g")).toEqual([0, 3_000]);
  expect(waits("telegram:b", true, 40)).toEqual([0, 0]);
  expect(waits("discord:a", true, 6)).toEqual([0, 1_000]);
  expect(waits("discord:a", false, 6, "d")).toEqual([0, 1_000]);
  // Over all of its chats together.
  const kept = new Map();
  const fresh = accountRateLimits({ config, kept, clock });
  const overAll = (account: string, chats: number) =>
    Array.from({ length: chats }, (_, n) => fresh(account).reserve(`chat ${n}`, false, 1_000_000)).slice(-3);
  expect([overAll("telegram:a", 32), overAll("discord:a", 52)]).toEqual([
    [0, 34, 68],
    [0, 20, 40],
  ]);
  expect([...kept.keys()]).toEqual(["telegram:a", "discord:a"]);
});

test("a closed chat is tried again after thirty days, by whichever process closed it", async () => {
  const lives: unknown[] = [];
  const kept = new Map<string, string>();
  const listed: unknown[] = [];
  const cells = {
    list: async (...how: readonly unknown[]) => (
      listed.push(how),
      [...kept].map(([key, value]) => ({ key, value }))
    ),
    get: async (key: string) => (kept.has(key) ? { value: kept.get(key) } : null),
    put: async (key: string, value: string, how: object) => void (lives.push(how), kept.set(key, value)),
    remove: async (key: string) => kept.delete(key),
  } as never;
  const to: Address = { channel: "telegram", account: "a", kind: "group", peer: "-1" };
  const opened: Address[] = [];
  const [here, there] = [
    unreachableChats(cells, async (all) => void opened.push(...all)),
    unreachableChats(cells),
  ];
  expect(await there.reason(to)).toBeNull();
  await here.close({ ...to, thread: "t" }, "the topic is gone");
  await here.close(to, "blocked");
  expect(lives).toEqual([{ ttlMs: 30 * 86_400_000 }, { ttlMs: 30 * 86_400_000 }]);
  expect([await here.reason(to), await here.reason({ ...to, thread: "t" }), await there.reason(to)]).toEqual([
    "blocked",
    "blocked",
    null,
  ]);
  expect([
    await there.reasonNow({ ...to, thread: "u" }),
    await there.reasonNow({ ...to, peer: "-2" }),
  ]).toEqual(["blocked", null]);
  await here.open([
    { ...to, peer: "-2" },
    { ...to, thread: "t" },
  ]);
  expect([opened, kept.size, await here.reason(to)]).toEqual([[{ ...to, thread: "t" }], 0, null]);
  // Each process read them once, up to ten thousand.
  expect(listed).toEqual([
    ["closed:", 10_000],
    ["closed:", 10_000],
  ]);
});
