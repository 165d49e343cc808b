// What happens to messages that arrive while the agent works: each queue mode, by when they arrive, with the
// exact words the model saw.
import { formatRowPayload, type SessionKey } from "@parley/protocol";
import { afterEach, describe, expect, test } from "vitest";
import { stage, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
afterEach(() => s.close());

const modes = ["steer", "followup", "collect", "interrupt"] as const;
type Mode = (typeof modes)[number];
const moments = ["before the first word", "during a tool", "during the final answer"] as const;
type Moment = (typeof moments)[number];

/**
 * "one" is asked at 0 s. The moments lie at 0.5, 2 and 3.5 s: a second before the tool, two in it, and two
 * for the answer's words.
 */
const atMs: { readonly [moment in Moment]: number } = {
  "before the first word": 500,
  "during a tool": 2_000,
  "during the final answer": 3_500,
};

async function work(config: { readonly [key: string]: unknown }): Promise<void> {
  const tool = waitTool(() => s.clock, 2_000);
  s = await stage({ config, tools: [tool.tool] });
  s.model.answers(({ messages, users }) => {
    const started = messages.some((message) => message.role === "tool" || message.role === "assistant");
    return users[0]?.startsWith("one") === true && !started
      ? { afterMs: 1_000, calls: { name: "wait", args: {} } }
      : { says: ["Part one, ", "part two."], pauseMs: 2_000 };
  });
}

/**
 * The new user entries of each call, as the model read them: an entry that stood in the call before is not
 * repeated.
 */
function heard(): readonly (readonly string[])[] {
  let known: readonly string[] = [];
  return s.model.asked.map(({ users }) => {
    const fresh = users.filter((text, index) => known[index] !== text);
    known = users;
    return fresh;
  });
}

// What each call of the model heard anew, call by call.
const matrix: { readonly [mode in Mode]: { readonly [moment in Moment]: readonly (readonly string[])[] } } = {
  steer: {
    // Joins the running turn at its next call; after the last call it waits for the next turn.
    "before the first word": [["one"], ["two\nthree"]],
    "during a tool": [["one"], ["two\nthree"]],
    "during the final answer": [["one"], [], ["two\n\nthree"]],
  },
  followup: {
    "before the first word": [["one"], [], ["two"], ["three"]],
    "during a tool": [["one"], [], ["two"], ["three"]],
    "during the final answer": [["one"], [], ["two"], ["three"]],
  },
  collect: {
    "before the first word": [["one"], [], ["two\n\nthree"]],
    "during a tool": [["one"], [], ["two\n\nthree"]],
    "during the final answer": [["one"], [], ["two\n\nthree"]],
  },
  interrupt: {
    // Each message ends the turn before it; a turn that was stopped leaves its question in the transcript.
    "before the first word": [["one"], ["one\ntwo"], ["one\ntwo\nthree"], []],
    "during a tool": [["one"], ["two"], ["two\nthree"]],
    "during the final answer": [["one"], [], ["two"], ["two\nthree"]],
  },
};

describe.each(modes)("queue mode %s", (mode) => {
  test.each(moments)("a message %s", async (moment) => {
    await work({ messages: { queue: { mode } } });
    const alice = s.person("alice");
    alice.says("one");
    await s.pass(atMs[moment]);
    alice.says("two");
    await s.pass(100);
    alice.says("three");
    await s.until(async () => (await s.rows()).every((row) => row.state === "ended"), "the end of all");
    await s.pass(10_000);
    expect(heard()).toEqual(matrix[mode][moment]);
    const ends = (await s.rows()).map((row) => row.outcome);
    expect(ends).toEqual(
      mode === "interrupt" ? ["answered", "stopped", "stopped"] : ["answered", "answered", "answered"],
    );
    for (const { messages } of s.model.asked) {
      const calls = messages.flatMap((message) =>
        message.role === "assistant"
          ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
          : [],
      );
      expect(messages.flatMap((message) => (message.role === "tool" ? [message.callId] : []))).toEqual(calls);
    }
  });
});

describe("debounce", () => {
  test("an idle lane starts at once, except in collect mode, where it waits for a pause in the typing", async () => {
    s = await stage();
    const alice = s.person("alice");
    await alice.says("/queue collect debounce:2s").gets(/^Queue: collect \(debounce 2 s/);
    const from = s.clock.mono();
    for (const text of ["a", "b", "c"]) {
      alice.says(text);
      await s.pass(1_000);
    }
    await alice.gets("re: a\n\nb\n\nc");
    expect(s.clock.mono() - from).toBeGreaterThanOrEqual(4_000);
    await alice.says("/queue default").gets(/^Queue: steer/);
    const idle = s.clock.mono();
    await alice.says("d").gets("re: d");
    expect(s.clock.mono() - idle).toBeLessThan(500);
  });

  test("never holds a message longer than five seconds", async () => {
    s = await stage({ config: { messages: { queue: { mode: "collect", debounceMs: 900 } } } });
    const alice = s.person("alice");
    for (let n = 1; n <= 12; n += 1) {
      alice.says(`m${n}`);
      await s.pass(800);
    }
    await s.until(() => alice.sees().length === 2, "both answers");
    expect(alice.sees()[0]).toMatch(/^re: m1\n\n/);
    expect(s.model.asked).toHaveLength(2);
  });
});

describe("a queue of 20 that is full", () => {
  const burst = async (drop: string): Promise<string> => {
    s = await stage({ config: { messages: { queue: { mode: "collect", debounceMs: 0, cap: 20, drop } } } });
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    alice.says("busy");
    await s.pass(100);
    for (let n = 1; n <= 25; n += 1) alice.says(`m${n}`);
    await s.until(
      async () => (await s.rows()).length === 26 && (await s.rows()).every((row) => row.state === "ended"),
      "the end of all",
    );
    expect(s.model.asked).toHaveLength(2);
    return s.model.asked[1]?.text ?? "";
  };
  const numbered = (from: number, to: number): string =>
    Array.from({ length: to - from + 1 }, (_, i) => `m${from + i}`).join("\n\n");

  test("drop old drops no row that Parley wrote itself, though it is the oldest", async () => {
    s = await stage({
      config: { messages: { queue: { mode: "collect", debounceMs: 0, cap: 2, drop: "old" } } },
    });
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    const { event } = alice.says("busy");
    await s.pass(100);
    const [busy] = await s.rows();
    if (busy === undefined) throw new Error("there is no row");
    await s.store().inbox.accept([
      {
        ...busy,
        id: "the end of a command",
        as: { kind: "work" },
        payload: formatRowPayload({
          v: 1,
          inbound: { ...event, id: "the end of a command", text: "it ended" },
          owner: true,
          internal: { kind: "command", id: "c1", turn: "t1" },
        }),
      },
    ]);
    for (let n = 1; n <= 3; n += 1) alice.says(`m${n}`);
    await s.until(async () => (await s.rows()).every((row) => row.state === "ended"), "the end of all");
    const ends = (await s.rows()).map(({ id, outcome }) => [id === "the end of a command", outcome]);
    expect(ends.filter(([isInternal]) => isInternal)).toEqual([[true, "answered"]]);
    expect(ends.filter(([, outcome]) => outcome === "superseded")).toHaveLength(1);
    await expect(await s.trace()).toMatchFileSnapshot("traces/queue-drop-old.txt");
  });

  test("drop summarize tells the oldest in a line each, and asks no model for it", async () => {
    const text = await burst("summarize");
    const head =
      '[Parley: much came at once; the 5 messages before these, one line each, shortened where a line ends in "…"]';
    expect(text).toBe(
      [[head, ...[1, 2, 3, 4, 5].map((n) => `- "m${n}"`)].join("\n"), numbered(6, 25)].join("\n\n"),
    );
    // Nothing is missing, so there is nothing to tell.
    expect(s.person("alice").sees()).toHaveLength(2);
    expect(new Set((await s.rows()).map((row) => row.outcome))).toEqual(new Set(["answered"]));
    await expect(await s.trace()).toMatchFileSnapshot("traces/queue-summarized.txt");
  });

  test("drop old keeps the newest twenty", async () => {
    const note =
      "[Parley: 5 messages were dropped unread, because the queue was full; the sender is told so]";
    expect(await burst("old")).toBe(`${note}\n\n${numbered(6, 25)}`);
    await s.until(
      () => s.person("alice").sees().length === 3,
      "both answers, and a word about what was dropped",
    );
    expect(
      s
        .person("alice")
        .sees()
        .filter((text) => text.startsWith("⚠️")),
    ).toEqual([
      "⚠️ Too much came at once: 5 messages were dropped unread, because only so many may wait here. Please send again what still matters.",
    ]);
    const dropped = await s.rows({ outcome: "superseded" });
    expect(dropped).toHaveLength(5);
    expect(dropped[0]?.reason).toBe("the queue holds 20 (drop: old)");
  });

  test("drop new keeps the oldest twenty", async () => {
    expect(await burst("new")).toContain(numbered(1, 20));
    expect(await s.rows({ outcome: "superseded" })).toHaveLength(5);
  });
});

test("a flood of two thousand messages reaches the model to the last word, and of what does not the person is told once", async () => {
  s = await stage({ config: { messages: { queue: { mode: "collect", debounceMs: 0 } } } });
  s.model.answers(() => ({ afterMs: 200, says: ["ok"] }));
  const alice = s.person("alice");
  const long = "x".repeat(1_000);
  for (let n = 1; n <= 2_000; n += 1) alice.says(n % 500 === 7 ? `m${n}. ${long}` : `m${n}.`);
  await s.until(async () => (await s.rows({ state: "waiting", limit: 1 })).length === 0, "the last turn");
  await s.until(async () => (await s.rows({ state: "claimed", limit: 1 })).length === 0, "its end");
  const read = s.model.asked.map(({ text }) => text).join("\n");
  const missing = Array.from({ length: 2_000 }, (_, i) => `m${i + 1}.`).filter(
    (word) => !read.includes(word),
  );
  expect(missing).toEqual([]);
  await s.until(() => alice.sees().some((text) => text.startsWith("⚠️")), "a word about it");
  const told = alice.sees().filter((text) => text.startsWith("⚠️ A lot came at once."));
  expect(told).toHaveLength(1);
});

test.each([
  [
    "old",
    ["/new", "m1", "m2", "m3"],
    ["re: busy", /^A new conversation/, /^⚠️.* 1 message was dropped/, /m2\n\nm3$/],
  ],
  [
    "new",
    ["m1", "m2", "m3", "/new"],
    ["re: busy", /^⚠️.* 1 message was dropped/, /m1\n\nm2$/, /^A new conversation/],
  ],
] as const)("a waiting /new is not dropped with the %s", async (drop, texts, seen) => {
  s = await stage({ config: { messages: { queue: { mode: "collect", debounceMs: 0, cap: 3, drop } } } });
  s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
  const alice = s.person("alice");
  alice.says("busy");
  await s.pass(100);
  for (const text of texts) alice.says(text);
  await alice.gets(...seen);
});

describe("an edit", () => {
  test("before its message was started replaces the words; after that it is late and brings no second answer", async () => {
    s = await stage({ config: { messages: { queue: { mode: "followup" } } } });
    s.model.answers(({ text }) => ({ afterMs: 1_000, says: [`re: ${text}`] }));
    const alice = s.person("alice");
    const first = alice.says("frist");
    await s.pass(100);
    const second = alice.says("secnod");
    await s.pass(100);
    const edit = (of: typeof first, text: string, editedAtMs: number): void =>
      void alice.says(text, { messageId: of.event.messageId, kind: "edit", editedAtMs });
    edit(second, "second", 1);
    edit(first, "first", 1);
    await alice.gets("re: frist", "re: second");
    await s.pass(10_000);
    expect(alice.sees()).toHaveLength(2);
    expect(s.model.asked.map((asked) => asked.text)).toEqual(["frist", "second"]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/edits.txt");
  });

  async function edited(first: string, then: string): Promise<readonly string[]> {
    s = await stage();
    s.model.answers(({ text }) => (text === "work" ? { afterMs: 20_000, says: ["worked"] } : `re: ${text}`));
    const olga = s.person("olga");
    olga.says("work");
    await s.pass(500);
    const { event } = olga.says(first);
    olga.says(then, { messageId: event.messageId, kind: "edit", editedAtMs: s.clock.now() });
    await s.pass(60_000);
    return olga.sees().slice(1);
  }

  test("leaves a command that waits as it was given: begun anew once, and nothing asked twice", async () => {
    expect(await edited("one", "two")).toEqual(["re: two"]);
    await s.close();
    expect(await edited("/new one", "/new two")).toEqual(["re: one"]);
    expect((await s.store().sessions.open("agent:main:telegram:dm:olga" as SessionKey)).epoch).toBe(2);
    await s.close();
    expect(await edited("/new one", "two")).toEqual(["re: one"]);
    await s.close();
    // What joins the running turn is its words, also those that took the place of others.
    expect(await edited("/steer one", "/steer two")).toEqual(["re: two"]);
    await s.close();
    expect(await edited("/steer one", "two")).toEqual(["re: two"]);
  });
});
