// A past turn as it is read from the records: by any of its names, over pages and epochs, with what stood
// before it.
import { expect, onTestFinished, test } from "vitest";
import { silentLog, type ConversationKey, type SessionKey } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { recordedTurn, type RecordPorts } from "../../src/replay/recorded-turn.ts";

const key = "agent:main:telegram:dm:ann" as SessionKey;
const conversation = "telegram:default:dm:ann" as ConversationKey;

async function records() {
  const clock = virtualClock();
  const onFatal = (error: unknown): void => expect.unreachable(String(error));
  const store = await sqliteStore({ path: ":memory:", clock, log: silentLog, bootId: "boot", onFatal });
  onTestFinished(() => store.close());
  let rows = 0;
  const payload = (sender: string, owner: boolean): string => {
    const address = { channel: "telegram", account: "default", kind: "dm", peer: "ann" };
    const said = { kind: "message", text: "x", attachments: [], mentions: [], addressed: true, atMs: 1 };
    const inbound = { id: "i", channel: "telegram", account: "default", address, messageId: "m", ...said };
    return JSON.stringify({
      v: 1,
      owner,
      inbound: { ...inbound, sender: { id: sender, name: "", isBot: false } },
    });
  };
  const text = (words: string): object => ({
    type: "user",
    content: [{ type: "text", text: words }],
    rows: [],
    atMs: clock.now(),
  });
  const say = async (
    entries: readonly object[],
    speakers: readonly (readonly [string, boolean])[] = [["ann", true]],
  ) => {
    const made = speakers.map(([sender, owner]) => ({
      id: `telegram:default:${(rows += 1)}`,
      pool: "main",
      lane: key,
      conversation,
      authority: "a",
      as: { kind: "work" as const },
      payload: payload(sender, owner),
    }));
    await store.inbox.accept(made);
    const turn = await store.turns.take({ pool: "main", holder: "me", leaseMs: 1e9, maxRows: 9 });
    if ("idle" in turn) throw new Error("a row waited");
    await clock.advance(30);
    await store.turns.commit(turn, turn.id, {
      outcome: "answered",
      entries: entries.map((each) => JSON.stringify(each)),
    });
    return { turn: turn.id, rows: made.map(({ id }) => id) };
  };
  const ports: RecordPorts = { store, prompts: { turns: async () => [], explanation: async () => null } };
  return { clock, store, say, text, ports };
}

const words = (entries: readonly object[]): readonly string[] =>
  entries.map((each) => {
    const { content, text } = each as { content?: readonly { text: string }[]; text?: string };
    return content?.[0]?.text ?? text ?? "";
  });

test("it is found by its id, by any of its rows and, the last one, by its session; each with what was before it", async () => {
  const { clock, store, say, text, ports } = await records();
  const startedAtMs = clock.now();
  const first = await say([text("1"), text("2")]);
  const second = await say(
    [text("3")],
    [
      ["ann", true],
      ["ben", false],
      ["ann", true],
    ],
  );
  await store.sessions.patch(key, { model: "m" });
  const found = await recordedTurn(ports, second.turn);
  expect(found).toMatchObject({
    v: 1,
    kind: "parley-turn",
    turn: second.turn,
    session: key,
    place: null,
    by: { owner: false, senders: ["telegram:ann", "telegram:ben"] },
    fields: { model: "m" },
    prompt: null,
    startedAtMs: startedAtMs + 30,
    tookMs: 30,
    expect: { calls: "names", answer: {} },
  });
  expect([words(found.history), words(found.entries)]).toEqual([["1", "2"], ["3"]]);
  for (const id of [...second.rows, key]) expect(await recordedTurn(ports, id)).toEqual(found);
  const before = await recordedTurn(ports, first.rows[0] ?? "");
  expect([words(before.history), words(before.entries), before.by]).toEqual([
    [],
    ["1", "2"],
    { owner: true, senders: ["telegram:ann"] },
  ]);
});

