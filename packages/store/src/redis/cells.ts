// Cells on Redis: small versioned values with expiry.
import type { Cell, Cells } from "../store.ts";
import type { Connection } from "./connection.ts";
import {
  getCellScript,
  listCellsScript,
  putCellScript,
  removeCellScript,
  touchCellScript,
} from "./verbs/state.ts";

type CellReply = readonly [key: string, value: string, version: number, expires: number | null];

export function redisCells({ call }: Connection): Cells {
  return {
    async get(key) {
      const found = await call<CellReply | null>(getCellScript, { key });
      return found === null ? null : cellOf(found);
    },
    async put(key, value, { expect, ttlMs }) {
      const made = await call<CellReply | null>(putCellScript, { key, value, expect, ttlMs });
      return made === null ? null : cellOf(made);
    },
    touch: async (key, version, ttlMs) => (await call(touchCellScript, { key, version, ttlMs })) === 1,
    remove: async (key, version) => (await call(removeCellScript, { key, version })) === 1,
    list: async (prefix, limit) =>
      (await call<readonly CellReply[]>(listCellsScript, { prefix, limit })).map(cellOf),
  };
}

function cellOf([key, value, version, expires]: CellReply): Cell {
  return { key, value, version, expiresAtMs: expires ?? null };
}
