// Decides when a lane may be taken: all debounce rules in one place. A runnable lane keeps its time (I15);
// only a row that asks to wait moves it, and never past the limit.
import { longestDebounceMs } from "../limits.ts";
import type { RowRecord } from "./rows.ts";
import type { LaneRecord, LaneTable } from "./lanes.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

/** Rows whose due time is read; a paste or an album has fewer parts. */
const lookedAt = 20;

export interface DueRule {
  /** A row was added to a free lane without a turn. */
  added(lane: LaneRecord, pool: string, afterMs: number): void;
  /** Ends the turn and the lease of a lane: it is due when its waiting rows are. */
  settle(lane: Pick<LaneRecord, "lane" | "pool">): void;
  /** Waiting rows of a free lane ended; the remaining ones keep the lane's time. */
  thinned(lane: LaneRecord): void;
}

export function dueRule({ db, clock }: Scope, lanes: LaneTable): DueRule {
  const first = query<Pick<RowRecord, "accepted" | "pool" | "due">>(
    db,
    "select accepted, pool, due from rows where lane = ? and state = 'waiting' order by seq limit ?",
  );

  return {
    added(lane, pool, afterMs) {
      const now = clock.now();
      if (lane.at === null)
        return lanes.schedule(lane.lane, pool, now + Math.min(afterMs, longestDebounceMs));
      if (afterMs === 0) return lanes.schedule(lane.lane, lane.pool, lane.at);
      const head = first.get(lane.lane, 1);
      const latest = (head?.accepted ?? now) + longestDebounceMs;
      lanes.schedule(lane.lane, lane.pool, Math.max(lane.at, Math.min(now + afterMs, latest)));
    },
    settle({ lane, pool }) {
      const now = clock.now();
      const rows = first.all(lane, lookedAt);
      const [head] = rows;
      if (head === undefined) return lanes.settle(lane, pool, null);
      const due = Math.max(...rows.map((row) => row.due));
      lanes.settle(lane, head.pool, Math.max(now, Math.min(due, head.accepted + longestDebounceMs)));
    },
    thinned({ lane, pool, at }) {
      const [head] = first.all(lane, 1);
      lanes.schedule(lane, head?.pool ?? pool, head === undefined ? null : at);
    },
  };
}
