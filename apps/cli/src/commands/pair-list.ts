// `parley pair list`: who waits to be let in, and who is in.
import { document, line, type Console } from "../console.ts";
import { exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

export async function pairList(terminal: Console): Promise<ExitCode> {
  const { pending, paired } = await withState(terminal, (client) => client.request("pairing.list", {}));
  if (terminal.json) {
    document(terminal.out, { pending, paired });
    return exitCodes.ok;
  }
  if (pending.length === 0) line(terminal.out, "Nobody waits to be let in.");
  for (const { code, channel, account, senderId, senderName, expiresAtMs } of pending) {
    line(
      terminal.out,
      `${code}  ${channel}:${account}  ${senderId}  ${senderName}  until ${new Date(expiresAtMs).toISOString()}`,
    );
  }
  if (pending.length > 0) line(terminal.out, "Let somebody in with: parley pair approve CODE");
  for (const { channel, account, senderId, senderName, atMs } of paired) {
    line(
      terminal.out,
      `paired    ${channel}:${account}  ${senderId}  ${senderName}  since ${new Date(atMs).toISOString()}`,
    );
  }
  return exitCodes.ok;
}
