// What is stored of messages and answers: read back as it was written, and refused where another version
// wrote it.
import { expect, test } from "vitest";
import {
  formatContent,
  formatRowPayload,
  isAnswer,
  isOpening,
  openingId,
  parseContent,
  parseRowPayload,
  wordsOf,
  type Content,
  type Inbound,
  type RowPayload,
} from "../src/index.ts";

const inbound: Inbound = {
  id: "telegram:default:1",
  channel: "telegram",
  account: "default",
  address: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
  sender: { id: "7", name: "Ann", isBot: false },
  messageId: "1",
  kind: "message",
  text: "hello",
  attachments: [],
  mentions: [],
  addressed: true,
  atMs: 1,
};
const payload: RowPayload = { v: 1, inbound, owner: false };

test("a row's payload comes back whole, whatever it carries", () => {
  const full: RowPayload = {
    ...payload,
    owner: true,
    command: { name: "model", args: "x", model: "m" },
    skill: { name: "s", input: "i", location: "l", tool: "t" },
    steer: true,
    internal: {
      kind: "schedule",
      id: "job",
      turn: "agent:main:main#1",
      asker: { session: "s", pool: "main", epoch: 2, reply: "push", hops: 3, unseen: true },
      hops: 1,
      unseen: true,
      untrusted: "web",
      run: { label: "l", model: "m", fallbacks: ["a", "b"], thinking: "low", timeoutSeconds: 5 },
      slot: { version: 1, instantMs: 2, own: true, tools: ["read"], light: true },
    },
  };
  for (const each of [payload, full]) {
    expect(parseRowPayload(formatRowPayload(each))).toEqual(each);
    // Read again, it is the same.
    expect(parseRowPayload(formatRowPayload(each))).toEqual(each);
  }
});

test.each([
  ["no JSON", "{", "is not JSON"],
  ["another version", JSON.stringify({ ...payload, v: 2 }), "of a form that this version does not know"],
  ["no owner", JSON.stringify({ v: 1, inbound }), "of a form that this version does not know"],
  [
    "a kind of its own",
    JSON.stringify({ ...payload, internal: { kind: "dream", id: "", turn: "" } }),
    "of a form that this version does not know",
  ],
])("a row's payload with %s is refused, again and again", (_what, text, why) => {
  for (let times = 0; times < 2; times += 1)
    expect(() => parseRowPayload(text)).toThrow(expect.objectContaining({ code: "invalid" }));
  expect(() => parseRowPayload(text)).toThrow(why);
});

test("of many payloads and long ones each is read as what it says", () => {
  const texts = Array.from({ length: 150 }, (_, n) =>
    formatRowPayload({ ...payload, inbound: { ...inbound, text: `${n}` } }),
  );
  const long = formatRowPayload({ ...payload, inbound: { ...inbound, text: "x".repeat(30_000) } });
  for (const _pass of [1, 2])
    expect(texts.map((text) => parseRowPayload(text).inbound.text)).toEqual(texts.map((_, n) => `${n}`));
  expect(parseRowPayload(long).inbound.text).toHaveLength(30_000);
});

const contents: readonly (readonly [Content, boolean])[] = [
  [{ v: 1, kind: "reply", parts: [], replyTo: { delivery: "d" }, silent: true, inThreadOf: "t" }, true],
  [{ v: 1, kind: "preview", markdown: "*x*", replyTo: "1" }, true],
  [{ v: 1, kind: "rendered", part: { kind: "text", text: "x" } as never, thread: "t" }, true],
  [{ v: 1, kind: "action", action: { kind: "react" } as never }, false],
  [{ v: 1, kind: "act", action: { kind: "delete", messageId: "1" } as never }, false],
  [{ v: 1, kind: "remove" }, false],
];

test("what a delivery holds comes back whole, and only words count as an answer", () => {
  for (const [content, answers] of contents) {
    expect([parseContent(formatContent(content)), isAnswer(content)]).toEqual([content, answers]);
    expect(parseContent(formatContent(content))).toEqual(content);
  }
  const many = Array.from({ length: 80 }, (_, n): Content => ({ v: 1, kind: "preview", markdown: `${n}` }));
  for (const _pass of [1, 2])
    expect(many.map((content) => parseContent(formatContent(content)))).toEqual(many);
  const long: Content = { v: 1, kind: "preview", markdown: "x".repeat(30_000) };
  expect(parseContent(formatContent(long))).toEqual(long);
});

test.each(["{", '{"v":2,"kind":"remove"}', '{"v":1,"kind":"dance"}', '{"kind":"remove"}', "null"])(
  "a delivery that holds %s is refused",
  (text) => {
    expect(() => parseContent(text)).toThrow(
      expect.objectContaining({
        code: "invalid",
        message: "a delivery's content is of a form that this version does not know",
      }),
    );
  },
);

test("a message is its own words, then what came along, each in a line; nothing leaves no line", () => {
  const enclosed = [
    { kind: "forward" as const, from: "Bob", words: ["hi", "there"] },
    { kind: "poll" as const, words: ["Tea?", "yes", "no"] },
  ];
  const along = "[forward from Bob] hi, there\n[poll] Tea?, yes, no";
  expect([
    wordsOf({ text: "hello" }),
    wordsOf({ text: "hello", enclosed }),
    wordsOf({ text: "", enclosed }),
    wordsOf({ text: "" }),
  ]).toEqual(["hello", `hello\n${along}`, along, ""]);
});

test("the words behind a /new have an id of their own", () => {
  expect(openingId("telegram:default:1")).toBe("telegram:default:1/message");
  expect([isOpening(openingId("x")), isOpening("x"), isOpening("x/messages")]).toEqual([true, false, false]);
});
