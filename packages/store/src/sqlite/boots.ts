// The history of boots: tells whether the last boot ended well, and counts crash loops.
import { bootsKept } from "../limits.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

export interface Boot {
  readonly boot: string;
  readonly startedAtMs: number;
  /** Null while the boot runs, and for one that died. */
  readonly stoppedAtMs: number | null;
  /** True when it accepted a message or a turn ended in it, so its later death was not caused by starting. */
  readonly worked: boolean;
}

export interface Boots {
  /** Newest first, including the current one. */
  list(): readonly Boot[];
  start(boot: string): void;
  stop(boot: string): void;
}

/** A start reads only this many of the latest accepted rows. */
const rowsLookedAt = 1_000;

export function bootHistory({ db, clock }: Pick<Scope, "db" | "clock">): Boots {
  const list = query<{ boot: string; started: number; stopped: number | null }>(
    db,
    "select * from boots order by started desc, rowid desc limit ?",
  );
  const insert = query(db, "insert or replace into boots (boot, started) values (?, ?)");
  const stop = query(db, "update boots set stopped = ? where boot = ?");
  const trim = query(
    db,
    "delete from boots where boot not in (select boot from boots order by started desc, rowid desc limit ?)",
  );
  const newest = query<{ accepted: number }>(
    db,
    `select accepted from rows where outcome is null or outcome not in ('refused', 'dead') order by seq desc limit ${rowsLookedAt}`,
  );
  const endedTurn = query(
    db,
    "select 1 from rows where ended >= ? and ended < ? and turn is not null limit 1",
  );
  return {
    list() {
      const takenInAtMs = newest.all().map((row) => row.accepted);
      let nextStartedAtMs = Number.MAX_SAFE_INTEGER;
      return list.all(bootsKept).map(({ boot, started, stopped }) => {
        const untilMs = nextStartedAtMs;
        nextStartedAtMs = started;
        const worked =
          takenInAtMs.some((at) => at >= started && at < untilMs) ||
          endedTurn.get(started, untilMs) !== undefined;
        return { boot, startedAtMs: started, stoppedAtMs: stopped, worked };
      });
    },
    start(boot) {
      insert.run(boot, clock.now());
      trim.run(bootsKept);
    },
    stop: (boot) => void stop.run(clock.now(), boot),
  };
}
