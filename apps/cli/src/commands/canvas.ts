// `parley canvas`: the pages that agents show, and links to look at them.
import { document, line, result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function canvasList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("canvas.list", {}));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  if (found.canvases.length === 0) line(terminal.out, "No agent shows a page.");
  for (const { session, title, version, shown, atMs } of found.canvases)
    line(
      terminal.out,
      `${session}  ${JSON.stringify(title)}  version ${version}${shown ? "" : ", hidden"}  ${new Date(atMs).toISOString()}`,
    );
  return exitCodes.ok;
}

export async function canvasLink(terminal: Console, key: string): Promise<ExitCode> {
  const made = await withState(terminal, (client) => client.request("canvas.link", { key }));
  result(terminal, made, made.url ?? made.path);
  return exitCodes.ok;
}
