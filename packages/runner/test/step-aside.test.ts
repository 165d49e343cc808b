// Which steps let people's turns go first: those of background turns, and those that give sub-agents work.
import { expect, test } from "vitest";
import type { Journal, JournalStep } from "@parley/agent";
import type { Row } from "@parley/store";
import { steppingAside, tellsEnds } from "../src/step-aside.ts";

const result = { kind: "result", entry: {} } as JournalStep;
const model = { kind: "model", entry: {} } as JournalStep;
const given = (pool: string) => ({ effects: [{ rows: [{ pool } as never] }] });

async function waysMade(pool: string, ...checkpoints: readonly Parameters<Journal["checkpoint"]>[]) {
  const order: string[] = [];
  const journal = steppingAside(
    {
      steps: [],
      absorb: async () => [],
      checkpoint: async ([step]) => void order.push(`${step?.kind} is durable`),
    },
    {
      turn: { pool } as never,
      lease: { makeWay: async () => void order.push("makes way") } as never,
      signal: new AbortController().signal,
    },
  );
  for (const checkpoint of checkpoints) await journal.checkpoint(...checkpoint);
  return order;
}

test("a person's turn makes way only after it gave work to a sub-agent, once that is durable", async () => {
  expect(await waysMade("main", [[model]], [[result]], [[result], given("subagent")])).toEqual([
    "model is durable",
    "result is durable",
    "result is durable",
    "makes way",
  ]);
  expect(await waysMade("main", [[result], given("main")])).toEqual(["result is durable"]);
});

test("a background turn makes way after each result", async () => {
  expect(await waysMade("subagent", [[model]], [[result]])).toEqual([
    "model is durable",
    "result is durable",
    "makes way",
  ]);
});

test("a turn that only tells the ends of sub-agents makes way before it begins", () => {
  const row = (kind?: string) =>
    ({
      payload: JSON.stringify({
        v: 1,
        owner: false,
        inbound: {
          id: "1",
          channel: "telegram",
          account: "default",
          address: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
          sender: { id: "7", name: "Ann", isBot: false },
          messageId: "1",
          kind: "message",
          text: "x",
          attachments: [],
          mentions: [],
          addressed: true,
          atMs: 0,
        },
        ...(kind === undefined ? {} : { internal: { kind, id: "1", turn: "t" } }),
      }),
    }) as Row;
  expect(tellsEnds({ opening: [row("child"), row("child")] })).toBe(true);
  expect(tellsEnds({ opening: [row("child"), row()] })).toBe(false);
  expect(tellsEnds({ opening: [row("answer")] })).toBe(false);
  expect(tellsEnds({ opening: [] })).toBe(false);
});
