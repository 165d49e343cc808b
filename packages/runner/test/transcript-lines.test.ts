// What another session's turn is told of a transcript: words without secrets, each cut to its length.
import { noRedaction } from "@parley/agent";
import { noUsage } from "@parley/protocol";
import { expect, test } from "vitest";
import { transcriptLines } from "../src/sessions/transcript-lines.ts";

const redaction = { ...noRedaction, secrets: ["hunter2-hunter2"] };
const entries = [
  {
    type: "user",
    content: [{ type: "text", text: "it is hunter2-hunter2" }],
    rows: [],
    atMs: 0,
  },
  {
    type: "assistant",
    content: [
      { type: "thinking", text: "hidden" },
      { type: "text", text: "I look" },
      { type: "toolCall", id: "c", name: "read", args: { path: "hunter2-hunter2" } },
    ],
    model: "m/m",
    stop: "toolUse",
    usage: noUsage,
    atMs: 0,
  },
  {
    type: "toolResult",
    callId: "c",
    name: "read",
    content: [{ type: "text", text: "x".repeat(9_000) }],
    isError: false,
    atMs: 0,
  },
];
const stored = [...entries.map((entry) => JSON.stringify(entry)), "{}"].map((body, at) => ({
  seq: at + 1,
  epoch: 1,
  turn: "t",
  body,
}));

test("words and calls are told without secrets and thoughts, and an entry is cut", () => {
  const lines = transcriptLines(stored, redaction);
  expect(lines.slice(0, 3)).toEqual([
    "user: it is [secret]",
    "assistant: I look",
    'call read: {"path":"[secret]"}',
  ]);
  expect(lines[3]).toBe(`result of read: ${"x".repeat(4_000)}…`);
  expect(lines).toHaveLength(4);
});

test("without calls only the words are told", () => {
  expect(transcriptLines(stored, redaction, { calls: false })).toEqual([
    "user: it is [secret]",
    "assistant: I look",
  ]);
});

test("a secret that stands where a call's arguments are cut is taken out whole", () => {
  const args = { content: `${"x".repeat(480)}hunter2-hunter2` };
  const [, call] = entries;
  const body = JSON.stringify({ ...call, content: [{ type: "toolCall", id: "c", name: "write", args }] });
  const lines = transcriptLines([{ seq: 1, epoch: 1, turn: "t", body }], redaction);
  expect(lines.join("\n")).not.toContain("hunter");
});
