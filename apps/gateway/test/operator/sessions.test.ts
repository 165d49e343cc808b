// Sessions as an operator sees and changes them, over a real store: one whole, its transcript by epoch, a reset, what is
// forgotten, and settings that are set, cleared or left as they are.
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
  await expect(methods["sessions.show"]({ key })).rejects.toThrow(`there is no session ${key}`);
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
  await expect(methods["sessions.forget"]({ key })).rejects.toMatchObject({ code: "conflict" });
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
