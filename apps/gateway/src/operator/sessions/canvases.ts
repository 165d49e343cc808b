// Serves the agents' canvases to the operator: lists them, and makes links that only show.
import { Fault, type MethodParams, type MethodResult, type SessionKey } from "@parley/protocol";
import { allCanvases, canvasId, canvasLink, canvasOf } from "@parley/runner";
import type { StorePorts } from "../ports.ts";

export type CanvasPorts = Pick<StorePorts, "store" | "configNow" | "ids">;

export function canvasMethods({ store: { cells }, configNow, ids }: CanvasPorts) {
  return {
    async "canvas.list"(): Promise<MethodResult<"canvas.list">> {
      const found = await allCanvases(cells);
      return { canvases: found.map(({ v: _v, ...canvas }) => canvas) };
    },
    async "canvas.link"({ key }: MethodParams<"canvas.link">): Promise<MethodResult<"canvas.link">> {
      const id = canvasId(key as SessionKey);
      const kept = await canvasOf(cells, id);
      if (kept === null || !kept.canvas.shown)
        throw new Fault("missing", `no canvas is shown in ${key}; "parley canvas list" shows where one is`);
      const { path, cell } = canvasLink(ids, id, null);
      await cells.put(cell.key, cell.value ?? "", cell.ttlMs === undefined ? {} : { ttlMs: cell.ttlMs });
      const { publicUrl, port } = configNow().gateway;
      const base = publicUrl ?? (port === 0 ? null : `http://127.0.0.1:${port}/`);
      return { path, url: base === null ? null : new URL(path, base.endsWith("/") ? base : `${base}/`).href };
    },
  };
}
