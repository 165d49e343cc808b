// `parley pair approve CODE`: lets in whoever was given this code.
import { harmless, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function pairApprove(terminal: Console, code: string): Promise<ExitCode> {
  const paired = await withState(terminal, (client) => client.request("pairing.approve", { code }));
  const { channel, account, senderId, senderName } = paired;
  line(terminal.out, terminal.json ? JSON.stringify(paired) : `Paired ${harmless(senderName)} (${senderId}) on ${channel}:${account}.`);
  return exitCodes.ok;
}
