// Tells the agent, once, which of its earlier answers in this conversation never arrived. Read from the outbox itself, so that no crash
// can lose it; the session remembers up to where it was told.
import type { ConversationKey } from "@parley/protocol";
import type { DeliveryView, Outbox, Session } from "@parley/store";

export interface TroubleNotes {
  readonly notes: readonly string[];
  /** Session fields to write when the turn commits. */
  readonly patch: { readonly [field: string]: number };
}

const field = "troubleToldAtMs";
const most = 5;

export async function troubleNotes(
  outbox: Outbox,
  session: Session,
  lane: ConversationKey,
): Promise<TroubleNotes> {
  const told = session.fields[field];
  const toldAtMs = typeof told === "number" ? told : 0;
  const found = (await outbox.find({ lane, troubled: true, limit: most })).filter(
    (delivery) => delivery.createdAtMs > toldAtMs,
  );
  if (found.length === 0) return { notes: [], patch: {} };
  return {
    notes: found.toReversed().map(noteOf),
    patch: { [field]: Math.max(...found.map((delivery) => delivery.createdAtMs)) },
  };
}

function noteOf(delivery: DeliveryView): string {
  const lost = delivery.parts.filter((part) => part.state !== "sent");
  const reason = lost.find((part) => part.reason !== null)?.reason ?? "unknown reason";
  const all = lost.length === delivery.parts.length;
  return lost.some((part) => part.state === "ambiguous")
    ? `it is not known whether an earlier answer of yours arrived (${reason})`
    : `${all ? "an earlier answer of yours" : `${lost.length} of ${delivery.parts.length} messages of an earlier answer`} did not arrive: ${reason}`;
}
