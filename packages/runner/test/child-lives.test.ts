// Lives of sub-agents over a real store: what stands in lanes, cells and outbox after a spawn, an answer, a
// failure, a kill, a thread that opens or does not, and a start after a process died.
import { conversationBindings } from "@parley/access";
import { noRedaction } from "@parley/agent";
import {
  formatContent,
  formatRowPayload,
  parseRowPayload,
  silentLog,
  type Address,
  type ConversationKey,
  type SessionKey,
} from "@parley/protocol";
import type { Commit, NewRow, SqliteStore, Turn } from "@parley/store";
import { directMessage, groupMessage, virtualClock, type VirtualClock } from "@parley/testkit";
import type { Done, ToolScope } from "@parley/tools";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { answeringStore } from "../src/sessions/answering-turns.ts";
import { childRegistry, type Child } from "../src/sessions/child-registry.ts";
import { threadOpeningOutbox } from "../src/sessions/child-threads.ts";
import { childrenPort } from "../src/sessions/children.ts";
import {
  endWithoutTurn,
  healChildren,
  killAll,
  killBelow,
  killChild,
  stopBelow,
} from "../src/sessions/end-children.ts";
import { findSession } from "../src/sessions/find-session.ts";
import { steerChild, taskRow } from "../src/sessions/steer-child.ts";
import { wordsIn } from "../src/sessions/turn-end.ts";
import { memoryStore } from "./store.ts";

const parent = "agent:main:discord:channel:55" as SessionKey;
const conversation = "discord:default:channel:55" as ConversationKey;
const place: Address = { channel: "discord", account: "default", kind: "channel", peer: "55" };

let clock: VirtualClock;
let store: SqliteStore;
let world: Awaited<ReturnType<typeof makeWorld>>;
beforeEach(async () => {
  clock = virtualClock({ startMs: 1_000_000 });
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
  world = await makeWorld();
});

async function makeWorld() {
  const children = childRegistry(store.cells);
  const threads = conversationBindings(store.cells);
  await threads.load();
  const stopped: string[] = [];
  const logged: unknown[] = [];
  const endedBelow: string[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void logged.push(line) };
  const placeOf = () => null;
  const endBelow = async (session: SessionKey) => {
    endedBelow.push(session);
    await killBelow(needs, session, "its parent has ended");
  };
  const { turns, inbox, healStops } = answeringStore(store, { children, placeOf, threads, endBelow, clock });
  const config = {
    agents: {
      list: [{ id: "main", model: { primary: "a/one", fallbacks: [] }, sandbox: { mode: "off" } }],
      defaults: {
        models: {},
        subagents: { maxSpawnDepth: 3, maxChildrenPerAgent: 9, allowAgents: [], runTimeoutSeconds: 0 },
      },
    },
    models: { providers: {} },
    session: { threadBindings: { enabled: true } },
    tools: { sessions: { visibility: "tree" }, agentToAgent: { enabled: false, allow: [] } },
  };
  const needs = {
    config,
    models: { list: () => [], get: async () => ({}) },
    sessions: store.sessions,
    inbox,
    outbox: store.outbox,
    cells: store.cells,
    children,
    threads,
    channel: () => ({ name: "Discord", actions: ["createThread"] }),
    running: { stop: (turn: string) => void stopped.push(turn) },
    redaction: noRedaction,
    placeOf,
    clock,
    log,
  } as never as Parameters<typeof killChild>[0] &
    Parameters<typeof childrenPort>[0] & { log: typeof silentLog };
  const opening = {
    cells: store.cells,
    inbox,
    children,
    threads,
    log,
    endUnstarted: (id: string, end: Parameters<typeof endWithoutTurn>[1]) => endWithoutTurn(id, end, needs),
  } as never as Parameters<typeof threadOpeningOutbox>[1];
  return {
    children,
    threads,
    stopped,
    logged,
    endedBelow,
    turns,
    inbox,
    healStops,
    needs,
    port: childrenPort(needs),
    outbox: threadOpeningOutbox(store.outbox, opening),
  };
}

