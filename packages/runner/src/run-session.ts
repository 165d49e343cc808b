// One lane while it is held: decides what the leased turn is - one to close, a suspect, a command, or talk for the agent - and hands it on.
import { Fault, isFault, type Clock, type Log, parseRowPayload } from "@parley/protocol";
import { type LeaseHandle, type WorkEnd, turnNames } from "@parley/queue";
import type { CellWrite, Turn, Turns } from "@parley/store";
import { buriedNotice } from "./bury.ts";
import { clearedAfterMs, isSuspect, type Quarantine } from "./quarantine.ts";

export type TurnWork = (turn: Turn, held: LeaseHandle) => Promise<WorkEnd>;

export interface RunLaneOptions {
  readonly turns: Turns;
  readonly quarantine: Pick<Quarantine, "rule">;
  /** Ends a turn that was told to stop. */
  readonly close: TurnWork;
  readonly command: TurnWork;
  readonly agent: TurnWork;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SessionRunner {
  readonly run: TurnWork;
  /** For what no retry can heal: the row that did it ends `dead`, the person is told; others that were taken with it are tried without it. */
  bury(turn: Turn, error: unknown): Promise<void>;
}

export function runLane(options: RunLaneOptions): SessionRunner {
  const { turns, quarantine, clock, log } = options;

  async function bury(turn: Turn, reason: string, cells: readonly CellWrite[] = []): Promise<void> {
    await turns.commit(turn, turn.id, {
      outcome: "dead",
      reason,
      entries: [],
      deliveries: [buriedNotice(turn)],
      cells,
    });
    log.error({ ...turnNames(turn), reason }, "turn buried");
  }

  const work = (turn: Turn, held: LeaseHandle): Promise<WorkEnd> =>
    (isCommand(turn) ? options.command : options.agent)(turn, held);

  /** Works with somebody who remembers that the process lived for a minute with this turn. */
  async function outlived(
    turn: Turn,
    held: LeaseHandle,
    cleared: () => Promise<void> = async () => {},
  ): Promise<WorkEnd> {
    const timer = clock.after(clearedAfterMs, () => {
      turns
        .lived(turn)
        .then(cleared)
        .catch((error: unknown) =>
          log.warn({ ...turnNames(turn), error }, "could not note that the process lives with this turn"),
        );
    });
    try {
      return await work(turn, held);
    } finally {
      timer.cancel();
    }
  }

  async function suspected(turn: Turn, held: LeaseHandle): Promise<WorkEnd> {
    const ruling = await quarantine.rule(turn);
    switch (ruling.kind) {
      case "free":
        return outlived(turn, held);
      case "wait":
        return ruling.how;
      case "guilty":
        await bury(
          turn,
          "the process died in this turn, the last time while it was the only suspect that ran",
          ruling.cells,
        );
        return { settled: true };
      case "alone":
        try {
          await held.cover(0);
          // One row at a time, and none joins it, so that it is known which of them did it.
          return await outlived(await turns.split(turn), held, ruling.end);
        } finally {
          // Also after a drain or an outage: the process lived, so nothing is proven against the turn.
          await ruling
            .end()
            .catch((error: unknown) =>
              log.warn({ ...turnNames(turn), error }, "the place of a suspect could not be freed"),
            );
        }
    }
  }

  /** Rows that nobody has read together yet wait again, each for itself; false where there is one, or a step has read them all. */
  async function apart(turn: Turn, reason: string): Promise<boolean> {
    const steps = (await turns.find(turn.id))?.log ?? turn.log;
    const several = turn.rows.length > 1 || steps.some(({ kind }) => kind === "absorbed");
    if (!several || steps.some(({ kind }) => kind !== "absorbed" && kind !== "preview")) return false;
    const left = await turns.split(turn);
    await turns.release(left, { afterMs: 0, reason, refund: true });
    log.warn(
      { ...turnNames(turn), reason },
      "a turn of several messages failed by a bug, trying each by itself",
    );
    return true;
  }

  return {
    async run(turn, held) {
      if (turn.stop !== null) return options.close(turn, held);
      if (isSuspect(turn)) return suspected(turn, held);
      return turn.attempt > 1 ? outlived(turn, held) : work(turn, held);
    },
    async bury(turn, error) {
      const reason = `a bug: ${error instanceof Error ? error.message : String(error)}`;
      try {
        if (!(await apart(turn, reason))) await bury(turn, reason);
      } catch (cause) {
        if (!isFault(cause)) throw new Fault("unavailable", "could not bury a turn", { cause });
        throw cause;
      }
    },
  };
}

/** The only row is a command: nothing of it is talk for a model. */
export function isCommand(turn: Turn): boolean {
  const [row] = turn.rows;
  return turn.rows.length === 1 && row !== undefined && parseRowPayload(row.payload).command !== undefined;
}
