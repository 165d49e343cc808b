// Contract of sessions, cells and events, and of the store as a whole.
import { expect } from "vitest";
import { chat, delivery, lane, row, type StoreCase, takeDeliveryBatch, takeTurn } from "../subject.ts";

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
  {
    title: "turns and deliveries leave a moment after five days, lanes that stood idle a moment after seven",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, {
        outcome: "answered",
        entries: [],
        deliveries: [delivery("d")],
      });
      const batch = await takeDeliveryBatch(store);
      await store.outbox.record(
        batch,
        [
          { delivery: "d", part: 0, to: "sending", attempt: 1 },
          { delivery: "d", part: 0, to: "sent", receipt: "r" },
        ],
        { afterMs: 0, reason: "sent" },
      );
      const left = async () => {
        expect(await store.sweep(100)).toBe(false);
        return {
          turn: (await store.turns.find(turn.id))?.state,
          rows: (await store.inbox.find({ limit: 9 })).length,
          deliveries: (await store.outbox.find({ limit: 9 })).length,
          lanes: [...(await store.turns.list(undefined, 9)), ...(await store.outbox.list(undefined, 9))]
            .length,
        };
      };
      const all = { turn: "done", rows: 1, deliveries: 1, lanes: 2 };
      expect(await left()).toEqual(all);
      clock.advance(5 * 86_400_000);
      expect(await left()).toEqual(all);
      clock.advance(1);
      expect(await left()).toEqual({ turn: undefined, rows: 0, deliveries: 0, lanes: 2 });
      clock.advance(2 * 86_400_000 - 1);
      expect(await left()).toMatchObject({ lanes: 2 });
      clock.advance(1);
      expect(await left()).toMatchObject({ lanes: 0 });
    },
  },
  {
    title:
      "a cell is there until the very moment at which it expires, for who reads, lists, renews and removes",
    async run({ store, clock }) {
      const looks = async () => [
        (await store.cells.get("k"))?.value,
        (await store.cells.list("k", 9)).map(({ value }) => value),
      ];
      const cell = await store.cells.put("k", "1", { ttlMs: 100 });
      clock.advance(99);
      expect(await looks()).toEqual(["1", ["1"]]);
      clock.advance(1);
      expect(await looks()).toEqual([undefined, []]);
      expect(await store.cells.touch("k", cell?.version ?? -1, 100)).toBe(false);
      expect(await store.cells.remove("k")).toBe(false);
      expect(await looks()).toEqual([undefined, []]);
    },
  },
  {
    title: "a renewal is seen at once by who read the cell before, and one without an end gets one",
    async run({ store, clock }) {
      const cell = await store.cells.put("k", "1", {});
      expect(await store.cells.get("k")).toEqual({
        key: "k",
        value: "1",
        version: cell?.version,
        expiresAtMs: null,
      });
      expect(await store.cells.touch("k", cell?.version ?? -1, 50)).toBe(true);
      const renewed = { key: "k", value: "1", version: cell?.version, expiresAtMs: clock.now() + 50 };
      expect([await store.cells.get("k"), await store.cells.list("", 9)]).toEqual([renewed, [renewed]]);
      // Written again without an end, it stays.
      await store.cells.put("k", "2", {});
      clock.advance(50);
      await store.sweep(10);
      expect(await store.cells.get("k")).toMatchObject({ value: "2", expiresAtMs: null });
    },
  },
  {
    title:
      "cells of one commit have a version each, their ends and their order; what it removes is gone at once",
    async run({ store, clock }) {
      const before = await store.cells.put("gone", "x", {});
      const held = await store.cells.put("held", "x", { ttlMs: 5 });
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      expect(await store.cells.get("gone")).toMatchObject({ value: "x" });
      await store.turns.commit(turn, turn.id, {
        outcome: "answered",
        entries: [],
        cells: [
          { key: "a", value: "1", expect: 0, ttlMs: 100 },
          { key: "gone", value: null, expect: before?.version ?? -1 },
          { key: "b", value: "2" },
          { key: "a", value: "3" },
          { key: "held", value: "y", expect: held?.version ?? -1, ttlMs: 200 },
        ],
      });
      const seen = await store.cells.list("", 9);
      expect(seen.map(({ key, value, expiresAtMs }) => [key, value, expiresAtMs])).toEqual([
        ["a", "3", null],
        ["b", "2", null],
        ["held", "y", clock.now() + 200],
      ]);
      const versions = seen.map(({ version }) => version);
      expect(new Set(versions).size).toBe(3);
      expect(Math.min(...versions)).toBeGreaterThan(held?.version ?? Infinity);
      expect(await Promise.all(seen.map(({ key }) => store.cells.get(key)))).toEqual(seen);
      expect(await store.cells.get("gone")).toBeNull();
      const after = await store.cells.put("c", "4", { expect: 0 });
      expect(after?.version).toBeGreaterThan(Math.max(...versions));
    },
  },
  {
    title:
      "sessions of one time are listed by their keys, a patch moves one to the front, and a limit cuts the end",
    async run({ store, clock }) {
      for (const name of ["c", "a", "b"]) await store.sessions.open(lane(name));
      const keys = async (limit: number) =>
        (await store.sessions.list({ limit })).map(({ key }) => key.at(-1)).join("");
      expect(await keys(9)).toBe("abc");
      clock.advance(5);
      await store.sessions.patch(lane("c"), { model: "m" });
      expect([await keys(9), await keys(2)]).toEqual(["cab", "ca"]);
      clock.advance(5);
      const reset = await store.sessions.reset(lane("b"));
      expect(reset).toEqual({
        key: lane("b"),
        epoch: 2,
        lastSeq: 0,
        fields: {},
        createdAtMs: clock.now() - 10,
        updatedAtMs: clock.now(),
      });
      expect([await store.sessions.open(lane("b")), await keys(9)]).toEqual([reset, "bca"]);
      // What only reads moves nothing, and neither does a turn that leaves nothing.
      clock.advance(5);
      await store.sessions.open(lane("a"));
      await store.inbox.accept([row("1")]);
      const silent = await takeTurn(store);
      await store.turns.commit(silent, silent.id, { outcome: "silent", entries: [] });
      expect(await keys(9)).toBe("bca");
      await store.inbox.accept([row("2")]);
      const turn = await takeTurn(store);
      await store.turns.commit(turn, turn.id, {
        outcome: "answered",
        entries: ["1"],
        patch: { a: 1, b: null },
      });
      expect((await store.sessions.list({ limit: 1 }))[0]).toEqual({
        key: lane("a"),
        epoch: 1,
        lastSeq: 1,
        fields: { a: 1 },
        createdAtMs: clock.now() - 15,
        updatedAtMs: clock.now(),
      });
    },
  },
  {
    title: "a transcript has only its own session's and epoch's entries, whoever asks from where",
    async run({ store }) {
      const say = async (session: string, entries: readonly string[]) => {
        await store.inbox.accept([row(`${session}${entries.join()}`, { lane: lane(session) })]);
        const turn = await takeTurn(store);
        await store.turns.commit(turn, turn.id, { outcome: "answered", entries });
      };
      await say("a", ["1", "2"]);
      await say("b", ["3"]);
      await store.sessions.reset(lane("a"));
      await say("a", ["4", "5", "6"]);
      const read = async (
        session: string,
        from: { afterSeq?: number; newest?: boolean; epoch?: number; limit: number },
      ) => (await store.sessions.transcript(lane(session), from)).map(({ seq, body }) => `${seq}:${body}`);
      expect(await read("a", { limit: 9 })).toEqual(["3:4", "4:5", "5:6"]);
      expect(await read("a", { newest: true, limit: 9 })).toEqual(["3:4", "4:5", "5:6"]);
      expect(await read("a", { newest: true, afterSeq: 3, limit: 1 })).toEqual(["5:6"]);
      expect(await read("a", { newest: true, afterSeq: 4, limit: 9 })).toEqual(["5:6"]);
      expect(await read("a", { newest: true, epoch: 1, limit: 1 })).toEqual(["2:2"]);
      expect(await read("a", { epoch: 3, limit: 9 })).toEqual([]);
      expect(await read("b", { limit: 9 })).toEqual(["1:3"]);
      expect(await read("none", { limit: 9 })).toEqual([]);
      expect(await read("none", { newest: true, limit: 9 })).toEqual([]);
    },
  },
  {
    title: "events of other streams do not count against a limit, and one that is read has its own time",
    async run({ store, clock }) {
      const startMs = clock.now();
      for (const [n, stream] of ["x", "y", "x", "y", "x"].entries()) {
        await store.events.append(stream, `e${n}`, `${n}`);
        clock.advance(10);
      }
      const { events, gone, lastSeq } = await store.events.after("x", 0, 2);
      expect(events.map(({ body, stream, atMs }) => [body, stream, atMs - startMs])).toEqual([
        ["0", "x", 0],
        ["2", "x", 20],
      ]);
      expect([gone, lastSeq - (events[0]?.seq ?? 0)]).toEqual([false, 4]);
      const next = await store.events.after("x", events[1]?.seq ?? 0, 2);
      expect(next.events.map(({ body }) => body)).toEqual(["4"]);
      expect(await store.events.after("x", lastSeq, 2)).toEqual({ events: [], gone: false, lastSeq });
      expect(await store.events.after("none", 0, 2)).toEqual({ events: [], gone: false, lastSeq });
      expect((await store.events.newest("y", 9)).map(({ body, atMs }) => [body, atMs - startMs])).toEqual([
        ["1", 10],
        ["3", 30],
      ]);
    },
  },
  {
    title: "an empty log is nobody's past: nothing is gone from it, unless a client saw something",
    async run({ store }) {
      expect(await store.events.after("x", 0, 9)).toEqual({ events: [], gone: false, lastSeq: 0 });
      expect(await store.events.after("x", 1, 9)).toEqual({ events: [], gone: true, lastSeq: 0 });
      expect(await store.events.newest("x", 9)).toEqual([]);
    },
  },
];