const person = (id: string, more: Partial<NewRow> = {}): NewRow => ({
  id,
  pool: "main",
  lane: parent,
  conversation,
  authority: "owner",
  as: { kind: "work" },
  payload: formatRowPayload({
    v: 1,
    inbound: {
      ...groupMessage({ id, sender: { id: "7", name: "Olga" } } as never),
      channel: "discord",
      address: place,
      guild: "77",
    },
    owner: true,
  } as never),
  ...more,
});
const take = async (pool: string): Promise<Turn> => {
  const turn = await store.turns.take({ pool, holder: "boot", leaseMs: 60_000, maxRows: 9 });
  if ("idle" in turn) throw new Error(`nothing to do in ${pool}`);
  return turn;
};
const scopeOf = (turn: Turn, callId: string, session = parent): ToolScope =>
  ({
    session,
    agent: "main",
    turn: turn.id,
    callId,
    conversation: turn.conversation,
    by: { owner: true, senders: ["discord:7"] },
    untrusted: callId.startsWith("tainted") ? "a.example" : undefined,
  }) as unknown as ToolScope;
/** Writes what a call leaves with its step, as the turn's journal does. */
const keep = async (turn: Turn, at: number, { effects }: Done): Promise<void> => {
  const steps = [{ kind: "result", body: "{}" }] as const;
  await world.turns.checkpoint(turn, at, { steps, ...effects });
};
const spawned = async (turn: Turn, callId: string, more: object = {}, at = 0, session = parent) => {
  const request = { task: `dig ${callId}`, context: "isolated", attachments: [], mode: "run", ...more };
  const done = await world.port.spawn(scopeOf(turn, callId, session), request as never);
  await keep(turn, at, done);
  const [child] = (await world.children.all()).filter(({ task }) => task === `dig ${callId}`);
  if (child === undefined) throw new Error("it is not there");
  return { done, child };
};
const begins = async (): Promise<Turn> => {
  await world.inbox.accept([person("m1")]);
  return take("main");
};
const says = (turn: Turn, words: string): Partial<Commit> => ({
  deliveries: [
    {
      id: `${turn.id}/0`,
      pool: "discord:default",
      lane: turn.conversation,
      cause: turn.id,
      parts: [
        { content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: words }] }) },
      ],
    },
  ],
  patch: { usage: { inputTokens: 3, outputTokens: 4 } },
});
const commit = (turn: Turn, what: Partial<Commit>) =>
  world.turns.commit(turn, turn.id, { outcome: "answered", entries: [], ...what });
/**
 * Rows of a lane that wait or ended without a turn, the oldest first: how each stands, and its first line.
 */
const lane = async (session: string): Promise<readonly string[]> =>
  (await store.inbox.find({ lane: session as SessionKey, limit: 20, dismissed: true })).map(
    ({ id, state, outcome, payload, conversation: at }) =>
      [id, at, state, outcome ?? "-", parseRowPayload(payload).inbound.text.split("\n")[0]].join(" | "),
  );
const sent = async (): Promise<readonly string[]> =>
  (await store.outbox.find({ limit: 20 }))
    .toReversed()
    .map(({ id, lane: to, parts }) => `${id} to ${to}: ${wordsIn(parts[0]?.content ?? "").join(" ") || "-"}`);
const endOf = async ({ id }: Child) => (await world.children.get(id))?.end;

/** The same with each sub-agent's id as the call that spawned it, and each turn as its lane's n-th. */
const named = async <T>(value: T): Promise<T> => {
  let text = JSON.stringify(value);
  for (const { id, task } of await world.children.all())
    text = text.replaceAll(id, task.replace("dig ", "@"));
  return JSON.parse(text) as T;
};

