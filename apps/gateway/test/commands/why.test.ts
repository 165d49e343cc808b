// What /why tells people of their own messages, word for word: rows and turns of a real store, deliveries as
// a test says.
import { noUsage, type AssistantEntry } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { why } from "../../src/commands/look/why.ts";
import { address, lane, operateFixture, rowId, type OperateFixture } from "../operator/operate-fixture.ts";

const at = "2026-01-01 00:00:0";

async function ask(
  s: OperateFixture,
  args = "",
  more: object = {},
  deliveries: readonly object[] | null = null,
) {
  const outbox = deliveries === null ? s.store.outbox : { find: async () => deliveries };
  const call = {
    args,
    inbound: directMessage({ sender: { id: "7" }, address, ...more }),
    route: { session: lane, agent: "main" },
  };
  const ports = { store: { ...s.store, outbox }, clock: s.clock };
  return ((await why.run(call as never, ports as never)) ?? "").split("\n");
}

test("the last message is the newest of this very conversation that was no command", async () => {
  const s = await operateFixture();
  const none = ["I know of no such message in this conversation (any more)."];
  expect(await ask(s)).toEqual(none);
  await s.accept("1");
  await s.accept("2");
  await s.accept("3", { conversation: "telegram:default:group:-5" as never });
  await s.accept("4", { as: { kind: "closed", outcome: "commanded", reason: "" } as never });
  expect(await ask(s)).toEqual([
    'About "words 2":',
    `- received ${at}0 UTC`,
    "- it has not ended: it waits for its turn",
  ]);
  expect((await ask(s, "words 1"))[0]).toBe('About "words 1":');
  expect((await ask(s, "", { replyTo: { messageId: "m1", toBot: false } }))[0]).toBe('About "words 1":');
  // What is named comes before what is replied to, and another conversation's is none.
  expect((await ask(s, "m2", { replyTo: { messageId: "m1", toBot: false } }))[0]).toBe('About "words 2":');
  expect([await ask(s, rowId("3")), await ask(s, "gone")]).toEqual([none, none]);
  expect(await ask(s, "", { replyTo: { messageId: "gone", toBot: true } })).toEqual(none);
});

const answer = (model: string): AssistantEntry => ({
  type: "assistant",
  content: [],
  model,
  stop: "stop",
  usage: { ...noUsage, inputTokens: 10, outputTokens: 2 },
  atMs: 0,
});

test("a turn is told with its models once each, its tools, its tokens and how long people waited", async () => {
  const s = await operateFixture();
  await s.accept("0", { lane: "agent:main:telegram:dm:8" as never });
  await s.take();
  // Another session's is none, also in this conversation.
  expect(await ask(s, rowId("0"))).toEqual(["I know of no such message in this conversation (any more)."]);
  await s.accept("1");
  await s.clock.advance(1_250);
  const turn = await s.take();
  expect((await ask(s, rowId("1"))).slice(2)).toEqual([
    "- waited 1.3 s, then I worked on it",
    "- it has not ended: I work on it",
  ]);
  const model = (name: string) => ({
    kind: "model",
    body: JSON.stringify({ kind: "model", entry: answer(name), bad: [], closing: false }),
  });
  const intent = { kind: "intent", body: JSON.stringify({ kind: "intent", callId: "c1", name: "echo" }) };
  await s.store.turns.checkpoint(turn, 0, {
    steps: [model("a/one"), intent, model("b/two"), model("a/one")] as never,
  });
  await s.clock.advance(1_000);
  await s.accept("2");
  expect((await ask(s, rowId("1"))).slice(2)).toEqual([
    "- waited 1.3 s, then I worked on it",
    "- asked `a/one`, `b/two`",
    "- used echo (started)",
    "- 30 tokens in, 6 out",
    "- it has not ended: I work on it",
  ]);
  expect(await ask(s, rowId("2"))).toEqual([
    'About "words 2":',
    `- received ${at}2 UTC`,
    "- it has not ended: it waits for its turn",
  ]);
});

test.each([
  ["sent", [["sent"]], "sent in 1 message"],
  ["sent", [["sent"], ["sent", true]], "sent in 2 messages; you may have seen it twice"],
  ["waiting", [["sent"], ["pending"]], "1 of 2 messages sent so far"],
  ["open", [["pending", true]], "0 of 1 messages sent so far; you may have seen it twice"],
  ["failed", [["sent"], ["failed"], ["pending"]], "1 of 3 messages sent, the rest failed"],
  ["ambiguous", [["sent"], ["ambiguous"]], "I do not know whether it arrived"],
])("an answer that is %s (%j) is told", async (state, parts, words) => {
  const s = await operateFixture();
  await s.accept("1", { as: { kind: "closed", outcome: "dead", reason: "sk-secret failed" } as never });
  const delivery = {
    id: "d",
    lane: "telegram:default:dm:7",
    cause: rowId("1"),
    createdAtMs: 0,
    open: state === "open",
    done: !["open", "waiting"].includes(state),
    parts: parts.map(([of, flagged = false]) => ({
      state: of,
      flagged,
      attempts: 1,
      content: '{"v":1,"kind":"remove"}',
      receipt: null,
      startedAtMs: 0,
      reason: null,
    })),
  };
  const told = await ask(s, rowId("1"), {}, [delivery]);
  expect(told.slice(2, 4)).toEqual(["- it ended: dead (the operator can see why)", `- my answer: ${words}`]);
  expect(told.slice(4)).toEqual(
    ["open", "waiting"].includes(state) ? ["- its answer is being delivered"] : [],
  );
  expect(told.join()).not.toContain("secret");
});

test("what waited says behind what, a turn at which attempt it is, and what is only kept that it is kept", async () => {
  const s = await operateFixture();
  await s.accept("1");
  await s.take();
  await s.accept("2", { text: "" });
  // The process dies, and another one takes the turn up again, two minutes later.
  await s.clock.advance(120_000);
  const again = await s.store.turns.take({ pool: "main", holder: "boot-2", leaseMs: 30_000, maxRows: 20 });
  if ("idle" in again) throw new Error("there is one");
  const first = (await ask(s, rowId("1"))).slice(2);
  await s.clock.advance(29_400);
  await s.store.turns.commit(again, again.id, { outcome: "answered", reason: "stop", entries: [] });
  await s.clock.advance(60_600);
  const next = await s.take();
  await s.store.turns.commit(next, next.id, { outcome: "dead", reason: "a secret", entries: [] });
  await s.accept("3", { as: { kind: "context", keep: 5 } as never });
  const ended = (await ask(s, rowId("1"))).slice(2);
  expect([first, ended, await ask(s, rowId("2")), (await ask(s, rowId("3"))).slice(2)]).toEqual([
    ["- waited 0.0 s, then I worked on it", "- at attempt 2", "- it has not ended: I work on it"],
    ["- waited 0.0 s, then I worked on it", "- at attempt 2", "- it ended: answered"],
    [
      "About that message:",
      `- received ${at}0 UTC`,
      "- waited 4 min behind an earlier message, then I worked on it",
      "- it ended: dead (the operator can see why)",
    ],
    ["- it has not ended: it is kept for the next time somebody asks me"],
  ]);
});

test("the last message is looked for among the fifty newest rows", async () => {
  const s = await operateFixture();
  await s.accept("1");
  const command = { as: { kind: "closed", outcome: "commanded", reason: "" } as never };
  for (let n = 0; n < 49; n += 1) await s.accept(`c${n}`, command);
  expect((await ask(s))[0]).toBe('About "words 1":');
  await s.accept("one more", command);
  expect(await ask(s)).toEqual(["I know of no such message in this conversation (any more)."]);
});
