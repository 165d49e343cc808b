// Sessions as an operator sees and changes them, over a real store: one whole, its transcript by epoch, a
// reset, what is forgotten, and settings that are set, cleared or left as they are.
import type { Entry, SessionKey } from "@parley/protocol";
import { expect, test } from "vitest";
import { beginAnew } from "../../src/receive/reset-policy.ts";
import { sessionMethods } from "../../src/operator/sessions/sessions.ts";
import { operateFixture } from "./operate-fixture.ts";

const key = "agent:main:telegram:dm:7" as SessionKey;

async function stage() {
  const at = await operateFixture();
  const { sessions } = at.store;
  const did: unknown[] = [];
  const methods = sessionMethods({
    config: { agents: { list: [{ id: "main" }] } } as never,
    store: at.store,
    modelCatalog: {
      find: async (_agent: object, word: string) =>
        word === "fast" ? { ref: "lab/fast" } : { nearest: ["fast"] },
    } as never,
    talk: { drop: async (of: string) => void did.push(["drop", of]) } as never,
    heard: {
      async beginAnew(of: SessionKey, why: string) {
        did.push(["begin", of, why]);
        const previous = await sessions.open(of);
        return { session: await beginAnew(sessions, of, at.clock.now()), previous };
      },
      reset: async (of: string, begun: { session: { epoch: number }; previous: { epoch: number } }) =>
        void did.push(["reset", of, begun.previous.epoch, begun.session.epoch]),
      patched: (session: { key: string }, patch: object) => void did.push(["patched", session.key, patch]),
    } as never,
    clock: at.clock,
  });
  let said = 0;
  async function says(...entries: readonly object[]): Promise<void> {
    await at.accept(`${(said += 1)}`);
    const turn = await at.take();
    await at.store.turns.commit(turn, turn.id, {
      outcome: "answered",
      entries: entries.map((entry) => JSON.stringify({ atMs: 5, ...entry } as unknown as Entry)),
    });
  }
  return { at, methods, did, says, sessions };
}

const text = (words: string): object => ({ type: "text", text: words });

test("one is shown with its counts and settings, and the newest of its transcript in words", async () => {
  const { methods, says, sessions } = await stage();
  for (const act of [
    methods["sessions.show"]({ key }),
    methods["sessions.reset"]({ key }),
    methods["sessions.forget"]({ key }),
    methods["sessions.patch"]({ key, thinking: "low" }),
    methods["sessions.tree"]({ key }),
  ])
    await expect(act).rejects.toMatchObject({
      code: "missing",
      message: `there is no session ${key}; "parley sessions" shows those that there are`,
    });
  await expect(methods["sessions.show"]({ key: "no key" })).rejects.toThrow();
  await says(
    { type: "user", rows: ["r"], content: [text("look"), { type: "image", path: "p" }] },
    {
      type: "assistant",
      model: "m",
      stop: "toolUse",
      content: [
        { type: "thinking", text: "hidden" },
        text("well"),
        { type: "toolCall", id: "c", name: "read", args: {} },
      ],
    },
    { type: "toolResult", callId: "c", name: "read", isError: false, content: [text("a"), text("b")] },
    { type: "summary", text: "x".repeat(4_000), throughSeq: 1 },
    { type: "notice", text: "y".repeat(4_001) },
  );
  await sessions.patch(key, {
    model: "lab/m",
    thinking: "high",
    reasoning: "on",
    name: "Garden",
    usage: { inputTokens: 7, outputTokens: 3 },
  });
  const { entries, ...session } = await methods["sessions.show"]({ key });
  expect(session).toMatchObject({
    key,
    agent: "main",
    kind: "dm",
    epoch: 1,
    model: "lab/m",
    thinking: "high",
    reasoning: "on",
    name: "Garden",
    working: false,
    inputTokens: 7,
    outputTokens: 3,
  });
  expect(entries.map(({ seq, type, atMs, text: shown }) => [seq, type, atMs, shown])).toEqual([
    [1, "user", 5, "look\n[image]"],
    [2, "assistant", 5, "well\n[calls read]"],
    [3, "toolResult", 5, "read: a\nb"],
    [4, "summary", 5, "x".repeat(4_000)],
    [5, "notice", 5, `${"y".repeat(4_000)}…`],
  ]);
  expect((await methods["sessions.show"]({ key, limit: 2 })).entries.map(({ seq }) => seq)).toEqual([4, 5]);
  await says(...Array.from({ length: 50 }, (_, n) => ({ type: "notice", text: `n${n}` })));
  const usual = (await methods["sessions.show"]({ key })).entries;
  expect([usual.length, usual[0]?.text, usual.at(-1)?.text]).toEqual([50, "n0", "n49"]);
  for (let n = 0; n < 101; n += 1) await sessions.open(`agent:main:web:dm:w${n}` as SessionKey);
  const count = async (how: object) => (await methods["sessions.list"](how)).sessions.length;
  expect([await count({}), await count({ limit: 101 }), await count({ find: "web" })]).toEqual([
    100, 101, 100,
  ]);
});

