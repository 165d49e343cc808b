// `parley lanes`: sessions and conversations, who works on them, what waits in them; those that have nothing
// to do are counted.
import type { MethodResult } from "@parley/protocol";
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Lane = MethodResult<"lanes.list">["sessions"][number];

const mostLanes = 1_000;

export async function lanes(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("lanes.list", { limit: mostLanes }));
  if (terminal.json) document(terminal.out, found);
  else
    for (const text of [
      ...section("Sessions", found.sessions),
      ...section("Conversations", found.conversations),
    ])
      line(terminal.out, text);
  return exitCodes.ok;
}

function section(title: string, list: readonly Lane[]): string[] {
  const busy = list.filter((lane) => lane.holder !== null || lane.atMs !== null || lane.waiting > 0);
  return [`${title}: ${busy.length} with work, ${list.length - busy.length} at rest`, ...busy.map(laneLine)];
}

function laneLine({ lane, pool, atMs, holder, waiting }: Lane): string {
  const at =
    atMs === null ? "" : `  ${holder === null ? "due" : "leased until"} ${new Date(atMs).toISOString()}`;
  return `  ${lane}  (${pool})  ${waiting} waiting${at}${holder === null ? "" : `  held by ${holder}`}`;
}
