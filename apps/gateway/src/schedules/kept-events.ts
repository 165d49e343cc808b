// Keeps the rows of events until the next heartbeat of their agent: one cell a row, under the row's id. A row
// is accepted before its cell goes, and the store knows an id that comes again, so an event is told once.
import type { Cells, CellWrite, NewRow } from "@parley/store";

const prefix = "heartbeat-event:";
/** Of one heartbeat; more wait for the one after. */
const mostEvents = 100;

export interface KeptEvent {
  readonly key: string;
  readonly row: NewRow;
}

export function keptEvent(row: NewRow, agent: string): CellWrite {
  return { key: `${prefix}${agent}:${row.id}`, value: JSON.stringify(row) };
}

/** `ids`: only rows whose ids begin so. */
export async function keptEvents(
  cells: Pick<Cells, "list">,
  agent: string,
  ids = "",
): Promise<readonly KeptEvent[]> {
  const found = await cells.list(`${prefix}${agent}:${ids}`, mostEvents);
  return found.map(({ key, value }) => ({ key, row: JSON.parse(value) as NewRow }));
}
