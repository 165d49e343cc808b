// Values of buttons that platforms do not carry: Telegram takes 64 bytes, Discord 100 characters. The button then carries a short name of
// the value, made from its content, and the value waits in a cell written in the same commit, so that a press after a restart finds it.
import { createHash } from "node:crypto";
import type { Part } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";

const carriedBytes = 64;
/** Nobody presses a button of last season. */
const lifeMs = 90 * 86_400_000;
const shortName = /^~[A-Za-z0-9_-]{22}$/;

/** The parts with values that every platform carries, and the cells to write with them. */
export function withShortValues(parts: readonly Part[]): { readonly parts: readonly Part[]; readonly cells: readonly CellWrite[] } {
  const cells = new Map<string, CellWrite>();
  const shorten = (value: string): string => {
    // A value that looks like one of our names would be taken for one.
    if (Buffer.byteLength(value) <= carriedBytes && !shortName.test(value)) return value;
    const name = `~${createHash("sha256").update(value).digest("base64url").slice(0, 22)}`;
    cells.set(name, { key: cellOf(name), value, ttlMs: lifeMs });
    return name;
  };
  const short = parts.map((part): Part => {
    if ((part.kind !== "text" && part.kind !== "card") || part.buttons === undefined) return part;
    const buttons = part.buttons.map((row) =>
      row.map((button) => (button.url === undefined ? { ...button, value: shorten(button.value ?? button.label) } : button)),
    );
    return { ...part, buttons };
  });
  return { parts: short, cells: [...cells.values()] };
}

/** What a pressed button means; null for a name whose value is gone. */
export async function fullValue(cells: Pick<Cells, "get">, value: string): Promise<string | null> {
  if (!shortName.test(value)) return value;
  return (await cells.get(cellOf(value)))?.value ?? null;
}

function cellOf(name: string): string {
  return `button:${name}`;
}
