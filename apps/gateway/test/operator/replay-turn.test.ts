// A saved turn run again by ports that the test is: what the prompt is made for, which model is asked for
// what, what both sides are told with, and what ends a replay that hangs.
import { loadConfig, type Config } from "@parley/config";
import type { Model, ModelEvent, ModelRequest } from "@parley/models";
import { noUsage, silentLog, type SavedTurn } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { beforeAll, expect, test } from "vitest";
import { replayMethods } from "../../src/operator/replay.ts";
import { replayTurn } from "../../src/replay/replay-turn.ts";

let config: Config;
beforeAll(async () => {
  const file = {
    agents: {
      defaults: { timeoutSeconds: 50, thinkingDefault: "low" },
      list: [{ id: "main" }, { id: "helper" }],
    },
  };
  ({ config } = await loadConfig({ env: {}, home: "/h", readFile: async () => JSON.stringify(file) }));
});

const usage = (inputTokens: number, outputTokens: number, more: object = {}) => ({
  ...noUsage,
  inputTokens,
  outputTokens,
  ...more,
});
const said = (text: string, more: object = {}) => ({
  type: "assistant",
  content: [{ type: "text", text }],
  model: "old/m",
  stop: "stop",
  usage: usage(10, 1),
  atMs: 1,
  ...more,
});
const user = (text: string) => ({ type: "user", content: [{ type: "text", text }], rows: [], atMs: 0 });
const saved = (more: object = {}): SavedTurn =>
  ({
    v: 1,
    kind: "parley-turn",
    turn: "t7",
    session: "agent:helper:telegram:dm:5",
    place: { conversation: "telegram:work:group:-5", guild: "g", parent: "p" },
    by: { owner: true, senders: ["telegram:5"] },
    fields: { thinking: "high", model: "own/m", other: 1 },
    history: [user("before"), said("and its answer")],
    entries: [
      user("look"),
      said("I look", {
        content: [
          { type: "text", text: "I look" },
          { type: "toolCall", id: "c", name: "look", args: { at: "sky" } },
        ],
        stop: "toolUse",
        usage: usage(20, 2, { cacheReadTokens: 3, cacheWriteTokens: 4, costUsd: 0.5 }),
      }),
      {
        type: "toolResult",
        callId: "c",
        name: "look",
        content: [{ type: "text", text: "blue" }],
        isError: false,
        atMs: 2,
      },
      said("It is blue.", { model: "old/last", usage: usage(30, 3, { costUsd: 0.25 }) }),
    ],
    prompt: null,
    startedAtMs: 77,
    tookMs: 900,
    expect: { calls: "any", answer: {} },
    ...more,
  }) as unknown as SavedTurn;

function world(answer: (request: ModelRequest, signal: AbortSignal) => AsyncGenerator<ModelEvent>) {
  const clock = virtualClock();
  const prepared: unknown[] = [];
  const looked: unknown[] = [];
  const requests: ModelRequest[] = [];
  const model = {
    id: "new/m",
    contextWindow: 100_000,
    maxTokens: 4_000,
    vision: false,
    reasoning: true,
    stream(request: ModelRequest, signal: AbortSignal) {
      requests.push(request);
      return answer(request, signal);
    },
  } as unknown as Model;
  const ports = {
    config,
    turnPreparer: {
      prompt: async (what: object) => {
        prepared.push(what);
        return {
          model,
          compiled: { stable: "the rules.", volatile: " now", stableHash: "h" },
          explanation: { sections: [], files: [], tools: [] },
          here: { tools: [] },
        };
      },
    },
    modelCatalog: {
      find: async ({ id }: { readonly id: string }, word: string) => {
        looked.push([id, word]);
        return word === "quick" ? { ref: "new/m" } : { nearest: word === "quik" ? ["quick", "new/m"] : [] };
      },
    },
  } as never;
  return { clock, prepared, looked, requests, ports };
}

async function* ends(text: string): AsyncGenerator<ModelEvent> {
  yield { type: "text", delta: text };
  yield {
    type: "end",
    stop: "stop",
    usage: usage(40, 4, { cacheReadTokens: 5, cacheWriteTokens: 6, costUsd: 0.125 }),
    content: [{ type: "text", text }],
  };
}

const before = {
  model: "old/last",
  stop: "stop",
  answer: "It is blue.",
  calls: [{ name: "look", args: { at: "sky" } }],
  steps: 2,
  inputTokens: 50,
  outputTokens: 5,
  cacheReadTokens: 3,
  cacheWriteTokens: 4,
  costUsd: 0.75,
  tookMs: 900,
};

