// An answer while it is made: what a subscriber sees of it, what goes out in blocks, when a growing message
// is chosen for it, and where thoughts stand.
import { noUsage, parseContent, silentLog, type ConversationKey } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { liveAnswer, thoughtsOf } from "../src/streaming/live-answer.ts";

const redaction = { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] };
const paragraph = (of: string): string => `${of} `.repeat(100).trim();
const one = `${paragraph("a1")}\n\n`;
const two = `${paragraph("b2")}\n\n`;

function stage({
  streaming = "block",
  reasoning = "off",
  maxChars = 10_000,
  blocks = [] as readonly { readonly delivery: string; readonly said: string }[],
  channel = {
    capabilities: { edits: true, dialect: "plain", textChars: 500, captionChars: 100 },
    act: async () => {},
  } as object | null,
  fails = 0,
} = {}) {
  const clock = virtualClock();
  const posted: (readonly [said: unknown, NewDelivery])[] = [];
  const told: string[] = [];
  const logged: string[] = [];
  const over = new AbortController();
  const marks = [...blocks];
  let left = fails;
  const answer = liveAnswer(
    {
      config: {
        channels: { telegram: { default: { streaming } } },
        messages: { answerMaxChars: maxChars },
      },
      outbox: { find: async () => [] },
      clock,
    } as never,
    {
      turn: { id: "t#1", conversation: "telegram:default:group:-7:topic:3" as ConversationKey },
      account: "telegram:default",
      address: { channel: "telegram", account: "default", kind: "group", peer: "-7", thread: "3" },
      lease: { cover: async () => {} },
      signal: over.signal,
      log: { ...silentLog, info: (_facts: unknown, words: string) => void logged.push(words) },
      prepared: { reasoning },
      channel,
    } as never,
    {
      blocks: marks,
      previews: [],
      opened: 0,
      async post(mark: { delivery: string; said: string }, [delivery]: readonly NewDelivery[]) {
        if (left > 0) {
          left -= 1;
          throw new Error("the store is away");
        }
        if ("said" in mark) marks.push(mark);
        if (delivery !== undefined) posted.push([mark.said, delivery]);
      },
    } as never,
    { text: (turn: string, text: string) => void told.push(`${turn}: ${text}`) },
  );
  const texts = () =>
    posted.map(([, { parts }]) => {
      const content = parseContent(parts[0]?.content ?? "");
      return content.kind === "reply" && content.parts[0]?.kind === "text"
        ? `${content.parts[0].markdown}${content.replyTo === undefined ? "" : ` (to ${JSON.stringify(content.replyTo)})`}`
        : content.kind;
    });
  return { clock, answer, posted, told, logged, over, texts };
}

describe("an answer in blocks", () => {
  test("goes out by whole paragraphs, each with how much of the answer went out; the first alone quotes", async () => {
    const { answer, posted, texts, clock, told } = stage();
    answer.show(one.trimEnd(), "m1");
    await clock.advance(0);
    expect(posted).toEqual([]);
    answer.show(`${one}b`, "m1");
    await clock.advance(0);
    answer.show(`${one}${two}rest`, "m1");
    await clock.advance(0);
    expect(posted.map(([said, { parts, ...delivery }]) => [said, delivery, parts.length])).toEqual([
      [
        one,
        {
          id: "t#1/block/0",
          pool: "telegram:default",
          lane: "telegram:default:group:-7:topic:3",
          cause: "t#1",
        },
        1,
      ],
      [
        one + two,
        {
          id: "t#1/block/1",
          pool: "telegram:default",
          lane: "telegram:default:group:-7:topic:3",
          cause: "t#1",
        },
        1,
      ],
    ]);
    expect(texts()).toEqual([`${one.trim()} (to "m1")`, two.trim()]);
    expect(told.at(-1)).toBe(`t#1: ${one}${two}rest`);
    expect(await answer.close()).toEqual({ open: null, said: one + two });
    answer.show(`${one}${two}${paragraph("c")}\n\nmore`);
    await clock.advance(0);
    expect(posted).toHaveLength(2);
  });

  test("goes on behind what the turn's holder before it sent, and begins anew with another text", async () => {
    const { answer, texts, posted, clock } = stage({ blocks: [{ delivery: "t#1/block/0", said: one }] });
    answer.show(one.slice(0, 40));
    await clock.advance(0);
    answer.show(`${one}${two}rest`, "m1");
    await clock.advance(0);
    expect([texts(), posted[0]?.[1].id]).toEqual([[two.trim()], "t#1/block/1"]);
    const other = `${paragraph("other")}\n\n`;
    answer.show(`${other}rest`, "m2");
    await clock.advance(0);
    expect([texts().at(-1), posted.at(-1)?.[0], posted.at(-1)?.[1].id]).toEqual([
      `${other.trim()} (to "m2")`,
      other,
      "t#1/block/2",
    ]);
  });

  test("stops where answers are as long as messages may be, and after the turn is over", async () => {
    const long = stage({ maxChars: one.length });
    const shorter = `${"b2 ".repeat(70).trim()}\n\n`;
    long.answer.show(`${one}${shorter}rest`);
    await long.clock.advance(0);
    expect(long.texts()).toEqual([one.trim()]);
    const huge = stage({ maxChars: 250 });
    huge.answer.show(`${one}${"x".repeat(501 - one.length)}`);
    await huge.clock.advance(0);
    expect(huge.texts()).toEqual([]);
    const less = stage({ maxChars: 250 });
    less.answer.show(`${one}${"x".repeat(500 - one.length)}`);
    await less.clock.advance(0);
    expect(less.texts()).toEqual([one.trim()]);
    // What went out already does not count towards what is too long to be parsed.
    const sent = stage({ maxChars: 700, blocks: [{ delivery: "t#1/block/0", said: one + two }] });
    sent.answer.show(`${one}${two}${paragraph("c3")}\n\n${"x".repeat(500)}`);
    await sent.clock.advance(0);
    expect(sent.texts()).toEqual([paragraph("c3")]);
    const stopped = stage();
    stopped.over.abort();
    stopped.answer.show(`${one}rest`);
    await stopped.clock.advance(0);
    expect(stopped.texts()).toEqual([]);
  });

  test("loses nothing by a write that failed: the next word tries again", async () => {
    const { answer, texts, logged, clock } = stage({ fails: 1 });
    answer.show(`${one}rest`);
    await clock.advance(0);
    expect([texts(), logged]).toEqual([[], ["the answer could not be sent in blocks"]]);
    answer.show(`${one}rest of it`);
    await clock.advance(0);
    expect(texts()).toEqual([one.trim()]);
  });

  test("that rested for a message in between goes on behind it, and closes with what went out at all", async () => {
    const { answer, texts, clock } = stage();
    answer.show(`${one}rest`);
    await clock.advance(0);
    expect(await answer.rest()).toEqual({ open: null, said: one });
    answer.show(`${one}${two}rest`);
    await clock.advance(0);
    expect(texts()).toHaveLength(1);
    answer.resume();
    answer.show(`${one}${two}rest`);
    await clock.advance(0);
    expect([texts(), await answer.close()]).toEqual([
      [one.trim(), two.trim()],
      { open: null, said: one + two },
    ]);
  });
});