test("a sub-agent has its parent's people, place and rights; its answer goes to its parent alone, once, with its end", async () => {
  const turn = await begins();
  const { done, child } = await spawned(turn, "c1", { label: "digger", thinking: "low", model: "a/one" });
  expect(await named(done.text)).toBe(
    "Sub-agent @c1 (digger) has the task. Its result comes here by itself as a [System Message]; do not wait for it with other calls.",
  );
  const asker = { session: parent, pool: "main", epoch: 1, reply: "push", hops: 0 };
  expect(child).toEqual({
    v: 1,
    id: child.id,
    session: `agent:main:subagent:${child.id}`,
    parent,
    turn: turn.id,
    label: "digger",
    task: "dig c1",
    mode: "run",
    model: "a/one",
    startedAtMs: 1_000_000,
    asker,
    runs: 1,
    killed: false,
    end: null,
  });
  await clock.advance(5_000);
  const work = await take("subagent");
  const [task] = work.rows;
  expect({ ...task, payload: parseRowPayload(task?.payload ?? "") }).toMatchObject({
    id: `task:${child.id}`,
    conversation,
    authority: "owner",
    ticket: `task:${child.id}`,
    payload: {
      owner: true,
      inbound: { address: place, guild: "77", sender: { id: "7", name: "Parley" }, atMs: 1_000_000 },
      internal: {
        kind: "task",
        id: child.id,
        turn: turn.id,
        asker,
        run: { label: "digger", model: "a/one", thinking: "low" },
      },
    },
  });
  await commit(work, says(work, "gold"));
  const told =
    'child:@c1 | discord:default:channel:55 | waiting | - | Sub-agent "digger" (@c1) finished. It took 5 s; its session used 7 tokens.';
  expect(await named([await lane(parent), await sent()])).toEqual([
    [told, "m1 | discord:default:channel:55 | claimed | - | hello"],
    [],
  ]);
  expect([await endOf(child), world.endedBelow]).toEqual([
    { state: "answered", reason: null, tokens: 7, atMs: 1_005_000 },
    [],
  ]);
  // A kill of what is over changes and tells nothing.
  expect(await killBelow(world.needs, parent, "late")).toBe(0);
  expect(await world.port.kill(scopeOf(turn, "k"), "all")).toBe("No sub-agent was running.");
  expect([(await lane(parent)).length, world.stopped]).toEqual([2, []]);
});

test("a run that fails ends with all below it, each told to who spawned it, and begins nothing where that one is over", async () => {
  const turn = await begins();
  const { child } = await spawned(turn, "c1");
  const { child: other } = await spawned(turn, "c2", {}, 1);
  const work = await take("subagent");
  const { child: below } = await spawned(work, "c3", {}, 0, child.session as SessionKey);
  await commit(work, { outcome: "dead", reason: "no money" });
  expect(world.endedBelow).toEqual([child.session]);
  expect([await endOf(child), await endOf(below), await endOf(other)]).toEqual([
    { state: "failed", reason: "no money", tokens: 0, atMs: 1_000_000 },
    { state: "stopped", reason: "its parent has ended", tokens: 0, atMs: 1_000_000 },
    null,
  ]);
  expect(await named([await lane(child.session), await lane(below.session), await lane(parent)])).toEqual([
    [
      'child:@c3 | discord:default:channel:55 | ended | stopped | Sub-agent "dig c3" (@c3) was stopped before it finished: its parent has ended. It took 0 s; its session used 0 tokens.',
      "task:@c1 | discord:default:channel:55 | ended | dead | Task from session agent:main:discord:channel:55: dig c1",
    ],
    [
      "task:@c3 | discord:default:channel:55 | ended | stopped | Task from session agent:main:subagent:@c1: dig c3",
    ],
    [
      'child:@c1 | discord:default:channel:55 | waiting | - | Sub-agent "dig c1" (@c1) failed: no money. It took 0 s; its session used 0 tokens.',
      "m1 | discord:default:channel:55 | claimed | - | hello",
    ],
  ]);
});

