// Opens state.db as one side of a move. No other process may use the file meanwhile.
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { isOwnCell, moveCell, nameOf, type MoveSide } from "./records.ts";
import type { Found } from "./sqlite-columns.ts";
import { pageReader } from "./sqlite-read.ts";
import { recordWriter } from "./sqlite-write.ts";

export function sqliteSide(path: string, nowMs: () => number): MoveSide {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec("pragma synchronous = full");
  const all = (sql: string, ...args: SQLInputValue[]): Found[] => db.prepare(sql).all(...args) as Found[];
  const run = (sql: string, ...args: SQLInputValue[]): void => void db.prepare(sql).run(...args);
  const readPage = pageReader(all);
  const writeOne = recordWriter(run);

  return {
    name: path,
    async read(kind, from) {
      const { things, next } = readPage(kind, from);
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
