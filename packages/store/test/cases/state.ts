// Contract of sessions, cells and events, and of the store as a whole.
import { expect } from "vitest";
import { chat, lane, row, type StoreCase, takeTurn } from "../subject.ts";

export const stateCases: readonly StoreCase[] = [
  {
    title: "a session is made when it is first opened, and found again",
    async run({ store, clock }) {
      const made = await store.sessions.open(lane("a"));
      expect(made).toEqual({
        key: lane("a"),
        epoch: 1,
        lastSeq: 0,
        fields: {},
        createdAtMs: clock.now(),
        updatedAtMs: clock.now(),
      });
      clock.advance(5);
      expect(await store.sessions.open(lane("a"))).toEqual(made);
    },
  },
  {
    title: "a patch works field by field, and null removes",
    async run({ store, clock }) {
      await store.sessions.patch(lane("a"), { model: "m", usage: { in: 1, list: [] } });
      clock.advance(5);
      expect(await store.sessions.patch(lane("a"), { model: null, level: "high" })).toMatchObject({
        fields: { usage: { in: 1, list: [] }, level: "high" },
        updatedAtMs: clock.now(),
      });
      expect((await store.sessions.open(lane("a"))).fields).toEqual({
        usage: { in: 1, list: [] },
        level: "high",
      });
    },
  },
  {
    title: "sessions are listed by prefix and age, the newest first",
    async run({ store, clock }) {
      await store.sessions.open(lane("a"));
      clock.advance(10);
      await store.sessions.open(lane("b"));
      const keys = async (filter: { prefix?: string; sinceMs?: number }) =>
        (await store.sessions.list({ ...filter, limit: 9 })).map(({ key }) => key);
      expect(await keys({})).toEqual([lane("b"), lane("a")]);
      expect(await keys({ sinceMs: clock.now() })).toEqual([lane("b")]);
      expect(await keys({ prefix: lane("a") })).toEqual([lane("a")]);
      expect(await keys({ prefix: "agent:%" })).toEqual([]);
    },
  },
  {
    title: "a reset begins a new epoch; a turn opened before it commits into the old one",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      expect(await store.sessions.reset(lane("a"))).toMatchObject({ epoch: 2 });
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries: ['"old"'] });
      await store.inbox.accept([row("2")]);
      const next = await takeTurn(store);
      expect(next.epoch).toBe(2);
      await store.turns.commit(next, next.id, { outcome: "answered", entries: ['"new"'] });
      expect(await store.sessions.transcript(lane("a"), { limit: 9 })).toEqual([
        { seq: 2, epoch: 2, turn: next.id, body: '"new"' },
      ]);
      expect(await store.sessions.transcript(lane("a"), { epoch: 1, limit: 9 })).toMatchObject([
        { seq: 1, body: '"old"' },
      ]);
    },
  },
  {
    title:
      "what is to be forgotten leaves from every epoch, of this session alone; seqs go on, a record is kept, and a turn opened before adds to its own epoch",
    async run({ store, clock }) {
      const say = async (id: string, session: string): Promise<void> => {
        await store.inbox.accept([row(id, { lane: lane(session) })]);
        const turn = await takeTurn(store);
        await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [`"${id}"`] });
      };
      const left = async (session: string, epoch: number) =>
        (await store.sessions.transcript(lane(session), { epoch, limit: 9 })).map(({ seq, body }) => [
          seq,
          body,
        ]);
      await say("1", "a");
      await store.sessions.reset(lane("a"));
      await say("2", "a");
      await say("3", "b");
      await store.inbox.accept([row("4")]);
      const open = await takeTurn(store);
      expect(await store.sessions.forget(lane("a"), "gone")).toMatchObject({
        session: {
          key: lane("a"),
          epoch: 3,
          lastSeq: 2,
          fields: { gone: { atMs: clock.now(), entries: 2 } },
        },
        entries: 2,
      });
      expect([await left("a", 1), await left("a", 2), await left("a", 3), await left("b", 1)]).toEqual([
        [],
        [],
        [],
        [[1, '"3"']],
      ]);
      await store.turns.commit(open, open.id, { outcome: "answered", entries: ['"4"'] });
      expect([await left("a", 2), await left("a", 3)]).toEqual([[[3, '"4"']], []]);
    },
  },
  {
    title: "what is trimmed leaves from the epochs before one, of this session alone, and no epoch begins",
    async run({ store }) {
      for (const [id, session] of ["1a", "2a", "3b", "4a"].map((name) => [name, name.slice(1)] as const)) {
        await store.inbox.accept([row(id, { lane: lane(session) })]);
        const turn = await takeTurn(store);
        await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [`"${id}"`] });
        await store.sessions.reset(lane(session));
      }
      const left = async (session: string, epoch: number) =>
        (await store.sessions.transcript(lane(session), { epoch, limit: 9 })).map(({ body }) => body);
      expect(await store.sessions.trim(lane("a"), 3)).toBe(2);
      expect(await store.sessions.trim(lane("a"), 3)).toBe(0);
      expect([await left("a", 1), await left("a", 2), await left("a", 3), await left("b", 1)]).toEqual([
        [],
        [],
        ['"4a"'],
        ['"3b"'],
      ]);
      expect(await store.sessions.open(lane("a"))).toMatchObject({ epoch: 4, lastSeq: 3 });
      expect(await store.sessions.trim(lane("a"), 9)).toBe(1);
    },
  },
  {
    title: "a transcript is read from its start, after a seq, or from its end, always oldest first",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries: ["1", "2", "3", "4"] });
      const read = async (from: { afterSeq?: number; newest?: boolean; limit: number }) =>
        (await store.sessions.transcript(lane("a"), from)).map(({ body }) => body);
      expect(await read({ limit: 2 })).toEqual(["1", "2"]);
      expect(await read({ afterSeq: 2, limit: 9 })).toEqual(["3", "4"]);
      expect(await read({ newest: true, limit: 2 })).toEqual(["3", "4"]);
    },
  },
  {
    title: "a cell is written as expected or not at all",
    async run({ store }) {
      const made = await store.cells.put("k", "1", { expect: 0 });
      expect(await store.cells.put("k", "2", { expect: 0 })).toBeNull();
      expect(await store.cells.put("k", "2", { expect: (made?.version ?? 0) + 1 })).toBeNull();
      const second = await store.cells.put("k", "2", { expect: made?.version ?? -1 });
      expect(second?.version).toBeGreaterThan(made?.version ?? Infinity);
      expect(await store.cells.put("k", "3", {})).toMatchObject({ value: "3", expiresAtMs: null });
      expect(await store.cells.get("k")).toMatchObject({ value: "3" });
    },
  },
  {
    title: "versions of a cell grow over deletion and expiry",
    async run({ store, clock }) {
      const first = await store.cells.put("k", "1", { ttlMs: 100 });
      expect(await store.cells.get("k")).toMatchObject({ expiresAtMs: clock.now() + 100 });
      clock.advance(100);
      expect(await store.cells.get("k")).toBeNull();
      const second = await store.cells.put("k", "2", { expect: 0 });
      expect(second?.version).toBeGreaterThan(first?.version ?? Infinity);
      expect(await store.cells.remove("k", first?.version ?? -1)).toBe(false);
      expect(await store.cells.remove("k", second?.version ?? -1)).toBe(true);
      expect(await store.cells.remove("k")).toBe(false);
      const third = await store.cells.put("k", "3", { expect: 0 });
      expect(third?.version).toBeGreaterThan(second?.version ?? Infinity);
    },
  },
  {
    title: "touch renews the expiry of the current version only, and keeps the version",
    async run({ store, clock }) {
      const cell = await store.cells.put("k", "1", { ttlMs: 100 });
      clock.advance(60);
      expect(await store.cells.touch("k", cell?.version ?? -1, 100)).toBe(true);
      expect(await store.cells.touch("k", (cell?.version ?? 0) + 1, 900)).toBe(false);
      clock.advance(60);
      expect(await store.cells.get("k")).toMatchObject({
        version: cell?.version,
        expiresAtMs: clock.now() + 40,
      });
      clock.advance(60);
      expect(await store.cells.touch("k", cell?.version ?? -1, 100)).toBe(false);
    },
  },
  {
    title: "cells are listed by prefix in the order of their keys, live ones only",
    async run({ store, clock }) {
      for (const key of ["p:b", "p:a", "q", "p%", "p:ü"]) await store.cells.put(key, key, {});
      await store.cells.put("p:c", "x", { ttlMs: 1 });
      clock.advance(1);
      expect((await store.cells.list("p:", 9)).map(({ key }) => key)).toEqual(["p:a", "p:b", "p:ü"]);
      expect(await store.cells.list("p:", 1)).toHaveLength(1);
      expect(await store.cells.list("", 9)).toHaveLength(5);
    },
  },
  {
    title: "an event has one seq over all streams, and its repeat gets the seq of the first",
    async run({ store, clock }) {
      const first = await store.events.append(chat("a"), "e1", "1");
      const second = await store.events.append("control", "e2", "2");
      expect(second).toBeGreaterThan(first);
      expect(await store.events.append(chat("a"), "e1", "other")).toBe(first);
      expect(await store.events.after(chat("a"), 0, 9)).toEqual({
        events: [{ seq: first, stream: chat("a"), atMs: clock.now(), body: "1" }],
        gone: false,
        lastSeq: second,
      });
      expect(await store.events.after(chat("a"), first, 9)).toMatchObject({ events: [], gone: false });
      await store.events.append(chat("a"), "e3", "3");
      expect((await store.events.newest(chat("a"), 9)).map(({ body }) => body)).toEqual(["1", "3"]);
      expect((await store.events.newest(chat("a"), 1)).map(({ body }) => body)).toEqual(["3"]);
      const third = await store.events.append(chat("a"), "e4", "4");
      expect((await store.events.newest(chat("a"), 2, third)).map(({ body }) => body)).toEqual(["1", "3"]);
      expect((await store.events.newest(chat("a"), 1, third)).map(({ body }) => body)).toEqual(["3"]);
      expect(await store.events.newest(chat("a"), 9, first)).toEqual([]);
    },
  },
  {
    title: "a client ahead of the event log is told that it is gone",
    async run({ store }) {
      const seq = await store.events.append("control", "e1", "1");
      expect(await store.events.after("control", seq + 5, 9)).toMatchObject({ events: [], gone: true });
    },
  },
  {
    title: "check writes and reads a probe",
    async run({ store }) {
      expect(await store.check()).toEqual({ ok: true });
    },
  },
  {
    title: "sweep on a store with nothing old removes nothing and has nothing left",
    async run({ store }) {
      await store.inbox.accept([
        row("1"),
        row("2", { as: { kind: "closed", outcome: "refused", reason: "x" } }),
      ]);
      await store.sessions.open(lane("a"));
      expect(await store.sweep(100)).toBe(false);
      expect(await store.inbox.find({ limit: 9 })).toHaveLength(2);
    },
  },
  {
    title: "what ended five days ago leaves in slices; what is open, sessions and entries stay",
    async run({ store, clock }) {
      await store.inbox.accept([row("1"), row("2"), row("3")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, { outcome: "answered", entries: ["1"], deliveries: [] });
      await store.inbox.accept([row("4")]);
      clock.advance(2 * 86_400_000);
      await store.sweep(100);
      expect(await store.inbox.accept([row("1")])).toMatchObject([{ verdict: "duplicate" }]);
      clock.advance(5 * 86_400_000);
      for (let slices = 0; await store.sweep(2); slices += 1) expect(slices).toBeLessThan(20);
      expect((await store.inbox.find({ limit: 9 })).map(({ id }) => id)).toEqual(["telegram:default:4"]);
      expect(await store.sessions.transcript(lane("a"), { limit: 9 })).toHaveLength(1);
      expect((await takeTurn(store)).rows).toHaveLength(1);
    },
  },
];