test("a kill marks all before the first ends: one that works is stopped in its turn, one that waits ends at once", async () => {
  const turn = await begins();
  const { child: works } = await spawned(turn, "c1");
  const work = await take("subagent");
  const { child: waits } = await spawned(work, "c3", {}, 0, works.session as SessionKey);
  const { child: other } = await spawned(turn, "c2", {}, 1);
  expect(await named(await world.port.kill(scopeOf(turn, "k"), works.id))).toBe(
    "Killed: @c1 (dig c1), @c3 (dig c3).",
  );
  expect(world.stopped).toEqual([work.id]);
  expect(
    await Promise.all([works, waits, other].map(async ({ id }) => (await world.children.get(id))?.killed)),
  ).toEqual([true, true, false]);
  expect([await endOf(works), await endOf(waits), await endOf(other)]).toEqual([
    null,
    { state: "stopped", reason: "killed by its parent", tokens: 0, atMs: 1_000_000 },
    null,
  ]);
  expect((await store.turns.find(work.id))?.stop).toBe("killed by its parent");
  // The lease is lost with the stop; whoever holds the turn next ends it.
  expect((await take("subagent")).lane).toBe(other.session);
  const next = await take("subagent");
  expect([next.id, next.stop]).toEqual([work.id, "killed by its parent"]);
  await commit(next, { outcome: "stopped", reason: "killed by its parent", ...says(next, "half") });
  expect(await endOf(works)).toEqual({
    state: "stopped",
    reason: "killed by its parent",
    tokens: 7,
    atMs: 1_000_000,
  });
  expect((await named(await lane(parent)))[0]).toBe(
    'child:@c1 | discord:default:channel:55 | waiting | - | Sub-agent "dig c1" (@c1) was stopped before it finished: killed by its parent. It took 0 s; its session used 7 tokens.',
  );
});

test("a stop of a session ends its sub-agents quietly, and an end that waits there is dropped with it", async () => {
  const turn = await begins();
  const { child: done } = await spawned(turn, "c1");
  const work = await take("subagent");
  await commit(work, says(work, "gold"));
  const { child: open } = await spawned(turn, "c2", {}, 1);
  await world.inbox.accept([person("m2")]);
  expect(await stopBelow(world.needs, parent, "/stop")).toBe(1);
  expect(await world.children.get(open.id)).toMatchObject({
    killed: true,
    quiet: true,
    end: { state: "stopped", reason: "stopped with its parent" },
  });
  expect((await world.children.get(done.id))?.quiet).toBeUndefined();
  expect(await named(await lane(parent))).toEqual([
    expect.stringMatching(/^child:@c2 \| .* \| context \| - \| .*: stopped with its parent\./),
    "m2 | discord:default:channel:55 | waiting | - | hello",
    expect.stringMatching(/^child:@c1 \| .* \| ended \| stopped \| .* finished\./),
    "m1 | discord:default:channel:55 | claimed | - | hello",
  ]);
});

test("an emergency stop ends each tree from its top, and no end begins a turn", async () => {
  const turn = await begins();
  const { child: top } = await spawned(turn, "c1");
  const work = await take("subagent");
  const { child: below } = await spawned(work, "c3", {}, 0, top.session as SessionKey);
  await store.turns.release(work, { afterMs: 0, reason: "test" });
  const { child: second } = await spawned(turn, "c2", {}, 1);
  await killAll(world.needs, "/estop");
  const found = await Promise.all([top, below, second].map(({ id }) => world.children.get(id)));
  expect(found.map((child) => [child?.killed, child?.quiet, child?.end?.state])).toEqual([
    [true, true, undefined],
    [true, true, "stopped"],
    [true, true, "stopped"],
  ]);
  expect(world.stopped).toEqual([work.id]);
  expect((await named(await lane(parent))).map((line) => line.split(" | ")[2])).toEqual([
    "context",
    "claimed",
  ]);
});

