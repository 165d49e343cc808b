// How the model's words are read for people: which message an answer quotes, what was read while it grew, and
// when it says nothing; and what a turn's end is told as.
import { formatRowPayload, noUsage, type Outcome } from "@parley/protocol";
import { answerTable, directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { listen } from "../src/streaming/listen.ts";
import { answerReader, saysNothing, visibleOf, type ReadAnswer } from "../src/streaming/read-answer.ts";
import { turnOutcome, unsaid } from "../src/turn-outcome.ts";

const row = (id: string, internal?: object) => ({
  id,
  payload: formatRowPayload({
    v: 1,
    inbound: directMessage({ messageId: id }),
    owner: true,
    ...(internal === undefined ? {} : { internal }),
  } as never),
});

function reader({
  rows = [row("m1"), row("m2")] as readonly object[],
  finalOnly = false,
  reasoning = "off",
} = {}) {
  return answerReader(
    {
      config: { channels: { telegram: { default: {} } }, messages: {} },
      redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
    } as never,
    {
      turn: { id: "t1" },
      account: "telegram:default",
      prepared: { finalOnly: () => finalOnly, reasoning },
    } as never,
    { rows: () => rows } as never,
  );
}
const quoted = (rows: readonly object[]): unknown => {
  const { outcome } = reader({ rows }).read("[[reply_to_current]] yes");
  return outcome.kind === "reply" ? outcome.replyTo : outcome;
};

test("an answer quotes the newest message that somebody wrote, not what only woke its turn", () => {
  const wake = row("a", { kind: "approval", id: "x", turn: "t1" });
  const answer = row("b", { kind: "answer", id: "x", turn: "t1" });
  expect([
    quoted([row("m1"), row("m2")]),
    quoted([row("m1"), wake, answer]),
    quoted([row("m1"), row("task", { kind: "task", id: "x", turn: "t0" })]),
    quoted([]),
  ]).toEqual(["m2", "m1", undefined, undefined]);
});

test("what was read while it grew is not read again, and a model that forgot its tags is read without them", () => {
  const known: ReadAnswer = {
    outcome: { kind: "silent", reason: "asked" },
    thinking: "kept",
    voice: true,
  };
  const plain = reader();
  plain.heard("text", known);
  expect([plain.read("text"), plain.read("text").thinking, plain.read("other").outcome.kind]).toEqual([
    known,
    "kept",
    "reply",
  ]);
  const tagged = reader({ finalOnly: true });
  tagged.heard("Hello.", known);
  expect([
    tagged.read("Hello.").outcome,
    tagged.read("thinking <final>Hello.</final>").outcome,
  ]).toMatchObject([
    { kind: "reply", parts: [{ markdown: "Hello." }] },
    { kind: "reply", parts: [{ markdown: "Hello." }] },
  ]);
  expect([reader().thoughts, reader({ reasoning: "on" }).thoughts === null]).toEqual([null, false]);
  const entry = {
    content: [
      { type: "text", text: "the key is hunter2-" },
      { type: "thinking", text: "x" },
      { type: "text", text: "secret, see" },
    ],
  };
  expect(visibleOf(reader().parser(), entry as never)).not.toMatch(/hunter2-secret/);
  // Thoughts between two pieces of a text part it nowhere.
  const whole = ["On", "e two."].flatMap((text) => [
    { type: "text", text },
    { type: "thinking", text: "hm" },
  ]);
  expect(visibleOf(reader().parser(), { content: whole } as never)).toBe("One two.");
});

test("silence is no answer where somebody waits, and words that cannot be shown are none anywhere", () => {
  const of = (outcome: object, isAsked: boolean) => saysNothing({ outcome } as never, isAsked);
  expect([
    of({ kind: "reply", parts: [] }, true),
    of({ kind: "silent", reason: "asked" }, false),
    of({ kind: "silent", reason: "asked" }, true),
    of({ kind: "silent", reason: "empty" }, false),
  ]).toEqual([
    null,
    null,
    "somebody wrote to you here and waits for an answer, so you cannot stay silent",
    "nothing of your last message can be shown",
  ]);
});

const reply = (...texts: readonly string[]): Outcome =>
  ({ kind: "reply", parts: texts.map((markdown) => ({ kind: "text", markdown })), replyTo: "q" }) as Outcome;

test("a turn's end is its words, or why there are none", () => {
  const silent = { kind: "silent", reason: "asked" };
  const ends: readonly (readonly [object, object])[] = [
    [{}, {}],
    [{ stop: "aborted" }, { timedOut: true }],
    [{}, { timedOut: true }],
    [{ stop: "capped", reason: "Your limit." }, {}],
    [{ stop: "capped" }, {}],
    [{}, { said: reply(" ") }],
    [{}, { said: reply(" "), replyOwed: true }],
    [{ stop: "length" }, { said: reply(), replyOwed: true }],
    [{}, { said: silent, replyOwed: true }],
    [{}, { said: { kind: "silent", reason: "empty" }, replyOwed: true }],
    [{}, { said: { kind: "silent", reason: "empty" } }],
    [{}, { said: silent, refusesSilence: true }],
    [{ stop: "length" }, {}],
  ];
  expect(
    answerTable(ends, ([end, more]) =>
      turnOutcome({
        end: { type: "end", stop: "done", entries: [], finalText: "", usage: noUsage, ...end } as never,
        timedOut: false,
        replyOwed: false,
        refusesSilence: false,
        said: reply("words"),
        ...more,
      }),
    ),
  ).toMatchInlineSnapshot(`
    "[{},{}]
      {"kind":"reply","parts":[{"kind":"text","markdown":"words"}],"replyTo":"q"}
    [{"stop":"aborted"},{"timedOut":true}]
      {"kind":"failed","reason":"the turn took too long","userMessage":"⚠️ That took too long, so I stopped. Please try something smaller."}
    [{},{"timedOut":true}]
      {"kind":"reply","parts":[{"kind":"text","markdown":"words"}],"replyTo":"q"}
    [{"stop":"capped","reason":"Your limit."},{}]
      {"kind":"failed","reason":"Your limit.","userMessage":"⚠️ Your limit."}
    [{"stop":"capped"},{}]
      {"kind":"failed","reason":"a cap","userMessage":"⚠️ A spending limit was reached."}
    [{},{"said":{"kind":"reply","parts":[{"kind":"text","markdown":" "}],"replyTo":"q"}}]
      {"kind":"reply","parts":[{"kind":"text","markdown":" "}],"replyTo":"q"}
    [{},{"said":{"kind":"reply","parts":[{"kind":"text","markdown":" "}],"replyTo":"q"},"replyOwed":true}]
      {"kind":"failed","reason":"the model gave no answer","userMessage":"⚠️ I have no answer to that. Please ask again in other words."}
    [{"stop":"length"},{"said":{"kind":"reply","parts":[],"replyTo":"q"},"replyOwed":true}]
      {"kind":"failed","reason":"the model gave no answer","userMessage":"⚠️ The model used up all that it may write before it came to an answer. Please ask for less at once, or let it think less (/think)."}
    [{},{"said":{"kind":"silent","reason":"asked"},"replyOwed":true}]
      {"kind":"silent","reason":"asked"}
    [{},{"said":{"kind":"silent","reason":"empty"},"replyOwed":true}]
      {"kind":"failed","reason":"the model gave no answer","userMessage":"⚠️ I have no answer to that. Please ask again in other words."}
    [{},{"said":{"kind":"silent","reason":"empty"}}]
      {"kind":"silent","reason":"empty"}
    [{},{"said":{"kind":"silent","reason":"asked"},"refusesSilence":true}]
      {"kind":"failed","reason":"the model gave no answer","userMessage":"⚠️ I have no answer to that. Please ask again in other words."}
    [{"stop":"length"},{}]
      {"kind":"reply","parts":[{"kind":"text","markdown":"words\\n\\n⚠️ My answer was cut off here: it reached the longest that the model may write. Ask me to go on."}],"replyTo":"q"}
    "
  `);
});

test("what went out already is not said again, with its quote", () => {
  expect([
    unsaid(reply("one two", "three"), ""),
    unsaid(reply("one two", "three"), "one "),
    unsaid(reply("one", "three"), "one "),
    unsaid(reply("other", "three"), "one "),
    unsaid({ kind: "silent", reason: "asked" } as Outcome, "one"),
  ]).toEqual([
    reply("one two", "three"),
    {
      kind: "reply",
      parts: [
        { kind: "text", markdown: "two" },
        { kind: "text", markdown: "three" },
      ],
    },
    { kind: "reply", parts: [{ kind: "text", markdown: "three" }] },
    reply("other", "three"),
    { kind: "silent", reason: "asked" },
  ]);
});

test("people see a text as it grows, anew with each call of a model; thoughts show only before it", async () => {
  const shown: string[] = [];
  const heard: string[] = [];
  const by = reader({ reasoning: "on" });
  async function* events() {
    yield { type: "modelStart" };
    yield { type: "thinking", delta: "hm" };
    yield { type: "text", delta: "One" };
    yield { type: "thinking", delta: " later" };
    yield { type: "text", delta: " men." };
    yield { type: "modelEnd" };
    yield { type: "toolStart", callId: "c1", name: "read" };
    yield { type: "toolEnd", callId: "c1", name: "read", result: { isError: false } };
    yield { type: "toolEnd", callId: "c2", name: "exec", result: { isError: true } };
    yield { type: "modelStart" };
    yield { type: "thinking", delta: "again" };
    yield { type: "text", delta: "lost" };
    yield { type: "discard" };
    yield { type: "text", delta: "x".repeat(40_000) };
    yield { type: "modelEnd" };
    yield { type: "end", stop: "done" };
    yield { type: "text", delta: "nobody listens any more" };
  }
  const end = await listen(
    events() as never,
    { ...by, heard: (text) => void heard.push(`${text.length} ${text.slice(0, 3)}`) },
    {
      show: (text: string) => void shown.push(`text ${text.length} ${text.slice(0, 7)}`),
      showThoughts: (text: string) => void shown.push(`thoughts ${text}`),
    } as never,
    ({ call, tool, state }) => void shown.push(`${call} ${tool} ${state}`),
  );
  expect(end).toMatchObject({ stop: "done" });
  expect(heard).toEqual(["8 One", "40000 xxx"]);
  expect(shown).toEqual([
    "thoughts hm",
    "text 3 One",
    "text 8 One men",
    "c1 read running",
    "c1 read ok",
    "c2 exec failed",
    "thoughts again",
    "text 4 lost",
    "text 40000 xxxxxxx",
  ]);
  const cut = (async function* () {})();
  await expect(listen(cut, by, {} as never)).rejects.toThrow("the loop ended without saying so");
});
