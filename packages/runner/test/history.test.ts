// What a turn reads of its session's log, and what the end of a turn comes to.
import { longLog, type LoopEnd } from "@parley/agent";
import { noUsage, type SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";
import { expect, test } from "vitest";
import { historyReader, readEntry, sessionHistory } from "../src/transcript/history.ts";
import { turnOutcome } from "../src/turn-outcome.ts";

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
    JSON.stringify({
      ...whole,
      type: "assistant",
      usage: noUsage,
      content: [{ type: "toolCall", id: "c", name: "read" }],
    }),
    JSON.stringify({ ...whole, type: "toolResult" }),
    JSON.stringify({ type: "summary", text: "of nothing" }),
    JSON.stringify({ ...whole, type: "from the future" }),
  ];
  const stored = bodies.map(
    (body, at): StoredEntry => ({ seq: at + 1, epoch: 1, atMs: 1, body }) as unknown as StoredEntry,
  );
  const sessions = { transcript: async () => stored } as unknown as Sessions;
  const session: Session = {
    key,
    epoch: 1,
    lastSeq: bodies.length,
    fields: {},
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  expect(await sessionHistory(sessions, session, 1)).toEqual([{ seq: 1, entry: whole }]);
});

test("a history that was read is read on from its end; after a reset, a later summary or in another session of that name it is read anew", async () => {
  const asked: { readonly epoch: number | undefined; readonly afterSeq: number | undefined }[] = [];
  const entry = (seq: number) => ({
    type: "user",
    content: [{ type: "text", text: `said ${seq}` }],
    rows: [],
    atMs: seq,
  });
  const sessions = {
    transcript: async (
      _key: SessionKey,
      { epoch = 1, afterSeq = 0, limit }: Parameters<Sessions["transcript"]>[1],
    ) => {
      asked.push({ epoch, afterSeq });
      const seqs = Array.from({ length: limit }, (_, at) => afterSeq + 1 + at);
      return seqs.map((seq) => ({ seq, epoch, turn: "t", body: JSON.stringify(entry(seq)) }));
    },
  } as unknown as Sessions;
  const at = (lastSeq: number, more: Partial<Session> = {}): Session => ({
    key,
    epoch: 1,
    lastSeq,
    fields: {},
    createdAtMs: 0,
    updatedAtMs: 0,
    ...more,
  });
  const read = historyReader(sessions);
  const seqsOf = async (session: Session, epoch = 1) => (await read(session, epoch)).map(({ seq }) => seq);
  expect(await seqsOf(at(2))).toEqual([1, 2]);
  expect(await seqsOf(at(4))).toEqual([1, 2, 3, 4]);
  expect(await seqsOf(at(4))).toEqual([1, 2, 3, 4]);
  expect(asked.splice(0)).toEqual([
    { epoch: 1, afterSeq: 0 },
    { epoch: 1, afterSeq: 2 },
  ]);
  expect(await seqsOf(at(6, { fields: { contextAfterSeq: 3 } }))).toEqual([4, 5, 6]);
  expect(await seqsOf(at(6, { createdAtMs: 1, fields: { contextAfterSeq: 3 } }))).toEqual([4, 5, 6]);
  expect(await seqsOf(at(6, { createdAtMs: 1, fields: { contextAfterSeq: 3 } }), 2)).toEqual([4, 5, 6]);
  expect(await seqsOf(at(5, { createdAtMs: 1, fields: { contextAfterSeq: 3 } }), 2)).toEqual([4, 5]);
  expect(await seqsOf(at(5, { createdAtMs: 1, epoch: 3, fields: { contextAfterSeq: 3 } }), 2)).toEqual([
    4, 5,
  ]);
  expect(asked.map(({ afterSeq }) => afterSeq)).toEqual([3, 3, 3, 3, 3]);
});

test("an answer that was whole when the turn's time ran out is the answer", () => {
  const end: LoopEnd = { type: "end", stop: "stop", entries: [], finalText: "done", usage: noUsage };
  const of = (stop: LoopEnd["stop"]) =>
    turnOutcome({
      end: { ...end, stop },
      timedOut: true,
      replyOwed: true,
      refusesSilence: true,
      said: { kind: "reply", parts: [{ kind: "text", markdown: "done" }] },
    });
  expect(of("stop")).toMatchObject({ kind: "reply", parts: [{ markdown: "done" }] });
  expect(of("aborted")).toMatchObject({ kind: "failed", reason: "the turn took too long" });
});