test("a reset begins a new epoch in the operator's name and tells the hooks; the one before can still be read", async () => {
  const { at, methods, did, says } = await stage();
  await says({ type: "notice", text: "first" });
  expect(await methods["sessions.reset"]({ key })).toMatchObject({ key, epoch: 2 });
  expect(did).toEqual([
    ["begin", key, "the operator"],
    ["reset", key, 1, 2],
  ]);
  await says({ type: "notice", text: "second" });
  const shown = async (epoch?: number) =>
    (await methods["sessions.show"](epoch === undefined ? { key } : { key, epoch })).entries.map((entry) => [
      entry.epoch,
      entry.text,
    ]);
  expect([await shown(), await shown(1)]).toEqual([[[2, "second"]], [[1, "first"]]]);
  await at.accept("waits");
  await at.take();
  expect(await methods["sessions.list"]({})).toMatchObject({ sessions: [{ key, working: true }] });
});

test("what is forgotten is gone with its canvas and from what is searched, unless it is at work", async () => {
  const { at, methods, did, says, sessions } = await stage();
  await says({ type: "notice", text: "a" }, { type: "notice", text: "b" });
  const { canvasId } = await import("@parley/runner");
  await at.store.cells.put(
    `canvas:${canvasId(key)}`,
    JSON.stringify({ v: 1, id: canvasId(key), session: key }),
    {},
  );
  await at.accept("now");
  const turn = await at.take();
  await expect(methods["sessions.forget"]({ key })).rejects.toMatchObject({
    code: "conflict",
    message: `${key} is at work: stop it with /stop, or wait until it has ended, then forget it`,
  });
  expect([did, (await sessions.transcript(key, { epoch: 1, limit: 9 })).length]).toEqual([[], 2]);
  await at.store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  await at.clock.advance(1_000);
  expect(await methods["sessions.forget"]({ key })).toMatchObject({ key, entries: 2 });
  expect(did).toEqual([["drop", key]]);
  expect(await at.store.cells.list("canvas:", 9)).toEqual([]);
  const [kept] = await sessions.list({ prefix: key, limit: 1 });
  expect(kept?.fields).toMatchObject({ startedAtMs: at.clock.now(), forgotten: expect.anything() });
  for (const epoch of [1, kept?.epoch ?? 0])
    expect(await sessions.transcript(key, { epoch, limit: 9 })).toEqual([]);
});

