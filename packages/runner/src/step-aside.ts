// Lets people's turns go before work that nobody waits for (I15): the steps of background turns, a turn that
// fans out to sub-agents, and one that tells their ends. Each waits only between two steps that are durable,
// so that nothing is lost meanwhile, and for a fraction of a second, so that all go on.
import type { Journal } from "@parley/agent";
import { peoplesPool } from "@parley/queue";
import { internalOf } from "./internal-row.ts";
import type { OpenTurn, TurnScope } from "./turn-scope.ts";

/** True for a turn that begins only because sub-agents ended. */
export function tellsEnds({ opening }: Pick<OpenTurn, "opening">): boolean {
  return opening.length > 0 && opening.every((row) => internalOf(row)?.kind === "child");
}

/**
 * The same journal; after the result of a background turn's call, or of one that gives work to sub-agents,
 * people go first.
 */
export function steppingAside(
  journal: Journal,
  { turn, lease, signal }: Pick<TurnScope, "turn" | "lease" | "signal">,
): Journal {
  return {
    get steps() {
      return journal.steps;
    },
    absorb: () => journal.absorb(),
    async checkpoint(steps, how = {}) {
      await journal.checkpoint(steps, how);
      const isBackground = turn.pool !== peoplesPool && steps.some(({ kind }) => kind === "result");
      const givesWork = how.effects?.some(({ rows = [] }) => rows.some(({ pool }) => pool !== peoplesPool));
      if (isBackground || givesWork === true) await lease.makeWay(signal);
    },
  };
}
