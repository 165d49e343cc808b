// Contract of turns, second half: parking and waking, and the one end that a turn has.
import { expect } from "vitest";
import type { NewRow } from "../../src/index.ts";
import {
  chat,
  delivery,
  ids,
  isIdle,
  lane,
  row,
  type StoreCase,
  takeDeliveryBatch,
  takeTurn,
  want,
  wantOut,
} from "../subject.ts";

const answered = { outcome: "answered", entries: ['{"n":1}', '{"n":2}'] } as const;
const lost = { code: "conflict" };
const ticketRow = (id: string, ticket: string, change: Partial<NewRow> = {}): NewRow =>
  row(id, { subject: `ticket:${ticket}`, as: { kind: "work", ticket }, ...change });

export const turnEndCases: readonly StoreCase[] = [
  {
    title: "a turn is shown while it runs with its log, and after its commit with what it added",
    async run({ store, clock }) {
      await store.inbox.accept([row("1"), row("2", { authority: "other" })]);
      const turn = await takeTurn(store);
      await store.turns.checkpoint(turn, 0, { steps: [{ kind: "model", body: "{}" }] });
      const openedAtMs = clock.now();
      const shown = { id: turn.id, lane: lane("a"), attempt: 1, openedAtMs, tickets: [], stop: null };
      expect(await store.turns.find(turn.id)).toEqual({
        ...shown,
        state: "running",
        endedAtMs: null,
        log: [{ kind: "model", body: "{}" }],
        entries: [],
      });
      clock.advance(5);
      await store.turns.commit(turn, turn.id, answered);
      const next = await takeTurn(store);
      await store.turns.commit(next, next.id, { outcome: "answered", entries: ["3"] });
      const bodies = async (id: string) => (await store.turns.find(id))?.entries.map(({ body }) => body);
      expect(await store.turns.find(turn.id)).toMatchObject({
        ...shown,
        state: "done",
        endedAtMs: openedAtMs + 5,
        log: [],
      });
      expect(await bodies(turn.id)).toEqual(answered.entries);
      expect(await bodies(next.id)).toEqual(["3"]);
      expect(await store.turns.find("no such turn")).toBeNull();
    },
  },
  {
    title: "a turn that added nothing shows nothing of the turn before it",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("2", { authority: "other" })]);
      const first = await takeTurn(store);
      await store.turns.commit(first, first.id, answered);
      const silent = await takeTurn(store);
      await store.turns.commit(silent, silent.id, { outcome: "silent", entries: [] });
      expect((await store.turns.find(silent.id))?.entries).toEqual([]);
    },
  },
  {
    title: "a parked turn waits for its answer alone, and the answer crosses other rows",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const untilMs = clock.now() + 60_000;
      await store.turns.park(turn, { tickets: ["t1"], wake: "answer", untilMs });
      await store.inbox.accept([row("2", { authority: "other" }), row("3")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: untilMs });
      await store.inbox.accept([ticketRow("4", "t9")]);
      expect(isIdle(await store.turns.take(want))).toBe(true);
      await store.inbox.accept([ticketRow("5", "t1", { conversation: chat("c"), authority: "owner" })]);
      const resumed = await takeTurn(store);
      expect(resumed).toMatchObject({
        id: turn.id,
        tickets: ["t1"],
        attempt: 1,
        log: [{ kind: "absorbed", body: '["telegram:default:5"]' }],
      });
      expect(ids(resumed.rows)).toEqual(["1", "5"]);
      expect(await store.inbox.accept([ticketRow("6", "t1")])).toMatchObject([{ verdict: "duplicate" }]);
    },
  },
  {
    title: "an answer that came before the park is seen by it",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.inbox.accept([row("2", { authority: "other" }), ticketRow("3", "t1")]);
      await store.turns.park(turn, { tickets: ["t1"], wake: "answer", untilMs: clock.now() + 60_000 });
      expect(ids((await takeTurn(store)).rows)).toEqual(["1", "3"]);
    },
  },
  {
    title: "a turn parked for any row wakes for its own conversation and authority, not for others",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const untilMs = clock.now() + 60_000;
      await store.inbox.accept([row("2", { authority: "stranger" })]);
      await store.turns.park(turn, { tickets: ["t1"], wake: "any", untilMs });
      await store.inbox.accept([row("3", { conversation: chat("z") })]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: untilMs });
      await store.inbox.accept([row("4")]);
      expect((await takeTurn(store)).id).toBe(turn.id);
    },
  },
  {
    title: "a row of its own conversation and authority that came before the park wakes it at once",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.inbox.accept([row("2")]);
      await store.turns.park(turn, { tickets: ["t1"], wake: "any", untilMs: clock.now() + 60_000 });
      const resumed = await takeTurn(store);
      expect(ids(resumed.rows)).toEqual(["1"]);
      expect(ids(await store.turns.absorb(resumed, 0, 5))).toEqual(["2"]);
    },
  },
  {
    title:
      "a row with a ticket of its own wakes no turn that is parked for any row, before the park or after",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const untilMs = clock.now() + 60_000;
      await store.inbox.accept([ticketRow("2", "t2")]);
      await store.turns.park(turn, { tickets: ["t1"], wake: "any", untilMs });
      await store.inbox.accept([ticketRow("3", "t3")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: untilMs });
      await store.inbox.accept([ticketRow("4", "t1")]);
      const resumed = await takeTurn(store);
      expect(ids(resumed.rows)).toEqual(["1", "4"]);
      expect(ids(await store.turns.absorb(resumed, resumed.log.length, 5))).toEqual(["2", "3"]);
    },
  },
  {
    title: "a parked turn wakes at its deadline, and a stop wakes it at once",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.park(turn, { tickets: ["t1"], wake: "answer", untilMs: clock.now() + 500 });
      clock.advance(500);
      const late = await takeTurn(store);
      expect(late).toMatchObject({ id: turn.id, tickets: ["t1"], log: [] });
      await store.turns.park(late, { tickets: ["t2"], wake: "answer", untilMs: clock.now() + 500 });
      await store.inbox.stop(lane("a"), { turn: "open", reason: "/stop" });
      expect(await takeTurn(store)).toMatchObject({ id: turn.id, stop: "/stop" });
    },
  },
  {
    title:
      "commit is one step: transcript, rows, deliveries, other lanes, cells, fields; its repeat answers the same",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("2")]);
      const turn = await takeTurn(store);
      const what = {
        ...answered,
        reason: "said",
        deliveries: [delivery(`${turn.id}/0`)],
        rows: [row("child", { lane: lane("parent") })],
        cells: [{ key: "preview", value: "closed" }],
        patch: { model: "m1", count: 1 },
      };
      expect(await store.turns.commit(turn, turn.id, what)).toEqual({ seq: 2 });
      expect(await store.turns.commit(turn, turn.id, what)).toEqual({ seq: 2 });
      expect(await store.sessions.transcript(lane("a"), { limit: 9 })).toEqual([
        { seq: 1, epoch: 1, turn: turn.id, body: '{"n":1}' },
        { seq: 2, epoch: 1, turn: turn.id, body: '{"n":2}' },
      ]);
      expect(await store.inbox.find({ turn: turn.id, limit: 9 })).toMatchObject([
        { state: "ended", outcome: "answered", reason: "said" },
        { state: "ended", outcome: "answered", reason: "said" },
      ]);
      expect(ids((await takeDeliveryBatch(store)).deliveries)).toEqual([`${turn.id}/0`]);
      expect(await store.cells.get("preview")).toMatchObject({ value: "closed" });
      expect((await store.sessions.open(lane("a"))).fields).toEqual({ model: "m1", count: 1 });
      const parent = await takeTurn(store);
      expect(parent.lane).toBe(lane("parent"));
      expect(isIdle(await store.turns.take(want))).toBe(true);
      expect(await store.turns.commit(turn, turn.id, what)).toEqual({ seq: 2 });
    },
  },
  {
    title: "a refused commit leaves nothing behind",
    async run({ store }) {
      await store.cells.put("guard", "x", {});
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const what = {
        ...answered,
        deliveries: [delivery("d")],
        rows: [row("2")],
        cells: [{ key: "guard", value: "y", expect: 0 }],
        patch: { a: 1 },
      };
      await expect(store.turns.commit(turn, turn.id, what)).rejects.toMatchObject(lost);
      await expect(store.turns.commit(turn, "another turn", answered)).rejects.toMatchObject(lost);
      expect(await store.sessions.transcript(lane("a"), { limit: 9 })).toEqual([]);
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: null });
      expect(await store.inbox.find({ id: "telegram:default:2", limit: 1 })).toEqual([]);
      expect((await store.sessions.open(lane("a"))).fields).toEqual({});
      expect(await store.turns.commit(turn, turn.id, answered)).toEqual({ seq: 2 });
    },
  },
  {
    title: "a committed lane is due when its waiting rows are",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.inbox.accept([row("2", { as: { kind: "work", afterMs: 800 } })]);
      await store.turns.commit(turn, turn.id, answered);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: clock.now() + 800 });
      clock.advance(800);
      const next = await takeTurn(store);
      expect(next.id).not.toBe(turn.id);
    },
  },
  {
    title: "take hints of rows that wait, and a listener that stopped hears nothing",
    async run({ store }) {
      const heard: string[] = [];
      const stop = store.onReady((pool) => heard.push(pool));
      await store.inbox.accept([row("1")]);
      expect(heard).toContain("main");
      stop();
      heard.length = 0;
      await store.inbox.accept([row("2", { lane: lane("b") })]);
      expect(heard).toEqual([]);
    },
  },
  {
    title: "hints come of each pool for which work is set, and of none for what leaves nothing to do",
    async run({ store, clock }) {
      const heard = new Set<string>();
      const stop = store.onReady((pool) => void heard.add(pool));
      const since = (): readonly string[] => {
        const pools = [...heard].toSorted();
        heard.clear();
        return pools;
      };
      await store.inbox.accept([row("1"), row("2", { lane: lane("b"), pool: "cron" })]);
      expect(since()).toEqual(["cron", "main"]);
      await store.inbox.accept([
        row("note", { lane: lane("c"), as: { kind: "context", keep: 5 } }),
        row("no", { lane: lane("c"), as: { kind: "closed", outcome: "refused", reason: "x" } }),
      ]);
      await store.cells.put("k", "v", {});
      expect(since()).toEqual([]);
      const turn = await takeTurn(store);
      await store.turns.extend(turn, 1_000);
      since();
      await store.turns.commit(turn, turn.id, answered);
      expect(since()).toEqual([]);
      await store.inbox.accept([row("3")]);
      since();
      const next = await takeTurn(store);
      await store.turns.park(next, { tickets: ["t"], wake: "answer", untilMs: clock.now() + 500 });
      expect(since()).toEqual(["main"]);
      await store.inbox.accept([ticketRow("4", "t9")]);
      expect(since()).toEqual([]);
      await store.inbox.accept([ticketRow("5", "t")]);
      expect(since()).toEqual(["main"]);
      await store.inbox.stop(lane("a"), { turn: "open", reason: "/stop" });
      await store.outbox.post([delivery("d")]);
      expect(since()).toEqual(["main", wantOut.pool]);
      const batch = await takeDeliveryBatch(store);
      await store.outbox.post([delivery("d2")]);
      since();
      await store.outbox.drop(["d", "d2"], "operator");
      await store.outbox.release(batch, { afterMs: 0, reason: "done" });
      expect(since()).toEqual([]);
      stop();
    },
  },
];
