// `parley nodes`: the processes of this gateway, what each does, and who leads which account.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Node = MethodResult<"nodes.list">["nodes"][number];

export async function nodes(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("nodes.list", {}));
  if (terminal.json) document(terminal.out, found);
  else if (found.nodes.length === 0) line(terminal.out, "No node has run on this store within a day.");
  else for (const node of found.nodes) line(terminal.out, nodeLine(node));
  return exitCodes.ok;
}

function nodeLine({
  node,
  role,
  version,
  pid,
  state,
  turns,
  deliveries,
  leads,
  up,
  silentMs,
  url,
}: Node): string {
  const silent = `silent for ${Math.round(silentMs / 1_000)} s`;
  const now = up ? state : state === "gone" ? `gone, ${silent}` : `not heard of, ${silent}`;
  const work = up ? `  ${turns} turns, ${deliveries} deliveries` : "";
  const leading = leads.length === 0 || !up ? "" : `  leads ${leads.join(", ")}`;
  return `${node}  (${role})  ${now}${work}${leading}  ${url}  pid ${pid}, ${version}`;
}