test("the prompt is made for the turn's agent, place and people, with its own settings; nobody is asked unless wanted", async () => {
  const w = world(() => {
    throw new Error("nobody is asked");
  });
  const told = await replayTurn(saved(), w.ports, { ask: false }, { clock: w.clock, log: silentLog });
  expect(told).toEqual({
    turn: "t7",
    session: "agent:helper:telegram:dm:5",
    before,
    after: null,
    prompt: null,
    unanswered: [],
    moved: [],
    failures: [],
  });
  const session = {
    key: "agent:helper:telegram:dm:5",
    epoch: 1,
    lastSeq: 2,
    fields: { thinking: "high", model: "own/m", other: 1 },
    createdAtMs: 77,
    updatedAtMs: 77,
  };
  const place = {
    address: { channel: "telegram", account: "work", kind: "group", peer: "-5" },
    guild: "g",
    parent: "p",
  };
  expect(w.prepared).toEqual([
    { agent: "helper", session, place, by: { owner: true, senders: ["telegram:5"] } },
  ]);
  const plain = saved({ place: { conversation: "telegram:work:dm:5" }, by: null });
  await replayTurn(plain, w.ports, { ask: false }, { clock: w.clock, log: silentLog });
  await replayTurn(saved({ place: null }), w.ports, { ask: false }, { clock: w.clock, log: silentLog });
  expect(w.prepared.slice(1)).toEqual([
    { agent: "helper", session, place: { address: { ...place.address, kind: "dm", peer: "5" } } },
    { agent: "helper", session, place: null, by: { owner: true, senders: ["telegram:5"] } },
  ]);
});

test("the model is asked with the prompt of now, what was read before and what was said then; both sides are told whole", async () => {
  const w = world(() => ends("It is grey."));
  const asked = { ask: true, model: "quick" };
  const told = await replayTurn(saved(), w.ports, asked, { clock: w.clock, log: silentLog });
  expect(told.before).toEqual(before);
  expect(told.after).toEqual({
    model: "new/m",
    stop: "stop",
    answer: "It is grey.",
    calls: [],
    steps: 1,
    inputTokens: 40,
    outputTokens: 4,
    cacheReadTokens: 5,
    cacheWriteTokens: 6,
    costUsd: 0.125,
    tookMs: 0,
  });
  expect(w.looked).toEqual([["helper", "quick"]]);
  expect(w.prepared).toMatchObject([{ session: { fields: { model: "new/m", thinking: "high" } } }]);
  const [request] = w.requests;
  expect(request).toMatchObject({
    system: { stable: "the rules.", volatile: " now" },
    thinking: "high",
    cacheKey: "agent:helper:telegram:dm:5#replay",
  });
  const texts = request?.messages.map(({ role, content }) => [
    role,
    content.map((part) => (part.type === "text" ? part.text : part.type)).join(),
  ]);
  expect(texts).toEqual([
    ["user", "before"],
    ["assistant", "and its answer"],
    ["user", "look"],
  ]);
  expect(w.clock.armed()).toBe(0);
});

test("a model that nobody knows is told with what is near, and nothing is prepared", async () => {
  const w = world(() => ends("x"));
  const how = (model: string) =>
    replayTurn(saved(), w.ports, { ask: true, model }, { clock: w.clock, log: silentLog });
  await expect(how("quik")).rejects.toThrow('no model is called "quik": did you mean quick, new/m?');
  await expect(how("x")).rejects.toMatchObject({ code: "invalid", message: 'no model is called "x"' });
  expect(w.prepared).toEqual([]);
});

test("a replay that hangs ends when a turn would, and is told as what it was", async () => {
  const w = world(async function* (_request, signal): AsyncGenerator<ModelEvent> {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield {
      type: "end",
      stop: "error",
      usage: noUsage,
      content: [],
      error: { kind: "aborted", message: "the replay took too long" },
    } as never;
  });
  let done = false;
  const running = replayTurn(saved(), w.ports, { ask: true }, { clock: w.clock, log: silentLog }).then(
    (told) => told.after,
    (error: Error) => error.message,
  );
  void running.then(() => (done = true));
  await w.clock.advance(49_999);
  expect(done).toBe(false);
  await w.clock.advance(1);
  await running;
  expect(done).toBe(true);
  expect(w.clock.armed()).toBe(0);
});

test("an operator names a turn or hands one over, and a saved one is asked for by another file's config, unasked", async () => {
  const w = world(() => ends("It is blue."));
  const files: string[] = [];
  const methods = replayMethods({
    ...(w.ports as object),
    worldOf: async (file: string) => (files.push(file), w.ports),
    clock: w.clock,
    log: silentLog,
  } as never);
  const replay = methods["turns.replay"];
  const names = "name a turn or a session, or hand over one that was saved";
  for (const params of [{}, { id: "x", saved: saved() }])
    await expect(replay(params as never)).rejects.toMatchObject({ code: "invalid", message: names });
  await expect(replay({ saved: saved(), config: "here.json5" } as never)).rejects.toThrow("absolute path");
  const byFile = await replay({ saved: saved(), config: "/there.json5" } as never);
  expect([files, byFile.after?.answer]).toEqual([["/there.json5"], "It is blue."]);
  expect(byFile).not.toHaveProperty("saved");
  const kept = await replay({ saved: saved(), save: true } as never);
  expect([kept.after, kept.saved]).toMatchObject([null, { turn: "t7" }]);
  expect((await replay({ saved: saved(), ask: false } as never)).after).toBeNull();
  expect(w.requests).toHaveLength(1);
});