test("settings are set, cleared and left as they are, and hooks hear what was changed", async () => {
  const { methods, did, sessions } = await stage();
  await sessions.open(key);
  const before = (await sessions.list({ prefix: key, limit: 1 }))[0]?.updatedAtMs;
  expect(await methods["sessions.patch"]({ key })).toMatchObject({ key, model: null, thinking: null });
  expect([did, (await sessions.list({ prefix: key, limit: 1 }))[0]?.updatedAtMs]).toEqual([[], before]);
  const set = { key, model: "fast", thinking: "high", reasoning: "stream" } as const;
  expect(await methods["sessions.patch"](set)).toMatchObject({
    model: "lab/fast",
    thinking: "high",
    reasoning: "stream",
  });
  expect(await methods["sessions.patch"]({ key, thinking: null })).toMatchObject({
    model: "lab/fast",
    thinking: null,
    reasoning: "stream",
  });
  expect(await methods["sessions.patch"]({ key, model: null, reasoning: null })).toMatchObject({
    model: null,
    thinking: null,
    reasoning: null,
  });
  await expect(methods["sessions.patch"]({ key, model: "slow" })).rejects.toThrow("did you mean fast?");
  expect(did).toEqual([
    ["patched", key, { model: "lab/fast", thinking: "high", reasoning: "stream" }],
    ["patched", key, { thinking: null }],
    ["patched", key, { model: null, reasoning: null }],
  ]);
});

test("a tree of one that spawned nothing is itself alone; without one all that spawned are there", async () => {
  const { methods, sessions } = await stage();
  await sessions.open(key);
  expect(await methods["sessions.tree"]({ key })).toMatchObject({
    sessions: [{ key, depth: 0, state: "idle" }],
  });
  expect(await methods["sessions.tree"]({})).toEqual({ sessions: [] });
  await expect(methods["sessions.tree"]({ key: "agent:main:main" })).rejects.toThrow("there is no session");
});

test("sessions are shown whole, each with what is its own, and entries with the turn and the epoch that they are of", async () => {
  const { at, methods, says, sessions } = await stage();
  const other = "agent:second:telegram:group:-5:topic:9" as SessionKey;
  const twin = `${key}7` as SessionKey;
  await at.clock.advance(1_000);
  await sessions.open(other);
  await sessions.patch(other, { usage: { outputTokens: 5 }, model: 7, thinking: "low" });
  await at.clock.advance(1_000);
  await sessions.open(twin);
  await at.clock.advance(1_000);
  await sessions.reset(other);
  await sessions.open(key);
  const createdAtMs = at.clock.now();
  await sessions.patch(key, { model: "lab/m", name: "Garden", usage: { inputTokens: 7, outputTokens: 3 } });
  await at.clock.advance(500);
  await says({ type: "notice", text: "first" });
  await at.clock.advance(500);
  await at.accept("now");
  const turn = await at.take();
  const none = { model: null, thinking: null, reasoning: null, name: null, working: false };
  const own = {
    key,
    agent: "main",
    kind: "dm",
    epoch: 1,
    createdAtMs,
    updatedAtMs: createdAtMs + 500,
    model: "lab/m",
    thinking: null,
    reasoning: null,
    name: "Garden",
    working: true,
    inputTokens: 7,
    outputTokens: 3,
  };
  expect(await methods["sessions.list"]({})).toEqual({
    sessions: [
      own,
      {
        ...none,
        key: other,
        agent: "second",
        kind: "group",
        epoch: 2,
        createdAtMs: createdAtMs - 2_000,
        updatedAtMs: createdAtMs,
        thinking: "low",
        inputTokens: 0,
        outputTokens: 5,
      },
      {
        ...none,
        key: twin,
        agent: "main",
        kind: "dm",
        epoch: 1,
        createdAtMs: createdAtMs - 1_000,
        updatedAtMs: createdAtMs - 1_000,
        inputTokens: 0,
        outputTokens: 0,
      },
    ],
  });
  const { entries, ...shown } = await methods["sessions.show"]({ key });
  expect(shown).toEqual(own);
  expect(entries).toEqual([
    { seq: 1, epoch: 1, turn: expect.stringMatching(/./), type: "notice", text: "first", atMs: 5 },
  ]);
  expect(entries[0]?.turn).not.toBe(turn.id);
  // What only begins like a key is another session.
  expect(await methods["sessions.show"]({ key: twin })).toMatchObject({ key: twin, entries: [] });
  await at.store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  expect(await methods["sessions.patch"]({ key, thinking: "high" })).toEqual({
    ...own,
    thinking: "high",
    working: false,
    updatedAtMs: at.clock.now(),
  });
  expect(await methods["sessions.reset"]({ key: other })).toMatchObject({ key: other, epoch: 3 });
  await at.clock.advance(250);
  const { entries: gone, ...after } = await methods["sessions.forget"]({ key });
  expect([gone, after.key, after.updatedAtMs]).toEqual([1, key, at.clock.now()]);
  expect((await methods["sessions.show"]({ key: other })).thinking).toBe("low");
});

