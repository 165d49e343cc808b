// Contract of the inbox: two guards, the kinds of rows, debounce, stop, the operator's lists.
import type { ConversationKey } from "@parley/protocol";
import { expect } from "vitest";
import { ids, isIdle, lane, chat, row, type StoreCase, takeTurn, want } from "../subject.ts";

const answered = { outcome: "answered", entries: ['{"type":"notice"}'] } as const;

export const inboxCases: readonly StoreCase[] = [
  {
    title: "a row is stored once under its id and once under its subject and version",
    async run({ store }) {
      const first = row("1", { subject: "default/a/77", version: 0 });
      const [accepted] = await store.inbox.accept([first]);
      expect(accepted).toMatchObject({ id: first.id, verdict: "queued", waiting: 1 });
      expect(await store.inbox.accept([first, { ...first, id: "telegram:default:other" }])).toMatchObject([
        { verdict: "duplicate", seq: accepted?.seq, waiting: 1 },
        { verdict: "duplicate", seq: accepted?.seq, waiting: 1 },
      ]);
      expect(await store.inbox.accept([{ ...first, id: "telegram:default:new", version: 5 }])).toMatchObject([
        { verdict: "queued" },
      ]);
    },
  },
  {
    title: "a row that ended still guards against its own return",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, answered);
      expect(await store.inbox.accept([row("1")])).toMatchObject([{ verdict: "duplicate", waiting: 0 }]);
      expect(isIdle(await store.turns.take(want))).toBe(true);
    },
  },
  {
    title: "a batch keeps its order and gets growing seqs",
    async run({ store }) {
      const batch = await store.inbox.accept([row("1"), row("2", { lane: lane("b") }), row("3")]);
      const seqs = batch.map(({ seq }) => seq);
      expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
      expect(new Set(seqs).size).toBe(3);
      expect(ids((await takeTurn(store)).rows)).toEqual(["1", "3"]);
    },
  },
  {
    title: "an edit replaces the payload of a row that has not started, and its own row ends superseded",
    async run({ store }) {
      const subject = "default/a/5";
      const edit = row("2", { subject, version: 9, as: { kind: "edit" }, payload: '"new"' });
      await store.inbox.accept([row("1", { subject }), row("3"), edit]);
      expect((await takeTurn(store)).rows).toMatchObject([
        { id: "telegram:default:1", version: 9, payload: '"new"' },
        { id: "telegram:default:3", version: 0, payload: '{"text":"3"}' },
      ]);
      expect(await store.inbox.find({ id: "telegram:default:2", limit: 1 })).toMatchObject([
        { state: "ended", outcome: "superseded" },
      ]);
    },
  },
  {
    title: "an older edit that arrives last changes nothing",
    async run({ store }) {
      const subject = "default/a/5";
      const edit = (id: string, version: number) =>
        row(id, { subject, version, as: { kind: "edit" as const }, payload: `"v${version}"` });
      const verdicts = await store.inbox.accept([row("1", { subject }), edit("3", 8), edit("2", 4)]);
      expect(verdicts.map(({ verdict }) => verdict)).toEqual(["queued", "replaced", "late"]);
      expect((await takeTurn(store)).rows).toMatchObject([{ payload: '"v8"' }]);
    },
  },
  {
    title: "an edit of a row that a turn has taken is late",
    async run({ store }) {
      const subject = "default/a/5";
      await store.inbox.accept([row("1", { subject })]);
      await takeTurn(store);
      expect(
        await store.inbox.accept([row("2", { subject, version: 9, as: { kind: "edit" } })]),
      ).toMatchObject([{ verdict: "late" }]);
      expect(await store.inbox.find({ id: "telegram:default:1", limit: 1 })).toMatchObject([
        { payload: '{"text":"1"}' },
      ]);
    },
  },
  {
    title: "context is bounded to the newest, never makes a lane due, and what is trimmed ends as context",
    async run({ store }) {
      const context = (id: string) => row(id, { as: { kind: "context" as const, keep: 2 } });
      await store.inbox.accept([context("1"), context("2"), context("3")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: null });
      expect(await store.inbox.find({ id: "telegram:default:1", limit: 1 })).toMatchObject([
        { state: "ended", outcome: "context" },
      ]);
      await store.inbox.accept([row("4"), context("5")]);
      const turn = await takeTurn(store);
      expect(ids(turn.context)).toEqual(["3"]);
      await store.turns.commit(turn, turn.id, { ...answered, contextThrough: turn.context.at(-1)?.seq ?? 0 });
      expect(await store.inbox.find({ id: "telegram:default:3", limit: 1 })).toMatchObject([
        { state: "ended", outcome: "context", turn: turn.id },
      ]);
      expect(await store.inbox.find({ id: "telegram:default:5", limit: 1 })).toMatchObject([
        { state: "context", outcome: null },
      ]);
    },
  },
  {
    title: "a row closed at birth has its outcome and reason, and is never handed out",
    async run({ store, clock }) {
      const as = { kind: "closed", outcome: "refused", reason: "not paired" } as const;
      expect(await store.inbox.accept([row("1", { as })])).toMatchObject([{ verdict: "closed", waiting: 0 }]);
      expect(await store.inbox.find({ outcome: "refused", limit: 5 })).toMatchObject([
        { outcome: "refused", reason: "not paired", turn: null, endedAtMs: clock.now() },
      ]);
      expect(isIdle(await store.turns.take(want))).toBe(true);
    },
  },
  {
    title: "a first message without a delay is due at once",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      expect((await store.turns.list("main", 5))[0]).toMatchObject({
        atMs: clock.now(),
        waiting: 1,
        holder: null,
      });
    },
  },
  {
    title: "each part of an album postpones its lane, but never past five seconds after the first",
    async run({ store, clock }) {
      const startMs = clock.now();
      const part = (id: string) => row(id, { as: { kind: "work" as const, afterMs: 1500 } });
      await store.inbox.accept([part("1")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 1500 });
      clock.advance(1000);
      await store.inbox.accept([part("2")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 2500 });
      for (const id of ["3", "4", "5"]) {
        clock.advance(1200);
        await store.inbox.accept([part(id)]);
      }
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 5000 });
      clock.advance(400);
      expect((await takeTurn(store)).rows).toHaveLength(5);
    },
  },
  {
    title: "a message without a delay does not hurry an album that waits, nor delay a lane that is due",
    async run({ store, clock }) {
      const startMs = clock.now();
      await store.inbox.accept([row("1", { as: { kind: "work", afterMs: 1000 } }), row("2")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 1000 });
      clock.advance(3000);
      await store.inbox.accept([row("3")]);
      expect((await store.turns.list("main", 5))[0]?.atMs).toBe(startMs + 1000);
    },
  },
  {
    title: "stop ends waiting rows with the outcome and reason asked for, and an idle lane stays idle",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("2"), row("3"), row("4"), row("5")]);
      expect(
        ids(
          (await store.inbox.stop(lane("a"), { rows: { keepNewest: 4 }, reason: "cap" })).rows.map((id) => ({
            id,
          })),
        ),
      ).toEqual(["1"]);
      await store.inbox.stop(lane("a"), { rows: { keepOldest: 3 }, reason: "cap", outcome: "superseded" });
      await store.inbox.stop(lane("a"), { rows: { ids: ["telegram:default:3"] }, reason: "asked" });
      expect(await store.inbox.find({ state: "ended", limit: 9 })).toMatchObject([
        { id: "telegram:default:5", outcome: "superseded", reason: "cap" },
        { id: "telegram:default:3", outcome: "stopped", reason: "asked" },
        { id: "telegram:default:1", outcome: "stopped", reason: "cap" },
      ]);
      expect(await store.inbox.stop(lane("a"), { rows: "all", reason: "stop" })).toMatchObject({
        turn: null,
        rows: { length: 2 },
      });
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: null });
    },
  },
  {
    title: "stop takes the turn from its holder, and the next holder gets it with the reason, exactly once",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.inbox.accept([row("2")]);
      expect(await store.inbox.stop(lane("a"), { turn: "open", rows: "all", reason: "/stop" })).toEqual({
        turn: turn.id,
        rows: ["telegram:default:2"],
      });
      await expect(store.turns.extend(turn, 1000)).rejects.toMatchObject({ code: "conflict" });
      await expect(store.turns.commit(turn, turn.id, answered)).rejects.toMatchObject({ code: "conflict" });
      const closing = await takeTurn(store, { holder: "w2" });
      expect(closing).toMatchObject({ id: turn.id, stop: "/stop", rows: { length: 1 } });
      await store.inbox.stop(lane("a"), { turn: turn.id, reason: "again" });
      await store.turns.commit(closing, closing.id, { outcome: "stopped", entries: [] });
      expect(await store.inbox.find({ turn: turn.id, limit: 9 })).toMatchObject([
        { outcome: "stopped", turn: turn.id },
      ]);
    },
  },
  {
    title: "stop of another turn than the open one changes nothing",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      expect(await store.inbox.stop(lane("a"), { turn: "agent:main#1", reason: "x" })).toEqual({
        turn: null,
        rows: [],
      });
      expect(await store.turns.extend(turn, 1000)).toBe(0);
    },
  },
  {
    title: "find filters by lane, state, outcome, turn and text, newest first",
    async run({ store }) {
      await store.inbox.accept([
        row("1"),
        row("2", { lane: lane("b"), conversation: chat("b") }),
        row("3", { payload: '"the needle"' }),
      ]);
      expect(ids(await store.inbox.find({ lane: lane("a"), limit: 9 }))).toEqual(["3", "1"]);
      expect(ids(await store.inbox.find({ text: "needle", limit: 9 }))).toEqual(["3"]);
      expect(ids(await store.inbox.find({ state: "waiting", limit: 2 }))).toEqual(["3", "2"]);
      const turn = await takeTurn(store);
      expect(ids(await store.inbox.find({ turn: turn.id, state: "claimed", limit: 9 }))).toEqual(["3", "1"]);
    },
  },
  {
    title: "find knows a platform's message id, whole and as the subject's last part alone",
    async run({ store }) {
      const said = (id: string, message: string) =>
        row(id, { subject: `telegram:default/telegram:default:dm:a/${message}` });
      await store.inbox.accept([
        said("1", "23"),
        said("2", "123"),
        said("3", "12"),
        row("4", { payload: "23" }),
      ]);
      expect(ids(await store.inbox.find({ message: "23", limit: 9 }))).toEqual(["1"]);
      expect(await store.inbox.find({ message: "default:dm:a", limit: 9 })).toEqual([]);
    },
  },
  {
    title: "find knows a place by its whole key and by its last part, and no part of either",
    async run({ store }) {
      const at = (id: string, conversation: string) =>
        row(id, { conversation: conversation as ConversationKey });
      await store.inbox.accept([
        at("1", "discord:default:channel:c:77"),
        at("2", "discord:default:channel:77:c"),
        at("3", "discord:default:channel:c:177"),
        at("4", "telegram:default:dm:77"),
        row("5", { payload: "77" }),
      ]);
      const found = async (place: string) => ids(await store.inbox.find({ place, limit: 9 }));
      expect(await found("77")).toEqual(["4", "1"]);
      expect(await found("discord:default:channel:c:77")).toEqual(["1"]);
      expect(await found("discord:default:channel:c")).toEqual([]);
      expect(await found("7")).toEqual([]);
      expect(await store.inbox.find({ place: "77", lane: lane("b"), limit: 9 })).toEqual([]);
    },
  },
  {
    title: "a dismissed dead row leaves the operator's list but keeps its outcome",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, { outcome: "dead", reason: "three strikes", entries: [] });
      expect(ids(await store.inbox.find({ outcome: "dead", limit: 9 }))).toEqual(["1"]);
      expect(await store.troubled()).toEqual({ rows: 1, deliveries: 0 });
      expect(await store.inbox.dismiss(["telegram:default:1", "telegram:default:none"])).toBe(1);
      expect(await store.inbox.dismiss(["telegram:default:1"])).toBe(0);
      expect(await store.inbox.find({ outcome: "dead", limit: 9 })).toEqual([]);
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 0 });
      expect(await store.inbox.find({ outcome: "dead", dismissed: true, limit: 9 })).toMatchObject([
        { reason: "three strikes" },
      ]);
    },
  },
];
