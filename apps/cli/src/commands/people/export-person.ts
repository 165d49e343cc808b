// `parley export person ID PLACE`: what is stored of somebody, for that person.
import { resolve } from "node:path";
import { document, line, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

export async function exportPerson(terminal: Console, person: string, to: string): Promise<ExitCode> {
  const told = await withState(terminal, (client) =>
    client.request("people.export", { person, path: resolve(to) }),
  );
  if (terminal.json) {
    document(terminal.out, told);
    return exitCodes.ok;
  }
  const kinds = Object.entries(told.counts).map(([kind, count]) => `${count} ${kind}`);
  line(
    terminal.out,
    `Wrote ${told.path} (${told.bytes} bytes): ${kinds.length === 0 ? `nothing is stored of ${person}` : kinds.join(", ")}.`,
  );
  return exitCodes.ok;
}
