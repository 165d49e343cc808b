// Contract of what is bounded or looked through in slices, with more records than fit: each runs against one
// handle alone.
import { expect } from "vitest";
import {
  account,
  delivery,
  ids,
  row,
  type StoreCase,
  takeDeliveryBatch,
  takeTurn,
  want,
} from "../subject.ts";

export const limitCases: readonly StoreCase[] = [
  {
    title: "a count of what waits ends at a thousand, for who accepts, who holds the lane and who lists it",
    async run({ store }) {
      const many = Array.from({ length: 1_001 }, (_, n) => n);
      await store.inbox.accept([row("first")]);
      const turn = await takeTurn(store);
      const accepted = await store.inbox.accept(many.map((n) => row(`${n}`, { payload: "1" })));
      expect([0, 998, 999, 1_000].map((n) => accepted[n]?.waiting)).toEqual([1, 999, 1_000, 1_000]);
      expect(await store.turns.extend(turn, 10)).toBe(1_000);
      expect((await store.turns.list(undefined, 9)).map(({ waiting }) => waiting)).toEqual([1_000]);
      const as = { kind: "closed", outcome: "dead", reason: "x" } as const;
      await store.inbox.accept(many.map((n) => row(`dead-${n}`, { as, payload: "1" })));
      expect(await store.troubled()).toEqual({ rows: 1_000, deliveries: 0 });
      await store.inbox.dismiss(["telegram:default:dead-3", "telegram:default:dead-9"]);
      expect(await store.troubled()).toEqual({ rows: 999, deliveries: 0 });
    },
  },
  {
    title: "what is in trouble is counted up to a thousand, and so is what waits in a conversation",
    async run({ store }) {
      const many = Array.from({ length: 1_001 }, (_, n) => `${n}`);
      await store.outbox.post(many.map((id) => delivery(id)));
      const batch = await takeDeliveryBatch(store);
      expect(batch.deliveries.map(({ id }) => id)).toEqual(many.slice(0, want.maxRows));
      expect(await store.outbox.extend(batch, 1_000)).toBe(1_000);
      expect(await store.outbox.list(account, 9)).toMatchObject([{ waiting: 1_000 }]);
      for (let from = 0; from < many.length; from += 100)
        await store.outbox.record(
          batch,
          many.slice(from, from + 100).map((id) => ({ delivery: id, part: 0, to: "failed", reason: "x" })),
        );
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 1_000 });
      // A search goes through more than one slice of them, and no further than it has to.
      for (const limit of [600, 1_000, 2_000])
        expect(ids(await store.outbox.find({ state: "failed", limit }))).toEqual(
          many.toReversed().slice(0, limit),
        );
      expect(await store.outbox.drop(["0", "7"], "seen")).toBe(2);
      expect(await store.troubled()).toEqual({ rows: 0, deliveries: 999 });
    },
  },
  {
    title: "find looks through all that is stored, however much newer there is, up to its limit",
    async run({ store }) {
      const as = { kind: "closed", outcome: "refused", reason: "x" } as const;
      const needles = new Set([0, 3, 650, 1_100]);
      await store.inbox.accept(
        Array.from({ length: 1_101 }, (_, n) =>
          row(`${n}`, { as, payload: needles.has(n) ? "a needle" : "hay" }),
        ),
      );
      const found = async (limit: number) => ids(await store.inbox.find({ text: "needle", limit }));
      expect(await found(9)).toEqual(["1100", "650", "3", "0"]);
      expect([await found(4), await found(3), await found(1)]).toEqual([
        ["1100", "650", "3", "0"],
        ["1100", "650", "3"],
        ["1100"],
      ]);
    },
  },
];
