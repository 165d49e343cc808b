// Records of deliveries and their parts, and how they become the contract's views.
import type { ConversationKey } from "@parley/protocol";
import type { DeliveryPart, DeliveryView, PartState, PartView } from "../store.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

export interface DeliveryRecord {
  readonly seq: number;
  readonly id: string;
  readonly lane: string;
  readonly pool: string;
  readonly cause: string;
  readonly place: number;
  readonly preview: number;
  readonly closed: number;
  readonly split: number;
  readonly created: number;
  readonly done: number | null;
  readonly dropped: number;
}

export interface PartRecord {
  readonly n: number;
  readonly content: string;
  readonly into_part: string | null;
  readonly state: PartState;
  readonly token: number;
  readonly started: number;
  readonly attempts: number;
  readonly resends: number;
  readonly flagged: number;
  readonly receipt: string | null;
  readonly reason: string | null;
}

export interface DeliveryTable {
  get(id: string): DeliveryRecord | undefined;
  /** Undone deliveries of a lane, the head first. */
  undone(lane: string, limit: number): readonly DeliveryRecord[];
  parts(seq: number): readonly PartRecord[];
  addParts(seq: number, parts: readonly DeliveryPart[]): void;
  /** Removes the parts from this one on. */
  dropParts(seq: number, from: number): void;
  view(delivery: DeliveryRecord): DeliveryView;
  /** Fails the parts that have not begun. */
  failQueued(seq: number, reason: string): void;
  /**
   * Marks the delivery done once its parts have ended. A sent preview stays undone until it is closed,
   * because it holds the head. `parts`: as they stand, where the caller knows.
   */
  settle(delivery: DeliveryRecord, parts?: readonly Pick<PartRecord, "state">[]): void;
  /** True when the head of the lane has something to send. */
  hasWork(lane: string): boolean;
}

export function isActive(part: Pick<PartRecord, "state">): boolean {
  return part.state === "queued" || part.state === "sending";
}

/**
 * A sent preview keeps the head: nothing of this conversation may come between it and the message that
 * replaces it.
 */
export function holdsHead(
  delivery: Pick<DeliveryRecord, "preview" | "closed">,
  parts: readonly Pick<PartRecord, "state">[],
): boolean {
  return delivery.preview === 1 && delivery.closed === 0 && parts.every((part) => part.state === "sent");
}

export function deliveryTable({ db, clock }: Scope): DeliveryTable {
  const select = query<DeliveryRecord>(db, "select * from deliveries where id = ?");
  const undone = query<DeliveryRecord>(
    db,
    "select * from deliveries where lane = ? and done is null order by place, seq limit ?",
  );
  const parts = query<PartRecord>(db, "select * from parts where delivery = ? order by n");
  const insertPart = query(db, "insert into parts (delivery, n, content, into_part) values (?, ?, ?, ?)");
  const dropParts = query(db, "delete from parts where delivery = ? and n >= ?");
  const failQueued = query(
    db,
    "update parts set state = 'failed', reason = ? where delivery = ? and state = 'queued'",
  );
  const finish = query(db, "update deliveries set done = ?, troubled = ? where seq = ?");
  const activeHead = query<{ readonly active: number }>(
    db,
    `select exists (select 1 from parts where delivery = deliveries.seq and state in ('queued', 'sending')) as active
     from deliveries where lane = ? and done is null order by place, seq limit 1`,
  );
  const receipt = query<{ readonly receipt: string | null }>(
    db,
    `select p.receipt from parts p join deliveries d on d.seq = p.delivery where d.id = ? and p.n = ? and p.state = 'sent'`,
  );

  const partsOf: DeliveryTable["parts"] = (seq) => parts.all(seq);
  const intoReceipt = (into: string | null): string | null => {
    if (into === null) return null;
    const slash = into.lastIndexOf("/");
    return receipt.get(into.slice(0, slash), Number(into.slice(slash + 1)))?.receipt ?? null;
  };
  const partView = (part: PartRecord): PartView => ({
    content: part.content,
    ...(part.into_part === null ? {} : { into: part.into_part }),
    state: part.state,
    token: part.token,
    startedAtMs: part.started,
    attempts: part.attempts,
    resends: part.resends,
    receipt: part.receipt,
    intoReceipt: intoReceipt(part.into_part),
    reason: part.reason,
    flagged: part.flagged === 1,
  });

  return {
    get: (id) => select.get(id),
    undone: (lane, limit) => undone.all(lane, limit),
    parts: partsOf,
    addParts(seq, list) {
      list.forEach((part, n) => insertPart.run(seq, n, part.content, part.into ?? null));
    },
    dropParts: (seq, from) => void dropParts.run(seq, from),
    view: (delivery) => ({
      id: delivery.id,
      pool: delivery.pool,
      lane: delivery.lane as ConversationKey,
      cause: delivery.cause,
      open: delivery.preview === 1 && delivery.closed === 0 && delivery.done === null,
      done: delivery.done !== null,
      createdAtMs: delivery.created,
      split: delivery.split === 1,
      parts: partsOf(delivery.seq).map(partView),
    }),
    failQueued: (seq, reason) => void failQueued.run(reason, seq),
    settle(delivery, list = partsOf(delivery.seq)) {
      if (list.some(isActive) || holdsHead(delivery, list)) return;
      const troubled = delivery.dropped === 0 && list.some((part) => part.state !== "sent");
      finish.run(clock.now(), troubled ? 1 : 0, delivery.seq);
    },
    hasWork: (lane) => activeHead.get(lane)?.active === 1,
  };
}
