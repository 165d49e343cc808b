// Describes the turn that asks another session, from its rows: a row that a new one inherits people, place
// and authority from, and where an answer goes. What the turn waited for itself is no cause of it.
import { Fault, parseRowPayload, type Asker } from "@parley/protocol";
import type { Inbox, RowView, Sessions } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import { hopsOf } from "../internal-row.ts";
import { isUnseen } from "./asked-rows.ts";

interface AskingTurn {
  /** A row of the turn. */
  readonly began: RowView;
  asker(reply: Asker["reply"], hops?: number): Asker;
  /** Messages between sessions, one caused by the other, that led to the turn. */
  readonly hops: number;
}

/** More rows than one turn takes. */
const mostRows = 1_000;

export async function askingTurn(
  { inbox, sessions }: { readonly inbox: Pick<Inbox, "find">; readonly sessions: Pick<Sessions, "open"> },
  { session, turn }: Pick<ToolScope, "session" | "turn">,
): Promise<AskingTurn> {
  const [rows, { epoch }] = await Promise.all([
    inbox.find({ turn, limit: mostRows }),
    sessions.open(session),
  ]);
  const [began] = rows;
  if (began === undefined)
    throw new Fault("missing", "the turn has no message any more that this could be done for");
  const causes = rows.filter((row) => parseRowPayload(row.payload).internal?.turn !== turn);
  const hops = Math.max(0, ...causes.map(hopsOf));
  const { pool } = began;
  const unseen = isUnseen(session, rows) ? { unseen: true } : {};
  return {
    began,
    hops,
    asker: (reply, after = hops) => ({ session, pool, epoch, reply, hops: after, ...unseen }),
  };
}
