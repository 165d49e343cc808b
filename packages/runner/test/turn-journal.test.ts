// What a turn's journal writes, over a real store: what the next holder of the turn finds in it.
import { conversationKey, Fault, formatRowPayload, type SessionKey } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import type { Turn } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { sentId } from "../src/sessions/asked-rows.ts";
import { openPreview, turnJournal } from "../src/turn-journal.ts";
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

/** A journal over a store that only notes what it is asked; `fails`: of the next writes. */
function noting({ fails = [] as (Error | null)[], log = [] as object[], attempt = 1, more = {} } = {}) {
  const asked: unknown[] = [];
  const prepared: (readonly string[])[] = [];
  let waiting = 25;
  const turn = { id: "t#1", rows: [{ id: "row-1", payload }], log, attempt } as unknown as Turn;
  const journal = turnJournal(
    {
      checkpoint: async (of: Turn, at: number, what: { steps: readonly object[] }) => {
        asked.push(["write", of.id, at, what]);
        const failure = fails.shift();
        if (failure !== undefined && failure !== null) throw failure;
        return at + what.steps.length;
      },
      absorb: async (of: Turn, at: number, most: number, how: object) => {
        asked.push(["absorb", of.id, at, most, how]);
        const rows = Array.from({ length: Math.min(most, waiting) }, (_, nth) => ({
          id: `j${waiting - nth}`,
          payload,
        }));
        waiting -= rows.length;
        return rows;
      },
    } as never,
    turn,
    {
      steer: true,
      entryOf: (row) => ({ type: "user", content: [], rows: [row.id], atMs: 0 }),
      prepare: async (rows) => void prepared.push(rows.map(({ id }) => id)),
      ...more,
    },
  );
  return { journal, asked: () => asked.splice(0), prepared };
}

test("twenty messages join at once, behind what the log has, once their files are there; where none may, those that were told to", async () => {
  const one = noting({ log: [{ kind: "model", body: JSON.stringify(step("first")) }] });
  const { journal } = one;
  expect([(await journal.absorb()).length, (await journal.absorb()).length, await journal.absorb()]).toEqual([
    20,
    5,
    [],
  ]);
  const joining = { evenAlone: false };
  // What was claimed is a step of its own, and nothing is none.
  expect(one.asked()).toEqual([
    ["absorb", "t#1", 1, 20, joining],
    ["absorb", "t#1", 2, 20, joining],
    ["absorb", "t#1", 3, 20, joining],
  ]);
  expect([journal.rows().length, one.prepared.map((ids) => ids.length)]).toEqual([26, [20, 5, 0]]);
  await journal.checkpoint([step("second")]);
  expect(one.asked()).toMatchObject([["write", "t#1", 3, {}]]);
  const of = async (pushed: number | undefined, attempt: number) => {
    const more = { steer: false, ...(pushed === undefined ? {} : { pushed: async () => pushed }) };
    const each = noting({ more, attempt });
    return [(await each.journal.absorb()).length, each.asked()];
  };
  expect([await of(undefined, 1), await of(0, 1), await of(3, 1), await of(30, 2)]).toEqual([
    [0, []],
    [0, []],
    [3, [["absorb", "t#1", 0, 3, { evenAlone: true }]]],
    [20, [["absorb", "t#1", 0, 20, { evenAlone: false }]]],
  ]);
});

test("what is written together is one write, in the order in which it was asked; after a write that may have failed there is none", async () => {
  const one = noting({ fails: [null, new Fault("unavailable", "away"), new Fault("ambiguous", "lost")] });
  const { journal } = one;
  const effects = [
    { deliveries: [{ id: "d1" }], cells: [{ key: "c1" }], rows: [{ id: "r1" }] },
    {},
    { deliveries: [{ id: "d2" }], cells: [{ key: "c2" }], rows: [{ id: "r2" }] },
  ] as never;
  const uses = [{ key: "used" }] as never;
  const writes = [
    journal.checkpoint([step("a"), step("b")], { uses, effects, closes: "p0" }),
    journal.post({ delivery: "p1" }, [{ id: "p1" }] as never),
  ];
  await writes[0];
  await expect(writes[1]).rejects.toThrow("away");
  const body = (of: unknown) => JSON.stringify(of);
  expect(one.asked()).toEqual([
    [
      "write",
      "t#1",
      0,
      {
        steps: [
          { kind: "model", body: body(step("a")) },
          { kind: "model", body: body(step("b")) },
          { kind: "preview", body: body({ delivery: "p0", closed: true }) },
        ],
        deliveries: [{ id: "d1" }, { id: "d2" }],
        rows: [{ id: "r1" }, { id: "r2" }],
        cells: [{ key: "used" }, { key: "c1" }, { key: "c2" }],
      },
    ],
    [
      "write",
      "t#1",
      3,
      { steps: [{ kind: "preview", body: body({ delivery: "p1" }) }], deliveries: [{ id: "p1" }] },
    ],
  ]);
  // What was not written stands in no list.
  expect([journal.previews, journal.opened, journal.blocks]).toEqual([[], 0, []]);
  await expect(journal.checkpoint([step("c")])).rejects.toThrow("lost");
  for (const again of [
    journal.checkpoint([step("d")]),
    journal.absorb(),
    journal.post({ delivery: "p" }, []),
  ])
    await expect(again).rejects.toThrow("lost");
  expect(one.asked()).toHaveLength(1);
});

test("previews are those that stand, each opened under a number of its own; pieces are what went out for good", async () => {
  const { journal } = noting();
  await journal.post({ delivery: "p1" }, []);
  await journal.post({ delivery: "b0", said: "so" }, []);
  await journal.checkpoint([step("x")], { closes: "p1" });
  await journal.post({ delivery: "p2" }, []);
  expect([journal.previews, journal.opened, journal.blocks]).toEqual([
    [{ delivery: "p2" }],
    2,
    [{ delivery: "b0", said: "so" }],
  ]);
  const log = [{ delivery: "p1" }, { delivery: "p1", closed: true }, { delivery: "b0", said: "so" }].map(
    (mark) => ({
      kind: "preview",
      body: JSON.stringify(mark),
    }),
  );
  expect([
    openPreview(log as never),
    openPreview([...log, { kind: "preview", body: '{"delivery":"p2"}' }] as never),
  ]).toEqual([null, "p2"]);
  const { journal: next } = noting({ log });
  expect([next.previews, next.opened, next.steps]).toEqual([[], 1, []]);
});
