// Stores the canvas of each session: what is shown now in one cell, each version's page in another. A
// version is written in the transaction of the call that made it, so a page and the agent's words about it
// are there together or not at all (I7). Old versions and unused canvases go by themselves (I9).
import { createHash } from "node:crypto";
import type { Cells, CellWrite } from "@parley/store";
import { z } from "zod";

const canvasSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  session: z.string(),
  agent: z.string(),
  title: z.string(),
  /** Grows with every page; 1 is the first. */
  version: z.number(),
  /** False once the agent has hidden it. */
  shown: z.boolean(),
  atMs: z.number(),
});
const pageSchema = z.object({ html: z.string(), scripts: z.array(z.string()) });

export type Canvas = z.infer<typeof canvasSchema>;

/** `scripts`: what the agent has evaluated in it since, in order. */
export type CanvasPage = z.infer<typeof pageSchema>;

export interface KeptCanvas {
  readonly canvas: Canvas;
  /** The cell's, which a write names. */
  readonly cell: number;
}

const prefix = "canvas:";
const lifeMs = 30 * 86_400_000;
const versionsKept = 5;
const mostListed = 1_000;

export function canvasId(session: string): string {
  return createHash("sha256").update(`canvas ${session}`).digest("hex").slice(0, 16);
}

const pageKey = (id: string, version: number): string => `canvas-page:${id}:${version}`;

export async function canvasOf(cells: Pick<Cells, "get">, id: string): Promise<KeptCanvas | null> {
  const cell = await cells.get(prefix + id);
  return cell === null ? null : { canvas: canvasSchema.parse(JSON.parse(cell.value)), cell: cell.version };
}

export async function pageOf(
  cells: Pick<Cells, "get">,
  { id, version }: Pick<Canvas, "id" | "version">,
): Promise<CanvasPage | null> {
  const cell = await cells.get(pageKey(id, version));
  return cell === null ? null : pageSchema.parse(JSON.parse(cell.value));
}

/** Newest first. */
export async function allCanvases(cells: Pick<Cells, "list">): Promise<readonly Canvas[]> {
  const found = (await cells.list(prefix, mostListed)).map(({ value }) =>
    canvasSchema.parse(JSON.parse(value)),
  );
  return found.toSorted((a, b) => b.atMs - a.atMs);
}

/** The writes that put a page in the place of what was shown. `before`: null for the session's first. */
export function showing(before: KeptCanvas | null, canvas: Canvas, page: CanvasPage): readonly CellWrite[] {
  const old = canvas.version - versionsKept;
  return [
    stateWrite(before, canvas),
    { key: pageKey(canvas.id, canvas.version), value: JSON.stringify(page), ttlMs: lifeMs },
    ...(old < 1 ? [] : [{ key: pageKey(canvas.id, old), value: null }]),
  ];
}

/** The writes that add a script to the page that is shown. */
export function scripting(
  kept: KeptCanvas,
  page: CanvasPage,
  script: string,
  atMs: number,
): readonly CellWrite[] {
  const { canvas } = kept;
  const value = JSON.stringify({ ...page, scripts: [...page.scripts, script] });
  return [
    stateWrite(kept, { ...canvas, atMs }),
    { key: pageKey(canvas.id, canvas.version), value, ttlMs: lifeMs },
  ];
}

export function hiding(kept: KeptCanvas, atMs: number): readonly CellWrite[] {
  return [stateWrite(kept, { ...kept.canvas, shown: false, atMs })];
}

/** Takes a session's canvas away, with all its versions. */
export async function forgetCanvas(
  cells: Pick<Cells, "get" | "list" | "remove">,
  session: string,
): Promise<void> {
  const id = canvasId(session);
  for (const { key } of await cells.list(pageKey(id, 0).slice(0, -1), mostListed)) await cells.remove(key);
  await cells.remove(prefix + id);
}

function stateWrite(before: KeptCanvas | null, canvas: Canvas): CellWrite {
  return {
    key: prefix + canvas.id,
    value: JSON.stringify(canvas),
    ttlMs: lifeMs,
    expect: before?.cell ?? 0,
  };
}
