// What a turn is opened with, what its calls are told, who waits for its answer, and the message by which a
// buried one is told to its people; and a part of an album that waits for the rest.
import {
  formatRowPayload,
  silentLog,
  type ConversationKey,
  type Inbound,
  type Log,
  type LogFields,
  type SessionKey,
} from "@parley/protocol";
import type { Row, SqliteStore, Turn } from "@parley/store";
import { answerTable, directMessage, groupMessage, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { hookRow } from "../src/hooks/hook-row.ts";
import { wholeAlbum } from "../src/media/whole-album.ts";
import { slotRow } from "../src/schedules/slot-row.ts";
import { buriedNotice } from "../src/turn-notes.ts";
import { isOwed, openTurn, refusesSilence, toolScope } from "../src/turn-scope.ts";
import { jobOf } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

let clock: VirtualClock;
let store: SqliteStore;
beforeEach(async () => {
  clock = virtualClock({ startMs: 1_000_000 });
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
});

let seq = 0;
function row(id: string, inbound: Partial<Inbound> = {}, payload: object = {}): Row {
  seq += 1;
  const message = { ...directMessage({ messageId: id, text: `words of ${id}` }), id, ...inbound };
  return {
    id,
    seq,
    acceptedAtMs: 10,
    conversation: "telegram:work:group:-7" as ConversationKey,
    authority: "owner",
    version: 0,
    payload: formatRowPayload({ v: 1, inbound: message, owner: true, ...payload } as never),
  };
}
const lane = "agent:tea:telegram:group:-7" as SessionKey;
const turn = (rows: readonly Row[], more: object = {}): Turn =>
  ({
    id: `${lane}#1`,
    lane,
    conversation: "telegram:work:group:-7",
    rows,
    context: [],
    log: [],
    tickets: [],
    attempt: 2,
    epoch: 1,
    authority: "member:x",
    ...more,
  }) as unknown as Turn;

test("a turn is opened with its place, its people and its session, and its log names them in every line", async () => {
  const lines: (readonly [string, LogFields])[] = [];
  const logOf = (more: LogFields): Log => ({
    ...silentLog,
    info: (fields, words) => void lines.push([words, { ...more, ...fields }]),
    child: (fields) => logOf({ ...more, ...fields }),
  });
  const rows = [
    row("a", { sender: { id: "5", name: "A", isBot: false } }),
    row("b", { sender: { id: "6", name: "B", isBot: false }, guild: "g", parent: "p" }),
  ];
  const lease = { lease: true } as never;
  const of = turn(rows, { log: [{ kind: "absorbed", body: '["b"]' }] });
  const { log, session, ...opened } = await openTurn({ sessions: store.sessions, log: logOf({}) }, of, lease);
  const address = { channel: "telegram", account: "work", kind: "group", peer: "-7" };
  expect(opened).toEqual({
    turn: of,
    lease,
    agent: "tea",
    address,
    place: { address, guild: "g", parent: "p" },
    speakers: { owner: true, senders: ["telegram:5", "telegram:6"] },
    account: "telegram:work",
    opening: [rows[0]],
    unseen: false,
  });
  expect(session).toMatchObject({ key: lane, epoch: 1, fields: {} });
  log.info({ more: 1 }, "later");
  const names = { turn: `${lane}#1`, lane, rows: ["a", "b"] };
  expect(lines).toEqual([
    ["turn begins", { ...names, attempt: 2 }],
    ["later", { ...names, more: 1 }],
  ]);
});

test("the model and the thinking that a turn was asked for become its session's; a job's own session has no others", async () => {
  let patches = 0;
  const sessions = {
    open: (key: SessionKey) => store.sessions.open(key),
    patch: (...given: Parameters<typeof store.sessions.patch>) => {
      patches += 1;
      return store.sessions.patch(...given);
    },
  };
  const fieldsOf = async (rows: readonly Row[]) => {
    const before = patches;
    const { session } = await openTurn({ sessions, log: silentLog } as never, turn(rows), {} as never);
    const { model, thinking, more } = session.fields;
    expect((await store.sessions.open(lane)).fields).toEqual(session.fields);
    return [model ?? null, thinking ?? null, more, patches - before];
  };
  await store.sessions.patch(lane, { model: "old/one", thinking: "low", more: "kept" });
  const asker = { session: "agent:main:main", pool: "main", epoch: 1, hops: 0, reply: "none" };
  const spawned = (run: object): Row =>
    row("s", {}, { internal: { kind: "message", id: "m", turn: "t", asker, run: { label: "l", ...run } } });
  const job = (more: object): Row => {
    const base = jobOf();
    const made = { ...base, payload: { ...base.payload, ...more } } as never;
    const { id, payload } = slotRow(
      made,
      { id: "slot", instantMs: 5 },
      { owner: true, authority: "owner" },
      5,
    );
    return { ...row(id), payload };
  };
  const hook = (more: object): Row => {
    const call = { id: "h", name: "ci", agent: "tea", lane, place: null, text: "x", own: true, ...more };
    return { ...row("h"), payload: hookRow(call, 1).payload };
  };
  expect([
    await fieldsOf([row("a")]),
    await fieldsOf([row("a"), spawned({ model: "new/two" })]),
    await fieldsOf([spawned({ model: "new/two", thinking: "high" })]),
    await fieldsOf([spawned({ model: "new/two", thinking: "high" })]),
    await fieldsOf([hook({ thinking: "off" })]),
    await fieldsOf([hook({ model: "hook/three", thinking: "off" })]),
    await fieldsOf([hook({ own: false, thinking: "low" })]),
    await fieldsOf([hook({ own: false })]),
    await fieldsOf([job({ model: "job/four" })]),
    await fieldsOf([job({})]),
  ]).toEqual([
    ["old/one", "low", "kept", 0],
    ["new/two", "low", "kept", 1],
    ["new/two", "high", "kept", 1],
    ["new/two", "high", "kept", 0],
    [null, "off", "kept", 1],
    ["hook/three", "off", "kept", 1],
    ["hook/three", "low", "kept", 1],
    ["hook/three", "low", "kept", 0],
    ["job/four", null, "kept", 1],
    [null, null, "kept", 1],
  ]);
});

test("a call is told its turn, its people and which of the tools may be called", () => {
  const rows = [row("a", { sender: { id: "5", name: "A", isBot: false } })];
  const known = {
    session: lane,
    agent: "tea",
    turn: `${lane}#1`,
    conversation: "telegram:work:group:-7",
    by: { owner: true, senders: ["telegram:5"] },
    authority: "member:x",
    workspace: "/w",
    env: { A: "1" },
  };
  expect(toolScope(turn(rows), { workspace: "/w", env: { A: "1" } })).toEqual(known);
  const tools = ["read", "write", "exec"].map((name) => ({ name })) as never;
  const refuses = (name: string): string | null => (name === "write" ? "no" : null);
  expect(toolScope(turn(rows), { workspace: "/w", env: { A: "1" }, tools, refuses })).toEqual({
    ...known,
    tools: ["read", "exec"],
  });
  expect(toolScope(turn(rows), { workspace: "/w", env: {}, tools })).toMatchObject({
    tools: ["read", "write", "exec"],
  });
});

test("words are owed in private, and in a group that wants them to whoever called; silence is refused to whoever asked", () => {
  const cases = {
    private: [directMessage(), true],
    "private, where groups may be silent": [directMessage(), false],
    called: [groupMessage({ addressed: true }), true],
    "called, where silence is allowed": [groupMessage({ addressed: true }), false],
    "not called": [groupMessage({ addressed: false }), true],
    "a reaction in private": [directMessage({ kind: "reaction" }), true],
    "a bot that called": [groupMessage({ addressed: true, sender: { isBot: true } }), true],
  } as const;
  const told = Object.entries(cases).map(([what, [inbound, tellsEmptyInGroups]]) => {
    const { address } = inbound;
    const opening = [row("r", inbound)];
    const scope = { address, prepared: { tellsEmptyInGroups }, opening } as never;
    return [what, isOwed(scope), refusesSilence(scope, opening)];
  });
  expect(told).toEqual([
    ["private", true, true],
    ["private, where groups may be silent", true, true],
    ["called", true, true],
    ["called, where silence is allowed", false, false],
    ["not called", false, false],
    ["a reaction in private", true, false],
    ["a bot that called", true, false],
  ]);
  const beat = row("h", {}, { internal: { kind: "heartbeat", id: "h", turn: "" } });
  const scope = { address: directMessage().address, prepared: { tellsEmptyInGroups: true } };
  expect([
    isOwed({ ...scope, opening: [beat] } as never),
    refusesSilence(scope as never, [beat]),
    isOwed({ ...scope, opening: [beat, row("m")] } as never),
  ]).toEqual([false, false, true]);
});

test("who wrote a message that failed for good is told which, and whoever sees a run's place what it was of", () => {
  const task = (kind: string, id: string, text = "") =>
    row(`row-${id}`, { text }, { internal: { kind, id, turn: "" } });
  const hooked = {
    ...row("h"),
    payload: hookRow(
      { id: "h", name: "ci", agent: "tea", lane, place: null, text: "secret words", own: true },
      1,
    ).payload,
  };
  const cases: { readonly [what: string]: readonly [readonly Row[], readonly object[]] } = {
    "one message": [[row("m1")], []],
    "two messages": [[row("m1"), row("m2")], []],
    "a press": [[row("m1", { kind: "callback" })], []],
    "a job": [[task("schedule", "j", "Water the roses.")], []],
    "a job and a heartbeat": [[task("schedule", "j", "Water."), task("heartbeat", "b", "Look.")], []],
    "a webhook": [[hooked], []],
    "one with a preview": [[row("m1")], [{ kind: "preview", body: '{"delivery":"t/preview"}' }]],
  };
  expect(
    answerTable(Object.keys(cases), (what) => {
      const [rows, log] = cases[what] ?? [[], []];
      const { parts, ...delivery } = buriedNotice(turn(rows, { log }));
      return [delivery, ...parts.map(({ content, into }) => [JSON.parse(content), into ?? "new"])];
    }),
  ).toMatchInlineSnapshot(`
    ""one message"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"Sorry, I failed on your message for good and put it aside. The operator can see why. Please try in other words."}],"replyTo":"m1"},"new"]]
    "two messages"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"Sorry, I failed on your last 2 messages for good and put them aside. The operator can see why. Please try in other words."}]},"new"]]
    "a press"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"Sorry, I failed on your message for good and put it aside. The operator can see why. Please try in other words."}]},"new"]]
    "a job"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"⚠️ I failed on this for good and put it aside; the operator can see why:\\n\\nWater the roses."}]},"new"]]
    "a job and a heartbeat"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"⚠️ I failed on this for good and put it aside; the operator can see why:\\n\\nWater."}]},"new"]]
    "a webhook"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"⚠️ I failed on this for good and put it aside; the operator can see why:\\n\\na call of the webhook \\"ci\\""}]},"new"]]
    "one with a preview"
      [{"id":"agent:tea:telegram:group:-7#1/buried","pool":"telegram:work","lane":"telegram:work:group:-7","cause":"agent:tea:telegram:group:-7#1","closes":"t/preview"},[{"v":1,"kind":"reply","parts":[{"kind":"text","markdown":"Sorry, I failed on your message for good and put it aside. The operator can see why. Please try in other words."}],"replyTo":"m1"},"t/preview/0"]]
    "
  `);
});

test("a part of an album that a dead process had stored waits two seconds from the start for the rest, once", async () => {
  const absorbed: unknown[] = [];
  const more = [row("p2"), row("p3")];
  let found: readonly Row[] = more;
  const whole = (of: Turn, bootAtMs = clock.now()) =>
    wholeAlbum(
      {
        turns: {
          absorb: async (...asked: readonly unknown[]) => (absorbed.push(asked.slice(1), clock.now()), found),
        },
        clock,
        bootAtMs,
      } as never,
      of,
      { signal: new AbortController().signal } as never,
    );
  const part = row("p1", { groupId: "album" });
  const before = turn([row("first"), part]);
  const bootAtMs = clock.now();
  await clock.advance(500);
  const waiting = whole(before, bootAtMs);
  await clock.advance(1_499);
  expect(absorbed).toEqual([]);
  await clock.advance(1);
  const { rows, log } = await waiting;
  expect([rows.map(({ id }) => id), log, absorbed]).toEqual([
    ["first", "p1", "p2", "p3"],
    [{ kind: "absorbed", body: '["p2","p3"]' }],
    [[0, 50], bootAtMs + 2_000],
  ]);
  found = [];
  const again = whole(before);
  await clock.advance(2_000);
  expect(await again).toBe(before);
  // Nothing waits: the start is over, something was done, it is no album, or it came to this process.
  const late = clock.now() - 2_000;
  expect(await whole(before, late)).toBe(before);
  const others = [
    turn([part], { log: [{ kind: "preview", body: "{}" }] }),
    turn([part, row("alone")]),
    turn([{ ...part, acceptedAtMs: clock.now() }]),
    turn([]),
  ];
  for (const other of others) expect(await whole(other)).toBe(other);
});
