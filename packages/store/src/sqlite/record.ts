// Journals changes to the head of a conversation (I4, I5). All changes are checked on a copy first, so a
// refused batch changes nothing. Changes that repeat the present state are skipped.
import { Fault } from "@parley/protocol";
import type { Change, Lease } from "../store.ts";
import {
  type DeliveryRecord,
  type DeliveryTable,
  holdsHead,
  isActive,
  type PartRecord,
} from "./delivery-record.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

/** A delivery with the changes so far. */
interface Draft {
  readonly delivery: DeliveryRecord;
  /** As they stand in the table. */
  readonly stored: readonly PartRecord[];
  readonly parts: readonly PartRecord[];
  readonly split: boolean;
  readonly changed: boolean;
}

/** Applies changes inside the caller's transaction, after the caller checked the lease. */
export type RecordChanges = (lease: Lease, changes: readonly Change[]) => void;

export function recordChanges({ db, clock }: Scope, deliveries: DeliveryTable): RecordChanges {
  const markSplit = query(db, "update deliveries set split = 1 where seq = ?");
  const write = query(
    db,
    `update parts set state = ?, token = ?, started = ?, attempts = ?, resends = ?, flagged = ?, receipt = ?, reason = ?
     where delivery = ? and n = ?`,
  );
  const put = query(
    db,
    `insert or replace into parts (delivery, n, content, into_part, state, token, started, attempts, resends, flagged, receipt, reason)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );

  const draftOf = (delivery: DeliveryRecord): Draft => {
    const parts = deliveries.parts(delivery.seq);
    return { delivery, stored: parts, parts, split: delivery.split === 1, changed: false };
  };

  const store = ({ delivery, stored, parts, split, changed }: Draft): void => {
    if (!changed) return;
    if (split && delivery.split === 0) {
      markSplit.run(delivery.seq);
      if (stored.length > parts.length) deliveries.dropParts(delivery.seq, parts.length);
      for (const p of parts) put.run(delivery.seq, p.n, p.content, p.into_part, ...stateOf(p));
    } else {
      for (const p of parts) if (p !== stored[p.n]) write.run(...stateOf(p), delivery.seq, p.n);
    }
    deliveries.settle(delivery, parts);
  };

  return (lease, changes) => {
    // A change ends at most one delivery, so only this many can become the head on the way.
    const drafts = deliveries.undone(lease.lane, changes.length + 1).map(draftOf);
    for (const change of changes) {
      const at = drafts.findIndex((draft) => draft.delivery.id === change.delivery);
      const draft = drafts[at] ?? finished(lease, change, draftOf);
      const part = draft.parts[change.part];
      if (part !== undefined && isRepeat(part, change, lease.token)) continue;
      if (at === -1 || drafts.slice(0, at).some(blocks))
        throw refused(change, "it is not the head of its conversation");
      drafts[at] = changed(draft, change, lease.token, clock.now());
    }
    drafts.forEach(store);
  };

  function finished(lease: Lease, change: Change, read: (delivery: DeliveryRecord) => Draft): Draft {
    const found = deliveries.get(change.delivery);
    if (found === undefined || found.lane !== lease.lane)
      throw refused(change, `it is not in the lane ${lease.lane}`);
    return read(found);
  }
}

/** In the order of both statements. */
function stateOf(p: PartRecord): readonly (string | number | null)[] {
  return [p.state, p.token, p.started, p.attempts, p.resends, p.flagged, p.receipt, p.reason];
}

function blocks({ delivery, parts }: Draft): boolean {
  return parts.some(isActive) || holdsHead(delivery, parts);
}

function isRepeat(part: PartRecord, change: Change, token: number): boolean {
  if (change.to === "sending") return part.attempts === change.attempt && part.token === token;
  return part.state === change.to && (change.to !== "sent" || part.receipt === change.receipt);
}

function changed(draft: Draft, change: Change, token: number, now: number): Draft {
  const parts =
    change.to === "sending" && change.split !== undefined ? splitParts(draft, change) : draft.parts;
  const part = parts[change.part];
  if (part === undefined) throw refused(change, `it has ${parts.length} parts`);
  if (parts.slice(0, change.part).some(isActive)) throw refused(change, "a part before it has not ended");
  const next = change.to === "sending" ? begun(parts, part, change, token, now) : ended(part, change);
  return {
    ...draft,
    parts: parts.map((known) => (known.n === part.n ? next : known)),
    split: draft.split || parts !== draft.parts,
    changed: true,
  };
}

type Sending = Extract<Change, { to: "sending" }>;

function splitParts(draft: Draft, change: Sending): readonly PartRecord[] {
  const split = change.split ?? [];
  if (draft.split || draft.parts.some((part) => part.attempts > 0 || part.state !== "queued")) {
    throw refused(change, "it is split already, or has begun");
  }
  return split.map(({ content, into }, n) => ({
    n,
    content,
    into_part: into ?? null,
    state: "queued",
    token: 0,
    started: 0,
    attempts: 0,
    resends: 0,
    flagged: 0,
    receipt: null,
    reason: null,
  }));
}

function begun(
  parts: readonly PartRecord[],
  part: PartRecord,
  change: Sending,
  token: number,
  now: number,
): PartRecord {
  if (change.attempt !== part.attempts + 1)
    throw refused(change, `${part.attempts} attempts were made, so the next is not ${change.attempt}`);
  if (part.state === "sent" || part.state === "failed") throw refused(change, `the part is ${part.state}`);
  const isResend = part.state !== "queued";
  if (isResend && parts.slice(change.part + 1).some((later) => later.attempts > 0))
    throw refused(change, "a later part has begun");
  const risksDouble = isResend && change.idempotent !== true;
  if (risksDouble && part.flagged === 1)
    throw refused(change, "it was sent again once already, and may show twice");
  return {
    ...part,
    state: "sending",
    token,
    started: now,
    attempts: change.attempt,
    resends: part.resends + (isResend ? 1 : 0),
    flagged: risksDouble ? 1 : part.flagged,
    reason: null,
  };
}

const from: { readonly [to in Exclude<Change["to"], "sending">]: readonly PartRecord["state"][] } = {
  // Reading our own messages back may settle an unknown outcome as sent or failed.
  sent: ["sending", "ambiguous"],
  failed: ["queued", "sending", "ambiguous"],
  ambiguous: ["sending"],
  queued: ["sending"],
};

function ended(part: PartRecord, change: Exclude<Change, Sending>): PartRecord {
  if (!from[change.to].includes(part.state))
    throw refused(change, `a part that is ${part.state} cannot become ${change.to}`);
  if (change.to === "sent") return { ...part, state: "sent", receipt: change.receipt, reason: null };
  return { ...part, state: change.to, reason: change.reason };
}

function refused({ delivery, part, to }: Change, why: string): Fault {
  return new Fault("invalid", `part ${part} of ${delivery} cannot become ${to}: ${why}`);
}
