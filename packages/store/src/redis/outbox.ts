// The outbox on Redis: deliveries in order per conversation, one holder at a time, and only the account's
// leader where there is one.
import { Fault } from "@parley/protocol";
import type { NewDelivery, Outbox } from "../store.ts";
import { leaseOf } from "./arguments.ts";
import type { Connection } from "./connection.ts";
import { laneViews } from "./lane-views.ts";
import type { LostTakes } from "./lost-takes.ts";
import { deliveryOf, type DeliveryReply } from "./records.ts";
import { searchBy } from "./search.ts";
import { takeBy } from "./take.ts";
import {
  dropScript,
  extendDeliveryBatchScript,
  findDeliveriesScript,
  postScript,
  recordScript,
  releaseDeliveryBatchScript,
  takeDeliveryBatchScript,
} from "./verbs/outbox.ts";

type BatchReply = readonly [
  lane: string,
  token: number,
  found: string | null,
  deliveries: readonly DeliveryReply[],
];

export function redisOutbox(connection: Connection, lost: LostTakes): Outbox {
  const { call } = connection;
  return {
    async take(want) {
      const answer = await takeBy<BatchReply>(
        connection,
        takeDeliveryBatchScript,
        lost,
        want,
        ([, , found]) => found,
      );
      if (typeof answer === "number" || answer === null) return { idle: true, nextAtMs: answer };
      const [lane, token, , deliveries] = answer;
      const { holder, term } = want;
      return {
        lane,
        token,
        holder,
        term,
        deliveries: deliveries.map(deliveryOf),
      };
    },
    extend: (lease, leaseMs) => call(extendDeliveryBatchScript, { lease: leaseOf(lease), leaseMs }),
    async release(lease, { afterMs }) {
      await call(releaseDeliveryBatchScript, { lease: leaseOf(lease), afterMs });
    },
    list: laneViews(connection, "o"),
    async post(deliveries) {
      checkParts(deliveries);
      await call(postScript, { deliveries });
    },
    async record(lease, changes, release) {
      await call(recordScript, { lease: leaseOf(lease), changes, releaseAfterMs: release?.afterMs });
      return release !== undefined;
    },
    async find({ limit, ...filter }) {
      return (await searchBy<DeliveryReply>(connection, findDeliveriesScript, filter, limit)).map(deliveryOf);
    },
    drop: (ids, reason) => call(dropScript, { ids, reason }),
  };
}

/** Throws Fault("invalid") for a delivery without parts. */
export function checkParts(deliveries: readonly NewDelivery[]): void {
  const empty = deliveries.find(({ parts }) => parts.length === 0);
  if (empty !== undefined) throw new Fault("invalid", `the delivery ${empty.id} has no parts`);
}
