// `parley pair revoke ID`: puts somebody out who was let in.
import { result, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function pairRevoke(terminal: Console, id: string): Promise<ExitCode> {
  const gone = await withState(terminal, (client) => client.request("pairing.revoke", { id }));
  const { channel, account, senderId, senderName } = gone;
  result(terminal, gone, `${senderName} (${senderId}) is no longer paired on ${channel}:${account}.`);
  return exitCodes.ok;
}
