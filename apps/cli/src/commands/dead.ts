// `parley dead list|retry|drop`: messages that failed for good, until somebody decides about them.
import type { RowStory } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function deadList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("dead.list", {}));
  if (terminal.json) document(terminal.out, found);
  else if (found.rows.length === 0) line(terminal.out, "No message is dead.");
  else for (const text of found.rows.flatMap(rowLines)) line(terminal.out, text);
  return exitCodes.ok;
}

export async function deadAct(terminal: Console, act: "retry" | "drop", id: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request(`dead.${act}`, { id }));
  const words = act === "retry" ? `It is worked on as ${done.id}.` : `Dropped ${done.id}.`;
  result(terminal, done, words);
  return exitCodes.ok;
}

function rowLines({ id, conversation, sender, text, reason, receivedAtMs }: RowStory): string[] {
  return [
    `${id}  in ${conversation}  ${new Date(receivedAtMs).toISOString()}${sender === null ? "" : `  from ${sender}`}`,
    `  ${reason ?? "no reason was kept"}`,
    `  "${text}"`,
  ];
}
