// Hands the end of a turn to the session that asked for it, in the transaction that ends the turn (I2). It
// wraps the store, so that every way in which a turn or a waiting row can end is one: answered, failed,
// stopped, buried, dropped. Nothing of a turn that only sessions asked for goes to a conversation (I6).
import { type SessionKey } from "@parley/protocol";
import type { Cells, Commit, Inbox, Lease, Row, Store, Turn, Turns } from "@parley/store";
import { answerRow, askedRow, childRow, isUnseen } from "./asked-rows.ts";
import { childIn, worksInThread, type AskedEnd } from "./child-registry.ts";
import { shownPieces, endOf, isWell, markedBefore } from "./turn-end.ts";
import { type AnswerNeeds, mostRows, handingTo, endingChild } from "./child-ending.ts";

interface AnsweringOptions extends AnswerNeeds {
  readonly turns: Turns;
  readonly inbox: Inbox;
}
const stopping = "stopping:";
/** The store keeps rows longer than this, so it still recognizes a repeated row. */
const stoppingLifeMs = 86_400_000;

/** The same store, whose turns and waiting rows answer the sessions that asked for them. */
export function answeringStore<S extends Pick<Store, "turns" | "inbox" | "sessions" | "cells">>(
  store: S,
  needs: Omit<AnswerNeeds, "sessions">,
): S & HealsStops {
  const own = { ...needs, sessions: store.sessions };
  const { healStops, ...inbox } = answeringInbox({ inbox: store.inbox, cells: store.cells, ...own });
  return { ...store, inbox, turns: answeringTurns({ turns: store.turns, inbox, ...own }), healStops };
}

interface HealsStops {
  /** Tells what a process left untold when it died between the end of waiting rows and their answers. */
  healStops(): Promise<void>;
}

function answeringTurns({ turns, ...needs }: AnsweringOptions): Turns {
  /** Turns of this process that took in another session's row on their way. */
  const joined = new Set<string>();
  const isAsked = (lease: Lease, id: string): boolean =>
    joined.has(id) ||
    childIn(lease.lane) !== null ||
    ("rows" in lease && (isUnseen(lease.lane, (lease as Turn).rows) || holdsAsks((lease as Turn).rows)));

  return {
    ...turns,
    async absorb(lease, at, maxRows, how) {
      const rows = await turns.absorb(lease, at, maxRows, how);
      if (holdsAsks(rows) && "id" in lease) joined.add((lease as Turn).id);
      return rows;
    },
    async commit(lease, id, what) {
      if (!isAsked(lease, id)) return turns.commit(lease, id, what);
      const rows = await needs.inbox.find({ turn: id, limit: mostRows });
      const session = lease.lane as SessionKey;
      const shown = worksInThread(session) ? shownPieces((await turns.find(id))?.log ?? []) : "";
      const epoch = "epoch" in lease ? (lease as Turn).epoch : undefined;
      const end = await markedBefore(endOf(what, rows, shown), { session, epoch }, needs.sessions);
      const handed = await handedOver(rows, { what, end }, session, needs);
      const committed = await turns.commit(lease, id, { ...what, ...handed.commit });
      joined.delete(id);
      if (handed.left) await needs.threads.unbind(session);
      if (handed.ends === "badly") await needs.endBelow(session);
      return committed;
    },
  };
}

function holdsAsks(rows: readonly Row[]): boolean {
  return rows.some((row) => askedRow(row) !== null);
}

/**
 * Rows that end without a turn, because they were stopped or dropped while they waited. What ends is noted
 * before, so that a death in between leaves nobody without an answer.
 */
function answeringInbox({
  inbox,
  cells,
  ...needs
}: Omit<AnsweringOptions, "turns"> & { readonly cells: Pick<Cells, "put" | "remove" | "list"> }): Inbox &
  HealsStops {
  async function tell(lane: SessionKey, ids: readonly string[], reason: string): Promise<void> {
    const end: AskedEnd = { state: "stopped", text: "", reason, tokens: 0 };
    for (const id of ids) {
      const [row] = await inbox.find({ id, limit: 1, dismissed: true });
      const ask = row === undefined || row.state !== "ended" || row.turn !== null ? null : askedRow(row);
      if (ask === null) continue;
      if (ask.internal.kind === "task") await endChild(ask.internal.id, ask.row, end, { inbox, ...needs });
      else {
        const answer = answerRow(ask, lane, end, await handingTo(ask.internal.asker, ask.row, needs));
        if (answer !== null) await inbox.accept([answer]);
      }
    }
  }

  return {
    ...inbox,
    async stop(lane, what) {
      const waiting =
        what.rows === undefined ? [] : await inbox.find({ lane, state: "waiting", limit: mostRows });
      const asked = waiting.filter((row) => askedRow(row) !== null).map(({ id }) => id);
      if (asked.length === 0) return inbox.stop(lane, what);
      const { reason } = what;
      const key = `${stopping}${needs.clock.now()}:${lane}`;
      await cells.put(key, JSON.stringify({ lane, ids: asked, reason }), { ttlMs: stoppingLifeMs });
      const stopped = await inbox.stop(lane, what);
      await tell(
        lane,
        asked.filter((id) => stopped.rows.includes(id)),
        reason,
      );
      await cells.remove(key);
      return stopped;
    },
    async healStops() {
      for (const { key, value } of await cells.list(stopping, mostRows)) {
        const { lane, ids, reason } = JSON.parse(value) as {
          readonly lane: SessionKey;
          readonly ids: readonly string[];
          readonly reason: string;
        };
        await tell(lane, ids, reason);
        // Another process may be about to end them.
        const waiting = await inbox.find({ lane, state: "waiting", limit: mostRows });
        if (!waiting.some(({ id }) => ids.includes(id))) await cells.remove(key);
      }
    },
  };
}

/** Ends a child where no commit does; it is safe to repeat. `row`: one of its own. */
export async function endChild(
  id: string,
  row: Row,
  end: AskedEnd,
  needs: Omit<AnswerNeeds, "endBelow" | "threads"> & { readonly inbox: Pick<Inbox, "accept"> },
): Promise<void> {
  const child = await needs.children.get(id);
  if (child === null || child.end !== null) return;
  const told = childRow(child, row, end, await handingTo(child.asker, row, needs));
  if (told !== null) await needs.inbox.accept([told]);
  await needs.children.end(id, end, needs.clock.now());
}

/** The rows and cells that the end of a turn writes for those who wait for it. */
async function handedOver(
  rows: readonly Row[],
  { what, end }: { readonly what: Commit; readonly end: AskedEnd },
  session: SessionKey,
  needs: AnswerNeeds & { readonly inbox: Inbox },
): Promise<{ readonly commit: Partial<Commit>; readonly ends: "badly" | "well"; readonly left: boolean }> {
  const asks = rows
    .flatMap((row) => askedRow(row) ?? [])
    .filter(({ internal }) => internal.kind === "message");
  const answers = await Promise.all(
    asks.map(async (ask) =>
      answerRow(ask, session, end, await handingTo(ask.internal.asker, ask.row, needs)),
    ),
  );
  const child = await endingChild(rows, end, session, needs);
  return {
    commit: {
      rows: [...(what.rows ?? []), ...answers.filter((row) => row !== null), ...child.rows],
      cells: [...(what.cells ?? []), ...child.cells],
      deliveries: [...(isUnseen(session, rows) ? [] : (what.deliveries ?? [])), ...child.farewells],
    },
    left: child.farewells.length > 0,
    ends: child.cells.length > 0 && !isWell(end) ? "badly" : "well",
  };
}
