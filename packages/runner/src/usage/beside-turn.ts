// Spends for a call of a turn beside the turn's own model calls: the agent's limits are asked first, and what
// was used is written as soon as it is known, whatever becomes of the turn.
import { Fault, noUsage, type Usage } from "@parley/protocol";
import type { Model } from "@parley/models";
import type { CellWrite } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import type { Services } from "../turn-scope.ts";

export interface SpendingBeside {
  readonly model: (model: Model) => Model;
  /** `model`: which the usage counts for. */
  used(usage: Usage, model: Pick<Model, "id" | "priced">): Promise<void>;
}

/** The rows of one turn. */
const mostRows = 200;

/** Throws Fault("denied") when a limit is reached. */
export async function spendBeside<T>(
  { ledger, inbox, cells }: Pick<Services, "ledger" | "inbox" | "cells">,
  { turn, callId, session: lane, conversation }: ToolScope,
  use: (spending: SpendingBeside) => Promise<T>,
): Promise<T> {
  const rows = await inbox.find({ turn, limit: mostRows });
  const limits = ledger.forTurn({ id: `${turn} ${callId}`, lane, conversation, rows }, { beside: true });
  try {
    const verdict = await limits.mayCall(noUsage);
    if (!verdict.ok) throw new Fault("denied", verdict.reason);
    return await use({
      model: limits.sideModel,
      async used(usage, model) {
        await storeSpent(cells, () => limits.note({ entries: [], usage }, model));
        limits.committed();
      },
    });
  } finally {
    limits.close();
  }
}

/** Another process may write the same cell, so it is noted anew until it is stored. */
export async function storeSpent(
  cells: Pick<Services["cells"], "put">,
  spent: () => Promise<readonly CellWrite[]>,
): Promise<void> {
  for (let isStored = false; !isStored;) {
    isStored = true;
    for (const { key, value, ttlMs, expect } of await spent()) {
      const how = {
        ...(ttlMs === undefined ? {} : { ttlMs }),
        ...(expect === undefined ? {} : { expect }),
      };
      isStored = (await cells.put(key, value ?? "", how)) !== null;
    }
  }
}
