// The whole story of a message as operators read it, at every kind of end. After a wanted change:
// `vitest run --project @parley/gateway story-words -u`.
import type { Story } from "@parley/protocol";
import { expect, test } from "vitest";
import { storyWords } from "../../src/trace/story-words.ts";

const row = {
  id: "telegram:default:9",
  conversation: "telegram:default:dm:7",
  session: "agent:main:main",
  messageId: null,
  sender: null,
  text: "",
  sentAtMs: null,
  receivedAtMs: 10_000,
  endedAtMs: null,
  state: "waiting",
  outcome: null,
  reason: null,
};
const turn = {
  id: "t#1",
  attempt: 1,
  state: "running",
  rows: ["a"],
  stop: null,
  openedAtMs: 20_000,
  endedAtMs: null,
  steps: [] as object[],
  inputTokens: 5,
  outputTokens: 6,
  cacheReadTokens: 0,
};
const part = {
  state: "sent",
  attempts: 1,
  flagged: false,
  messageId: "5",
  startedAtMs: 30_000,
  reason: "late",
};
const story = {
  row,
  admitted: true,
  waitedMs: 0,
  waitedFor: [] as string[],
  turn: null,
  deliveries: [],
  now: null,
};

const stories: readonly (readonly [object, (readonly string[])?])[] = [
  [story],
  [
    {
      ...story,
      row: { ...row, messageId: "m9", sender: "Eve", text: "hi", sentAtMs: 9_001 },
      now: "it waits",
    },
  ],
  [{ ...story, admitted: false }],
  [{ ...story, admitted: false, row: { ...row, reason: "not paired", outcome: "closed" } }],
  [
    { ...story, row: { ...row, outcome: "answered", endedAtMs: 70_000 } },
    ["Caused by x", "Caused y", "Caused z"],
  ],
  [{ ...story, row: { ...row, outcome: "failed", reason: "no model" } }],
  [{ ...story, waitedFor: ["t#0", "t#00"] }],
  ...[-5, 0, 0.5, 999, 1_000, 59_949, 59_950, 60_000, 89_999, 90_000].map(
    (waitedMs) => [{ ...story, waitedMs, turn }] as const,
  ),
  [
    {
      ...story,
      waitedMs: 1_500,
      waitedFor: ["t#0", "t#00"],
      turn: {
        ...turn,
        attempt: 2,
        endedAtMs: 21_500,
        rows: ["a", "b"],
        stop: "by Eve",
        cacheReadTokens: 7,
        costUsd: 0.00125,
        steps: [
          { kind: "model", name: "lab/deep", end: "toolUse" },
          { kind: "tool", name: "exec", end: "ok" },
          { kind: "joined", name: "telegram:default:10", end: "" },
        ],
      },
      deliveries: [
        {
          id: "t#1/0",
          conversation: "telegram:default:dm:7",
          state: "failed",
          parts: [
            part,
            { ...part, state: "failed", attempts: 2, messageId: null, reason: "gone" },
            { ...part, state: "ambiguous", flagged: true, startedAtMs: null, reason: null },
          ],
        },
        { id: "t#1/1", conversation: "c", state: "sent", parts: [] },
      ],
      now: "an operator decides",
    },
  ],
];

test("the words of a story", async () => {
  const told = stories.map(([each, links]) =>
    storyWords(each as unknown as Omit<Story, "words">, links).join("\n"),
  );
  await expect(`${told.join("\n\n")}\n`).toMatchFileSnapshot("../tables/stories.txt");
});
