// Assembles the story of one message from the durable records alone. No log is read, so the story is complete
// after any crash.
import type { Clock, Story, StoryTurn } from "@parley/protocol";
import type { Inbox, LaneView, Outbox, RowView, Turns } from "@parley/store";
import { internalOf, shownDelivery, shownRow } from "./record-views.ts";
import { storyWords } from "./story-words.ts";
import { turnStory } from "./turn-story.ts";

export interface StoryOptions {
  readonly inbox: Pick<Inbox, "find">;
  readonly turns: Pick<Turns, "find" | "list">;
  readonly outbox: Pick<Outbox, "find">;
  readonly clock: Clock;
}

export type TellStory = (row: RowView) => Promise<Story>;

const rowsOfTurn = 200;
/** Rows before this one that are searched for what it waited for. */
const rowsBefore = 50;
const deliveriesShown = 50;
const lanesLookedAt = 1_000;

export function storyTeller({ inbox, turns, outbox, clock }: StoryOptions): TellStory {
  async function turnOf(row: RowView): Promise<StoryTurn | null> {
    if (row.turn === null) return null;
    const [found, rows] = await Promise.all([
      turns.find(row.turn),
      inbox.find({ turn: row.turn, dismissed: true, limit: rowsOfTurn }),
    ]);
    const answered = rows.filter((each) => each.outcome !== "context").map((each) => each.id);
    return found === null ? null : turnStory(found, answered.reverse());
  }

  /** Returns the lane's turns that were open when the row came, which it waited for or joined. */
  async function turnsBefore(row: RowView): Promise<string[]> {
    const newest = await inbox.find({ lane: row.lane, dismissed: true, limit: rowsBefore });
    const open = newest.filter(
      ({ seq, turn, endedAtMs }) =>
        seq < row.seq &&
        turn !== null &&
        turn !== row.turn &&
        (endedAtMs === null || endedAtMs > row.acceptedAtMs),
    );
    return [...new Set(open.map(({ turn }) => turn ?? ""))];
  }

  /** The turn that caused a row of Parley's, and the row that tells its end to the session that asked. */
  async function linksOf(row: RowView): Promise<string[]> {
    const internal = internalOf(row);
    if (internal === null) return [];
    const caused = internal.turn === "" ? [] : [`Caused     by turn ${internal.turn}`];
    const kind = internal.kind === "task" ? "child" : internal.kind === "message" ? "answer" : null;
    if (kind === null) return caused;
    const [told] = await inbox.find({ id: `${kind}:${internal.id}`, dismissed: true, limit: 1 });
    return told === undefined ? caused : [...caused, `Told       to ${told.lane} as ${told.id}`];
  }

  return async (row) => {
    const [links, turn, waitedFor, byRow, byTurn, lanes] = await Promise.all([
      linksOf(row),
      turnOf(row),
      turnsBefore(row),
      outbox.find({ cause: row.id, limit: deliveriesShown }),
      row.turn === null ? [] : outbox.find({ cause: row.turn, limit: deliveriesShown }),
      row.state === "ended" ? [] : turns.list(row.pool, lanesLookedAt),
    ]);
    const told = {
      row: shownRow(row),
      admitted: row.outcome !== "refused",
      // A row that joined a running turn did not wait for one to open.
      waitedMs: Math.max(0, (turn?.openedAtMs ?? row.endedAtMs ?? clock.now()) - row.acceptedAtMs),
      waitedFor,
      turn,
      deliveries: [...byRow, ...byTurn].toReversed().map(shownDelivery),
      now: nowOf(row, turn, lanes.find((lane) => lane.lane === row.lane) ?? null),
    };
    const waits = told.deliveries.some(({ state }) => state === "waiting" || state === "open");
    const now = told.now ?? (waits ? "its answer is being delivered" : null);
    return { ...told, now, words: storyWords({ ...told, now }, links) };
  };
}

/** Null for a row that has ended. */
function nowOf(row: RowView, turn: StoryTurn | null, lane: LaneView | null): string | null {
  const atMs = lane?.atMs ?? null;
  const isHeld = lane !== null && lane.holder !== null;
  const later = atMs === null ? "" : `, looked at again at ${new Date(atMs).toISOString()}`;
  switch (row.state) {
    case "ended":
      return null;
    case "context":
      return "it is kept as context for the next turn of its group";
    case "waiting":
      return isHeld ? "it waits for the turn that its session runs" : `it waits for a turn${later}`;
    case "claimed":
      if (turn?.state === "parked")
        return `its turn waits for an answer (${turn.tickets.join(", ")})${later}`;
      return isHeld ? `its turn runs (boot ${lane.holder})` : `its turn was given back${later}`;
  }
}
