// `parley backup FILE` and `parley restore FILE`. A backup is taken online; a restore needs the gateway
// stopped, and keeps the old database.
import { resolve } from "node:path";
import { document, line, result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState, withStoppedGateway } from "../with-gateway.ts";

export async function backup(terminal: Console, file: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request("backup", { path: resolve(file) }));
  result(terminal, done, `Wrote ${done.path} (${done.bytes} bytes), checked whole.`);
  return exitCodes.ok;
}

export async function restore(terminal: Console, file: string): Promise<ExitCode> {
  const done = await withStoppedGateway(terminal, (client) =>
    client.request("restore", { path: resolve(file) }),
  );
  if (terminal.json) document(terminal.out, done);
  else {
    line(terminal.out, `Restored ${done.path}.`);
    line(
      terminal.out,
      done.keptAs === null ? "There was no database before." : `The old database is kept as ${done.keptAs}.`,
    );
  }
  return exitCodes.ok;
}