describe("thoughts", () => {
  const seen = async (streaming: string, reasoning: string) => {
    const it = stage({ streaming, reasoning });
    it.answer.showThoughts("  ");
    it.answer.showThoughts("hm");
    it.answer.show(`${one}rest`);
    await it.clock.advance(1_000);
    await it.answer.close();
    const shown = it.posted.map(([, { parts, open }]) => {
      const content = parseContent(parts[0]?.content ?? "") as { kind: string; markdown?: string };
      return `${content.kind}${open === true ? " open" : ""}: ${content.markdown?.slice(0, 16) ?? ""}`;
    });
    return { told: it.told.map((text) => text.slice(5, 40)), shown };
  };

  test("that stay own the growing message, others give way to the answer; blocks never go before them", async () => {
    const thought = "Thinking\n\n> hm";
    const words = one.slice(0, 35);
    const above = `${thought}\n\n${one}`.slice(0, 35);
    expect(await seen("partial", "on")).toEqual({
      told: [thought, above],
      shown: [`preview open: ${thought}`],
    });
    expect(await seen("partial", "stream")).toEqual({
      told: [thought, words],
      shown: [`preview open: ${one.slice(0, 16)}`],
    });
    expect(await seen("block", "on")).toEqual({ told: [thought, above], shown: [] });
    expect(await seen("block", "stream")).toEqual({ told: [thought, words], shown: ["reply: "] });
    expect(await seen("off", "on")).toEqual({ told: [thought, above], shown: [] });
  });

  test("are shown to their end: 1,200 characters while they grow, 3,000 for good, without secrets and broken characters", async () => {
    const { answer, told } = stage({ streaming: "off", reasoning: "stream" });
    answer.showThoughts("x".repeat(1_200));
    answer.showThoughts(`y${"x".repeat(1_200)}`);
    answer.showThoughts(`😀${"x".repeat(1_199)}`);
    answer.showThoughts("one\n\ntwo");
    expect(told).toEqual([
      `t#1: Thinking\n\n> ${"x".repeat(1_200)}`,
      `t#1: Thinking\n\n> …${"x".repeat(1_200)}`,
      `t#1: Thinking\n\n> …${"x".repeat(1_199)}`,
      "t#1: Thinking\n\n> one\n> \n> two",
    ]);
    const entry = (...texts: readonly string[]) => ({
      type: "assistant",
      content: [...texts.map((text) => ({ type: "thinking", text })), { type: "text", text: "the answer" }],
      usage: noUsage,
    });
    const user = { type: "user", content: [{ type: "text", text: "a question" }] };
    const of = (entries: readonly object[], tagged: string) =>
      thoughtsOf(entries as never, tagged, redaction);
    expect([
      of([user, entry("one", " "), entry("two hunter2-secret")], "three"),
      of([user, entry()], " "),
      of([], "y".repeat(3_000)),
      of([], `z${"y".repeat(3_000)}`),
    ]).toEqual([
      "Thinking\n\n> one\n> \n> two [secret]\n> \n> three",
      null,
      `Thinking\n\n> ${"y".repeat(3_000)}`,
      `Thinking\n\n> …${"y".repeat(3_000)}`,
    ]);
  });
});

test("a growing message needs a channel that edits, and a config that wants it", async () => {
  const capabilities = { edits: true, dialect: "plain", textChars: 500, captionChars: 100 };
  const shows = async (more: NonNullable<Parameters<typeof stage>[0]>) => {
    const { answer, clock, posted } = stage({ streaming: "partial", ...more });
    answer.show("words");
    await clock.advance(1_000);
    const { open } = await answer.close();
    return [posted.length, open];
  };
  expect([
    await shows({}),
    await shows({ streaming: "off" }),
    await shows({ channel: null }),
    await shows({ channel: { capabilities } }),
    await shows({ channel: { capabilities: { ...capabilities, edits: false }, act: async () => {} } }),
    await shows({ streaming: "block", channel: null }),
  ]).toEqual([
    [1, "t#1/preview"],
    [0, null],
    [0, null],
    [0, null],
    [0, null],
    [0, null],
  ]);
});