test("one session's tree is told with each that it spawned whole, those of other sessions are not", async () => {
  const { at, methods, sessions } = await stage();
  const child = (id: string, parent: string, startedAtMs: number, end: object | null = null) =>
    at.store.cells.put(
      `child:${id}`,
      JSON.stringify({
        v: 1,
        id,
        session: `agent:main:subagent:${id}`,
        parent,
        turn: "t",
        label: `label ${id}`,
        task: `task ${id}`,
        mode: "run",
        model: null,
        startedAtMs,
        asker: { session: parent, pool: "main", epoch: 1, reply: "push", hops: 0 },
        runs: 1,
        killed: false,
        end,
      }),
      {},
    );
  await sessions.open(key);
  await sessions.open("agent:main:main" as SessionKey);
  await sessions.open("agent:main:subagent:b" as SessionKey);
  await sessions.patch("agent:main:subagent:b" as SessionKey, { usage: { inputTokens: 4, outputTokens: 2 } });
  await child("a", "agent:main:main", 10);
  await child("b", key, 20, { state: "failed", reason: "it broke", tokens: 6, atMs: 90 });
  await child("c", key, 30);
  const [root, ...below] = (await methods["sessions.tree"]({ key })).sessions;
  expect(root).toMatchObject({ key, parent: null, depth: 0, label: null, task: null });
  expect(below).toEqual([
    {
      key: "agent:main:subagent:b",
      parent: key,
      depth: 1,
      label: "label b",
      task: "task b",
      state: "failed",
      reason: "it broke",
      startedAtMs: 20,
      endedAtMs: 90,
      tokens: 6,
    },
    {
      key: "agent:main:subagent:c",
      parent: key,
      depth: 1,
      label: "label c",
      task: "task c",
      state: "running",
      reason: null,
      startedAtMs: 30,
      endedAtMs: null,
      tokens: 0,
    },
  ]);
  const all = (await methods["sessions.tree"]({})).sessions.map(({ key: of, depth }) => `${depth} ${of}`);
  expect(all).toEqual([
    "0 agent:main:main",
    "1 agent:main:subagent:a",
    `0 ${key}`,
    "1 agent:main:subagent:b",
    "1 agent:main:subagent:c",
  ]);
});

test("a search looks at twenty thousand sessions, a list at as many as it tells, a tree at a thousand, one at its own", async () => {
  const { at } = await stage();
  const asked: unknown[] = [];
  await at.store.sessions.open(key);
  const methods = sessionMethods({
    config: { agents: { list: [] } },
    store: {
      ...at.store,
      sessions: { list: async (how: never) => (asked.push(how), at.store.sessions.list(how)) },
    },
    clock: at.clock,
  } as never);
  await methods["sessions.list"]({ find: "x", limit: 5, sinceMs: 0 });
  await methods["sessions.list"]({ limit: 5 });
  await methods["sessions.list"]({ agent: "main", prefix: "agent:main:t" });
  await methods["sessions.tree"]({});
  await methods["sessions.tree"]({ key });
  expect(asked).toEqual([
    { limit: 20_000, sinceMs: 0 },
    { limit: 5 },
    { prefix: "agent:main:", limit: 100 },
    { limit: 1_000 },
    { prefix: key, limit: 1_000 },
  ]);
});
