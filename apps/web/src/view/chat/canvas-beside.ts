// Shows what the agent put on its canvas, beside the conversation that it belongs to.
import { html, nothing, type TemplateResult } from "lit";
import type { Console } from "../../parts/console.ts";
import { t } from "../../texts/texts.ts";

/** Null: it is not open. */
export function canvasBeside(path: string | null): TemplateResult | typeof nothing {
  if (path === null) return nothing;
  return html`<aside class="canvas-beside" aria-label=${t.chat.canvas}>
    <iframe src=${path} title=${t.chat.canvas}></iframe>
  </aside>`;
}

export async function canvasPathOf({ call }: Console, key: string): Promise<string> {
  const { path } = await call("canvas.link", { key });
  // A proxy may serve the page under any path.
  return `./${path.replace(/^\/+/, "")}`;
}