test("who is guided while it works reads it next; one of mode session runs again, and is told under another id", async () => {
  const turn = await begins();
  const { child } = await spawned(turn, "c1", { mode: "session" });
  const done = await world.port.steer(scopeOf(turn, "tainted"), child.id, "and silver");
  expect(await named(done.text)).toBe("Sub-agent @c1 reads this before its next step.");
  const [row] = done.effects?.rows ?? [];
  expect(await named({ ...row, payload: parseRowPayload(row?.payload ?? "").internal })).toEqual({
    id: `steer:@c1/${turn.id}/tainted`,
    pool: "subagent",
    lane: "agent:main:subagent:@c1",
    conversation,
    authority: "owner",
    as: { kind: "work" },
    payload: { kind: "message", id: `@c1/${turn.id}/tainted`, turn: turn.id, untrusted: "a.example" },
  });
  const work = await take("subagent");
  await commit(work, says(work, "gold"));
  await clock.advance(1_000);
  const again = await world.port.steer(scopeOf(turn, "s2"), "dig c1", "more");
  expect(await named([again.text, again.effects?.cells?.length])).toEqual([
    "Sub-agent @c1 has more work; its result comes here by itself.",
    1,
  ]);
  await keep(turn, 1, again);
  expect(await world.children.get(child.id)).toMatchObject({
    runs: 2,
    end: null,
    killed: false,
    quiet: false,
  });
  const next = await take("subagent");
  await commit(next, says(next, "silver"));
  expect((await named(await lane(parent))).map((line) => line.split(" | ")[0])).toEqual([
    "child:@c1/2",
    "child:@c1",
    "m1",
  ]);
});

test("a person guides a sub-agent with the rights of its task, once for each message", async () => {
  const turn = await begins();
  const { child } = await spawned(turn, "c1");
  const what = { id: "u1", text: "look left" };
  expect(await steerChild({ inbox: world.inbox, clock }, child, what)).toBe(true);
  expect(await steerChild({ inbox: world.inbox, clock }, child, what)).toBe(true);
  const [row, ...more] = (await store.inbox.find({ lane: child.session as SessionKey, limit: 9 })).filter(
    ({ id }) => id.startsWith("steer:"),
  );
  expect([
    more,
    row?.id,
    row?.authority,
    row?.conversation,
    parseRowPayload(row?.payload ?? ""),
  ]).toMatchObject([
    [],
    "steer:u1",
    "owner",
    conversation,
    {
      owner: true,
      inbound: { text: "From a person: look left" },
      internal: { kind: "message", id: "u1", turn: turn.id },
    },
  ]);
  expect(parseRowPayload(row?.payload ?? "").internal).not.toHaveProperty("unseen");
  const inThread = { ...child, thread: { delivery: "d", from: conversation } };
  await steerChild({ inbox: world.inbox, clock }, inThread, { ...what, id: "u2" });
  const [second] = await store.inbox.find({ id: "steer:u2", limit: 1 });
  expect(parseRowPayload(second?.payload ?? "").internal).toMatchObject({ unseen: false });
  const gone = { ...child, id: "0123456789ab-1" };
  expect([
    await steerChild({ inbox: world.inbox, clock }, gone, what),
    await taskRow(world.inbox, gone),
  ]).toEqual([false, null]);
});

/** The outbox opens the thread of a sub-agent, or says why not. */
const opens = async (child: Child, ...states: readonly object[]): Promise<void> => {
  const want = { pool: "discord:default", holder: "boot", leaseMs: 60_000, maxRows: 9 };
  let batch = await store.outbox.take(want);
  for (; "idle" in batch || batch.lane !== conversation; batch = await store.outbox.take(want)) {
    if ("idle" in batch) throw new Error("nothing to deliver");
    await store.outbox.release(batch, { afterMs: 60_000, reason: "test" });
  }
  const delivery = `child-thread:${child.id}`;
  await world.outbox.record(batch, [{ delivery, part: 0, to: "sending", attempt: 1 }]);
  for (const state of states) await world.outbox.record(batch, [{ delivery, part: 0, ...state } as never]);
  await store.outbox.release(batch, { afterMs: 0, reason: "test" });
};
const receipt = JSON.stringify({ messageId: "66", extra: { thread: "66" } });
const inThread = { ...place, thread: "66" };

