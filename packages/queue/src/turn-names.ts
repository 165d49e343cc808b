// Log fields that identify a turn: its id, lane and rows, so that one id leads from event to receipt.
import type { LogFields } from "@parley/protocol";
import type { Turn } from "@parley/store";

export function turnNames({ id, lane, rows }: Pick<Turn, "id" | "lane" | "rows">): LogFields {
  return { turn: id, lane, rows: rows.map((row) => row.id) };
}
