// `parley pair approve CODE`: lets in whoever was given this code.
import { result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function pairApprove(terminal: Console, code: string): Promise<ExitCode> {
  const paired = await withState(terminal, (client) => client.request("pairing.approve", { code }));
  const { channel, account, senderId, senderName } = paired;
  result(terminal, paired, `Paired ${senderName} (${senderId}) on ${channel}:${account}.`);
  return exitCodes.ok;
}
