// Shows people a page of the agent's own: presents it, puts another in its place, runs scripts in it, looks
// at it. The page has no network; files of the workspace come along in it. What is pressed in it comes back
// as a message.
import { Fault } from "@parley/protocol";
import { z } from "zod";
import { isUnavailable, type Unavailable } from "../ports/done.ts";
import type { ToolContext } from "../context.ts";
import { defineTool } from "../define-tool.ts";
import { imageOf } from "../files/pictures.ts";
import { readForPeople } from "../files/private-notes.ts";
import { readBytes } from "../files/rooted.ts";
import { withAssets } from "../canvas-assets.ts";
import type { Tool, ToolResult, ToolScope } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const pageBytes = 1_000_000;

const args = z.object({
  action: z.enum(["present", "update", "eval", "snapshot", "hide"]),
  html: z.string().min(1).max(pageBytes).optional().describe("The page, for present and update."),
  path: z.string().min(1).max(500).optional().describe("Or an HTML file of the workspace."),
  title: z.string().min(1).max(80).optional(),
  script: z.string().min(1).max(20_000).optional().describe("For eval; its last value is the result."),
});

export const canvasListing: ToolListing = {
  name: "canvas",
  label: "Canvas",
  section: "ui",
  profiles: [],
  effect: "writes",
  summary: "Present, evaluate or snapshot the canvas",
};

export function canvas(context: ToolContext): Tool | Unavailable {
  const { canvases } = context;
  const off = canvases.unavailable();
  if (off !== null) return { unavailable: off };

  async function given(
    { html, path }: { readonly html?: string | undefined; readonly path?: string | undefined },
    scope: ToolScope,
  ): Promise<string> {
    if ((html === undefined) === (path === undefined))
      throw new Fault("invalid", "give the page as html, or as path of an HTML file: one of them");
    const read = (file: string): Promise<Buffer> =>
      readForPeople(context, scope, file, async ({ handle, size }) => {
        if (size > pageBytes)
          throw new Fault("invalid", `${file} has ${size} bytes; a canvas has at most ${pageBytes}`);
        return readBytes(handle, 0, size);
      });
    const text = html ?? (await read(path ?? "")).toString("utf8");
    return withAssets(text, path ?? "", read, pageBytes);
  }

  function renderer() {
    const port = context.renderer?.port() ?? { unavailable: "there is no browser here" };
    if (isUnavailable(port))
      throw new Fault("unsupported", `it cannot be looked at here: ${port.unavailable}`);
    return port;
  }

  return defineTool({
    ...canvasListing,
    description:
      "Shows a page of yours to the people of this conversation, one per conversation. The page has no network: give styles and scripts inline, or name files beside it by relative paths. " +
      "An element with data-event, or window.parley.send(value), sends a message back to you. " +
      "update replaces what is shown; eval runs a script in it for everybody and in a copy of yours, whose value you get; snapshot is a picture of that copy.",
    args,
    keyed: true,
    async run({ action, title, script, ...page }, scope): Promise<ToolResult> {
      const said = (text: string): ToolResult["content"] => [{ type: "text", text }];
      switch (action) {
        case "present": {
          const html = await given(page, scope);
          const draw = async (shown: string) => {
            const port = context.renderer?.port();
            if (port === undefined || isUnavailable(port)) return null;
            const { picture } = await port.render({ html: shown, scripts: [] }, scope.signal);
            return context.messages.keep(picture, "canvas.jpg");
          };
          const { text, effects } = await canvases.present(scope, { title, html, draw });
          return { content: said(text), effects };
        }
        case "update": {
          const { text, effects } = await canvases.update(scope, { title, html: await given(page, scope) });
          return { content: said(text), effects };
        }
        case "hide": {
          const { text, effects } = await canvases.hide(scope);
          return { content: said(text), effects };
        }
        case "eval": {
          if (script === undefined) throw new Fault("invalid", "eval needs script");
          const { html, scripts } = await canvases.shown(scope);
          const { value } = await renderer().render({ html, scripts: [...scripts, script] }, scope.signal);
          return { content: said(value), effects: await canvases.scripted(scope, script) };
        }
        case "snapshot": {
          const { html, scripts, version } = await canvases.shown(scope);
          const { picture, console } = await renderer().render({ html, scripts }, scope.signal);
          const lines = console.length === 0 ? "" : `\nConsole:\n${console.join("\n")}`;
          const text = `Version ${version} as it looks in a window of 1,280 by 800.${lines}`;
          const kept =
            context.vision && context.pictures !== undefined
              ? await context.pictures.keep(picture, scope.signal)
              : { refused: "this model does not see pictures" };
          return "refused" in kept
            ? { content: said(`${text}\n[not shown: ${kept.refused}]`) }
            : { content: [...said(text), imageOf(kept)] };
        }
      }
    },
  });
}
