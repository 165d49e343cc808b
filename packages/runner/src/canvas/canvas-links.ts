// Lets people look at a canvas from outside: a link holds a code that works once and is traded for a token
// that the viewer keeps. A link is made for one person in one private conversation, and what is pressed in
// the page is a message of that person there. A link that was shown to several people shows, and sends
// nothing.
import { createHash } from "node:crypto";
import { parseConversationKey, type ConversationKey, type Ids } from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";
import { z } from "zod";

const codeSchema = z.object({ id: z.string(), to: z.string().nullable() });
const viewSchema = codeSchema.extend({ ticket: z.string() });

export interface CanvasView {
  /** The canvas's. */
  readonly id: string;
  /** The private conversation that presses are messages of; null for a link that only shows. */
  readonly to: ConversationKey | null;
  /** Opens the page itself and nothing else, since the page can read its own address. */
  readonly ticket: string;
}

const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789";
/** 32 of 54 letters: 184 bits. */
const codeChars = 32;
const codeLifeMs = 86_400_000;
const viewLifeMs = 7 * 86_400_000;

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");

/**
 * What stands behind the gateway's address in a link, and the write that makes it work. `conversation`: where
 * the link is sent; null for one that only shows.
 */
export function canvasLink(
  ids: Pick<Ids, "code">,
  id: string,
  conversation: ConversationKey | null,
): { readonly path: string; readonly cell: CellWrite } {
  const code = ids.code(alphabet, codeChars);
  const to = conversation !== null && parseConversationKey(conversation).kind === "dm" ? conversation : null;
  return {
    path: `canvas.html#${code}`,
    cell: { key: `canvas-code:${digest(code)}`, value: JSON.stringify({ id, to }), ttlMs: codeLifeMs },
  };
}

/** Trades a code for a token, once; null for a code that is unknown, used or too old. */
export async function openCanvasLink(
  cells: Pick<Cells, "get" | "put" | "remove">,
  ids: Pick<Ids, "code">,
  code: string,
): Promise<(CanvasView & { readonly token: string }) | null> {
  const key = `canvas-code:${digest(code)}`;
  const cell = await cells.get(key);
  if (cell === null) return null;
  const { id, to } = codeSchema.parse(JSON.parse(cell.value));
  const [token, ticket] = [ids.code(alphabet, codeChars), ids.code(alphabet, codeChars)];
  const life = { ttlMs: viewLifeMs };
  // The view first: a crash in between leaves a code that still works.
  await cells.put(`canvas-view:${digest(token)}`, JSON.stringify({ id, to, ticket }), life);
  await cells.put(`canvas-ticket:${digest(ticket)}`, id, life);
  if (await cells.remove(key, cell.version)) return { id, to: to as ConversationKey | null, ticket, token };
  await cells.remove(`canvas-view:${digest(token)}`);
  await cells.remove(`canvas-ticket:${digest(ticket)}`);
  return null;
}

/** Null for an unknown token. */
export async function canvasView(cells: Pick<Cells, "get">, token: string): Promise<CanvasView | null> {
  const cell = await cells.get(`canvas-view:${digest(token)}`);
  if (cell === null) return null;
  const { to, ...view } = viewSchema.parse(JSON.parse(cell.value));
  return { ...view, to: to as ConversationKey | null };
}

/** The canvas that this ticket shows; null for an unknown one. */
export async function canvasOfTicket(cells: Pick<Cells, "get">, ticket: string): Promise<string | null> {
  return (await cells.get(`canvas-ticket:${digest(ticket)}`))?.value ?? null;
}
