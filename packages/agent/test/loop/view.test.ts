// The whole view of histories that no provider would take as they are.
import {
  noUsage,
  type AssistantEntry,
  type Entry,
  type ToolResultEntry,
  type UserEntry,
} from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { viewOf } from "../../src/loop/view.ts";

const said = (...content: UserEntry["content"]): UserEntry => ({ type: "user", content, rows: [], atMs: 0 });
const text = (words: string) => ({ type: "text" as const, text: words });
const image = (path: string) => ({ type: "image", path, mediaType: "image/png" }) as never;
const answer = (...content: AssistantEntry["content"]): AssistantEntry => ({
  type: "assistant",
  content,
  model: "m",
  stop: "stop",
  usage: noUsage,
  atMs: 0,
});
const call = (id: string, name = "echo", args: unknown = {}) =>
  ({ type: "toolCall", id, name, args }) as AssistantEntry["content"][number];
const result = (callId: string, words: string, isError = false): ToolResultEntry => ({
  type: "toolResult",
  callId,
  name: "echo",
  content: words === "" ? [] : [text(words)],
  isError,
  atMs: 0,
});
const toolsOf = (...entries: readonly Entry[]) =>
  viewOf([said(text("go")), ...entries]).filter(({ role }) => role === "tool");

describe("a call", () => {
  test("has one result: its own, in the order of the calls, or an error that says there is none", () => {
    const tools = toolsOf(
      answer(call("a"), call("b"), call("c")),
      result("c", "of c", true),
      result("a", "of a"),
    );
    expect(tools).toMatchObject([
      { callId: "a", isError: false, content: [text("of a")] },
      { callId: "b", isError: true, content: [text("No result of this call was recorded.")] },
      { callId: "c", isError: true, content: [text("of c")] },
    ]);
    expect(toolsOf(answer(call("a")), result("a", ""))).toMatchObject([{ content: [text("(no output)")] }]);
  });

  test("of an id that was taken before gets its own, and so does its result", () => {
    const entries = [answer(call("a"), call("a")), result("a", "first"), result("a", "second")];
    expect(toolsOf(...entries, answer(call("a")), result("a", "third"))).toMatchObject([
      { callId: "a", content: [text("first")] },
      { callId: "a_2", content: [text("second")] },
      { callId: "a_3", content: [text("third")] },
    ]);
    expect(toolsOf(answer(call("é/1"), call(""), call("x".repeat(60))))).toMatchObject([
      { callId: "__1" },
      { callId: "call" },
      { callId: "x".repeat(56) },
    ]);
  });

  test("has a name and arguments that every provider takes", () => {
    const half = "\ud83d";
    const calls = [
      call("a", "mcp: read é"),
      call("b", "n".repeat(65)),
      call("c", ""),
      call("d", "echo", { [`k${half}`]: [`v${half}`, { [half]: half, n: 1, no: null }], ok: "😀" }),
      call("e", "echo", "words"),
      call("f", "echo", [1]),
      call("g", "echo", null),
    ];
    const [, message] = viewOf([said(text("go")), answer(...calls)]);
    expect(
      message?.content.map((part) => (part.type === "toolCall" ? [part.name, part.args] : part)),
    ).toEqual([
      ["mcp__read__", {}],
      ["n".repeat(64), {}],
      ["unknown", {}],
      ["echo", { "k\ufffd": ["v\ufffd", { "\ufffd": "\ufffd", n: 1, no: null }], ok: "😀" }],
      ["echo", {}],
      ["echo", {}],
      ["echo", {}],
    ]);
  });
});

test("words have whole characters, blank ones go, and a message without any says so", () => {
  expect(
    viewOf([
      said(text("a\ud83d"), text(" \n")),
      said(text("b")),
      answer({ type: "thinking", text: "hm" } as never),
      answer(text("c\ude00"), text(" ")),
      answer(text("d")),
      said(text(" ")),
    ]),
  ).toEqual([
    { role: "user", content: [text("a\ufffd"), text("b")] },
    { role: "assistant", content: [text("c\ufffd"), text("d")] },
    { role: "user", content: [text("(an empty message)")] },
  ]);
});

test("a history begins with its last summary, as somebody's words, and never with an answer", () => {
  const summary = (words: string): Entry => ({ type: "summary", text: words }) as Entry;
  expect(viewOf([answer(text("hi"))]).map(({ role, content }) => [role, content])).toEqual([
    ["user", [text("(The conversation begins here.)")]],
    ["assistant", [text("hi")]],
  ]);
  const told = [said(text("old")), summary("one"), answer(text("x")), summary("two"), said(text("new"))];
  expect(viewOf(told)).toEqual([
    { role: "user", content: [text("Summary of the conversation so far:\ntwo"), text("new")] },
  ]);
  expect(viewOf([])).toEqual([]);
});

test("of more than twenty images the oldest give way, in results of tools too", () => {
  const shown = { ...result("a", "seen"), content: [text("seen"), image("tool.png")] };
  const entries = (count: number): readonly Entry[] => [
    said(image("first.png"), text("look")),
    answer(call("a")),
    shown,
    said(...Array.from({ length: count }, (_, nth) => image(`${nth}.png`))),
  ];
  const images = (count: number): readonly string[] =>
    viewOf(entries(count)).flatMap(({ content }) =>
      content.map((part) => (part.type === "image" ? ((part as { path?: string }).path ?? "") : part.type)),
    );
  expect(images(18).filter((path) => path.endsWith(".png"))).toHaveLength(20);
  expect(images(19).slice(0, 5)).toEqual(["text", "text", "toolCall", "text", "tool.png"]);
  expect(images(20).slice(0, 6)).toEqual(["text", "text", "toolCall", "text", "text", "0.png"]);
  expect(viewOf(entries(19))[0]?.content[0]).toEqual(
    text("[image left out: only the newest ones are shown]"),
  );
  expect(images(21).slice(5, 7)).toEqual(["text", "1.png"]);
});
