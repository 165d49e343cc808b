// The producer's side of the inbox on Redis: accept, stop, and the operator's view of rows.
import { Fault } from "@parley/protocol";
import type { Accepted, Inbox, Stop } from "../store.ts";
import type { Connection } from "./connection.ts";
import { type RowReply, rowViewOf } from "./records.ts";
import { searchBy } from "./search.ts";
import { acceptScript, dismissScript, findRowsScript, stopScript } from "./verbs/inbox.ts";

type AcceptReply = readonly [id: string, seq: number, verdict: Accepted["verdict"], waiting: number];

export function redisInbox(connection: Connection, boot: string): Inbox {
  const { call } = connection;
  return {
    async accept(rows) {
      const answers = await call<readonly AcceptReply[]>(acceptScript, { rows, boot });
      return answers.map(([id, seq, verdict, waiting]) => ({ id, seq, verdict, waiting }));
    },
    async stop(lane, { turn, unless, rows, outcome = "stopped", reason }) {
      checkKept(rows);
      const which = rows === "all" ? {} : rows;
      const [told, ended] = await call<readonly [string | null, readonly string[]]>(stopScript, {
        lane,
        turn,
        unless,
        rows: which,
        outcome,
        reason,
      });
      return { turn: told, rows: ended };
    },
    async find({ limit, ...filter }) {
      const found = await searchBy<RowReply>(connection, findRowsScript, filter, limit);
      // A turn's rows are listed in the order in which it claimed them.
      return found
        .map(rowViewOf)
        .toSorted((a, b) => b.seq - a.seq)
        .slice(0, limit);
    },
    dismiss: (ids) => call(dismissScript, { ids }),
  };
}

function checkKept(rows: Stop["rows"]): void {
  if (rows === undefined || rows === "all" || "ids" in rows) return;
  const keep = "keepNewest" in rows ? rows.keepNewest : rows.keepOldest;
  if (!Number.isInteger(keep) || keep < 0) throw new Fault("invalid", `stop cannot keep ${keep} rows`);
}
