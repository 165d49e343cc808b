// What a turn's journal writes, over a real store: what the next holder of the turn finds in it.
import { conversationKey, formatRowPayload, type SessionKey } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import type { Turn } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { sentId } from "../src/sessions/asked-rows.ts";
import { turnJournal } from "../src/turn-journal.ts";
import { memoryStore } from "./store.ts";

const inbound = directMessage();
const payload = formatRowPayload({ v: 1, inbound, owner: true });
const lane = "agent:main:telegram:dm:5" as SessionKey;
const conversation = conversationKey(inbound.address);

async function fixture() {
  const store = await memoryStore(virtualClock());
  onTestFinished(() => store.close());
  let nth = 0;
  const accept = () =>
    store.inbox.accept([
      {
        id: `row-${(nth += 1)}`,
        pool: "main",
        lane,
        conversation,
        authority: "owner",
        as: { kind: "work" },
        payload,
      },
    ]);
  const take = async (): Promise<Turn> => {
    const turn = await store.turns.take({ pool: "main", holder: "boot", leaseMs: 60_000, maxRows: 1 });
    if ("idle" in turn) throw new Error("nothing to take");
    return turn;
  };
  const open = (turn: Turn, steer = true) =>
    turnJournal(store.turns, turn, {
      steer,
      entryOf: (row) => ({ type: "user", content: [], rows: [row.id], atMs: 0 }),
      prepare: async () => {},
    });
  /** What the next holder of the turn reads. */
  const resumed = async (turn: Turn) => {
    await store.turns.release(turn, { afterMs: 0, reason: "test", refund: true });
    const next = await take();
    return { next, journal: open(next) };
  };
  await accept();
  return { store, accept, take, open, resumed };
}

const step = (text: string) =>
  ({
    kind: "model",
    entry: { type: "assistant", content: [{ type: "text", text }] },
    bad: [],
    closing: false,
  }) as never;
const preview = (id: string) => ({
  id,
  pool: "telegram:default",
  lane: conversation,
  cause: "turn",
  open: true,
  parts: [{ content: "x" }],
});

test.each([
  ["nothing of the answer is shown", null, false],
  ["a preview is open", { delivery: "p" }, true],
  ["a piece of it was sent", { delivery: "p", said: "so far" }, true],
])("a last step is left to the commit exactly while %s", async (_when, mark, isLogged) => {
  const { take, open, resumed } = await fixture();
  const turn = await take();
  const journal = open(turn);
  await journal.checkpoint([step("first")]);
  if (mark !== null) await journal.post(mark, [preview("p")]);
  await journal.checkpoint([step("last")], { isLast: true });
  const again = await resumed(turn);
  expect(again.journal.steps).toEqual(isLogged ? [step("first"), step("last")] : [step("first")]);
  expect(again.journal.previews).toEqual(mark === null || "said" in mark ? [] : [mark]);
  expect(again.journal.blocks).toEqual(mark !== null && "said" in mark ? [mark] : []);
});

test("what an earlier holder showed counts for the next one's last step", async () => {
  const { take, open, resumed } = await fixture();
  const turn = await take();
  await open(turn).post({ delivery: "p" }, [preview("p")]);
  const second = await resumed(turn);
  await second.journal.checkpoint([step("last")], { isLast: true });
  expect((await resumed(second.next)).journal.steps).toEqual([step("last")]);
});

test("messages that join stand at their place, in their order, for this holder and the next; none joins without leave", async () => {
  const { accept, take, open, resumed } = await fixture();
  const turn = await take();
  const journal = open(turn);
  await journal.checkpoint([step("first")]);
  await accept();
  await accept();
  expect(await open(turn, false).absorb()).toEqual([]);
  expect((await journal.absorb()).map(({ rows }) => rows)).toEqual([["row-2"], ["row-3"]]);
  expect(journal.rows().map(({ id }) => id)).toEqual(["row-1", "row-2", "row-3"]);
  await journal.checkpoint([step("second")]);
  const { journal: next } = await resumed(turn);
  expect(
    next.steps.map((each) =>
      each.kind === "absorbed" ? each.entries.flatMap(({ rows }) => rows) : each.kind,
    ),
  ).toEqual(["model", ["row-2", "row-3"], "model"]);
});

