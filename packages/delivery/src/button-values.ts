// What buttons mean. A button carries a short name alone, made from its message and its value; what it means, for whom and how long waits in a
// cell written in the same commit, so that a press after a restart finds it, and a value that nobody put there finds nothing. Telegram takes
// 64 bytes of it, Discord 100 characters.
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Address, Button, Part } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";

/** Nobody presses a button of last season. */
const lifeMs = 90 * 86_400_000;
const shortName = /^~[A-Za-z0-9_-]{22}$/;

const meantSchema = z.object({
  value: z.string(),
  /** The chat that the button is in. */
  chat: z.string().optional(),
  allowed: z.array(z.string()).optional(),
  untilMs: z.number().optional(),
  /** Parley's own button: its value is a command. Any other value is words, whatever it looks like. */
  commands: z.literal(true).optional(),
});

/** What a pressed button means, and for whom and how long. */
export type Pressed = z.infer<typeof meantSchema>;

export interface ButtonPlace {
  /** Of the delivery: two messages share no button. */
  readonly id: string;
  readonly to: Address;
  /** Only for buttons whose values Parley wrote itself. */
  readonly commands?: true;
}

/** The parts with names in place of values, and the cells to write with them. */
export function withShortValues(
  parts: readonly Part[],
  { id, to, commands }: ButtonPlace,
): { readonly parts: readonly Part[]; readonly cells: readonly CellWrite[] } {
  const cells = new Map<string, CellWrite>();
  const shorten = (value: string, { allowed, untilMs }: Pick<Button, "allowed" | "untilMs">): string => {
    const meant = JSON.stringify({ value, chat: chatOf(to), allowed, untilMs, commands });
    const name = `~${createHash("sha256")
      .update(JSON.stringify([id, meant]))
      .digest("base64url")
      .slice(0, 22)}`;
    cells.set(name, { key: cellOf(name), value: meant, ttlMs: lifeMs });
    return name;
  };
  const short = (button: Button): Button => {
    if (button.url !== undefined) return button;
    const choices = button.choices?.map(({ label, value }) => ({ label, value: shorten(value, button) }));
    return {
      ...button,
      value: shorten(button.value ?? button.label, button),
      ...(choices === undefined ? {} : { choices }),
    };
  };
  const shown = parts.map((part): Part => {
    if ((part.kind !== "text" && part.kind !== "card") || part.buttons === undefined) return part;
    return { ...part, buttons: part.buttons.map((row) => row.map(short)) };
  });
  return { parts: shown, cells: [...cells.values()] };
}

/**
 * What a button pressed in this chat means; "gone" for a name whose cell is, "foreign" for what is no button of Parley's there. What a form adds
 * stands in lines of its own under the name, and makes words of a command.
 */
export async function pressedValue(
  cells: Pick<Cells, "get">,
  value: string,
  at: Address,
): Promise<Pressed | "gone" | "foreign"> {
  const [name = "", ...added] = value.split("\n");
  if (!shortName.test(name)) return "foreign";
  const cell = await cells.get(cellOf(name));
  if (cell === null) return "gone";
  const { commands, ...meant } = meantSchema.parse(JSON.parse(cell.value));
  if (meant.chat !== undefined && meant.chat !== chatOf(at)) return "foreign";
  if (added.length > 0) return { ...meant, value: [meant.value, ...added].join("\n") };
  return commands === undefined ? meant : { ...meant, commands };
}

/** Without the thread: what a press tells of that differs from platform to platform. */
function chatOf({ channel, account, kind, peer }: Address): string {
  return JSON.stringify([channel, account, kind, peer]);
}

function cellOf(name: string): string {
  return `button:${name}`;
}
