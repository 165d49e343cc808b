// The story of a message at every stage of its life, from the durable records alone.
import { expect, test } from "vitest";
import {
  conversationKey,
  noUsage,
  type AssistantEntry,
  type SessionKey,
  type ToolResultEntry,
} from "@parley/protocol";
import { address, lane, operateFixture, rowId } from "./operate-fixture.ts";

const answer = (end: "stop" | "toolUse"): AssistantEntry => ({
  type: "assistant",
  content: [],
  model: "fake/m1",
  stop: end,
  usage: { ...noUsage, inputTokens: 10, outputTokens: 2, costUsd: 0.01 },
  atMs: 0,
});
const result: ToolResultEntry = {
  type: "toolResult",
  callId: "c1",
  name: "echo",
  content: [],
  isError: false,
  atMs: 0,
};
const step = (kind: "model" | "intent" | "result", body: object) => ({
  kind,
  body: JSON.stringify({ kind, ...body }),
});

test("a message that waits says for what", async () => {
  const { clock, methods, accept, take } = await operateFixture();
  await accept("1");
  expect((await methods.why({ query: "words 1" })).now).toMatch(
    /^it waits for a turn, looked at again at 2026/,
  );
  const turn = await take();
  await clock.advance(500);
  await accept("2");
  expect(await methods.why({ query: "words 2" })).toMatchObject({
    row: { id: rowId("2"), state: "waiting", sender: "Eve (telegram:7)", messageId: "m2" },
    admitted: true,
    waitedFor: [turn.id],
    turn: null,
    now: "it waits for the turn that its session runs",
  });
});

test("a turn that runs is told by its log: a tool that began, then its result, and what joined", async () => {
  const { store, methods, accept, take } = await operateFixture();
  await accept("1");
  const turn = await take();
  await store.turns.checkpoint(turn, 0, {
    steps: [
      step("model", { entry: answer("toolUse"), bad: [], closing: false }),
      step("intent", { callId: "c1", name: "echo" }),
    ],
  });
  const told = async () => (await methods.why({ query: turn.id })).turn;
  const asked = { kind: "model", name: "fake/m1", end: "toolUse" };
  expect(await told()).toMatchObject({
    state: "running",
    steps: [asked, { kind: "tool", name: "echo", end: "started" }],
  });
  await store.turns.checkpoint(turn, 2, { steps: [step("result", { entry: result })] });
  await accept("2");
  await store.turns.absorb(turn, 3, 5);
  expect(await told()).toMatchObject({
    steps: [
      asked,
      { kind: "tool", name: "echo", end: "ok" },
      { kind: "joined", name: rowId("2"), end: "ok" },
    ],
    rows: [rowId("1"), rowId("2")],
    inputTokens: 10,
    outputTokens: 2,
    costUsd: 0.01,
  });
  expect((await methods.why({ query: rowId("2") })).now).toBe("its turn runs (boot boot)");
});

test("a turn that waits for an answer names its ticket, one that was given back when it is tried again", async () => {
  const { store, clock, methods, accept, take } = await operateFixture();
  await accept("1");
  await store.turns.park(await take(), { tickets: ["t1"], wake: "answer", untilMs: clock.now() + 60_000 });
  expect((await methods.why({ query: rowId("1") })).now).toMatch(
    /^its turn waits for an answer \(t1\), looked at again at /,
  );
  await clock.advance(60_000);
  await store.turns.release(await take(), { afterMs: 9_000, reason: "the model is down", refund: true });
  expect((await methods.why({ query: rowId("1") })).now).toMatch(
    /^its turn was given back, looked at again at /,
  );
});