test("a sub-agent with a thread begins there once that is open; people read it, it is guided there, and it leaves with its end", async () => {
  const turn = await begins();
  const { done, child } = await spawned(turn, "c1", { thread: true });
  expect(await named([done.text, child.thread, await sent()])).toEqual([
    "Sub-agent @c1 (dig c1) begins in a thread of its own, which opens by itself: it answers there, and people talk with it there. Its result is told here too, by itself, as a [System Message].",
    { delivery: "child-thread:@c1", from: conversation },
    ["child-thread:@c1 to discord:default:channel:55: -"],
  ]);
  expect([await lane(child.session), world.threads.threads()]).toEqual([[], []]);
  await expect(world.port.steer(scopeOf(turn, "s"), child.id, "wait")).rejects.toMatchObject({
    code: "conflict",
    message: `the thread of sub-agent ${child.id} is not open yet: try again later`,
  });
  await opens(child, { to: "sent", receipt });
  expect(world.threads.threads()).toEqual([{ session: child.session, thread: inThread }]);
  expect(await store.cells.get(`child-task:${child.id}`)).toBeNull();
  const guided = await world.port.steer(scopeOf(turn, "s"), child.id, "left");
  expect(
    guided.effects?.rows?.map((row) => [row.conversation, parseRowPayload(row.payload).internal]),
  ).toMatchObject([["discord:default:channel:55:66", { unseen: false }]]);
  const work = await take("subagent");
  expect(work.rows.map((row) => [row.id, row.conversation, parseRowPayload(row.payload)])).toMatchObject([
    [
      `task:${child.id}`,
      "discord:default:channel:55:66",
      { inbound: { address: inThread, parent: "55", guild: "77" }, internal: { unseen: false } },
    ],
  ]);
  await commit(work, says(work, "gold"));
  expect(await named([await lane(parent), await sent(), world.threads.threads()])).toEqual([
    [
      'child:@c1 | discord:default:channel:55 | waiting | - | Sub-agent "dig c1" (@c1) finished. It took 0 s; its session used 7 tokens.',
      "m1 | discord:default:channel:55 | claimed | - | hello",
    ],
    [
      "child-thread:@c1 to discord:default:channel:55: -",
      `${await named(work.id)}/0 to discord:default:channel:55:66: gold`,
      "child-left:@c1/1 to discord:default:channel:55:66: 🧵 The sub-agent **dig c1** has ended. What you write here from now on goes to the agent itself.",
    ],
    [],
  ]);
});

test.each([
  ["refuses", [{ to: "failed", reason: "no right" }], "no right"],
  ["may have opened", [{ to: "ambiguous", reason: "the line broke" }], "the line broke"],
  [
    "opened without a name",
    [{ to: "sent", receipt: JSON.stringify({ messageId: "66" }) }],
    "the platform did not name it",
  ],
])(
  "a sub-agent whose thread the platform %s has failed, and its parent is told",
  async (_what, states, why) => {
    const turn = await begins();
    const { child } = await spawned(turn, "c1", { thread: true });
    await opens(child, ...states);
    const reason = `its thread could not be opened (${why}): spawn it without thread`;
    expect(await endOf(child)).toEqual({ state: "failed", reason, tokens: 0, atMs: 1_000_000 });
    expect((await named(await lane(parent)))[0]).toBe(
      `child:@c1 | discord:default:channel:55 | waiting | - | Sub-agent "dig c1" (@c1) failed: ${reason}. It took 0 s; its session used 0 tokens.`,
    );
    expect([await store.cells.get(`child-task:${child.id}`), world.threads.threads(), world.logged]).toEqual([
      null,
      [],
      [],
    ]);
  },
);