test("of an entry each part that it needs is looked at, and nothing more is asked of it", async () => {
  const text = { type: "text", text: "hi" };
  const call = { type: "toolCall", id: "c", name: "read", args: {} };
  const image = { type: "image", path: "/a.png", mediaType: "image/png" };
  const entries: readonly { readonly [field: string]: unknown }[] = [
    { type: "user", content: [text, image] },
    { type: "assistant", content: [text, { type: "thinking", text: "" }, call], usage: noUsage },
    { type: "toolResult", callId: "c", name: "read", content: [] },
    { type: "summary", text: "", throughSeq: 0 },
    { type: "notice", text: "" },
  ];
  const reads = (entry: unknown): boolean => readEntry(JSON.stringify(entry)) !== null;
  expect(entries.map(reads)).toEqual([true, true, true, true, true]);
  for (const entry of entries)
    for (const field of Object.keys(entry)) {
      expect(reads({ ...entry, [field]: undefined }), `${String(entry["type"])} without ${field}`).toBe(
        false,
      );
      expect(reads({ ...entry, [field]: null }), `${String(entry["type"])} with no ${field}`).toBe(false);
    }
  for (const part of [text, image, call])
    for (const field of Object.keys(part).filter((name) => name !== "mediaType"))
      expect(reads({ type: "user", content: [text, { ...part, [field]: 7 }] }), `${part.type} ${field}`).toBe(
        false,
      );
  expect([reads({ type: "user", content: "hi" }), reads([]), reads("user")]).toEqual([false, false, false]);
});

test("a history that is too long is read to its bound from the newest on, in pages, and not kept for the next turn", async () => {
  const asked: (readonly [afterSeq: number, limit: number])[] = [];
  const body = (seq: number) =>
    JSON.stringify({ type: "user", content: [{ type: "text", text: `said ${seq}` }], rows: [], atMs: seq });
  const sessions = {
    transcript: async (_key: SessionKey, { afterSeq = 0, limit }: Parameters<Sessions["transcript"]>[1]) => {
      asked.push([afterSeq, limit]);
      return (
        Array.from({ length: limit }, (_, at) => afterSeq + 1 + at)
          // Nothing of this conversation is older.
          .filter((seq) => seq > 100)
          .map((seq) => ({ seq, epoch: 1, turn: "t", body: body(seq) }))
      );
    },
  } as unknown as Sessions;
  const at = (lastSeq: number, fields: Session["fields"] = {}): Session => ({
    key,
    epoch: 1,
    lastSeq,
    fields,
    createdAtMs: 0,
    updatedAtMs: 0,
  });
  const read = historyReader(sessions);
  const ends = async (session: Session) => {
    asked.length = 0;
    const seqs = (await read(session, 1)).map(({ seq }) => seq);
    return [seqs[0], seqs.at(-1), seqs.length];
  };
  expect([await ends(at(700)), asked.slice()]).toEqual([
    [101, 700, 600],
    [
      [450, 250],
      [200, 250],
      [0, 200],
    ],
  ]);
  const most = longLog.entries * 2;
  const pages = Math.ceil(most / 250);
  const newest = 100 + most * 3;
  const first = newest - pages * 250 + 1;
  // More came since than the bound: what was read before is not needed.
  expect([await ends(at(newest)), asked.length]).toEqual([[first, newest, pages * 250], pages]);
  expect([await ends(at(newest)), asked.length]).toEqual([[first, newest, pages * 250], pages]);
  expect([await ends(at(720)), asked.length]).toEqual([[101, 720, 620], 3]);
  // What was forgotten in it makes it another one.
  expect([await ends(at(720, { rewritten: 1 })), asked.length]).toEqual([[101, 720, 620], 3]);
  expect([await ends(at(720, { rewritten: 1 })), asked.length]).toEqual([[101, 720, 620], 0]);
});
