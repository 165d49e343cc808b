// Values of buttons that platforms do not carry: Telegram takes 64 bytes, Discord 100 characters, and neither knows who may press and how
// long. The button then carries a short name made from all of it, which waits in a cell written in the same commit, so that a press after a
// restart finds it.
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Button, Part } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";

const carriedBytes = 64;
/** Nobody presses a button of last season. */
const lifeMs = 90 * 86_400_000;
const shortName = /^~[A-Za-z0-9_-]{22}$/;

const meantSchema = z.object({
  value: z.string(),
  allowed: z.array(z.string()).optional(),
  untilMs: z.number().optional(),
});

/** What a pressed button means, and for whom and how long. */
export type Pressed = z.infer<typeof meantSchema>;

/** The parts with values that every platform carries, and the cells to write with them. */
export function withShortValues(parts: readonly Part[]): { readonly parts: readonly Part[]; readonly cells: readonly CellWrite[] } {
  const cells = new Map<string, CellWrite>();
  const shorten = (value: string, { allowed, untilMs }: Pick<Button, "allowed" | "untilMs">): string => {
    const isFree = allowed === undefined && untilMs === undefined;
    // A value that looks like one of our names would be taken for one.
    if (isFree && Buffer.byteLength(value) <= carriedBytes && !shortName.test(value)) return value;
    const meant = JSON.stringify({ value, allowed, untilMs });
    const name = `~${createHash("sha256").update(meant).digest("base64url").slice(0, 22)}`;
    cells.set(name, { key: cellOf(name), value: meant, ttlMs: lifeMs });
    return name;
  };
  const short = (button: Button): Button => {
    if (button.url !== undefined) return button;
    const choices = button.choices?.map(({ label, value }) => ({ label, value: shorten(value, button) }));
    return { ...button, value: shorten(button.value ?? button.label, button), ...(choices === undefined ? {} : { choices }) };
  };
  const shown = parts.map((part): Part => {
    if ((part.kind !== "text" && part.kind !== "card") || part.buttons === undefined) return part;
    return { ...part, buttons: part.buttons.map((row) => row.map(short)) };
  });
  return { parts: shown, cells: [...cells.values()] };
}

/** What a pressed button means; null for a name whose cell is gone. What a form adds stands in lines of its own under the name. */
export async function pressedValue(cells: Pick<Cells, "get">, value: string): Promise<Pressed | null> {
  const [name = "", ...added] = value.split("\n");
  if (!shortName.test(name)) return { value };
  const cell = await cells.get(cellOf(name));
  if (cell === null) return null;
  const meant = meantSchema.parse(JSON.parse(cell.value));
  return { ...meant, value: [meant.value, ...added].join("\n") };
}

function cellOf(name: string): string {
  return `button:${name}`;
}
