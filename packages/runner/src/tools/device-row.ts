// Builds the row that tells a session what came of its call to a paired device. It wakes the turn that waits
// for the call, which then reads the result by its tool; after that turn it begins one of its own.
import type { NewRow, RowView } from "@parley/store";
import { internalRow } from "../internal-row.ts";

/** `began`: a row of the turn that made the call. */
export function deviceRow(
  began: Parameters<typeof internalRow>[0] & Pick<RowView, "payload">,
  call: { readonly id: string; readonly turn: string; readonly name: string },
  text: string,
  nowMs: number,
): NewRow {
  const { id, turn, name } = call;
  const internal = { kind: "device", id, turn, untrusted: `device ${name}` } as const;
  const row = internalRow(began, `device:${id}`, text, internal, nowMs);
  return { ...row, subject: `ticket:${id}`, as: { kind: "work", ticket: id } };
}
