// `parley reload`: the gateway reads its config again, as it does by itself when the file changes. A file
// that is wrong is refused, and the last good one goes on: exit code 78.
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withGateway } from "../with-gateway.ts";

export async function reload(terminal: Console): Promise<ExitCode> {
  const done = await withGateway(terminal, (client) => client.request("reload", {}));
  if (terminal.json) document(terminal.out, done);
  else {
    const { outcome, changed, restarted, restartNeeded, problems } = done;
    for (const problem of problems) line(terminal.err, problem);
    if (outcome === "refused") line(terminal.out, "The last good config goes on.");
    else
      line(terminal.out, outcome === "unchanged" ? "Nothing differs." : `Taken up: ${changed.join(", ")}.`);
    if (restarted.length > 0) line(terminal.out, `Connected anew: ${restarted.join(", ")}.`);
    if (restartNeeded.length > 0)
      line(terminal.out, `Waits for \`parley restart\`: ${restartNeeded.join(", ")}.`);
  }
  return done.outcome === "refused" ? exitCodes.config : exitCodes.ok;
}
