// `parley resume`: ends safe mode, so that the channels open now.
import { result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withGateway } from "../with-gateway.ts";

export async function resume(terminal: Console): Promise<ExitCode> {
  const done = await withGateway(terminal, (client) => client.request("resume", {}));
  const words = done.resumed
    ? "Safe mode is over; the channels are open."
    : "Safe mode was not on; nothing changed.";
  result(terminal, done, words);
  return exitCodes.ok;
}
