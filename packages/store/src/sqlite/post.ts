// Queues deliveries: everything that is sent has a row first. Ids are deterministic, so a repeat queues
// nothing.
import { Fault } from "@parley/protocol";
import type { NewDelivery } from "../store.ts";
import type { DeliveryRecord, DeliveryTable } from "./delivery-record.ts";
import type { LaneTable } from "./lanes.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

/** Posts inside the caller's transaction: that of `post`, checkpoint or commit. */
export type PostDeliveries = (deliveries: readonly NewDelivery[]) => void;

export function postDeliveries(
  { db, clock }: Scope,
  lanes: LaneTable,
  deliveries: DeliveryTable,
): PostDeliveries {
  const insert = query<{ readonly seq: number; readonly place: number }>(
    db,
    // Its own number, which SQLite gives in order: the usual place.
    `insert into deliveries (id, lane, pool, cause, preview, created, place) values (?, ?, ?, ?, ?, ?,
       coalesce((select max(seq) from deliveries), 0) + 1) on conflict do nothing returning seq, place`,
  );
  const setPlace = query(db, "update deliveries set place = ? where seq = ?");
  // Answers of commands, which pass replies, get places between the whole numbers.
  const headReply = query<{ readonly place: number | null }>(
    db,
    `with waiting as (select * from deliveries
       where lane = ?1 and done is null and seq <> ?2 and place = cast(place as integer))
     select max(place) as place from waiting where cause = (select cause from waiting order by place, seq limit 1)`,
  );
  const close = query(db, "update deliveries set closed = 1, dropped = 1 where seq = ?");

  /**
   * Takes the place of an open preview. One that has not begun fails here; its holder first settles one under
   * way.
   */
  const replace = (open: DeliveryRecord): number => {
    close.run(open.seq);
    deliveries.failQueued(open.seq, "superseded");
    deliveries.settle({ ...open, closed: 1, dropped: 1 });
    return open.place;
  };

  const behindHeadReply = (lane: string, seq: number): number => {
    const place = headReply.get(lane, seq)?.place ?? null;
    return place === null ? seq : place + 0.5;
  };

  const one = (delivery: NewDelivery): void => {
    const { id, lane, pool, parts, cause, closes } = delivery;
    if (parts.length === 0) throw new Fault("invalid", `the delivery ${id} has no parts`);
    const inserted = insert.get(id, lane, pool, cause, delivery.open === true ? 1 : 0, clock.now());
    if (inserted === undefined) return;
    const { seq } = inserted;
    deliveries.addParts(seq, parts);
    const preview = closes === undefined ? undefined : deliveries.get(closes);
    const replaces =
      preview !== undefined &&
      preview.lane === lane &&
      preview.preview === 1 &&
      preview.closed === 0 &&
      preview.done === null;
    const ownPlace = delivery.passes === true ? behindHeadReply(lane, seq) : seq;
    const place = replaces ? replace(preview) : ownPlace;
    if (place !== inserted.place) setPlace.run(place, seq);
    const known = lanes.open(lane, pool);
    if (known.holder === null && deliveries.hasWork(lane))
      lanes.schedule(lane, pool, known.at ?? clock.now());
  };

  return (list) => list.forEach(one);
}
