// Reads the records of state.db as plain records, page by page, for a move.
import type { SQLInputValue } from "node:sqlite";
import { nameOf, thing, type Kind, type Thing, type Value } from "./records.ts";
import {
  deliveryColumns,
  deliveryFlags,
  partColumns,
  rowColumns,
  turnColumns,
  type Found,
} from "./sqlite-columns.ts";

const pageThings = 200;

interface Page {
  readonly things: readonly Thing[];
  readonly next: string | null;
}

const bit = (value: unknown): true | undefined => (Number(value) === 1 ? true : undefined);
const value = (given: SQLInputValue | undefined): Value | undefined =>
  given === undefined ? undefined : (given as Value);
const pick = (found: Found, names: readonly string[]): { [field: string]: Value | undefined } =>
  Object.fromEntries(names.map((name) => [name, value(found[name])]));

/** `all` runs a query and returns its records. */
export function pageReader(
  all: (sql: string, ...args: SQLInputValue[]) => readonly Found[],
): (kind: Kind, from: string | null) => Page {
  /** The number of entries that a commit added, up to the most that are shown. */
  const added = ({ lane, epoch, seq, id }: Found): Value | undefined =>
    value(
      all(
        "select count(*) as n from entries where lane = ? and epoch = ? and seq <= ? and seq > ? - 1000 and turn = ?",
        lane ?? null,
        epoch ?? null,
        seq ?? null,
        seq ?? null,
        id ?? null,
      )[0]?.["n"],
    );

  return (kind, from) => {
    const paged = (found: readonly Found[], at: (last: Found) => string, make: (each: Found) => Thing) => ({
      things: found.map(make),
      next: found.length < pageThings ? null : at(found.at(-1) as Found),
    });
    const after = from ?? "";
    switch (kind) {
      case "sessions":
        return paged(
          all("select * from sessions where key > ? order by key limit ?", after, pageThings),
          ({ key }) => nameOf(key),
          (each) =>
            thing({
              ...pick(each, ["key", "epoch", "last", "created", "updated"]),
              fields: JSON.parse(nameOf(each["fields"])) as Value,
            }),
        );
      case "entries":
        return paged(
          all(
            "select rowid as at, * from entries where rowid > ? order by rowid limit ?",
            Number(from ?? 0),
            pageThings,
          ),
          ({ at }) => nameOf(at),
          (each) => thing(pick(each, ["lane", "epoch", "seq", "turn", "body"])),
        );
      case "rows":
        return paged(
          all("select * from rows where seq > ? order by seq limit ?", Number(from ?? 0), pageThings),
          ({ seq }) => nameOf(seq),
          (each) =>
            thing({
              ...pick(each, rowColumns),
              barrier: bit(each["barrier"]),
              dismissed: bit(each["dismissed"]),
              strikes: each["strikes"] === 0 ? undefined : value(each["strikes"]),
            }),
        );
      case "turns":
        return paged(
          all("select * from turns where id > ? order by id limit ?", after, pageThings),
          ({ id }) => nameOf(id),
          (each) => {
            const id = nameOf(each["id"]);
            const open = each["state"] !== "done";
            return thing({
              ...pick(each, turnColumns),
              added: open ? undefined : added(each),
              alone: bit(each["alone"]),
              rows: open
                ? all("select id from rows where turn = ? and claim is not null order by claim", id).map(
                    (row) => nameOf(row["id"]),
                  )
                : undefined,
              steps: open
                ? all("select kind, body from steps where turn = ? order by n", id).map((step) =>
                    thing(pick(step, ["kind", "body"])),
                  )
                : undefined,
            });
          },
        );
      case "deliveries":
        return paged(
          all("select * from deliveries where seq > ? order by seq limit ?", Number(from ?? 0), pageThings),
          ({ seq }) => nameOf(seq),
          (each) =>
            thing({
              ...pick(each, deliveryColumns),
              ...Object.fromEntries(deliveryFlags.map((name) => [name, bit(each[name])])),
              parts: all("select * from parts where delivery = ? order by n", Number(each["seq"])).map(
                (part) =>
                  thing({
                    ...pick(part, partColumns),
                    into: value(part["into_part"]),
                    flagged: bit(part["flagged"]),
                  }),
              ),
            }),
        );
      case "lanes":
        return {
          things: all("select * from lanes").map((each) =>
            thing({
              ...pick(each, ["kind", "lane", "pool", "token", "turn"]),
              at: each["holder"] === null ? value(each["at"]) : 0,
            }),
          ),
          next: null,
        };
      case "cells":
        return paged(
          all("select * from cells where key > ? order by key limit ?", after, pageThings),
          ({ key }) => nameOf(key),
          (each) => thing(pick(each, ["key", "value", "version", "expires"])),
        );
      case "events":
        return paged(
          all("select * from events where seq > ? order by seq limit ?", Number(from ?? 0), pageThings),
          ({ seq }) => nameOf(seq),
          (each) => thing(pick(each, ["seq", "id", "stream", "at", "body"])),
        );
      case "counters": {
        const tables = { row: "rows", delivery: "deliveries", event: "events" };
        const counted = Object.entries(tables).map(([name, table]) =>
          thing({
            name,
            n: Number(all("select seq from sqlite_sequence where name = ?", table)[0]?.["seq"] ?? 0),
          }),
        );
        return {
          things: [
            ...counted,
            thing({
              name: "cell",
              n: Number(all("select n from counters where name = 'cell'")[0]?.["n"] ?? 0),
            }),
          ],
          next: null,
        };
      }
    }
  };
}
