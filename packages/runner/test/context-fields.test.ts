// What a turn's context window leaves in the session's fields: how far it pruned, where a summary stands, and
// how often it was compacted; and what the config gives it.
import { silentLog, type Entry } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { contextSettings } from "../src/context/context-settings.ts";
import { turnContext } from "../src/context/context.ts";

const summary = (throughSeq: number): Entry =>
  ({ type: "summary", text: "s", throughSeq, atMs: 0 }) as unknown as Entry;
const user: Entry = { type: "user", content: [], rows: [], atMs: 0 };

function patchOf(fields: object, added: readonly Entry[]): object {
  const model = { id: "a/b", contextWindow: 100_000, maxTokens: 1_000, vision: false, reasoning: false };
  const context = turnContext(
    {
      sessions: {},
      cells: {},
      redaction: { secrets: [], stateDirs: [], workspaces: [] },
      hookPort: { ask: async () => {} },
      clock: virtualClock(),
    } as never,
    {
      turn: { id: "t#1", rows: [], epoch: 1 },
      lease: {},
      session: { key: "agent:main:telegram:dm:7", fields, lastSeq: 9, epoch: 1 },
      agent: "main",
      address: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
      history: [],
      prepared: {
        model,
        system: { stable: "s", volatile: "v" },
        tools: [],
        workspace: "/w",
        timeoutMs: 60_000,
        keepsNotes: false,
        notesPlace: { originOf: async () => () => null },
        context: {
          pruning: { mode: "off" },
          compaction: { memoryFlush: { enabled: false }, postCompactionSections: [] },
          postCompactionMaxChars: 100,
        },
      },
      spending: { sideModel: () => model },
      log: silentLog,
    } as never,
  );
  return context.patch(added);
}

test("each summary of a turn counts, the last one tells where the context stands, and nothing new is no field", () => {
  expect([
    patchOf({}, [user]),
    patchOf({ compactions: 2 }, []),
    patchOf({}, [summary(4)]),
    patchOf({ compactions: 2, prunedThroughSeq: 3 }, [summary(4), user, summary(7)]),
    patchOf({ compactions: "odd" }, [summary(4)]),
  ]).toEqual([
    {},
    {},
    { contextAfterSeq: 4, compactions: 1 },
    { contextAfterSeq: 7, compactions: 4 },
    { contextAfterSeq: 4, compactions: 1 },
  ]);
});

test("the settings are the agents' defaults, and the agent's own limits", () => {
  expect(
    contextSettings(
      {
        agents: {
          defaults: {
            contextPruning: { mode: "off" },
            compaction: { keep: 1 },
            userTimezone: "Europe/Berlin",
          },
        },
      } as never,
      { contextLimits: { postCompactionMaxChars: 1, toolResultMaxChars: 2 } } as never,
    ),
  ).toEqual({
    pruning: { mode: "off" },
    compaction: { keep: 1 },
    postCompactionMaxChars: 1,
    toolResultMaxBytes: 2,
    timeZone: "Europe/Berlin",
  });
});
