// `parley tools hold|resume`: what /estop does in a chat, by the operator.
import { result, type Console } from "../../console.ts";
import { exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

export async function toolsHold(terminal: Console): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request("tools.hold", {}));
  const words = done.held
    ? "All tools are held. Let them go on with: parley tools resume"
    : "All tools were held before, and are.";
  result(terminal, done, words);
  return exitCodes.ok;
}

export async function toolsResume(terminal: Console): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request("tools.resume", {}));
  result(terminal, done, done.resumed ? "Tools may be used again." : "Tools were not held.");
  return exitCodes.ok;
}
