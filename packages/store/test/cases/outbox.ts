// Contract of the outbox: order, journal, the single resend, previews, splitting, leadership, the operator's
// list.
import { expect } from "vitest";
import type { Change, Lease, Store } from "../../src/index.ts";
import {
  account,
  chat,
  delivery,
  failedOnce,
  ids,
  isIdle,
  type StoreCase,
  takeDeliveryBatch,
  wantOut,
} from "../subject.ts";

const refused = { code: "invalid" };
const lost = { code: "conflict" };

function begin(
  id: string,
  attempt = 1,
  more: { readonly part?: number; readonly idempotent?: boolean } = {},
): Change {
  const { part = 0, ...rest } = more;
  return { delivery: id, part, to: "sending", attempt, ...rest };
}

function sent(id: string, part = 0): Change {
  return { delivery: id, part, to: "sent", receipt: `{"messageId":"${id}.${part}"}` };
}

function unsent(id: string, to: "queued" | "failed" | "ambiguous", part = 0): Change {
  return { delivery: id, part, to, reason: to };
}

async function partOf(store: Store, id: string, part = 0) {
  const [found] = await store.outbox.find({ id, limit: 1 });
  return found?.parts[part];
}

const sendWhole = (store: Store, lease: Lease, id: string): Promise<boolean> =>
  store.outbox.record(lease, [begin(id), sent(id)]);

