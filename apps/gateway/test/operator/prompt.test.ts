// Which prompt an operator is shown: the newest session's or a named one's, by the turn's number from
// either end, and what it is compared with. The session's records and texts stand in a real store.
import { hashOf } from "@parley/agent";
import { silentLog } from "@parley/protocol";
import { promptHistory } from "@parley/runner";
import { sqliteStore } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { promptMethods } from "../../src/operator/agent/prompt.ts";

const dayMs = 86_400_000;
const key = "agent:main:telegram:dm:5";
const place = { address: { channel: "telegram", account: "default", kind: "dm", peer: "5" } } as const;

/** A prompt of these two parts, with one section for each. */
function prompt(stable: string, volatile: string) {
  const section = (id: string, zone: string, text: string) => ({
    id,
    zone,
    included: true,
    chars: text.length,
    hash: hashOf(text),
  });
  const stableHash = hashOf(stable);
  const explanation = {
    hash: hashOf(stable + volatile),
    stableHash,
    sections: [section("rules", "stable", stable), section("time", "volatile", volatile)],
    files: [],
    tools: [],
  };
  return { compiled: { stable, volatile, stableHash }, explanation } as never as {
    readonly compiled: never;
    readonly explanation: never;
  };
}

async function setUp() {
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: (error: unknown): never => {
      throw error;
    },
  } as never);
  onTestFinished(() => store.close());
  const prompts = promptHistory(store.cells, clock);
  const asked: { agent: string; place: unknown }[] = [];
  let next = prompt("now", "9 o'clock");
  const methods = promptMethods({
    config: { agents: { list: [{ id: "helper" }, { id: "main" }] } } as never,
    store,
    prompts,
    turnPreparer: {
      prompt: async ({ agent, place: at }: { agent: string; place: unknown }) => {
        asked.push({ agent, place: at });
        return next;
      },
    } as never,
  });
  async function turn(id: string, stable: string, volatile: string, of = key, at: object = place) {
    const { compiled, explanation } = prompt(stable, volatile);
    const session = await store.sessions.open(of as never);
    const note = prompts.note(id, at as never, session, compiled, explanation);
    for (const { key: cell, value, ttlMs } of note.cells)
      if (value === null) await store.cells.remove(cell);
      else await store.cells.put(cell, value, ttlMs === undefined ? {} : { ttlMs });
    await store.sessions.patch(of as never, note.patch);
    note.committed();
    await clock.advance(1_000);
  }
  const refusal = (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => "went through",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  return {
    clock,
    store,
    methods,
    asked,
    turn,
    refusal,
    now: (...parts: [string, string]) => (next = prompt(...parts)),
  };
}

test("a turn is shown by its number or counted from the last; without one, what a turn would get now", async () => {
  const { methods, turn, refusal } = await setUp();
  for (const n of [1, 2, 3]) await turn(`t${n}`, "rules", ` at ${n}`);
  const shown = async (params: object) => {
    const { turn: n, turnId, text, boundary, atMs } = await methods["prompt.show"](params);
    return [n, turnId, text, boundary, atMs === null];
  };
  expect(await shown({ session: key, turn: 1 })).toEqual([1, "t1", "rules at 1", 5, false]);
  expect(await shown({ session: key, turn: 3 })).toEqual([3, "t3", "rules at 3", 5, false]);
  expect(await shown({ session: key, turn: -1 })).toEqual([3, "t3", "rules at 3", 5, false]);
  expect(await shown({ session: key, turn: -3 })).toEqual([1, "t1", "rules at 1", 5, false]);
  expect(await shown({ session: key })).toEqual([null, null, "now9 o'clock", 3, true]);
  const none = (n: number) =>
    `missing: no prompt of turn ${n} in ${key}: turns 1 to 3 are kept (the last 500, for five days)`;
  for (const n of [0, 4, -4])
    expect(await refusal(methods["prompt.show"]({ session: key, turn: n }))).toBe(none(n));
  const empty = "agent:main:telegram:dm:6";
  expect(await refusal(methods["prompt.show"]({ session: empty, turn: -1 }))).toBe(
    `missing: no prompt of turn -1 in ${empty}: none is kept (the last 500, for five days)`,
  );
  expect(await refusal(methods["prompt.show"]({ session: "nonsense" }))).toMatch(/^invalid: session key/);
});

