// Gives each button a short name and writes what the button means into a cell. The cell is in the same commit
// as the message, so a press after a restart finds it, and a forged name finds nothing. Names are short
// because Telegram takes 64 bytes of button data and Discord 100 characters.
import { createHash } from "node:crypto";
import { z } from "zod";
import type { Address, Button, Part } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";

/** Nobody presses a button that is older than a season. */
const lifeMs = 90 * 86_400_000;
const shortName = /^~[A-Za-z0-9_-]{22}$/;

const meantSchema = z.object({
  value: z.string(),
  /** The chat that the button is in. */
  chat: z.string().optional(),
  allowed: z.array(z.string()).optional(),
  untilMs: z.number().optional(),
  /**
   * True for Parley's own buttons, whose value is a command. Any other value is taken as words, whatever it
   * looks like.
   */
  commands: z.literal(true).optional(),
  /** True for a button that opens a form: the lines that a press adds are its command's arguments. */
  form: z.literal(true).optional(),
});

/** The meaning of a pressed button: its value, who may press it and until when. */
export type Pressed = Omit<z.infer<typeof meantSchema>, "form">;

export interface ButtonPlace {
  /** The delivery's id: it makes the names of two messages differ. */
  readonly id: string;
  readonly to: Address;
  /** Only for buttons whose values Parley wrote itself. */
  readonly commands?: true;
}

/** Returns the parts with names in place of values, and the cells to write with them. */
export function withShortValues(
  parts: readonly Part[],
  { id, to, commands }: ButtonPlace,
): { readonly parts: readonly Part[]; readonly cells: readonly CellWrite[] } {
  const cells = new Map<string, CellWrite>();
  const shorten = (
    value: string,
    { allowed, untilMs, form }: Pick<Button, "allowed" | "untilMs" | "form">,
  ): string => {
    const opens = form === undefined ? undefined : true;
    const meant = JSON.stringify({ value, chat: chatOf(to), allowed, untilMs, commands, form: opens });
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
 * Looks up what a button pressed in this chat means. "gone": its cell has expired. "foreign": it is no button
 * of Parley's here. Lines under the name were added by a form: they turn the command of a button that opens
 * none into words.
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
  const { commands, form, ...meant } = meantSchema.parse(JSON.parse(cell.value));
  if (meant.chat !== undefined && meant.chat !== chatOf(at)) return "foreign";
  if (added.length > 0) {
    const value = [meant.value, ...added].join("\n");
    return commands === undefined || form === undefined ? { ...meant, value } : { ...meant, value, commands };
  }
  return commands === undefined ? meant : { ...meant, commands };
}

/** Leaves out the thread, because platforms differ in what a press says about it. */
function chatOf({ channel, account, kind, peer }: Address): string {
  return JSON.stringify([channel, account, kind, peer]);
}

function cellOf(name: string): string {
  return `button:${name}`;
}