test("it is read over pages and from an epoch that is over, with its place and its prompt", async () => {
  const { store, say, text, ports } = await records();
  const many = (count: number, name: string) => Array.from({ length: count }, (_, n) => text(`${name}${n}`));
  await say(many(490, "a"));
  const wanted = await say(many(1_020, "b"));
  await say(many(3, "c"));
  await store.sessions.reset(key);
  const now = await say([text("now")]);
  const place = { conversation, guild: "g", parent: "p" };
  const prompts = {
    turns: async () => [
      { turn: "other", conversation: "x" },
      { turn: wanted.turn, ...place },
    ],
    explanation: async (of: { readonly turn: string }) => ({ of: of.turn, sections: [{ id: "s" }] }),
  } as unknown as RecordPorts["prompts"];
  const found = await recordedTurn({ ...ports, prompts }, wanted.turn);
  expect([found.entries.length, words(found.entries)[0], words(found.entries).at(-1)]).toEqual([
    1_020,
    "b0",
    "b1019",
  ]);
  expect([found.history.length, words(found.history)[0], words(found.history).at(-1)]).toEqual([
    490,
    "a0",
    "a489",
  ]);
  expect([found.place, found.prompt]).toEqual([place, { of: wanted.turn, sections: [{ id: "s" }] }]);
  const last = await recordedTurn({ ...ports, prompts }, key);
  expect([last.turn, last.history, last.place, last.prompt]).toEqual([now.turn, [], null, null]);
});

test("of what was before it the newest two thousand entries and a million characters are told, behind the last summary", async () => {
  const { store, say, text, ports } = await records();
  await say(Array.from({ length: 2_100 }, (_, n) => text(`a${n}`)));
  const turn = await say([text("x")]);
  const found = await recordedTurn(ports, turn.turn);
  expect([found.history.length, words(found.history)[0]]).toEqual([2_000, "a100"]);
  await store.sessions.reset(key);
  const long = "y".repeat(300_000);
  await say([text(`1${long}`), text(`2${long}`), text(`3${long}`), text(`4${long}`)]);
  const after = await say([text("x")]);
  expect(words((await recordedTurn(ports, after.turn)).history).map((each) => each[0])).toEqual([
    "2",
    "3",
    "4",
  ]);
  const { lastSeq } = await store.sessions.open(key);
  const summary = { type: "summary", text: "so far", throughSeq: lastSeq - 1, keptTokens: 1, atMs: 1 };
  await say([summary, { type: "notice", text: "told", atMs: 1 }, { broken: true }]);
  const summed = await say([text("z")]);
  expect(words((await recordedTurn(ports, summed.turn)).history)).toEqual(["so far", "x"]);
});

test("what is not there is named, with where to look", async () => {
  const { store, say, text, ports } = await records();
  const { turn } = await say([text("1")]);
  await store.inbox.accept([
    {
      id: "telegram:default:waits",
      pool: "none",
      lane: key,
      conversation,
      authority: "a",
      as: { kind: "work" },
      payload: "{}",
    },
  ]);
  const asked = async (id: string): Promise<string> =>
    recordedTurn(ports, id).then(
      () => "found",
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    );
  expect(await asked("telegram:default:waits")).toBe(
    "missing: telegram:default:waits was answered by no turn",
  );
  expect(await asked("who")).toBe(
    'missing: no turn, message or session is known by "who"; "parley sessions" and "parley why" show them',
  );
  expect(await asked("agent:main:telegram:dm:ben")).toBe(
    'missing: there is no session agent:main:telegram:dm:ben; "parley sessions" shows those that there are',
  );
  await store.sessions.reset(key);
  expect(await asked(key)).toBe(`missing: ${key} has had no turn since it began`);
  await store.sessions.forget(key, "forgotten");
  expect(await asked(turn)).toBe(
    `missing: the transcript of ${key} has nothing of the turn ${turn}: it is open, or was forgotten`,
  );
});
