// Decides whether a person or place that reached its limit hears of it again: at most once an hour, over
// restarts and processes. The first message that was refused keeps the right to the words, so that a turn
// that died before its commit still says them.
import { isProgram } from "@parley/access";
import type { LoopEnd } from "@parley/agent";
import { internalOf } from "../internal-row.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

/** Who writes again later may have forgotten why nobody answers; who goes on writing is told no oftener. */
const toldForMs = 3_600_000;

/** True when the words would come again too soon. A turn that asked a model always says how it ended. */
export async function wasToldOfLimit(
  { cells }: Pick<Services, "cells">,
  { turn, address, spending }: Pick<TurnScope, "turn" | "address" | "spending">,
  end: Pick<LoopEnd, "stop" | "entries" | "usage">,
): Promise<boolean> {
  const key = end.stop === "capped" ? spending.refusalKey() : null;
  const [first] = turn.rows;
  const hasBegun = end.entries.some(({ type }) => type === "assistant");
  if (key === null || first === undefined || hasBegun || isProgram(address)) return false;
  // Schedules, hooks and sub-agents have words of their own.
  if (turn.rows.some((row) => internalOf(row) !== null)) return false;
  const cell =
    (await cells.get(key)) ??
    (await cells.put(key, first.id, { expect: 0, ttlMs: toldForMs })) ??
    (await cells.get(key));
  return cell !== null && cell.value !== first.id;
}