test("records go after five days; a text goes later, and is said to be gone where a record still names it", async () => {
  const { clock, methods, store, turn, refusal } = await setUp();
  await turn("t1", "rules", " at 1");
  await clock.advance(4 * dayMs);
  expect((await methods["prompt.show"]({ session: key, turn: 1 })).text).toBe("rules at 1");
  await turn("t2", "rules", " at 2");
  await clock.advance(dayMs);
  expect(await refusal(methods["prompt.show"]({ session: key, turn: 1 }))).toMatch(/turns 2 to 2 are kept/);
  expect((await methods["prompt.show"]({ session: key, turn: -1 })).text).toBe("rules at 2");
  await store.cells.remove(`prompt:text:${hashOf(" at 2")}`);
  expect(await refusal(methods["prompt.show"]({ session: key, turn: 2 }))).toBe(
    "missing: the texts of turn 2 are kept no longer",
  );
});

test("explaining compares with the turn before: now with the last one, a turn with its own predecessor", async () => {
  const { methods, turn, now } = await setUp();
  await turn("t1", "rules", " at 1");
  await turn("t2", "others", " at 1");
  now("others", " now");
  const moved = async (params: object) => {
    const { turn: n, moved: what } = await methods["prompt.explain"](params);
    return [
      n,
      what === null
        ? null
        : [what.since.turn, what.stableMoved, what.moves.map(({ id, change }) => `${id} ${change}`)],
    ];
  };
  expect(await moved({ session: key })).toEqual([null, [2, false, ["time changed"]]]);
  expect(await moved({ session: key, turn: 2 })).toEqual([2, [1, true, ["rules changed"]]]);
  expect(await moved({ session: key, turn: 1 })).toEqual([1, null]);
  expect(await moved({ session: "agent:main:telegram:dm:6" })).toEqual([null, null]);
});

test("a difference is of the last turn and now, of a turn and the one before it, or of two sessions", async () => {
  const { methods, turn, now, refusal } = await setUp();
  const other = "agent:main:telegram:dm:6";
  await turn("t1", "rules", " at 1");
  await turn("t2", "others", " at 1");
  now("others", " now");
  const ends = async (params: object) => {
    const { before, after, stableMoved, moves } = await methods["prompt.diff"](params);
    return [
      before.session.slice(-1),
      before.turn,
      after.session.slice(-1),
      after.turn,
      stableMoved,
      moves.length,
    ];
  };
  expect(await ends({ session: key })).toEqual(["5", 2, "5", null, false, 1]);
  expect(await ends({ session: key, turn: 2 })).toEqual(["5", 1, "5", 2, true, 1]);
  expect(await ends({ session: key, turn: -1, with: other })).toEqual(["5", 2, "6", null, false, 1]);
  expect(await ends({ session: other, with: key })).toEqual(["6", null, "5", null, false, 0]);
  expect(await refusal(methods["prompt.diff"]({ session: key, turn: 1 }))).toMatch(
    /^missing: no prompt of turn 0/,
  );
  expect(await refusal(methods["prompt.diff"]({ session: other }))).toBe(
    `missing: ${other} has had no turn yet, so there is nothing to compare its prompt with`,
  );
});

test("without a session the newest is meant; one that does not exist is made up, and not opened", async () => {
  const { methods, turn, store, asked } = await setUp();
  expect((await methods["prompt.show"]({})).session).toBe("agent:helper:main");
  expect(asked).toEqual([{ agent: "helper", place: null }]);
  // Keys that only begin alike are others.
  await turn("t1", "of 55", "", `${key}5`);
  await turn("t2", "of 5", "", key);
  await turn("t3", "of 56", "", `${key}6`);
  expect((await methods["prompt.show"]({})).session).toBe(`${key}6`);
  expect((await methods["prompt.show"]({ session: key, turn: -1 })).text).toBe("of 5");
  await methods["prompt.show"]({ session: "agent:main:telegram:dm:9" });
  expect((await store.sessions.list({ limit: 9 })).map((each) => each.key)).not.toContain(
    "agent:main:telegram:dm:9",
  );
});

