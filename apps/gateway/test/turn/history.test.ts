// What a turn reads of its session's log, and what the end of a turn comes to.
import { replyParser, type LoopEnd } from "@parley/agent";
import { noUsage, type SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";
import { expect, test } from "vitest";
import { sessionHistory } from "../../src/turn/history.ts";
import { turnOutcome } from "../../src/turn/turn-commit.ts";

const key = "agent:main:telegram:dm:7" as SessionKey;

test("an entry that is damaged in one of its parts is left out, and the conversation goes on", async () => {
  const whole = { type: "user", content: [{ type: "text", text: "hi" }], rows: [], atMs: 1 };
  const bodies = [
    JSON.stringify(whole),
    "{",
    "null",
    "{}",
    JSON.stringify({ ...whole, content: [{ type: "text" }] }),
    JSON.stringify({ ...whole, content: [null] }),
    JSON.stringify({ ...whole, type: "assistant" }),
    JSON.stringify({ ...whole, type: "assistant", usage: noUsage, content: [{ type: "toolCall", id: "c", name: "read" }] }),
    JSON.stringify({ ...whole, type: "toolResult" }),
    JSON.stringify({ type: "summary", text: "of nothing" }),
    JSON.stringify({ ...whole, type: "from the future" }),
  ];
  const stored = bodies.map((body, at): StoredEntry => ({ seq: at + 1, epoch: 1, atMs: 1, body }) as unknown as StoredEntry);
  const sessions = { transcript: async () => stored } as unknown as Sessions;
  const session: Session = { key, epoch: 1, lastSeq: bodies.length, fields: {}, createdAtMs: 0, updatedAtMs: 0 };
  expect(await sessionHistory(sessions, session, 1)).toEqual([{ seq: 1, entry: whole }]);
});

test("an answer that was whole when the turn's time ran out is the answer", () => {
  const end: LoopEnd = { type: "end", stop: "stop", entries: [], finalText: "done", usage: noUsage };
  const of = (stop: LoopEnd["stop"]) => turnOutcome({ end: { ...end, stop }, timedOut: true, replyOwed: true, parser: replyParser() });
  expect(of("stop")).toMatchObject({ kind: "reply", parts: [{ markdown: "done" }] });
  expect(of("aborted")).toMatchObject({ kind: "failed", reason: "the turn took too long" });
});
