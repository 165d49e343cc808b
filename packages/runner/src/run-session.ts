// Runs one leased lane: decides whether its turn is stopped, a suspect, a command, or talk for the agent, and
// calls the unit for it. All of them use one store and the same tools, so that one can close what another
// began.
import { Fault, isFault } from "@parley/protocol";
import { turnNames, type TurnLease, type WorkEnd } from "@parley/queue";
import type { CellWrite, Turn } from "@parley/store";
import { closeStoppedTurn } from "./close-stopped-turn.ts";
import { forkCommand } from "./transcript/fork.ts";
import { injectCommand } from "./transcript/inject.ts";
import { clearedAfterMs, isSuspect } from "./quarantine.ts";
import { runCommand, type LaneCommand } from "./run-command.ts";
import { runTurn } from "./run-turn.ts";
import { overBefore } from "./schedules/before-run.ts";
import { buriedNotice } from "./turn-notes.ts";
import { isChatCommandTurn } from "./turn-rows.ts";
import type { Services, TurnWork } from "./turn-scope.ts";

export interface SessionRunner {
  readonly run: TurnWork;
  /**
   * For errors that no retry can fix: the row that caused it ends `dead` and the person is told; other rows
   * of the turn are retried without it.
   */
  bury(turn: Turn, error: unknown): Promise<void>;
}

/** `commands`: those that keep their place in the lane. */
export function runSession(services: Services, commands: readonly LaneCommand[]): SessionRunner {
  const { turns, sessions, quarantine, clock, log } = services;
  const close = closeStoppedTurn(services);
  const command = runCommand(services, [...commands, injectCommand(clock), forkCommand(sessions)]);
  const talk = runTurn(services);

  async function bury(turn: Turn, reason: string, cells: readonly CellWrite[] = []): Promise<void> {
    await turns.commit(turn, turn.id, {
      outcome: "dead",
      reason,
      entries: [],
      deliveries: [buriedNotice(turn)],
      cells,
    });
    log.error({ ...turnNames(turn), reason }, "turn buried");
    // Nobody waits for these answers any more; what a death leaves open here, the next start ends.
    await Promise.all([
      services.questions.stop({ turn: turn.id }),
      services.approvals.stop({ turn: turn.id }),
    ]).catch((error: unknown) =>
      log.warn({ ...turnNames(turn), error }, "requests of a buried turn were not ended"),
    );
  }

  const work: TurnWork = async (turn, lease) => {
    const over = await overBefore(services, turn);
    if (over === null) return (isChatCommandTurn(turn) ? command : talk)(turn, lease);
    await turns.commit(turn, turn.id, { outcome: "superseded", reason: over, entries: [] });
    log.info({ ...turnNames(turn), reason: over }, "a scheduled run was not begun");
    return { settled: true };
  };

  /** Runs the turn and reports when the process survived a minute with it. */
  async function outlived(
    turn: Turn,
    lease: TurnLease,
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
      return await work(turn, lease);
    } finally {
      timer.cancel();
    }
  }

  async function suspected(turn: Turn, lease: TurnLease): Promise<WorkEnd> {
    const ruling = await quarantine.rule(turn);
    switch (ruling.kind) {
      case "free":
        return outlived(turn, lease);
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
          await lease.cover(0);
          // The turn runs one row at a time and nothing joins it, so that a death shows which row caused it.
          return await outlived(await turns.split(turn), lease, ruling.end);
        } finally {
          // Also after a drain or an outage: the process lived, so the turn is not proven guilty.
          await ruling
            .end()
            .catch((error: unknown) =>
              log.warn({ ...turnNames(turn), error }, "the place of a suspect could not be freed"),
            );
        }
    }
  }

  /**
   * Returns rows to the queue, each as a turn of its own, unless a step has already read them together or
   * there is only one; false then.
   */
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
    async run(turn, lease) {
      if (turn.stop !== null) return close(turn, lease);
      if (isSuspect(turn)) return suspected(turn, lease);
      return turn.attempt > 1 ? outlived(turn, lease) : work(turn, lease);
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
