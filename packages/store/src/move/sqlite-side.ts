// Reads and writes state.db as plain records, for a move. No other process may use the file meanwhile.
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import {
  isOwnCell,
  moveCell,
  nameOf,
  thing,
  type Kind,
  type MoveSide,
  type Thing,
  type Value,
} from "./records.ts";

const pageThings = 200;
type Found = { readonly [column: string]: SQLInputValue };

export function sqliteSide(path: string, nowMs: () => number): MoveSide {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec("pragma synchronous = full");
  const all = (sql: string, ...args: SQLInputValue[]): Found[] => db.prepare(sql).all(...args) as Found[];
  const run = (sql: string, ...args: SQLInputValue[]): void => void db.prepare(sql).run(...args);
  const bit = (value: unknown): true | undefined => (Number(value) === 1 ? true : undefined);
  const value = (given: SQLInputValue | undefined): Value | undefined =>
    given === undefined ? undefined : (given as Value);
  const sql = (given: Value | undefined): SQLInputValue =>
    given === undefined || given === null
      ? null
      : typeof given === "boolean"
        ? Number(given)
        : (given as SQLInputValue);

  const pick = (found: Found, names: readonly string[]): { [field: string]: Value | undefined } =>
    Object.fromEntries(names.map((name) => [name, value(found[name])]));

  const rowColumns = [
    "id",
    "seq",
    "lane",
    "pool",
    "conversation",
    "authority",
    "account",
    "subject",
    "version",
    "shown",
    "state",
    "outcome",
    "reason",
    "due",
    "ticket",
    "turn",
    "accepted",
    "ended",
    "payload",
  ];
  const turnColumns = [
    "id",
    "lane",
    "pool",
    "conversation",
    "authority",
    "epoch",
    "attempt",
    "state",
    "tickets",
    "wake",
    "stop",
    "opened",
    "ended",
    "token",
    "seq",
    "struck",
  ];
  const deliveryColumns = ["id", "seq", "lane", "pool", "cause", "place", "created", "done"];
  const partColumns = ["content", "state", "token", "started", "attempts", "resends", "receipt", "reason"];

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

  function readAll(
    kind: Kind,
    from: string | null,
  ): { readonly things: Thing[]; readonly next: string | null } {
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
              ...Object.fromEntries(
                ["preview", "closed", "split", "troubled", "dropped"].map((name) => [name, bit(each[name])]),
              ),
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
  }

  const put = (table: string, fields: { readonly [column: string]: Value | undefined }): void => {
    const names = Object.keys(fields);
    run(
      `insert or replace into ${table} (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
      ...names.map((name) => sql(fields[name])),
    );
  };
  const of = (each: Thing, names: readonly string[]): { [column: string]: Value | undefined } =>
    Object.fromEntries(names.map((name) => [name, each[name]]));

  function writeOne(kind: Kind, each: Thing): void {
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
          ...Object.fromEntries(
            ["preview", "closed", "split", "troubled", "dropped"].map((name) => [name, each[name] ?? false]),
          ),
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
  }

  return {
    name: path,
    async read(kind, from) {
      const { things, next } = readAll(kind, from);
      if (kind !== "cells") return { things, next };
      return {
        things: things.filter(
          (each) => !isOwnCell(nameOf(each["key"])) && Number(each["expires"] ?? Infinity) > nowMs(),
        ),
        next,
      };
    },
    async write(kind, things) {
      db.exec("begin immediate");
      try {
        for (const each of things) writeOne(kind, each);
        db.exec("commit");
      } catch (error) {
        db.exec("rollback");
        throw error;
      }
    },
    progress: async () =>
      (all("select value from cells where key = ?", moveCell)[0]?.["value"] as string | undefined) ?? null,
    async setProgress(text) {
      if (text === null) run("delete from cells where key = ?", moveCell);
      else
        run(
          "insert or replace into cells (key, value, version, expires) values (?, ?, 1, null)",
          moveCell,
          text,
        );
    },
    isEmpty: async () =>
      ["rows", "sessions", "deliveries", "entries"].every(
        (table) => all(`select 1 as it from ${table} limit 1`).length === 0,
      ),
    close: async () => db.close(),
  };
}