/** A turn that sent a message to another session, was parked for the answer, and was woken by it. */
async function woken() {
  const stage = await fixture();
  const { store, take, open } = stage;
  const turn = await take();
  const sent = sentId(turn.id, "call-1");
  await open(turn).checkpoint([
    step("asks"),
    { kind: "intent", callId: "call-1", name: "sessions_send" } as never,
  ]);
  const internal = { kind: "answer", id: sent, turn: turn.id } as const;
  const answer = formatRowPayload({ v: 1, inbound, owner: true, internal });
  const row = { id: `answer:${sent}`, pool: "main", lane, conversation, authority: "owner" };
  const answered = () =>
    store.inbox.accept([
      { ...row, subject: `ticket:${sent}`, as: { kind: "work", ticket: sent }, payload: answer },
    ]);
  const result = (isError: boolean) =>
    ({ kind: "result", entry: { type: "toolResult", callId: "call-1", isError, content: [] } }) as never;
  const wake = async () => {
    await store.turns.park(turn, { tickets: [sent], wake: "any", untilMs: 1e15 });
    await answered();
    return take();
  };
  return { ...stage, turn, answered, result, wake, told: { type: "user", rows: [row.id] } };
}

const shown = (steps: readonly { readonly kind: string; readonly entries?: readonly object[] }[]) =>
  steps.map(({ kind, entries }) => (entries === undefined ? kind : entries.length));

test("an answer that woke the turn is the result of the call that waited, and is told in no other way", async () => {
  const { wake, open, result, resumed } = await woken();
  const turn = await wake();
  const journal = open(turn);
  expect(shown(journal.steps)).toEqual(["model", "intent", 0]);
  await journal.checkpoint([result(false)]);
  expect(await journal.absorb()).toEqual([]);
  expect(journal.unheard()).toEqual([]);
  await journal.checkpoint([step("goes on")]);
  const again = await resumed(turn);
  expect(shown(again.journal.steps)).toEqual(["model", "intent", 0, "result", "model"]);
  expect(again.journal.unheard()).toEqual([]);
});

test("when the call failed in spite of its answer, the answer is told before the next words, once", async () => {
  const { wake, open, result, resumed, told } = await woken();
  const turn = await wake();
  const journal = open(turn);
  expect(shown(journal.steps)).toEqual(["model", "intent", 0]);
  await journal.checkpoint([result(true)]);
  expect(await journal.absorb()).toMatchObject([told]);
  expect(await journal.absorb()).toEqual([]);
  expect(journal.unheard()).toEqual([]);
  // A holder that died before the model answered, and one after it.
  const second = await resumed(turn);
  expect(shown(second.journal.steps)).toEqual(["model", "intent", 0, "result"]);
  expect(await second.journal.absorb()).toMatchObject([told]);
  await second.journal.checkpoint([step("goes on")]);
  const third = await resumed(second.next);
  expect(shown(third.journal.steps)).toEqual(["model", "intent", 0, "result", 1, "model"]);
  expect(await third.journal.absorb()).toEqual([]);
});

test("a turn that ends while its call waits tells the answer with its end", async () => {
  const { wake, open, told } = await woken();
  const journal = open(await wake(), false);
  expect(shown(journal.steps)).toEqual(["model", "intent", 0]);
  expect(journal.unheard()).toMatchObject([told]);
  expect(journal.unheard()).toEqual([]);
});

test("an answer that comes after the call gave up is a message like any other", async () => {
  const { turn, answered, result, resumed, told } = await woken();
  const { next, journal } = await resumed(turn);
  expect(shown(journal.steps)).toEqual(["model", "intent"]);
  await journal.checkpoint([result(false)]);
  await answered();
  expect(await journal.absorb()).toMatchObject([told]);
  const again = await resumed(next);
  expect(shown(again.journal.steps)).toEqual(["model", "intent", "result", 1]);
  expect(again.journal.unheard()).toEqual([]);
});