test("the place is that of the last turn; before the first it stands in the key", async () => {
  const { methods, turn, asked } = await setUp();
  const placed = async (session: string) => {
    await methods["prompt.show"]({ session });
    return asked.at(-1)?.place;
  };
  const at = (kind: string, peer: string, more: object = {}) => ({
    address: { channel: "telegram", account: "default", kind, peer, ...more },
  });
  expect(await placed(key)).toEqual(at("dm", "5"));
  expect(await placed("agent:main:dm:5")).toBeNull();
  expect(await placed("agent:main:main")).toBeNull();
  expect(await placed("agent:main:telegram:group:-1")).toEqual(at("group", "-1"));
  expect(await placed("agent:main:telegram:group:-1:topic:7")).toEqual(at("group", "-1", { thread: "7" }));
  expect(await placed("agent:main:discord:channel:2:thread:8")).toEqual({
    address: { channel: "discord", account: "default", kind: "channel", peer: "2", thread: "8" },
  });
  const inGuild = { address: { ...place.address, kind: "channel", peer: "2" }, guild: "g", parent: "p" };
  await turn("t1", "a", "b", key);
  await turn("t2", "a", "b", key, inGuild);
  expect(await placed(key)).toEqual(inGuild);
});

test("a prompt is told whole: whose it is, when it was sent, and the hash of each part; so is what moved", async () => {
  const { methods, turn, now, clock } = await setUp();
  const firstAtMs = clock.now();
  await turn("t1", "rules", " at 1");
  await turn("other", "of another session", "", "agent:main:telegram:dm:6");
  await turn("t2", "rules", " at 2");
  now("others", " now");
  const first = {
    session: key,
    turn: 1,
    turnId: "t1",
    atMs: firstAtMs,
    stableHash: hashOf("rules"),
  };
  const second = { ...first, turn: 2, turnId: "t2", atMs: firstAtMs + 2_000 };
  const next = { session: key, turn: null, turnId: null, atMs: null, stableHash: hashOf("others") };
  expect(await methods["prompt.show"]({ session: key, turn: 2 })).toEqual({
    ...second,
    hash: hashOf("rules at 2"),
    boundary: 5,
    text: "rules at 2",
  });
  expect(await methods["prompt.show"]({ session: key })).toEqual({
    ...next,
    hash: hashOf("others now"),
    boundary: 6,
    text: "others now",
  });
  const { explanation, moved, ...identity } = await methods["prompt.explain"]({ session: key, turn: -1 });
  expect([identity, moved?.since]).toEqual([second, first]);
  expect(explanation).toEqual(prompt("rules", " at 2").explanation);
  const explained = await methods["prompt.explain"]({ session: key });
  expect([explained.session, explained.turn, explained.moved?.since]).toEqual([key, null, second]);
  const { before, after, stableMoved } = await methods["prompt.diff"]({ session: key });
  expect([before, after, stableMoved]).toEqual([second, next, true]);
  const ended = await methods["prompt.diff"]({ session: key, turn: 2 });
  expect([ended.before, ended.after, ended.stableMoved]).toEqual([first, second, false]);
});

test("what stands in a key before the first turn is the place: its account, its thread, and whose it is", async () => {
  const { methods, asked } = await setUp();
  for (const session of [
    "agent:second:telegram:work:dm:5",
    "agent:main:telegram:dm:5:thread:9",
    "agent:main:telegram:work:group:-1:topic:7",
    "agent:main:discord:work:channel:2",
    "agent:main:hook:ci",
  ])
    await methods["prompt.show"]({ session });
  const at = (channel: string, account: string, kind: string, peer: string, more: object = {}) => ({
    address: { channel, account, kind, peer, ...more },
  });
  expect(asked).toEqual([
    { agent: "second", place: at("telegram", "work", "dm", "5") },
    { agent: "main", place: at("telegram", "default", "dm", "5", { thread: "9" }) },
    { agent: "main", place: at("telegram", "work", "group", "-1", { thread: "7" }) },
    { agent: "main", place: at("discord", "work", "channel", "2") },
    { agent: "main", place: null },
  ]);
});
