// Where a lane stands while it is held: its parcel and the way out, one part of one delivery on it, what that part came to. What is known of a
// part and not yet journaled is `owed`: it goes into the next commit, whatever that is.
import type { Channel } from "@parley/channels";
import type { Address, Log, RenderedPart } from "@parley/protocol";
import type { LeaseHandle, WorkEnd } from "@parley/queue";
import type { Change, DeliveryView, DeliveryBatch, PartView } from "@parley/store";

export interface LanePlace {
  readonly parcel: DeliveryBatch;
  readonly held: LeaseHandle;
  readonly channel: Channel;
  readonly to: Address;
}

export interface PartPlace {
  readonly delivery: DeliveryView;
  readonly part: PartView;
  readonly index: number;
  readonly owed: readonly Change[];
  readonly split: readonly RenderedPart[] | null;
  readonly rows: readonly string[];
  /** Receipt of the part before, as JSON text. */
  readonly follows: string | null;
  /** Names the delivery and what caused it. */
  readonly log: Log;
}

/** What one part came to: go on with the next, or give the lane back. */
export type PartStep = { readonly next: true; readonly change?: Change } | { readonly release: WorkEnd };

/** Journals what became of parts; resolves once it is stored. */
export type RecordChanges = (place: LanePlace, changes: readonly Change[]) => Promise<void>;

/** An answer whose outcome is unknown is sent again only while it is fresh: nobody wants yesterday's reply twice. */
export const ambiguousFenceMs = 15 * 60_000;
/** What is unknown is looked at again after this. */
export const unknownRetryMs = 1_500;
