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
    title: "stop spares the turn that has taken the row which it must not end",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const stop = (unless: string) =>
        store.inbox.stop(lane("a"), { turn: turn.id, unless: `telegram:default:${unless}`, reason: "x" });
      expect(await stop("1")).toEqual({ turn: null, rows: [] });
      expect(await store.turns.extend(turn, 1000)).toBe(0);
      await store.inbox.accept([row("2")]);
      expect(await stop("2")).toEqual({ turn: turn.id, rows: [] });
      await expect(store.turns.extend(turn, 1000)).rejects.toMatchObject({ code: "conflict" });
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
  {
    title: "what becomes of each kind of row is shown whole, with its time and the reason",
    async run({ store, clock }) {
      const atMs = clock.now();
      const subject = (n: number): string => `telegram:default/telegram:default:dm:a/${n}`;
      const edit = (id: string, n: number, version: number) =>
        row(id, { subject: subject(n), version, as: { kind: "edit" }, payload: `"${id}"` });
      const note = (id: string, n: number) =>
        row(id, { subject: subject(n), as: { kind: "context", keep: 1 } });
      await store.inbox.accept([
        row("work", { subject: subject(1), as: { kind: "work", ticket: "t" }, authority: "owner" }),
        note("old", 2),
        note("new", 3),
      ]);
      clock.advance(7);
      const verdicts = await store.inbox.accept([
        edit("edit", 1, 4),
        edit("late", 1, 3),
        edit("gone", 2, 9),
        edit("noted", 3, 9),
        row("no", {
          pool: "cron",
          lane: lane("b"),
          conversation: chat("b"),
          as: { kind: "closed", outcome: "refused", reason: "not paired" },
        }),
      ]);
      expect(verdicts.map(({ verdict }) => verdict)).toEqual([
        "replaced",
        "late",
        "late",
        "replaced",
        "closed",
      ]);
      const shown = (await store.inbox.find({ limit: 20 })).map(({ seq: _seq, ...each }) => each);
      const base = {
        conversation: chat("a"),
        authority: "person",
        lane: lane("a"),
        pool: "main",
        turn: null,
      };
      const open = { ...base, outcome: null, reason: null, acceptedAtMs: atMs, endedAtMs: null };
      const over = { ...base, state: "ended", acceptedAtMs: atMs + 7, endedAtMs: atMs + 7 };
      const id = (name: string): string => `telegram:default:${name}`;
      const superseded = (name: string, version: number, reason: string) => {
        return { ...over, id: id(name), version, payload: `"${name}"`, outcome: "superseded", reason };
      };
      const words = (of: string): string => `its words replaced those of ${id(of)}`;
      const tooLate = "the edited row had started or shows a newer version";
      expect(shown).toEqual([
        {
          ...over,
          id: id("no"),
          version: 0,
          payload: '{"text":"no"}',
          pool: "cron",
          lane: lane("b"),
          conversation: chat("b"),
          outcome: "refused",
          reason: "not paired",
        },
        superseded("noted", 9, words("new")),
        superseded("gone", 9, tooLate),
        superseded("late", 3, tooLate),
        superseded("edit", 4, words("work")),
        { ...open, id: id("new"), version: 9, payload: '"noted"', state: "context" },
        {
          ...open,
          id: id("old"),
          version: 0,
          payload: '{"text":"old"}',
          state: "ended",
          outcome: "context",
          reason: "trimmed",
          endedAtMs: atMs,
        },
        {
          ...open,
          id: id("work"),
          version: 4,
          payload: '"edit"',
          state: "waiting",
          authority: "owner",
          ticket: "t",
        },
      ]);
    },
  },
  {
    title: "whatever a row ended as, it leaves five days after its end, and its guard with it",
    async run({ store, clock }) {
      const subject = "telegram:default/telegram:default:dm:a/1";
      await store.inbox.accept([
        row("work", { subject }),
        row("edit", { subject, version: 2, as: { kind: "edit" } }),
        row("late", { subject, version: 1, as: { kind: "edit" } }),
        row("old", { as: { kind: "context", keep: 1 } }),
        row("note", { as: { kind: "context", keep: 1 } }),
        row("no", { as: { kind: "closed", outcome: "refused", reason: "not paired" } }),
        row("stopped", { lane: lane("b") }),
      ]);
      await store.inbox.stop(lane("b"), { rows: "all", reason: "/stop" });
      const left = async () => ids(await store.inbox.find({ dismissed: true, limit: 20 }));
      clock.advance(5 * 86_400_000);
      await store.sweep(100);
      expect(await left()).toEqual(["stopped", "no", "note", "old", "late", "edit", "work"]);
      clock.advance(1);
      await store.sweep(100);
      expect(await left()).toEqual(["note", "work"]);
      expect(
        await store.inbox.accept([row("edit", { subject, version: 2, as: { kind: "edit" } })]),
      ).toMatchObject([{ verdict: "late" }]);
    },
  },
  {
    title: "the delays of all waiting rows count when a turn ends, and none of them past five seconds",
    async run({ store, clock }) {
      const startMs = clock.now();
      const late = (id: string, afterMs: number) => row(id, { as: { kind: "work", afterMs } });
      await store.inbox.accept([late("1", 9_000)]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 5_000 });
      clock.advance(5_000);
      const turn = await takeTurn(store);
      // The longest counts, wherever it stands among them.
      const hasty = Array.from({ length: 18 }, (_, n) => row(`3-${n}`));
      await store.inbox.accept([late("2", 300), ...hasty, late("3", 800)]);
      await store.turns.commit(turn, turn.id, answered);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 5_800 });
      clock.advance(800);
      const second = await takeTurn(store);
      await store.inbox.accept([late("4", 9_000), row("5")]);
      clock.advance(100);
      await store.turns.commit(second, second.id, answered);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 5_800 + 5_000 });
    },
  },
  {
    title: "a lane whose first rows are stopped goes to the pool of the row that is first now, at its time",
    async run({ store, clock }) {
      const dueAtMs = clock.now();
      await store.inbox.accept([row("1", { pool: "cron" }), row("2", { pool: "main" }), row("3")]);
      clock.advance(5);
      await store.inbox.stop(lane("a"), { rows: { keepNewest: 2 }, reason: "cap" });
      expect(await store.turns.list(undefined, 9)).toMatchObject([
        { lane: lane("a"), pool: "main", atMs: dueAtMs, waiting: 2 },
      ]);
      expect(isIdle(await store.turns.take({ ...want, pool: "cron" }))).toBe(true);
      expect(ids((await takeTurn(store)).rows)).toEqual(["2", "3"]);
    },
  },
  {
    title: "stop keeps no less than nothing and no part of a row",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("2")]);
      for (const rows of [{ keepNewest: -1 }, { keepOldest: 0.5 }])
        await expect(store.inbox.stop(lane("a"), { rows, reason: "cap" })).rejects.toMatchObject({
          code: "invalid",
        });
      const kept = async (rows: { keepNewest: number } | { keepOldest: number }) =>
        (await store.inbox.stop(lane("a"), { rows, reason: "cap" })).rows.length;
      expect([await kept({ keepNewest: 2 }), await kept({ keepOldest: 5 })]).toEqual([0, 0]);
      expect(await kept({ keepOldest: 0 })).toBe(2);
      expect(await store.inbox.stop(lane("none"), { turn: "open", rows: "all", reason: "x" })).toEqual({
        turn: null,
        rows: [],
      });
    },
  },
];
