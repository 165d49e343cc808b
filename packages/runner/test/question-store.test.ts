// Questions that are kept, more than a store lists at once.
import { expect, test } from "vitest";
import type { ConversationKey, SessionKey } from "@parley/protocol";
import type { Cell, Cells } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { questionStore } from "../src/questions/question-store.ts";
import { questionId, type Question } from "../src/questions/question.ts";

const asked = (nth: number): Question => ({
  v: 1,
  id: questionId("turn", String(nth)),
  session: "agent:main:telegram:dm:olga" as SessionKey,
  epoch: 1,
  turn: "turn",
  callId: String(nth),
  conversation: "telegram:default:dm:olga" as ConversationKey,
  question: "Which?",
  options: [],
  fields: [],
  numbered: false,
  people: ["telegram:olga"],
  owner: true,
  createdAtMs: nth,
  expiresAtMs: nth + 1,
  state: "open",
});

test("all questions are found, however many there are, the newest first", async () => {
  const kept = new Map<string, Cell>();
  const cells: Pick<Cells, "get" | "put" | "list"> = {
    get: async (key) => kept.get(key) ?? null,
    put: async () => null,
    list: async (prefix, limit) =>
      [...kept.values()].filter(({ key }) => key.startsWith(prefix)).slice(0, limit),
  };
  const store = questionStore(cells, virtualClock());
  for (let nth = 0; nth < 2_345; nth += 1) {
    const { key, value } = store.asking(asked(nth));
    kept.set(key, { key, value: value ?? "", version: 1, expiresAtMs: null });
  }
  const found = await store.list();
  expect(new Set(found.map(({ question }) => question.id)).size).toBe(2_345);
  expect(found[0]?.question.createdAtMs).toBe(2_344);
});

test("a question, asked, followed or ended, is kept for seven days, and only over what was read", async () => {
  const puts: (readonly unknown[])[] = [];
  const cells: Pick<Cells, "get" | "put" | "list"> = {
    get: async () => null,
    put: async (key, value, how) => {
      puts.push([key, (JSON.parse(value) as Question).state, how]);
      return { key, value, version: 8, expiresAtMs: null };
    },
    list: async () => [],
  };
  const clock = virtualClock();
  const store = questionStore(cells, clock);
  const kept = { question: asked(1), version: 7 };
  const key = `question:${kept.question.id}`;
  const days = 7 * 86_400_000;
  expect(store.asking(kept.question)).toMatchObject({ key, ttlMs: days, expect: 0 });
  const ending = store.ending(kept, { state: "stopped" });
  expect(ending).toMatchObject({ key, ttlMs: days, expect: 7 });
  expect(JSON.parse(ending.value ?? "")).toMatchObject({ state: "stopped", endedAtMs: clock.now() });
  const place = "discord:default:dm:9" as ConversationKey;
  expect((await store.follow(kept, place))?.question.followed).toEqual([place]);
  expect(await store.end(kept, { state: "expired" })).toMatchObject({
    version: 8,
    question: { state: "expired" },
  });
  expect(puts).toEqual([
    [key, "open", { expect: 7, ttlMs: days }],
    [key, "expired", { expect: 7, ttlMs: days }],
  ]);
});
