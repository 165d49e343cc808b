// What a process finds of the last one's notes: all of it, nothing, or what cannot be read, which is told and
// begun anew.
import { silentLog, type Log } from "@parley/protocol";
import { expect, test } from "vitest";
import {
  interactionsSchema,
  recall,
  sessionSchema,
  watchedSchema,
  type DiscordMemory,
} from "../../src/discord/memory.ts";

const session = {
  id: "s",
  user: "900",
  application: "901",
  resumeUrl: "wss://tea.test",
  sequence: 7,
  lastMessageId: "50",
  identifiedAtMs: 1,
  gap: { session: "r", since: "40", guilds: ["7"] },
};
const watched = [
  { channel: "1", guild: "7", seenAtMs: 1 },
  { channel: "2", user: "5", seenAtMs: 2 },
];
const open = [
  { event: "e", application: "901", token: "t", atMs: 1, takenBy: "k", quiet: true },
  { event: "f", application: "901", token: "u", atMs: 2 },
];

test("a note is recalled whole; one that is missing is none, and one that cannot be read is told", async () => {
  const lines: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, words: string) => void lines.push([fields, words]),
  } as Log;
  const asked: string[] = [];
  const memory = (text: string | null | Error): DiscordMemory => ({
    load: async (name) => {
      asked.push(name);
      if (text instanceof Error) throw text;
      return text;
    },
    save: () => Promise.reject(new Error("nothing is to be saved")),
  });
  const json = JSON.stringify;
  const { gap: _, ...bare } = session;
  expect([
    await recall(memory(json(session)), "session", sessionSchema, log),
    await recall(memory(json({ ...bare, id: null, lastMessageId: null })), "session", sessionSchema, log),
    await recall(memory(json(watched)), "watched", watchedSchema, log),
    await recall(memory(json(open)), "interactions", interactionsSchema, log),
    await recall(memory(null), "forms", watchedSchema, log),
  ]).toEqual([session, { ...bare, id: null, lastMessageId: null }, watched, open, null]);
  expect([asked, lines]).toEqual([["session", "session", "watched", "interactions", "forms"], []]);
  for (const text of [
    "{",
    json({ ...session, sequence: 1.5 }),
    json({ ...session, lastMessageId: "x" }),
    json({ ...session, gap: { ...session.gap, since: "x" } }),
    json({ ...session, user: undefined }),
    new Error("the disk is gone"),
  ]) {
    lines.length = 0;
    expect([text, await recall(memory(text), "session", sessionSchema, log)]).toEqual([text, null]);
    expect(lines).toEqual([
      [
        { name: "session", error: expect.any(Error) as Error },
        "what was noted about Discord cannot be read: beginning anew",
      ],
    ]);
  }
  expect(
    await recall(memory(json([{ ...open[1], quiet: false }])), "interactions", interactionsSchema, log),
  ).toBeNull();
});