test("a thread whose opening is dropped ends its sub-agent; one that opens after the kill is left at once", async () => {
  const turn = await begins();
  const { child: dropped } = await spawned(turn, "c1", { thread: true });
  expect(await world.outbox.drop([`child-thread:${dropped.id}`, "other"], "/stop")).toBe(1);
  expect(await endOf(dropped)).toMatchObject({
    state: "failed",
    reason: "its thread could not be opened (/stop): spawn it without thread",
  });
  const { child: killed } = await spawned(turn, "c2", { thread: true }, 1);
  await killChild(world.needs, killed, "killed by its parent");
  expect(await endOf(killed)).toMatchObject({ state: "stopped", reason: "killed by its parent" });
  await opens(killed, { to: "sent", receipt });
  expect(await named([(await sent()).at(-1), world.threads.threads(), await lane(killed.session)])).toEqual([
    "child-left:@c2/1 to discord:default:channel:55:66: 🧵 The sub-agent **dig c2** has ended. What you write here from now on goes to the agent itself.",
    [],
    [],
  ]);
  const { child: third } = await spawned(turn, "c3", { thread: true }, 2);
  await store.cells.put(`child-task:${third.id}`, "{", {});
  await opens(third, { to: "sent", receipt });
  expect(world.logged).toEqual([
    [
      { delivery: `child-thread:${third.id}`, error: expect.any(SyntaxError) },
      "what became of a sub-agent's thread could not be told",
    ],
  ]);
});

test("a start ends what nobody works on, what was killed and what lost its parent, and goes on with threads", async () => {
  const turn = await begins();
  const { child: lost } = await spawned(turn, "c1");
  const work = await take("subagent");
  // Its rows are gone, and nothing told of its end.
  await store.turns.commit(work, work.id, { outcome: "silent", entries: [] });
  const { child: waits } = await spawned(turn, "c2", {}, 1);
  const { child: opening } = await spawned(turn, "c3", { thread: true }, 2);
  const { child: killed } = await spawned(turn, "c4", {}, 3);
  await world.children.kill(killed);
  const { child: above } = await spawned(turn, "c5", {}, 4);
  const orphan = {
    ...above,
    id: "0123456789ab-2",
    session: "agent:main:subagent:0123456789ab-2",
    parent: above.session,
    task: "dig c6",
  };
  const lonely = {
    ...orphan,
    parent: lost.session,
    id: "0123456789ac-2",
    session: "agent:main:subagent:0123456789ac-2",
    task: "dig c7",
  };
  for (const each of [orphan, lonely]) await store.cells.put(`child:${each.id}`, JSON.stringify(each), {});
  await clock.advance(1_000);
  await healChildren(world.needs);
  const states = async () =>
    Promise.all(
      [lost, waits, opening, killed, above, orphan, lonely].map(async (each) => {
        const end = await endOf(each);
        return end === null || end === undefined ? "open" : `${end.state}: ${end.reason}`;
      }),
    );
  const first = [
    "lost: it ended without a word",
    "open",
    "open",
    "stopped: its parent has ended",
    "open",
    "lost: it ended without a word",
    "lost: it ended without a word",
  ];
  expect(await states()).toEqual(first);
  // What is below one that is over ends without it.
  const late = {
    ...orphan,
    parent: lost.session,
    id: "0123456789ad-2",
    session: "agent:main:subagent:0123456789ad-2",
  };
  await store.cells.put(`child:${late.id}`, JSON.stringify(late), {});
  await healChildren(world.needs);
  expect([await states(), (await world.children.get(late.id))?.end]).toMatchObject([
    first,
    { state: "stopped", reason: "its parent has ended" },
  ]);
  const batch = await store.outbox.take({
    pool: "discord:default",
    holder: "boot",
    leaseMs: 60_000,
    maxRows: 9,
  });
  if ("idle" in batch) throw new Error("nothing to deliver");
  const delivery = `child-thread:${opening.id}`;
  await store.outbox.record(batch, [
    { delivery, part: 0, to: "sending", attempt: 1 },
    { delivery, part: 0, to: "sent", receipt },
  ]);
  await healChildren(world.needs);
  expect(world.threads.threads()).toEqual([{ session: opening.session, thread: inThread }]);
  expect((await lane(opening.session)).map((line) => line.split(" | ").slice(1, 3))).toEqual([
    ["discord:default:channel:55:66", "waiting"],
  ]);
});