export const outboxCases: readonly StoreCase[] = [
  {
    title: "a delivery is queued once, and handed out in the order of its conversation",
    async run({ store }) {
      await store.outbox.post([delivery("1"), delivery("2")]);
      await store.outbox.post([delivery("1", { parts: [{ content: "other" }] }), delivery("3")]);
      const parcel = await takeDeliveryBatch(store);
      expect(ids(parcel.deliveries)).toEqual(["1", "2", "3"]);
      expect(parcel.deliveries[0]).toMatchObject({
        cause: "test",
        done: false,
        open: false,
        split: false,
        pool: account,
        lane: chat("a"),
      });
      expect(parcel.deliveries[0]?.parts).toMatchObject([
        { content: "1", state: "queued", attempts: 0, resends: 0, receipt: null, flagged: false },
      ]);
      expect(isIdle(await store.outbox.take({ ...wantOut, holder: "w2" }))).toBe(true);
    },
  },
  {
    title:
      "the answer of a command waits for the whole reply at the head and for such answers before it, and for no other reply",
    async run({ store }) {
      const long = ["1", "2"].map((id) => delivery(id, { cause: "long" }));
      await store.outbox.post([...long, delivery("next", { cause: "next" })]);
      await store.outbox.post([delivery("first", { cause: "first", passes: true })]);
      await store.outbox.post([
        delivery("second", { cause: "second", passes: true }),
        delivery("last", { cause: "last" }),
      ]);
      const parcel = await takeDeliveryBatch(store);
      expect(ids(parcel.deliveries)).toEqual(["1", "2", "first", "second", "next", "last"]);
      await sendWhole(store, parcel, "1");
      await sendWhole(store, parcel, "2");
      await expect(store.outbox.record(parcel, [begin("next")])).rejects.toMatchObject(refused);
      for (const id of ["first", "second", "next"]) await sendWhole(store, parcel, id);
    },
  },
  {
    title:
      "the answer of a command does not come between a preview and the message that replaces it, and needs no reply to follow",
    async run({ store }) {
      await store.outbox.post([delivery("alone", { passes: true, lane: chat("b") })]);
      await store.outbox.post([
        delivery("preview", { cause: "turn", open: true }),
        delivery("next", { cause: "next" }),
      ]);
      await store.outbox.post([delivery("status", { cause: "status", passes: true })]);
      await store.outbox.post([delivery("answer", { cause: "turn", closes: "preview" })]);
      const parcel = await takeDeliveryBatch(store, { ...wantOut, maxRows: 9 });
      const lanes = [parcel, await takeDeliveryBatch(store, { ...wantOut, maxRows: 9, holder: "w2" })];
      const orders = Object.fromEntries(lanes.map(({ lane, deliveries }) => [lane, ids(deliveries)]));
      expect(orders).toEqual({ [chat("b")]: ["alone"], [chat("a")]: ["answer", "status", "next"] });
    },
  },
  {
    title:
      "the answer of a command follows the reply that stands first, also where that came later and took a preview's place",
    async run({ store }) {
      await store.outbox.post([
        delivery("preview", { cause: "turn", open: true }),
        delivery("next", { cause: "next" }),
      ]);
      await store.outbox.post([delivery("answer", { cause: "turn", closes: "preview" })]);
      await store.outbox.post([delivery("status", { cause: "status", passes: true })]);
      const parcel = await takeDeliveryBatch(store, { ...wantOut, maxRows: 9 });
      expect(ids(parcel.deliveries)).toEqual(["answer", "status", "next"]);
    },
  },
  {
    title: "only the head of a conversation may be sent, part after part",
    async run({ store }) {
      await store.outbox.post([
        delivery("1", { parts: [{ content: "x" }, { content: "y" }] }),
        delivery("2"),
      ]);
      const parcel = await takeDeliveryBatch(store);
      await expect(store.outbox.record(parcel, [begin("2")])).rejects.toMatchObject(refused);
      await expect(store.outbox.record(parcel, [begin("1", 1, { part: 1 })])).rejects.toMatchObject(refused);
      await expect(store.outbox.record(parcel, [begin("1", 1, { part: 2 })])).rejects.toMatchObject(refused);
      await expect(store.outbox.record(parcel, [begin("none")])).rejects.toMatchObject(refused);
      await store.outbox.record(parcel, [begin("1")]);
      await store.outbox.record(parcel, [sent("1"), begin("1", 1, { part: 1 })]);
      await store.outbox.record(parcel, [sent("1", 1), begin("2")]);
      expect(await store.outbox.find({ id: "1", limit: 1 })).toMatchObject([
        { done: true, parts: [{ state: "sent" }, { state: "sent" }] },
      ]);
      expect(await partOf(store, "2")).toMatchObject({ state: "sending", token: parcel.token, attempts: 1 });
    },
  },
  {
    title: "the last outcome gives the lane back in the same step, and a refused one keeps it",
    async run({ store }) {
      await store.outbox.post([delivery("1"), delivery("2")]);
      const parcel = await takeDeliveryBatch(store);
      const release = { afterMs: 0, reason: "delivered" };
      await expect(store.outbox.record(parcel, [sent("1")], release)).rejects.toMatchObject(refused);
      await store.outbox.record(parcel, [begin("1")]);
      await store.outbox.record(parcel, [sent("1")], release);
      await expect(store.outbox.record(parcel, [begin("2")])).rejects.toMatchObject(lost);
      const next = await takeDeliveryBatch(store);
      expect(ids(next.deliveries)).toEqual(["2"]);
      await store.outbox.record(next, [begin("2"), sent("2")], release);
      expect(isIdle(await store.outbox.take(wantOut))).toBe(true);
    },
  },
  {
    title: "a batch of changes with one refused change changes nothing",
    async run({ store }) {
      await store.outbox.post([delivery("1"), delivery("2")]);
      const parcel = await takeDeliveryBatch(store);
      await expect(store.outbox.record(parcel, [begin("1"), sent("1"), begin("2", 7)])).rejects.toMatchObject(
        refused,
      );
      expect(await partOf(store, "1")).toMatchObject({ state: "queued", attempts: 0 });
    },
  },
  {
    title: "every change may be recorded twice",
    async run({ store }) {
      await store.outbox.post([delivery("1"), delivery("2")]);
      const parcel = await takeDeliveryBatch(store);
      for (const changes of [
        [begin("1")],
        [sent("1"), begin("2")],
        [unsent("2", "queued")],
        [begin("2", 2)],
        [unsent("2", "failed")],
      ]) {
        await store.outbox.record(parcel, changes);
        await store.outbox.record(parcel, changes);
      }
      expect(await partOf(store, "2")).toMatchObject({
        state: "failed",
        attempts: 2,
        resends: 0,
        flagged: false,
      });
    },
  },
  {
    title: "what certainly was not sent is sent again without a mark",
    async run({ store }) {
      await store.outbox.post([delivery("1")]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [
        begin("1"),
        unsent("1", "queued"),
        begin("1", 2),
        unsent("1", "queued"),
      ]);
      await store.outbox.record(parcel, [begin("1", 3), sent("1")]);
      expect(await partOf(store, "1")).toMatchObject({
        state: "sent",
        attempts: 3,
        resends: 0,
        flagged: false,
      });
    },
  },
  {
    title: "after an unknown outcome a part is sent again once, flagged, and not a third time",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1")]);
      const first = await takeDeliveryBatch(store);
      await store.outbox.record(first, [begin("1")]);
      clock.advance(wantOut.leaseMs);
      const second = await takeDeliveryBatch(store, { holder: "w2" });
      expect(second.deliveries[0]?.parts[0]).toMatchObject({
        state: "sending",
        token: first.token,
        startedAtMs: clock.now() - wantOut.leaseMs,
      });
      await expect(store.outbox.record(first, [sent("1")])).rejects.toMatchObject(lost);
      await store.outbox.record(second, [begin("1", 2)]);
      expect(await partOf(store, "1")).toMatchObject({
        token: second.token,
        attempts: 2,
        resends: 1,
        flagged: true,
      });
      clock.advance(wantOut.leaseMs);
      const third = await takeDeliveryBatch(store);
      await expect(store.outbox.record(third, [begin("1", 3)])).rejects.toMatchObject(refused);
      await store.outbox.record(third, [unsent("1", "ambiguous")]);
      expect(ids(await store.outbox.find({ troubled: true, limit: 5 }))).toEqual(["1"]);
      expect(await store.outbox.take(wantOut)).toMatchObject({ idle: true });
      // What else is asked for counts as well.
      await store.outbox.post([delivery("2", { cause: "row 2" })]);
      expect(ids(await store.outbox.find({ troubled: true, cause: "row 2", limit: 5 }))).toEqual([]);
      expect(ids(await store.outbox.find({ cause: "row 2", limit: 5 }))).toEqual(["2"]);
    },
  },
  {
    title: "an idempotent part may be sent again as often as needed, without a mark",
    async run({ store }) {
      await store.outbox.post([delivery("1")]);
      const parcel = await takeDeliveryBatch(store);
      const again = (attempt: number): Change => begin("1", attempt, { idempotent: true });
      await store.outbox.record(parcel, [again(1)]);
      await store.outbox.record(parcel, [again(2)]);
      await store.outbox.record(parcel, [again(3), sent("1")]);
      expect(await partOf(store, "1")).toMatchObject({
        state: "sent",
        attempts: 3,
        resends: 2,
        flagged: false,
      });
    },
  },
  {
    title:
      "an ambiguous part of the head may be settled by reading back, or sent again while no later part has begun",
    async run({ store }) {
      await store.outbox.post([delivery("1", { parts: [{ content: "x" }, { content: "y" }] })]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [begin("1"), unsent("1", "ambiguous")]);
      await store.outbox.record(parcel, [
        begin("1", 2),
        unsent("1", "ambiguous"),
        sent("1"),
        begin("1", 1, { part: 1 }),
      ]);
      expect(await partOf(store, "1")).toMatchObject({ state: "sent", flagged: true });
      await store.outbox.post([delivery("2", { parts: [{ content: "x" }, { content: "y" }] })]);
      await store.outbox.record(parcel, [
        sent("1", 1),
        begin("2"),
        unsent("2", "ambiguous"),
        begin("2", 1, { part: 1 }),
      ]);
      await expect(store.outbox.record(parcel, [begin("2", 2)])).rejects.toMatchObject(refused);
    },
  },
  {
    title: "the rendered messages take the place of what was meant with the first sending, once",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1")]);
      const parcel = await takeDeliveryBatch(store);
      const split = [{ content: "one" }, { content: "two" }];
      const change: Change = { delivery: "1", part: 0, to: "sending", attempt: 1, split };
      await expect(store.outbox.record(parcel, [{ ...change, split: [] }])).rejects.toMatchObject(refused);
      await store.outbox.record(parcel, [change]);
      await store.outbox.record(parcel, [change]);
      clock.advance(wantOut.leaseMs);
      const next = await takeDeliveryBatch(store);
      expect(next.deliveries[0]).toMatchObject({
        split: true,
        parts: [
          { content: "one", state: "sending" },
          { content: "two", state: "queued" },
        ],
      });
      await expect(
        store.outbox.record(next, [{ ...change, attempt: 2, idempotent: true }]),
      ).rejects.toMatchObject(refused);
      await expect(store.outbox.record(next, [change])).rejects.toMatchObject(refused);
    },
  },
  {
    title: "a sent preview holds its conversation until a delivery closes it, and that one takes its place",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true })]);
      const parcel = await takeDeliveryBatch(store);
      await sendWhole(store, parcel, "preview");
      await store.outbox.post([delivery("notice")]);
      await expect(store.outbox.record(parcel, [begin("notice")])).rejects.toMatchObject(refused);
      await store.outbox.release(parcel, failedOnce);
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: null });
      expect(await store.outbox.find({ id: "preview", limit: 1 })).toMatchObject([
        { open: true, done: false },
      ]);
      await store.outbox.post([
        delivery("final", { closes: "preview", parts: [{ content: "all", into: "preview/0" }] }),
      ]);
      const next = await takeDeliveryBatch(store);
      expect(ids(next.deliveries)).toEqual(["final", "notice"]);
      expect(next.deliveries[0]?.parts[0]).toMatchObject({
        into: "preview/0",
        intoReceipt: '{"messageId":"preview.0"}',
      });
      expect(await store.outbox.find({ id: "preview", limit: 1 })).toMatchObject([
        { open: false, done: true },
      ]);
    },
  },
  {
    title: "a preview that has not begun fails as superseded and troubles nobody",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true }), delivery("notice")]);
      await store.outbox.post([
        delivery("final", { closes: "preview", parts: [{ content: "all", into: "preview/0" }] }),
      ]);
      expect(await partOf(store, "preview")).toMatchObject({ state: "failed", reason: "superseded" });
      expect(await store.outbox.find({ troubled: true, limit: 5 })).toEqual([]);
      const parcel = await takeDeliveryBatch(store);
      expect(ids(parcel.deliveries)).toEqual(["final", "notice"]);
      expect(parcel.deliveries[0]?.parts[0]?.intoReceipt).toBeNull();
    },
  },
  {
    title: "a preview under way is settled before what closes it",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true })]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [begin("preview")]);
      await store.outbox.post([delivery("notice"), delivery("final", { closes: "preview" })]);
      await expect(store.outbox.record(parcel, [begin("final")])).rejects.toMatchObject(refused);
      await store.outbox.record(parcel, [sent("preview"), begin("final"), sent("final"), begin("notice")]);
      expect(await store.outbox.find({ id: "preview", limit: 1 })).toMatchObject([{ done: true }]);
    },
  },
  {
    title: "what closes an unknown or closed preview is an ordinary delivery",
    async run({ store }) {
      await store.outbox.post([
        delivery("1"),
        delivery("2", { closes: "none" }),
        delivery("3", { closes: "1" }),
      ]);
      expect(ids((await takeDeliveryBatch(store)).deliveries)).toEqual(["1", "2", "3"]);
    },
  },
  {
    title: "a preview that failed holds nothing",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true }), delivery("notice")]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [
        begin("preview"),
        unsent("preview", "failed"),
        begin("notice"),
        sent("notice"),
      ]);
      expect(await store.outbox.find({ id: "notice", limit: 1 })).toMatchObject([{ done: true }]);
    },
  },
  {
    title: "release makes the whole conversation wait, and later deliveries with it",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1")]);
      const parcel = await takeDeliveryBatch(store);
      expect(await store.outbox.extend(parcel, 9000)).toBe(1);
      await store.outbox.release(parcel, { afterMs: 3000, reason: "429" });
      await store.outbox.post([delivery("2"), delivery("b", { lane: chat("b") })]);
      expect((await takeDeliveryBatch(store)).lane).toBe(chat("b"));
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: clock.now() + 3000 });
    },
  },
  {
    title: "where an account has a leader, any other term is refused",
    async run({ store }) {
      const first = await store.cells.put(`leader:${account}`, "node-1", { expect: 0 });
      await store.outbox.post([delivery("1")]);
      await expect(store.outbox.take(wantOut)).rejects.toMatchObject(lost);
      const parcel = await takeDeliveryBatch(store, { term: first?.version ?? -1 });
      await store.outbox.record(parcel, [begin("1")]);
      const second = await store.cells.put(`leader:${account}`, "node-2", { expect: first?.version ?? -1 });
      expect(second?.version).toBeGreaterThan(first?.version ?? Infinity);
      await expect(store.outbox.record(parcel, [sent("1")])).rejects.toMatchObject(lost);
      await expect(store.outbox.extend(parcel, 1000)).rejects.toMatchObject(lost);
      await expect(store.outbox.take({ ...wantOut, term: first?.version ?? -1 })).rejects.toMatchObject(lost);
      expect(await partOf(store, "1")).toMatchObject({ state: "sending" });
    },
  },
  {
    title: "drop fails what has not begun, leaves alone what is under way, and clears the troubled list",
    async run({ store }) {
      await store.outbox.post([
        delivery("1", { parts: [{ content: "x" }, { content: "y" }] }),
        delivery("2"),
        delivery("3"),
      ]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [begin("1")]);
      expect(await store.outbox.drop(["1", "2", "none"], "operator")).toBe(2);
      expect(await store.outbox.find({ id: "1", limit: 1 })).toMatchObject([
        { done: false, parts: [{ state: "sending" }, { state: "failed", reason: "operator" }] },
      ]);
      await store.outbox.record(parcel, [sent("1"), begin("3"), unsent("3", "failed")]);
      expect(ids(await store.outbox.find({ troubled: true, limit: 5 }))).toEqual(["3"]);
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 1 });
      expect(ids(await store.outbox.find({ receipt: '"messageId":"1.0"', limit: 5 }))).toEqual(["1"]);
      expect(await store.outbox.drop(["3"], "seen")).toBe(1);
      expect(await store.outbox.drop(["3"], "seen")).toBe(0);
      expect(await store.outbox.find({ troubled: true, limit: 5 })).toEqual([]);
    },
  },
  {
    title: "dropping a sent preview frees its conversation",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true }), delivery("2")]);
      const parcel = await takeDeliveryBatch(store);
      await sendWhole(store, parcel, "preview");
      await store.outbox.release(parcel, failedOnce);
      await store.outbox.drop(["preview"], "operator");
      expect(ids((await takeDeliveryBatch(store)).deliveries)).toEqual(["2"]);
    },
  },
  {
    title: "find filters by conversation, cause and state of a part, newest first",
    async run({ store }) {
      await store.outbox.post([
        delivery("1", { cause: "row-1" }),
        delivery("2"),
        delivery("3", { lane: chat("b") }),
      ]);
      const parcel = await takeDeliveryBatch(store);
      await store.outbox.record(parcel, [begin("1")]);
      expect(ids(await store.outbox.find({ lane: chat("a"), limit: 9 }))).toEqual(["2", "1"]);
      expect(ids(await store.outbox.find({ cause: "row-1", limit: 9 }))).toEqual(["1"]);
      expect(ids(await store.outbox.find({ state: "sending", limit: 9 }))).toEqual(["1"]);
      expect(ids(await store.outbox.find({ limit: 2 }))).toEqual(["3", "2"]);
    },
  },
  {
    title: "a delivery is shown whole at each step of its sending, to its holder and to an operator",
    async run({ store, clock }) {
      const startMs = clock.now();
      const parts = [{ content: "x" }, { content: "y", into: "p/e/0" }];
      await store.outbox.post([
        delivery("p/e", { cause: "turn#1" }),
        delivery("d", { parts, cause: "turn#2" }),
      ]);
      clock.advance(10);
      const batch = await takeDeliveryBatch(store);
      const fresh = {
        state: "queued",
        token: 0,
        startedAtMs: 0,
        attempts: 0,
        resends: 0,
        receipt: null,
        intoReceipt: null,
        reason: null,
        flagged: false,
      };
      const base = { pool: account, lane: chat("a"), open: false, createdAtMs: startMs, split: false };
      const first = {
        ...base,
        id: "p/e",
        cause: "turn#1",
        done: false,
        parts: [{ ...fresh, content: "p/e" }],
      };
      const [one, two] = [
        { ...fresh, content: "x" },
        { ...fresh, content: "y", into: "p/e/0" },
      ];
      const second = { ...base, id: "d", cause: "turn#2", done: false, parts: [one, two] };
      expect(batch.deliveries).toEqual([first, second]);
      const shown = async () => (await store.outbox.find({ id: "d", limit: 1 }))[0];
      const { token } = batch;
      await store.outbox.record(batch, [begin("p/e")]);
      expect(await shown(), "what is not sent has no receipt").toEqual(second);
      await store.outbox.record(batch, [sent("p/e"), begin("d"), unsent("d", "queued")]);
      const begun = { token, startedAtMs: startMs + 10, attempts: 1 };
      const into = '{"messageId":"p/e.0"}';
      const edited = { ...two, intoReceipt: into };
      expect(await shown()).toEqual({ ...second, parts: [{ ...one, ...begun, reason: "queued" }, edited] });
      clock.advance(10);
      await store.outbox.record(batch, [begin("d", 2)]);
      const again = { ...begun, state: "sending", startedAtMs: startMs + 20, attempts: 2 };
      expect(await shown()).toEqual({ ...second, parts: [{ ...one, ...again }, edited] });
      await store.outbox.record(batch, [unsent("d", "ambiguous")]);
      const doubt = { ...again, state: "ambiguous", reason: "ambiguous" };
      expect(await shown()).toEqual({ ...second, parts: [{ ...one, ...doubt }, edited] });
      await store.outbox.record(batch, [sent("d"), begin("d", 1, { part: 1 })]);
      const there = { ...again, state: "sent", receipt: '{"messageId":"d.0"}' };
      const sending = { ...begun, state: "sending", startedAtMs: startMs + 20 };
      expect(await shown()).toEqual({
        ...second,
        parts: [
          { ...one, ...there },
          { ...edited, ...sending },
        ],
      });
      await store.outbox.record(batch, [unsent("d", "failed", 1)]);
      const failed = { ...sending, state: "failed", reason: "failed" };
      expect(await shown()).toEqual({
        ...second,
        done: true,
        parts: [
          { ...one, ...there },
          { ...edited, ...failed },
        ],
      });
    },
  },
  {
    title: "from each state a part goes on only to what may follow it",
    async run({ store }) {
      const ways: { readonly [state: string]: readonly Change["to"][] } = {
        queued: [],
        sending: ["sending"],
        sent: ["sending", "sent"],
        failed: ["sending", "failed"],
        ambiguous: ["sending", "ambiguous"],
      };
      const to = (id: string, what: Change["to"], attempt: number): Change =>
        what === "sending" ? begin(id, attempt) : what === "sent" ? sent(id) : unsent(id, what);
      const found: string[] = [];
      for (const [state, way] of Object.entries(ways))
        for (const next of ["sending", "sent", "queued", "failed", "ambiguous"] as const) {
          const id = `${state}-${next}`;
          await store.outbox.post([
            delivery(id, { lane: chat(id), parts: [{ content: "x" }, { content: "y" }] }),
          ]);
          const batch = await takeDeliveryBatch(store);
          await store.outbox.record(
            batch,
            way.map((each) => to(id, each, 1)),
          );
          const attempts = way.length === 0 ? 0 : 1;
          const code = await store.outbox.record(batch, [to(id, next, attempts + 1)]).then(
            () => next,
            (error: { code: string }) => error.code,
          );
          expect(await partOf(store, id)).toMatchObject({ state: code === "invalid" ? state : next });
          if (code !== "invalid") found.push(`${state} ${next}`);
        }
      expect(found.toSorted()).toEqual(
        [
          "queued sending",
          "queued failed",
          "queued queued",
          "sending sending",
          "sending sent",
          "sending queued",
          "sending failed",
          "sending ambiguous",
          "sent sent",
          "failed failed",
          "ambiguous sending",
          "ambiguous sent",
          "ambiguous failed",
          "ambiguous ambiguous",
        ].toSorted(),
      );
    },
  },
  {
    title: "a sent part keeps its first receipt, and a part sent again its marks",
    async run({ store }) {
      await store.outbox.post([delivery("1", { parts: [{ content: "x" }, { content: "y" }] })]);
      const batch = await takeDeliveryBatch(store);
      await store.outbox.record(batch, [begin("1"), sent("1")]);
      const other: Change = { delivery: "1", part: 0, to: "sent", receipt: "another" };
      await expect(store.outbox.record(batch, [other])).rejects.toMatchObject(refused);
      expect(await partOf(store, "1")).toMatchObject({ receipt: '{"messageId":"1.0"}' });
      const second = { part: 1 };
      await store.outbox.record(batch, [
        begin("1", 1, second),
        begin("1", 2, second),
        unsent("1", "queued", 1),
        begin("1", 3, { part: 1, idempotent: true }),
        begin("1", 4, { part: 1, idempotent: true }),
      ]);
      expect(await partOf(store, "1", 1)).toMatchObject({ attempts: 4, resends: 2, flagged: true });
    },
  },
  {
    title: "what was rendered replaces all parts, fewer or more, with what each of them edits",
    async run({ store }) {
      const texts = (count: number) => Array.from({ length: count }, (_, n) => ({ content: `meant ${n}` }));
      await store.outbox.post([
        delivery("fewer", { lane: chat("f"), parts: texts(3) }),
        delivery("more", { lane: chat("m"), parts: texts(1) }),
      ]);
      for (const [id, split] of [
        ["fewer", [{ content: "one", into: "p/0" }]],
        ["more", [{ content: "one" }, { content: "two", into: "p/1" }, { content: "three" }]],
      ] as const) {
        const batch = await takeDeliveryBatch(store);
        await store.outbox.record(batch, [{ delivery: id, part: 0, to: "sending", attempt: 1, split }]);
        const [found] = await store.outbox.find({ id, limit: 1 });
        expect([found?.split, found?.parts.map(({ content, into }) => [content, into])]).toEqual([
          true,
          split.map((part) => [part.content, "into" in part ? part.into : undefined]),
        ]);
        const states = split.map((_part, n) => (n === 0 ? ["sending", 1] : ["queued", 0]));
        expect(found?.parts.map(({ state, attempts }) => [state, attempts])).toEqual(states);
        for (const n of split.keys())
          await store.outbox.record(batch, [...(n === 0 ? [] : [begin(id, 1, { part: n })]), sent(id, n)]);
        expect(await store.outbox.find({ id, limit: 1 })).toMatchObject([{ done: true }]);
      }
    },
  },
  {
    title: "a delivery without parts is refused with all that was queued beside it",
    async run({ store }) {
      const empty = delivery("2", { parts: [] });
      await expect(store.outbox.post([delivery("1"), empty])).rejects.toMatchObject(refused);
      expect(await store.outbox.find({ limit: 9 })).toEqual([]);
    },
  },
  {
    title: "a preview is closed once, and only in its own conversation",
    async run({ store }) {
      await store.outbox.post([delivery("preview", { open: true }), delivery("next")]);
      await store.outbox.post([
        delivery("elsewhere", { lane: chat("b"), closes: "preview" }),
        delivery("final", { closes: "preview" }),
        delivery("late", { closes: "preview" }),
      ]);
      const lanes = [await takeDeliveryBatch(store), await takeDeliveryBatch(store, { holder: "w2" })];
      expect(Object.fromEntries(lanes.map(({ lane, deliveries }) => [lane, ids(deliveries)]))).toEqual({
        [chat("a")]: ["final", "next", "late"],
        [chat("b")]: ["elsewhere"],
      });
    },
  },
  {
    title:
      "who drops the last that waits leaves the conversation idle; what waits for its time goes on waiting",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1"), delivery("2"), delivery("b", { lane: chat("b") })]);
      const batch = await takeDeliveryBatch(store);
      const atMs = async () =>
        (await store.outbox.list(account, 9)).map(({ lane, atMs }): [string, number | null] => [lane, atMs]);
      const startMs = clock.now();
      const heldUntil = [batch.lane, startMs + wantOut.leaseMs];
      expect(await store.outbox.drop(["1"], "operator")).toBe(1);
      expect(await atMs(), "its holder keeps it").toEqual([[chat("b"), startMs], heldUntil]);
      expect(await store.outbox.drop(["1"], "operator")).toBe(0);
      await store.outbox.release(batch, { afterMs: 3_000, reason: "429" });
      await store.outbox.post([delivery("3")]);
      await store.outbox.drop(["2"], "operator");
      const later = [chat("a"), startMs + 3_000];
      expect(await atMs()).toEqual([[chat("b"), startMs], later]);
      clock.advance(5);
      await store.outbox.drop(["3", "b"], "operator");
      expect(new Map(await atMs())).toEqual(new Map([chat("a"), chat("b")].map((lane) => [lane, null])));
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: null });
      const dropped = await store.outbox.find({ limit: 9 });
      expect(dropped.map(({ id, done, parts }) => [id, done, parts[0]?.state, parts[0]?.reason])).toEqual(
        ["3", "b", "2", "1"].map((id) => [id, true, "failed", "operator"]),
      );
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 0 });
    },
  },
  {
    title: "who gives a conversation back with nothing to send leaves it idle, however long it should wait",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1"), delivery("2")]);
      const batch = await takeDeliveryBatch(store);
      expect(await store.outbox.extend(batch, 500)).toBe(2);
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: clock.now() + 500 });
      await sendWhole(store, batch, "1");
      expect(await store.outbox.extend(batch, 500)).toBe(1);
      const changes = [begin("2"), unsent("2", "failed")];
      expect(await store.outbox.record(batch, changes, { afterMs: 3_000, reason: "done" })).toBe(true);
      expect(await store.outbox.take(wantOut)).toEqual({ idle: true, nextAtMs: null });
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 1 });
    },
  },
  {
    title: "a leader whose time is over still keeps others out, until a new one is written",
    async run({ store, clock }) {
      await store.outbox.post([delivery("1")]);
      const free = await takeDeliveryBatch(store, { leaseMs: 10 });
      const old = await store.cells.put(`leader:${account}`, "node-1", { ttlMs: 100 });
      const other = await store.cells.put("leader:telegram:other", "node-1", {});
      await expect(store.outbox.extend(free, 10)).rejects.toMatchObject(lost);
      await expect(store.outbox.record(free, [begin("1")])).rejects.toMatchObject(lost);
      clock.advance(200);
      expect(await store.cells.get(`leader:${account}`)).toBeNull();
      for (const term of [undefined, other?.version])
        await expect(store.outbox.take({ ...wantOut, term })).rejects.toMatchObject(lost);
      const batch = await takeDeliveryBatch(store, { term: old?.version ?? -1 });
      expect(batch.term).toBe(old?.version);
      await sendWhole(store, batch, "1");
      // Who gives it back writes nothing.
      await store.cells.put(`leader:${account}`, "node-2", {});
      await store.outbox.release(batch, failedOnce);
    },
  },
  {
    title: "find knows what all of its words say of one delivery, and not what another one adds",
    async run({ store }) {
      const two = [{ content: "x" }, { content: "y" }];
      await store.outbox.post([
        delivery("1", { cause: "c", parts: two }),
        delivery("2", { cause: "c" }),
        delivery("b", { lane: chat("b"), cause: "c" }),
      ]);
      const batch = await takeDeliveryBatch(store);
      await store.outbox.record(batch, [
        begin("1"),
        sent("1"),
        begin("1", 1, { part: 1 }),
        unsent("1", "failed", 1),
      ]);
      await store.outbox.record(batch, [begin("2"), sent("2")]);
      const found = async (filter: object) => ids(await store.outbox.find({ ...filter, limit: 9 })).join();
      expect({
        cause: await found({ cause: "c" }),
        ofLane: await found({ cause: "c", lane: chat("a") }),
        sent: await found({ state: "sent" }),
        queued: await found({ state: "queued" }),
        queuedHere: await found({ state: "queued", lane: chat("a") }),
        failedHere: await found({ state: "failed", lane: chat("a") }),
        troubled: await found({ troubled: true, lane: chat("a") }),
        troubledThere: await found({ troubled: true, lane: chat("b") }),
        receipt: await found({ receipt: '"2.0"' }),
        receiptThere: await found({ receipt: '"2.0"', lane: chat("b") }),
        id: await found({ id: "2", cause: "other" }),
      }).toEqual({
        cause: "b,2,1",
        ofLane: "2,1",
        sent: "2,1",
        queued: "b",
        queuedHere: "",
        failedHere: "1",
        troubled: "1",
        troubledThere: "",
        receipt: "2",
        receiptThere: "",
        id: "",
      });
    },
  },
  {
    title: "who may not record a change reads which part it was, what it was to become, and why not",
    async run({ store }) {
      await store.outbox.post([
        delivery("1", { parts: [{ content: "x" }, { content: "y" }, { content: "z" }] }),
        delivery("2"),
        delivery("b", { lane: chat("b") }),
      ]);
      const batch = await takeDeliveryBatch(store);
      const why = (...changes: Change[]): Promise<string> =>
        store.outbox.record(batch, changes).then(
          () => "done",
          ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
        );
      const split = (parts: readonly string[]): Change => {
        return {
          delivery: "1",
          part: 0,
          to: "sending",
          attempt: 2,
          split: parts.map((content) => ({ content })),
        };
      };
      expect([
        await why(begin("1", 2)),
        await why(begin("1", 1, { part: 1 })),
        await why(begin("1", 1, { part: 3 })),
        await why(sent("1")),
        await why(begin("2")),
        await why(begin("b")),
        await why(begin("none")),
        await why(begin("1"), unsent("1", "ambiguous"), begin("1", 2), begin("1", 3)),
        await why(begin("1"), unsent("1", "queued"), split(["a"])),
        await why(begin("1"), unsent("1", "ambiguous"), begin("1", 1, { part: 1 }), begin("1", 2)),
        await why(begin("1"), sent("1"), begin("1", 2)),
        await why(begin("1"), sent("1"), unsent("1", "failed")),
      ]).toEqual([
        "invalid: part 0 of 1 cannot become sending: 0 attempts were made, so the next is not 2",
        "invalid: part 1 of 1 cannot become sending: a part before it has not ended",
        "invalid: part 3 of 1 cannot become sending: it has 3 parts",
        "invalid: part 0 of 1 cannot become sent: a part that is queued cannot become sent",
        "invalid: part 0 of 2 cannot become sending: it is not the head of its conversation",
        `invalid: part 0 of b cannot become sending: it is not in the lane ${chat("a")}`,
        `invalid: part 0 of none cannot become sending: it is not in the lane ${chat("a")}`,
        "invalid: part 0 of 1 cannot become sending: it was sent again once already, and may show twice",
        "invalid: part 0 of 1 cannot become sending: it is split already, or has begun",
        "invalid: part 0 of 1 cannot become sending: a later part has begun",
        "invalid: part 0 of 1 cannot become sending: the part is sent",
        "invalid: part 0 of 1 cannot become failed: a part that is sent cannot become failed",
      ]);
      const leader = await store.cells.put(`leader:${account}`, "node", {});
      const term = await store.outbox.take({ ...wantOut, term: 99 }).catch((error: unknown) => String(error));
      expect(term).toContain(`the term 99 does not lead ${account}: its leader has term ${leader?.version}`);
      const none = await store.outbox.take(wantOut).catch((error: unknown) => String(error));
      expect(none).toContain(`the term (none) does not lead ${account}: its leader has term`);
    },
  },
];