test("an answered message is told to its receipts, and found by the platform's id of the answer", async () => {
  const { store, clock, methods, accept, take, deliver } = await operateFixture();
  await accept("1");
  await clock.advance(250);
  const turn = await take();
  await clock.advance(1_200);
  const entries = [
    { type: "user", content: [], rows: [rowId("1")], atMs: 0 },
    answer("toolUse"),
    result,
    { ...result, callId: "c2", name: "fetch", isError: true },
    answer("stop"),
  ];
  await store.turns.commit(turn, turn.id, {
    outcome: "answered",
    reason: "stop",
    entries: entries.map((entry) => JSON.stringify(entry)),
  });
  const parcel = await deliver(`${turn.id}/0`, turn.id, "hi there", "and more");
  const name = { delivery: `${turn.id}/0` };
  await store.outbox.record(parcel, [
    { ...name, part: 0, to: "sending", attempt: 1 },
    { ...name, part: 0, to: "sent", receipt: '{"messageId":"88"}' },
    { ...name, part: 1, to: "sending", attempt: 1 },
  ]);
  const story = await methods.why({ query: "88" });
  expect(story).toMatchObject({
    row: { id: rowId("1"), outcome: "answered" },
    waitedMs: 250,
    turn: { state: "done", attempt: 1, inputTokens: 20 },
    deliveries: [
      {
        state: "waiting",
        text: "hi there and more",
        parts: [{ state: "sent", messageId: "88" }, { state: "sending" }],
      },
    ],
    now: "its answer is being delivered",
  });
  expect(story.words.map((line) => line.trimEnd().replaceAll(/\d{4}-\S+Z/g, "TIME"))).toEqual([
    `Message    ${rowId("1")}, message m1 from Eve (telegram:7)`,
    '           "words 1"',
    "Received   TIME in telegram:default:dm:7, 100 ms after it was sent",
    `Admitted   to ${lane}`,
    "Waited     250 ms",
    `Turn       ${turn.id}, attempt 1, took 1.2 s`,
    "  step 1   model fake/m1: toolUse",
    "  step 2   tool echo: ok",
    "  step 3   tool fetch: failed",
    "  step 4   model fake/m1: stop",
    "Tokens     20 in, 4 out, $0.0200",
    "Ended      answered at TIME (stop)",
    `Delivery   ${turn.id}/0 to telegram:default:dm:7: waiting`,
    "  chunk 1  sent as message 88 at TIME",
    "  chunk 2  sending at TIME",
    "Now        its answer is being delivered",
  ]);
});

test("a refused message says why, without its words", async () => {
  const { methods, accept } = await operateFixture();
  await accept("1", {
    payload: "",
    as: { kind: "closed", outcome: "refused", reason: "sender is not in allowFrom" },
  });
  const story = await methods.why({ query: "m1" });
  expect(story).toMatchObject({ admitted: false, turn: null, row: { text: "", sender: null }, now: null });
  expect(story.words).toContain("Refused    sender is not in allowFrom");
});

test("the newest match is told, and words are found as they were written", async () => {
  const { methods, accept } = await operateFixture();
  await accept("1", { text: 'say "hi"\nto ünal' });
  await accept("2", { text: "say nothing" });
  expect((await methods.why({ query: "say " })).row.id).toBe(rowId("2"));
  expect((await methods.why({ query: '"hi"\nto ü' })).row.id).toBe(rowId("1"));
  await expect(methods.why({ query: "unsaid" })).rejects.toMatchObject({
    code: "missing",
    message: 'no message, turn or delivery is known by "unsaid"; what ended is kept for five days',
  });
});

test("a place is known by its key or by the id of its chat or thread; ids of messages come first, words last", async () => {
  const { methods, accept } = await operateFixture();
  const thread = { ...address, kind: "group", peer: "-100", thread: "a:b" } as const;
  const there = "agent:main:telegram:group:-100:topic:a%3Ab" as SessionKey;
  const inThread = { conversation: conversationKey(thread), lane: there };
  await accept("1", inThread);
  await accept("2", { ...inThread, text: "7 a:c m1" });
  await accept("3");
  const found = async (query: string) => (await methods.why({ query })).row.id;
  for (const query of ["a:b", "a%3Ab", conversationKey(thread), there])
    expect(await found(query)).toBe(rowId("2"));
  for (const query of ["7", lane, conversationKey(address)]) expect(await found(query)).toBe(rowId("3"));
  expect(await found("m1")).toBe(rowId("1"));
  expect(await found("a:c")).toBe(rowId("2"));
  await expect(methods.why({ query: "-100" })).rejects.toMatchObject({ code: "missing" });
});
