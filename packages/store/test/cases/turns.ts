// Contract of turns: leases and fencing, what a turn holds, its log.
import { expect } from "vitest";
import type { Step } from "../../src/index.ts";
import {
  chat,
  delivery,
  drained,
  failedOnce,
  ids,
  isIdle,
  lane,
  row,
  type StoreCase,
  takeTurn,
  want,
} from "../subject.ts";

const answered = { outcome: "answered", entries: ['{"n":1}', '{"n":2}'] } as const;
const step = (body: string): Step => ({ kind: "model", body });
const lost = { code: "conflict" };

export const turnCases: readonly StoreCase[] = [
  {
    title: "one lane has one holder, and nothing else of it is handed out",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.inbox.accept([row("2")]);
      expect(await store.turns.take({ ...want, holder: "w2" })).toEqual({
        idle: true,
        nextAtMs: clock.now() + want.leaseMs,
      });
      expect(await store.turns.extend(turn, 50_000)).toBe(1);
      expect((await store.turns.list("main", 1))[0]).toMatchObject({
        holder: "w1",
        token: turn.token,
        atMs: clock.now() + 50_000,
        waiting: 1,
      });
    },
  },
  {
    title: "an expired lease still writes until somebody else takes the lane, and then writes nothing",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const old = await takeTurn(store);
      clock.advance(want.leaseMs + 1);
      expect(await store.turns.checkpoint(old, 0, { steps: [step("a")] })).toBe(1);
      const next = await takeTurn(store, { holder: "w2" });
      expect(next).toMatchObject({ id: old.id, log: [{ kind: "model", body: "a" }] });
      expect(next.token).toBeGreaterThan(old.token);
      await expect(store.turns.extend(old, 1)).rejects.toMatchObject(lost);
      await expect(store.turns.absorb(old, 1, 5)).rejects.toMatchObject(lost);
      await expect(
        store.turns.checkpoint(old, 1, { steps: [step("b")], deliveries: [delivery("x/0")] }),
      ).rejects.toMatchObject(lost);
      await expect(store.turns.park(old, { tickets: [], wake: "any", untilMs: 0 })).rejects.toMatchObject(
        lost,
      );
      await expect(store.turns.release(old, drained)).rejects.toMatchObject(lost);
      await expect(store.turns.commit(old, old.id, answered)).rejects.toMatchObject(lost);
      expect(await store.outbox.find({ limit: 5 })).toEqual([]);
      expect(await store.sessions.transcript(lane("a"), { limit: 5 })).toEqual([]);
    },
  },
  {
    title: "a holder that takes its own expired lane again has lost the old lease",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const old = await takeTurn(store);
      clock.advance(want.leaseMs);
      const again = await takeTurn(store);
      expect(again).toMatchObject({ id: old.id, holder: old.holder, attempt: 1 });
      await expect(store.turns.commit(old, old.id, answered)).rejects.toMatchObject(lost);
      expect(await store.turns.commit(again, again.id, answered)).toEqual({ seq: 2 });
    },
  },
  {
    title: "tokens grow even when the clock stands still or goes back",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const tokens: number[] = [];
      for (const stepMs of [0, 0, -5000, 0]) {
        clock.advance(stepMs);
        const taken = await store.turns.take(want);
        if (isIdle(taken)) break;
        tokens.push(taken.token);
        await store.turns.release(taken, failedOnce);
      }
      expect(tokens.length).toBeGreaterThanOrEqual(2);
      expect(tokens).toEqual([...new Set(tokens)].toSorted((a, b) => a - b));
    },
  },
  {
    title: "attempts count what died, and a refund, a park and a checkpoint give them back",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      expect((await takeTurn(store)).attempt).toBe(1);
      clock.advance(want.leaseMs);
      expect((await takeTurn(store, { holder: "w2" })).attempt).toBe(2);
      clock.advance(want.leaseMs);
      const third = await takeTurn(store);
      expect(third.attempt).toBe(3);
      await store.turns.release(third, drained);
      const again = await takeTurn(store);
      expect(again.attempt).toBe(3);
      await store.turns.checkpoint(again, 0, { steps: [step("a")] });
      await store.turns.release(again, failedOnce);
      const fifth = await takeTurn(store);
      expect(fifth.attempt).toBe(2);
      await store.turns.park(fifth, { tickets: ["t"], wake: "answer", untilMs: clock.now() });
      expect((await takeTurn(store)).attempt).toBe(1);
    },
  },
  {
    title:
      "a holder that lives was no death: it clears what it holds, and takes back what was counted for a lease that ran out",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const taken = async (holder: string) => {
        clock.advance(want.leaseMs);
        return takeTurn(store, { holder });
      };
      const first = await taken("w1");
      await taken("w2");
      const third = await taken("w3");
      expect(third.attempt).toBe(3);
      // Only the last one that was counted can still be taken back.
      await store.turns.lived(first);
      const fourth = await taken("w1");
      expect(fourth.attempt).toBe(4);
      await store.turns.lived(third);
      await store.turns.lived(third);
      const fifth = await taken("w2");
      expect(fifth.attempt).toBe(4);
      await store.turns.lived(fifth);
      await store.turns.lived(fifth);
      const sixth = await taken("w3");
      expect(sixth.attempt).toBe(2);
      await store.turns.commit(sixth, sixth.id, answered);
      await store.turns.lived(sixth);
      await store.turns.lived({ ...sixth, lane: lane("none") });
    },
  },
  {
    title:
      "a split turn keeps its first row; the others wait at their places, each for a turn of its own with the same count",
    async run({ store, clock }) {
      const note = row("c", { as: { kind: "context", keep: 5 } });
      await store.inbox.accept([row("1"), row("2"), note]);
      const dying = await takeTurn(store);
      await store.inbox.accept([row("3"), row("4", { authority: "owner" })]);
      await store.turns.absorb(dying, 0, 20);
      await store.turns.checkpoint(dying, 1, { steps: [{ kind: "preview", body: "{}" }] });
      clock.advance(want.leaseMs);
      await takeTurn(store, { holder: "w2" });
      clock.advance(want.leaseMs);
      const suspect = await takeTurn(store, { holder: "w3" });
      expect([suspect.attempt, ids(suspect.rows), ids(suspect.context)]).toEqual([3, ["1", "2", "3"], ["c"]]);
      const left = await store.turns.split(suspect);
      expect(left).toMatchObject({
        id: suspect.id,
        token: suspect.token,
        holder: "w3",
        attempt: 3,
        log: [{ kind: "preview", body: "{}" }],
      });
      expect([ids(left.rows), ids(left.context)]).toEqual([["1"], []]);
      expect(await store.turns.split(left)).toEqual(left);
      expect(await store.turns.absorb(left, 1, 20)).toEqual([]);
      expect(await store.turns.extend(left, want.leaseMs)).toBe(3);
      expect(ids(await store.inbox.find({ turn: suspect.id, limit: 9 }))).toEqual(["1"]);
      await store.turns.commit(left, left.id, answered);
      for (const [id, attempt] of [
        ["2", 3],
        ["3", 3],
        ["4", 1],
      ] as const) {
        const next = await takeTurn(store);
        expect([ids(next.rows), next.attempt]).toEqual([[id], attempt]);
        expect(await store.turns.absorb(next, 0, 20)).toEqual([]);
        await store.turns.commit(next, next.id, answered);
      }
      expect(
        (await store.inbox.find({ limit: 20 }))
          .filter(({ turn }) => turn === suspect.id)
          .map(({ outcome }) => outcome),
      ).toEqual(["answered"]);
      await store.inbox.accept([row("5")]);
      const plain = await takeTurn(store);
      await store.inbox.accept([row("6")]);
      expect(await store.turns.absorb(plain, 0, 20)).toHaveLength(1);
      expect((await store.turns.split(plain)).log, "nothing is left of a log of what joined").toEqual([]);
    },
  },
  {
    title:
      "a turn whose model has read its rows keeps them and is joined by no more; a lost lease splits nothing",
    async run({ store, clock }) {
      await store.inbox.accept([row("1"), row("2")]);
      const turn = await takeTurn(store);
      await store.turns.checkpoint(turn, 0, { steps: [step("a")] });
      expect(await store.turns.split(turn)).toEqual({ ...turn, log: [step("a")] });
      await store.inbox.accept([row("3")]);
      expect(await store.turns.absorb(turn, 1, 20)).toEqual([]);
      clock.advance(want.leaseMs);
      const next = await takeTurn(store, { holder: "w2" });
      await expect(store.turns.split(turn)).rejects.toMatchObject(lost);
      expect(ids(next.rows)).toEqual(["1", "2"]);
    },
  },
  {
    title: "release keeps the turn, and the whole lane waits",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.release(turn, { afterMs: 700, reason: "model outage", refund: true });
      await store.inbox.accept([row("2")]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: clock.now() + 700 });
      clock.advance(700);
      const resumed = await takeTurn(store);
      expect(resumed.id).toBe(turn.id);
      expect(ids(resumed.rows)).toEqual(["1"]);
    },
  },
  {
    title: "the lane that has been runnable longest goes first, so a flooded lane goes to the back",
    async run({ store, clock }) {
      await store.inbox.accept([row("a1"), row("a2"), row("a3")]);
      clock.advance(1);
      await store.inbox.accept([row("b1", { lane: lane("b") })]);
      const order: string[] = [];
      for (let i = 0; i < 4; i += 1) {
        const turn = await takeTurn(store, { maxRows: 1 });
        order.push(...ids(turn.rows));
        clock.advance(1);
        await store.turns.commit(turn, turn.id, answered);
      }
      expect(order).toEqual(["a1", "b1", "a2", "a3"]);
    },
  },
  {
    title: "pools are separate, and a lane follows the pool of the row at its head",
    async run({ store }) {
      await store.inbox.accept([row("1", { pool: "cron" }), row("2", { authority: "owner" })]);
      expect(isIdle(await store.turns.take(want))).toBe(true);
      const cron = await takeTurn(store, { pool: "cron" });
      expect(cron.pool).toBe("cron");
      await store.turns.commit(cron, cron.id, answered);
      expect(ids((await takeTurn(store)).rows)).toEqual(["2"]);
    },
  },
  {
    title: "a turn holds the prefix of one conversation and one authority",
    async run({ store }) {
      await store.inbox.accept([
        row("1"),
        row("2"),
        row("3", { authority: "owner" }),
        row("4", { authority: "owner", conversation: chat("b") }),
        row("5"),
      ]);
      const seen: (readonly string[])[] = [];
      for (let i = 0; i < 4; i += 1) {
        const turn = await takeTurn(store);
        seen.push(ids(turn.rows));
        expect(
          turn.rows.every(
            ({ conversation, authority }) =>
              conversation === turn.conversation && authority === turn.authority,
          ),
        ).toBe(true);
        expect(await store.turns.absorb(turn, 0, 20)).toEqual([]);
        await store.turns.commit(turn, turn.id, answered);
      }
      expect(seen).toEqual([["1", "2"], ["3"], ["4"], ["5"]]);
    },
  },
  {
    title: "a barrier is a turn alone, and absorb never reads past one",
    async run({ store }) {
      const barrier = row("2", { as: { kind: "work", barrier: true } });
      await store.inbox.accept([row("1")]);
      const first = await takeTurn(store);
      await store.inbox.accept([barrier, row("3")]);
      expect(await store.turns.absorb(first, 0, 20)).toEqual([]);
      await store.turns.commit(first, first.id, answered);
      const second = await takeTurn(store);
      expect(ids(second.rows)).toEqual(["2"]);
      expect(await store.turns.absorb(second, 0, 20)).toEqual([]);
      await store.turns.commit(second, second.id, { outcome: "commanded", entries: [] });
      expect(ids((await takeTurn(store)).rows)).toEqual(["3"]);
    },
  },
  {
    title:
      "into the turn of a barrier joins only what a person told to join it, and nothing past another barrier",
    async run({ store }) {
      const barrier = (id: string) => row(id, { as: { kind: "work", barrier: true } });
      await store.inbox.accept([barrier("1"), row("2"), barrier("3"), row("4")]);
      const turn = await takeTurn(store);
      expect(await store.turns.absorb(turn, 0, 20)).toEqual([]);
      expect(ids(await store.turns.absorb(turn, 0, 20, { evenAlone: true }))).toEqual(["2"]);
      expect(ids(await store.turns.absorb(turn, 0, 20))).toEqual(["2"]);
      expect(await store.turns.absorb(turn, 1, 20, { evenAlone: true })).toEqual([]);
    },
  },
  {
    title: "absorb claims what arrived, logs it, and a repeat gives the same rows",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.checkpoint(turn, 0, { steps: [step("a")] });
      await store.inbox.accept([row("2"), row("3"), row("4")]);
      expect(ids(await store.turns.absorb(turn, 1, 2))).toEqual(["2", "3"]);
      expect(ids(await store.turns.absorb(turn, 1, 20))).toEqual(["2", "3"]);
      await expect(store.turns.absorb(turn, 7, 20)).rejects.toMatchObject({ code: "invalid" });
      clock.advance(want.leaseMs);
      const resumed = await takeTurn(store);
      expect(ids(resumed.rows)).toEqual(["1", "2", "3"]);
      expect(resumed.log).toEqual([
        step("a"),
        { kind: "absorbed", body: '["telegram:default:2","telegram:default:3"]' },
      ]);
      await store.turns.commit(resumed, resumed.id, answered);
      expect(ids((await takeTurn(store)).rows)).toEqual(["4"]);
    },
  },
  {
    title: "a checkpoint is written once per position, with its deliveries and cells or not at all",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const what = {
        steps: [step("a"), step("b")],
        deliveries: [delivery("p/0")],
        cells: [{ key: "approval:1", value: "used", expect: 0 }],
      };
      expect(await store.turns.checkpoint(turn, 0, what)).toBe(2);
      expect(await store.turns.checkpoint(turn, 0, what)).toBe(2);
      expect((await store.cells.get("approval:1"))?.value).toBe("used");
      await expect(store.turns.checkpoint(turn, 5, { steps: [step("c")] })).rejects.toMatchObject({
        code: "invalid",
      });
      const refused = {
        steps: [step("c")],
        deliveries: [delivery("p/1")],
        cells: [{ key: "approval:1", value: "again", expect: 0 }],
      };
      await expect(store.turns.checkpoint(turn, 2, refused)).rejects.toMatchObject(lost);
      expect(ids(await store.outbox.find({ limit: 5 }))).toEqual(["p/0"]);
      await store.turns.release(turn, drained);
      expect((await takeTurn(store)).log).toHaveLength(2);
    },
  },
  {
    title:
      "a checkpoint hands rows to other lanes with its steps, once, and wakes a turn that waits for their ticket",
    async run({ store }) {
      await store.inbox.accept([row("1"), row("2", { lane: lane("b") })]);
      const parked = await takeTurn(store);
      await store.turns.park(parked, { tickets: ["t"], wake: "answer", untilMs: 1e15 });
      const turn = await takeTurn(store);
      const answer = row("3", { lane: lane("a"), as: { kind: "work", ticket: "t" } });
      const what = { steps: [step("a")], rows: [row("4", { lane: lane("c") }), answer] };
      expect(await store.turns.checkpoint(turn, 0, what)).toBe(1);
      expect(await store.turns.checkpoint(turn, 0, what)).toBe(1);
      const taken = [await takeTurn(store), await takeTurn(store)];
      const woken = taken.find(({ id }) => id === parked.id);
      expect(ids(woken?.rows ?? [])).toEqual(["1", "3"]);
      expect(taken.filter(({ id }) => id !== parked.id).map(({ rows }) => ids(rows))).toEqual([["4"]]);
      expect(await store.inbox.find({ limit: 9 })).toHaveLength(4);
    },
  },
  {
    title: "a checkpoint that loses its lease accepts no rows, and one without a step is refused rows",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const rows = [row("2", { lane: lane("b") })];
      await expect(store.turns.checkpoint(turn, 0, { steps: [], rows })).rejects.toMatchObject({
        code: "invalid",
      });
      await store.turns.release(turn, drained);
      await takeTurn(store);
      await expect(store.turns.checkpoint(turn, 0, { steps: [step("a")], rows })).rejects.toMatchObject(lost);
      expect(await store.inbox.find({ lane: lane("b"), limit: 5 })).toEqual([]);
    },
  },
  {
    title: "a checkpoint of deliveries alone queues them, and its repeat queues nothing more",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      expect(await store.turns.checkpoint(turn, 0, { steps: [], deliveries: [delivery("p/0")] })).toBe(0);
      expect(await store.turns.checkpoint(turn, 0, { steps: [], deliveries: [delivery("p/0")] })).toBe(0);
      expect(await store.outbox.find({ limit: 5 })).toHaveLength(1);
    },
  },
  {
    title: "a turn is handed out whole, first as it was opened, then as it was left",
    async run({ store, clock }) {
      const acceptedAtMs = clock.now();
      await store.inbox.accept([
        row("note", { as: { kind: "context", keep: 5 }, authority: "other" }),
        row("1", { as: { kind: "work", ticket: "t0" }, subject: "s/1", version: 3 }),
        row("2"),
      ]);
      await store.sessions.reset(lane("a"));
      clock.advance(9);
      const turn = await takeTurn(store);
      const shown = (id: string, more: object = {}) => ({
        id: `telegram:default:${id}`,
        seq: expect.any(Number) as number,
        conversation: chat("a"),
        authority: "person",
        version: 0,
        acceptedAtMs,
        payload: `{"text":"${id}"}`,
        ...more,
      });
      const opened = {
        lane: lane("a"),
        token: expect.any(Number) as number,
        holder: "w1",
        id: `${lane("a")}#${turn.token}`,
        attempt: 1,
        epoch: 2,
        pool: "main",
        conversation: chat("a"),
        authority: "person",
        openedAtMs: acceptedAtMs + 9,
        rows: [shown("1", { ticket: "t0", version: 3 }), shown("2")],
        context: [shown("note", { authority: "other" })],
        log: [],
        tickets: [],
        stop: null,
      };
      expect(turn).toEqual(opened);
      await store.turns.checkpoint(turn, 0, { steps: [step("a"), { kind: "result", body: "b" }] });
      await store.turns.park(turn, { tickets: ["t1", "t2"], wake: "any", untilMs: clock.now() + 50 });
      clock.advance(3);
      await store.inbox.stop(lane("a"), { turn: "open", reason: "/stop" });
      const left = await takeTurn(store, { holder: "w2" });
      expect(left.token).toBeGreaterThan(turn.token);
      expect(left).toEqual({
        ...opened,
        holder: "w2",
        log: [step("a"), { kind: "result", body: "b" }],
        tickets: ["t1", "t2"],
        stop: "/stop",
      });
      expect(await store.turns.find(turn.id)).toEqual({
        id: turn.id,
        lane: lane("a"),
        state: "running",
        attempt: 1,
        openedAtMs: acceptedAtMs + 9,
        endedAtMs: null,
        tickets: ["t1", "t2"],
        stop: "/stop",
        log: left.log,
        entries: [],
      });
    },
  },
  {
    title: "lanes are listed whole, what is due first at the front and what has nothing to do at the end",
    async run({ store, clock }) {
      const startMs = clock.now();
      await store.inbox.accept([row("a", { lane: lane("a") })]);
      const first = await takeTurn(store);
      await store.turns.commit(first, first.id, answered);
      await store.inbox.accept([
        row("b", { lane: lane("b") }),
        row("c", { lane: lane("c"), as: { kind: "work", afterMs: 4_000 } }),
        row("c2", { lane: lane("c"), as: { kind: "work", afterMs: 4_000 } }),
        row("d", { lane: lane("d"), pool: "cron", as: { kind: "work", afterMs: 900 } }),
      ]);
      const held = await takeTurn(store, { leaseMs: 2_000 });
      const idle = {
        lane: lane("a"),
        pool: "main",
        atMs: null,
        holder: null,
        token: first.token,
        waiting: 0,
      };
      const due = (name: string, pool: string, afterMs: number, waiting: number) => {
        return { lane: lane(name), pool, atMs: startMs + afterMs, holder: null, token: 0, waiting };
      };
      const leased = { ...due("b", "main", 2_000, 0), holder: "w1", token: held.token };
      const [cron, album] = [due("d", "cron", 900, 1), due("c", "main", 4_000, 2)];
      expect(await store.turns.list(undefined, 9)).toEqual([cron, leased, album, idle]);
      expect(await store.turns.list("main", 9)).toEqual([leased, album, idle]);
      expect(await store.turns.list(undefined, 3)).toEqual([cron, leased, album]);
      expect(await store.turns.list("none", 9)).toEqual([]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 2_000 });
      await store.turns.extend(held, 7_000);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: startMs + 4_000 });
      expect((await store.turns.list("main", 9)).map(({ atMs }) => atMs)).toEqual([
        startMs + 4_000,
        startMs + 7_000,
        null,
      ]);
    },
  },
  {
    title:
      "a turn that was given back for a while is not hurried by rows, though it was parked for any before",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.park(turn, { tickets: ["t"], wake: "any", untilMs: clock.now() + 60_000 });
      await store.inbox.accept([row("2")]);
      const woken = await takeTurn(store);
      await store.turns.release(woken, { afterMs: 700, reason: "outage", refund: true });
      const answer = row("4", { subject: "ticket", as: { kind: "work", ticket: "t" } });
      await store.inbox.accept([row("3"), answer]);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: clock.now() + 700 });
    },
  },
  {
    title: "a parked turn keeps its time when the rows that wait behind it are stopped",
    async run({ store, clock }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const untilMs = clock.now() + 500;
      await store.turns.park(turn, { tickets: ["t"], wake: "answer", untilMs });
      await store.inbox.accept([row("2"), row("3")]);
      const stopped = await store.inbox.stop(lane("a"), { rows: { keepNewest: 1 }, reason: "cap" });
      expect(stopped.rows).toHaveLength(1);
      expect((await store.inbox.stop(lane("a"), { rows: "all", reason: "/stop" })).rows).toHaveLength(1);
      expect(await store.turns.take(want)).toEqual({ idle: true, nextAtMs: untilMs });
      clock.advance(500);
      expect((await takeTurn(store)).id).toBe(turn.id);
    },
  },
  {
    title: "a turn's answers join in the order in which they came, those to other tickets wait",
    async run({ store, clock }) {
      const answer = (id: string, ticket: string) =>
        row(id, { subject: `ticket:${id}`, as: { kind: "work", ticket } });
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      await store.turns.park(turn, { tickets: ["t1", "t2"], wake: "answer", untilMs: clock.now() + 60_000 });
      await store.inbox.accept([answer("2", "t2"), answer("3", "t9"), answer("4", "t1"), answer("5", "t2")]);
      const resumed = await takeTurn(store);
      expect(ids(resumed.rows)).toEqual(["1", "2", "4", "5"]);
      const joined = ["2", "4", "5"].map((id) => `telegram:default:${id}`);
      expect(resumed.log).toEqual([{ kind: "absorbed", body: JSON.stringify(joined) }]);
      expect(await store.turns.extend(resumed, 1_000)).toBe(1);
    },
  },
  {
    title: "a commit without a reason leaves none, and its rows, context and turn end at its time",
    async run({ store, clock }) {
      await store.inbox.accept([row("note", { as: { kind: "context", keep: 5 } }), row("1"), row("2")]);
      const turn = await takeTurn(store, { maxRows: 1 });
      clock.advance(40);
      const through = turn.context.at(-1)?.seq ?? 0;
      await store.turns.commit(turn, turn.id, { outcome: "silent", entries: [], contextThrough: through });
      const ended = { state: "ended", turn: turn.id, endedAtMs: clock.now() };
      expect(await store.inbox.find({ limit: 9 })).toMatchObject([
        {
          id: "telegram:default:2",
          state: "waiting",
          outcome: null,
          reason: null,
          turn: null,
          endedAtMs: null,
        },
        { id: "telegram:default:1", ...ended, outcome: "silent", reason: null },
        { id: "telegram:default:note", ...ended, outcome: "context", reason: "read by the turn" },
      ]);
      expect(await store.turns.find(turn.id)).toMatchObject({ state: "done", endedAtMs: clock.now() });
    },
  },
  {
    title: "a checkpoint that begins inside the log, or that says it absorbed, is refused and writes nothing",
    async run({ store }) {
      await store.inbox.accept([row("1")]);
      const turn = await takeTurn(store);
      const [a, b, c] = [step("a"), step("b"), step("c")];
      await store.turns.checkpoint(turn, 0, { steps: [a, b] });
      for (const [at, steps] of [
        [1, [b, c]],
        [3, [c]],
        [2, [c, { kind: "absorbed", body: "[]" }]],
      ] as const)
        await expect(
          store.turns.checkpoint(turn, at, { steps, deliveries: [delivery(`d${at}`)] }),
        ).rejects.toMatchObject({ code: "invalid" });
      await expect(
        store.turns.checkpoint(turn, 2, { steps: [], cells: [{ key: "k", value: "v" }] }),
      ).rejects.toMatchObject({ code: "invalid" });
      expect(await store.turns.checkpoint(turn, 1, { steps: [b] })).toBe(2);
      expect((await store.turns.find(turn.id))?.log).toEqual([a, b]);
      expect([await store.outbox.find({ limit: 9 }), await store.cells.list("", 9)]).toEqual([[], []]);
      expect(await store.turns.checkpoint(turn, 2, { steps: [c] })).toBe(3);
    },
  },
  {
    title: "who is refused reads why, with the lane, the turn and the numbers",
    async run({ store }) {
      const why = (asked: Promise<unknown>): Promise<string> =>
        asked.then(
          () => "done",
          ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
        );
      await store.inbox.accept([row("1"), row("b", { lane: lane("b") })]);
      const turn = await takeTurn(store);
      const other = await takeTurn(store);
      await store.turns.checkpoint(turn, 0, { steps: [step("a")] });
      const cell = { key: "k", value: "v", expect: 7 };
      const empty = { ...delivery("empty"), parts: [] };
      const absorbed = { kind: "absorbed", body: "[]" } as const;
      expect([
        await why(store.turns.checkpoint(turn, 4, { steps: [step("b")] })),
        await why(store.turns.absorb(turn, 2, 9)),
        await why(store.turns.checkpoint(turn, 1, { steps: [], cells: [cell] })),
        await why(store.turns.checkpoint(turn, 1, { steps: [absorbed] })),
        await why(store.turns.checkpoint(turn, 1, { steps: [step("b")], cells: [cell] })),
        await why(store.turns.commit(turn, other.id, answered)),
        await why(store.turns.commit(turn, turn.id, { ...answered, deliveries: [empty] })),
        await why(store.inbox.stop(lane("a"), { rows: { keepNewest: -2 }, reason: "cap" })),
      ]).toEqual([
        `invalid: the log of ${turn.id} has 1 steps: nothing can be written at position 4`,
        `invalid: the log of ${turn.id} has 1 steps: nothing can be written at position 2`,
        "invalid: a checkpoint that writes cells or rows needs a step, or its repeat could not be told apart",
        "invalid: absorbed steps are written by absorb alone",
        "conflict: the cell k is not at version 7 any more",
        `conflict: the turn ${other.id} is not open in ${lane("a")}`,
        "invalid: the delivery empty has no parts",
        "invalid: stop cannot keep -2 rows",
      ]);
      await store.turns.release(turn, drained);
      expect(await why(store.turns.extend(turn, 1))).toBe(
        `conflict: the lease ${turn.token} on ${lane("a")} is lost: its holder writes nothing more`,
      );
    },
  },
];
