// Shows every record of the file to a judge, some at a time, so that the daemon works on meanwhile; a judge
// that may write removes or rewrites what belongs to somebody who is forgotten. Then no byte of it is left.
import type { RecordKind, Scrubbed, StoredRecord, Verdict } from "../ports/records.ts";
import { leaveNoTrace, markRewritten } from "./redact.ts";
import type { Scope } from "./scope.ts";
import { query } from "./statements.ts";

interface Place {
  readonly kind: RecordKind;
  readonly from: string;
  readonly table: string;
  readonly key: string;
  readonly id: string;
  readonly lane: string;
  readonly conversation?: string;
  readonly turn?: string;
  readonly open?: string;
  readonly texts: readonly string[];
}

type Read = { readonly [column: string]: string | number | null };

const sliceRecords = 200;
const ofDelivery = "parts p join deliveries d on d.seq = p.delivery";

/** Rows and turns last: they say whose the rest is, so that after a kill it can be done again. */
const places: readonly Place[] = [
  { kind: "event", from: "events", table: "events", key: "seq", id: "id", lane: "stream", texts: ["body"] },
  {
    kind: "part",
    from: ofDelivery,
    table: "parts",
    key: "p.rowid",
    id: "d.id",
    lane: "d.lane",
    turn: "d.cause",
    open: "d.done is null",
    texts: ["content", "receipt", "reason"],
  },
  {
    kind: "delivery",
    from: "deliveries",
    table: "deliveries",
    key: "seq",
    id: "id",
    lane: "lane",
    turn: "cause",
    open: "done is null",
    texts: [],
  },
  {
    kind: "step",
    from: "steps",
    table: "steps",
    key: "rowid",
    id: "turn",
    lane: "coalesce((select lane from turns where id = steps.turn), '')",
    turn: "turn",
    texts: ["body"],
  },
  {
    kind: "entry",
    from: "entries",
    table: "entries",
    key: "rowid",
    id: "turn",
    lane: "lane",
    turn: "turn",
    texts: ["body"],
  },
  {
    kind: "session",
    from: "sessions",
    table: "sessions",
    key: "key",
    id: "key",
    lane: "key",
    texts: ["fields"],
  },
  {
    kind: "lane",
    from: "lanes",
    table: "lanes",
    key: "kind || ' ' || lane",
    id: "lane",
    lane: "lane",
    open: "holder is not null",
    texts: [],
  },
  { kind: "cell", from: "cells", table: "cells", key: "key", id: "key", lane: "''", texts: ["value"] },
  {
    kind: "turn",
    from: "turns",
    table: "turns",
    key: "id",
    id: "id",
    lane: "lane",
    conversation: "conversation",
    open: "state <> 'done'",
    texts: [],
  },
  {
    kind: "row",
    from: "rows",
    table: "rows",
    key: "seq",
    id: "id",
    lane: "lane",
    conversation: "conversation",
    turn: "coalesce(turn, '')",
    open: "state in ('waiting', 'claimed')",
    texts: ["payload", "reason"],
  },
];

export function scrubWith({ db, tx, memory }: Scope) {
  return async (judge: (record: StoredRecord) => Verdict, write: boolean): Promise<Scrubbed> => {
    if (write) db.exec("pragma secure_delete = on");
    let removed = 0;
    let rewritten = 0;
    const changed = query(db, markRewritten);
    for (const place of places) {
      const { kind, table, key, texts } = place;
      const own = key.replace(/^p\./, "");
      const columns = [
        `${key} as k`,
        `${place.id} as id`,
        `${place.lane} as lane`,
        `${place.conversation ?? "''"} as conversation`,
        `${place.turn ?? "''"} as turn`,
        `${place.open ?? "0"} as open`,
        ...texts.map((name, at) => `${kind === "part" ? "p." : ""}${name} as t${at}`),
      ];
      const next = query<Read>(
        db,
        `select ${columns.join(", ")} from ${place.from} where ${key} > ? order by ${key} limit ${sliceRecords}`,
      );
      const remove = query(db, `delete from ${table} where ${own} = ?`);
      const put = texts.map((name) => query(db, `update ${table} set ${name} = ? where ${own} = ?`));
      const begin = ["session", "turn", "cell", "lane"].includes(kind) ? "" : -1;
      for (let from: string | number | null = begin; from !== null;) {
        const after: string | number = from;
        from = await tx.run(() => {
          memory.clear();
          const records = next.all(after);
          for (const read of records) {
            const at = read["k"] ?? "";
            const verdict = judge(recordOf(kind, texts, read));
            if (verdict === "keep") continue;
            if (verdict === "remove") removed += 1;
            else rewritten += 1;
            if (!write) continue;
            if (kind === "entry") changed.run(at);
            if (verdict === "remove") remove.run(at);
            else
              texts.forEach((name, nth) => {
                const text = verdict[name];
                if (text !== undefined) put[nth]?.run(text, at);
              });
          }
          return records.length < sliceRecords ? null : (records.at(-1)?.["k"] ?? null);
        });
      }
    }
    if (write) leaveNoTrace(db);
    return { removed, rewritten };
  };
}

function recordOf(kind: RecordKind, names: readonly string[], read: Read): StoredRecord {
  const text = (column: string): string => String(read[column] ?? "");
  return {
    kind,
    id: text("id"),
    lane: text("lane"),
    conversation: text("conversation"),
    turn: text("turn"),
    open: read["open"] === 1,
    texts: Object.fromEntries(
      names.flatMap((name, at) => {
        const value = read[`t${at}`];
        return value === null || value === undefined ? [] : [[name, String(value)]];
      }),
    ),
  };
}
