// The end of a schedule: everything is drained by a plain holder, and then I2, I3, I4 and I5 must hold.
import type { SessionKey } from "@parley/protocol";
import type { Change, DeliveryView, Store } from "../../src/index.ts";
import type { TestClock } from "../clock.ts";
import { delivery, isIdle, want, wantOut } from "../subject.ts";

/** A plain holder that lets nothing wait: every turn answered, every preview closed, every part sent. */
export async function drain(store: Store, clock: TestClock): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    clock.advance(3_600_000);
    for (const pool of ["main", "cron"]) {
      for (
        let turn = await store.turns.take({ ...want, pool });
        !isIdle(turn);
        turn = await store.turns.take({ ...want, pool })
      ) {
        await store.turns.commit(turn, turn.id, {
          outcome: "answered",
          entries: [`"${turn.id}"`],
          deliveries: [delivery(`${turn.id}/end`, { lane: turn.conversation })],
        });
      }
    }
    for (const each of await store.outbox.find({ limit: 1000 })) {
      if (each.open && !each.done)
        await store.outbox.post([delivery(`${each.id}/close`, { lane: each.lane, closes: each.id })]);
    }
    for (
      let parcel = await store.outbox.take(wantOut);
      !isIdle(parcel);
      parcel = await store.outbox.take(wantOut)
    ) {
      for (const each of parcel.deliveries)
        await store.outbox.record(
          parcel,
          each.parts.flatMap((part, n) => sendNow(each.id, n, part)),
        );
      await store.outbox.release(parcel, { afterMs: 0, reason: "sent" });
    }
  }
}

function sendNow(
  id: string,
  part: number,
  { state, attempts, flagged }: DeliveryView["parts"][number],
): readonly Change[] {
  if (state !== "queued" && state !== "sending") return [];
  if (state === "sending" && flagged) return [{ delivery: id, part, to: "ambiguous", reason: "twice" }];
  return [
    { delivery: id, part, to: "sending", attempt: attempts + 1 },
    { delivery: id, part, to: "sent", receipt: "r" },
  ];
}

export async function checkDrained(store: Store, lanes: readonly SessionKey[]): Promise<void> {
  const rows = await store.inbox.find({ limit: 1000 });
  const unended = rows.filter(
    ({ state, outcome }) => state !== "context" && (state !== "ended" || outcome === null),
  );
  if (unended.length > 0) throw new Error(`I2: rows without an end: ${JSON.stringify(unended)}`);
  const perTurn = new Map<string, number>();
  for (const key of lanes) {
    const { epoch } = await store.sessions.open(key);
    for (let each = 1; each <= epoch; each += 1) {
      for (const { turn } of await store.sessions.transcript(key, { epoch: each, limit: 1000 }))
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1);
    }
  }
  const unanswered = rows.filter(
    ({ outcome, turn }) => outcome === "answered" && perTurn.get(turn ?? "") !== 1,
  );
  if (unanswered.length > 0)
    throw new Error(`I3: turns that did not commit exactly once: ${JSON.stringify(unanswered)}`);
  const deliveries = await store.outbox.find({ limit: 1000 });
  const undone = deliveries.filter(({ done }) => !done);
  if (undone.length > 0) throw new Error(`I4: deliveries that never left: ${JSON.stringify(undone)}`);
  const doubled = deliveries
    .flatMap(({ parts }) => parts)
    .filter(({ resends, flagged, attempts }) => flagged && (resends === 0 || attempts < 2));
  if (doubled.length > 0)
    throw new Error(`I5: marked as doubled without a resend: ${JSON.stringify(doubled)}`);
}