test("another session's message is answered to that session alone; beside a person's words the answer is shown too", async () => {
  const other = "agent:main:discord:channel:56" as SessionKey;
  const ask = (id: string, reply: string): NewRow => ({
    ...person(`message:${id}`, { lane: other }),
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage({ text: `ask ${id}` }),
      owner: true,
      internal: {
        kind: "message",
        id,
        turn: "t#1",
        asker: { session: parent, pool: "main", epoch: 1, reply, hops: 1 },
        unseen: true,
      },
    } as never),
  });
  await world.inbox.accept([ask("a", "push"), ask("b", "none")]);
  const alone = await take("main");
  await commit(alone, { ...says(alone, "gold"), rows: [person("extra", { lane: other })] });
  expect([await lane(parent), await sent()]).toEqual([
    [
      `answer:a | discord:default:channel:55 | waiting | - | Session ${other} finished. It was asked by message a.`,
    ],
    [],
  ]);
  // The row that the turn wrote itself is there, too, behind the answer.
  expect((await take("main")).rows.map(({ id }) => id)).toEqual(["answer:a"]);
  const mixed = await take("main");
  expect(mixed.rows.map(({ id }) => id)).toEqual(["extra"]);
  await world.inbox.accept([ask("c", "push")]);
  const joined = await world.turns.absorb(mixed, 0, 9);
  expect(joined.map(({ id }) => id)).toEqual(["message:c"]);
  await commit(mixed, says(mixed, "both"));
  expect([(await lane(parent))[0], await sent()]).toEqual([
    `answer:c | discord:default:channel:55 | waiting | - | Session ${other} finished. It was asked by message c.`,
    [`${mixed.id}/0 to ${conversation}: both`],
  ]);
});

test("a session is found by its key in any spelling or by a sub-agent's label or id, and what may not be seen is not there", async () => {
  const turn = await begins();
  const { child } = await spawned(turn, "c1", { label: "digger" });
  await store.sessions.open("agent:main:discord:channel:56" as SessionKey);
  const needs = world.needs as never as Parameters<typeof findSession>[0];
  const find = (name: string, session = parent, owner = true) =>
    findSession(needs, { session, by: { owner, senders: [] } }, name).then(
      ({ key, child: found }) => `${key}${found === null ? "" : ` (${found.label})`}`,
      (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
    );
  const none = (name: string) =>
    `missing: no session that may be seen from here is called ${JSON.stringify(name)}; sessions_list lists them`;
  const digger = `${child.session} (digger)`;
  expect([
    await find("digger"),
    await find(child.id),
    await find(` ${child.session} `),
    await find(parent),
    await find("agent:main:discord:channel:56"),
    await find("agent:main:discord:channel:5"),
    await find("digger", "agent:main:discord:channel:56" as SessionKey),
    await find(child.session, "agent:main:discord:channel:56" as SessionKey),
    await find("x".repeat(121)),
  ]).toEqual([
    digger,
    digger,
    digger,
    parent,
    none("agent:main:discord:channel:56"),
    none("agent:main:discord:channel:5"),
    none("digger"),
    none(child.session),
    none("x".repeat(120)),
  ]);
  const wide = {
    ...needs,
    config: { tools: { sessions: { visibility: "agent" }, agentToAgent: { enabled: false, allow: [] } } },
  };
  const seen = (name: string, owner = true) =>
    findSession(wide as never, { session: parent, by: { owner, senders: [] } }, name).then(
      ({ key }) => key,
      () => "missing",
    );
  expect([
    await seen("agent:main:discord:channel:56"),
    await seen("agent:main:discord:channel:56", false),
    await seen("agent:main:discord:channel:5"),
    await seen("agent:other:main"),
  ]).toEqual(["agent:main:discord:channel:56", "missing", "missing", "missing"]);
});
