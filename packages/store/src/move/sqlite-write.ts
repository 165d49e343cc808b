// Writes plain records into state.db, for a move. Writing a record again changes nothing.
import type { SQLInputValue } from "node:sqlite";
import { nameOf, type Kind, type Thing, type Value } from "./records.ts";
import { deliveryColumns, deliveryFlags, partColumns, rowColumns, turnColumns } from "./sqlite-columns.ts";

const sql = (given: Value | undefined): SQLInputValue =>
  given === undefined || given === null
    ? null
    : typeof given === "boolean"
      ? Number(given)
      : (given as SQLInputValue);

const of = (each: Thing, names: readonly string[]): { [column: string]: Value | undefined } =>
  Object.fromEntries(names.map((name) => [name, each[name]]));

/** `run` runs one statement. */
export function recordWriter(
  run: (sql: string, ...args: SQLInputValue[]) => void,
): (kind: Kind, each: Thing) => void {
  const put = (table: string, fields: { readonly [column: string]: Value | undefined }): void => {
    const names = Object.keys(fields);
    run(
      `insert or replace into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
      ...names.map((name) => sql(fields[name])),
    );
  };
  return (kind, each) => {
    switch (kind) {
      case "sessions":
        return put("sessions", {
          ...of(each, ["key", "epoch", "last", "created", "updated"]),
          fields: JSON.stringify(each["fields"] ?? {}),
        });
      case "entries":
        return put("entries", of(each, ["lane", "epoch", "seq", "turn", "body"]));
      case "rows":
        return put("rows", {
          ...of(each, rowColumns),
          barrier: each["barrier"] ?? false,
          dismissed: each["dismissed"] ?? false,
          strikes: each["strikes"] ?? 0,
        });
      case "turns": {
        put("turns", { ...of(each, turnColumns), alone: each["alone"] ?? false });
        const id = nameOf(each["id"]);
        run("delete from steps where turn = ?", id);
        ((each["steps"] ?? []) as readonly Thing[]).forEach((step, n) =>
          put("steps", { turn: id, n, ...of(step, ["kind", "body"]) }),
        );
        ((each["rows"] ?? []) as readonly string[]).forEach((row, n) =>
          run("update rows set claim = ? where id = ?", n, row),
        );
        return;
      }
      case "deliveries": {
        put("deliveries", {
          ...of(each, deliveryColumns),
          ...Object.fromEntries(deliveryFlags.map((name) => [name, each[name] ?? false])),
        });
        ((each["parts"] ?? []) as readonly Thing[]).forEach((part, n) =>
          put("parts", {
            delivery: each["seq"],
            n,
            ...of(part, partColumns),
            into_part: part["into"],
            flagged: part["flagged"] ?? false,
          }),
        );
        return;
      }
      case "lanes":
        return put("lanes", of(each, ["kind", "lane", "pool", "token", "turn", "at"]));
      case "cells":
        return put("cells", of(each, ["key", "value", "version", "expires"]));
      case "events":
        return put("events", of(each, ["seq", "id", "stream", "at", "body"]));
      case "counters": {
        const tables: { readonly [name: string]: string } = {
          row: "rows",
          delivery: "deliveries",
          event: "events",
        };
        const table = tables[nameOf(each["name"])];
        if (table === undefined)
          return run("update counters set n = max(n, ?) where name = ?", sql(each["n"]), sql(each["name"]));
        run("delete from sqlite_sequence where name = ?", table);
        run("insert into sqlite_sequence (name, seq) values (?, ?)", table, sql(each["n"]));
      }
    }
  };
}
