// `parley devices list|mint|revoke|unlock|link`: browsers and programs with a token of their own.
import { scopes } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withGateway, withState } from "../with-gateway.ts";

export async function devicesList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("devices.list", {}));
  if (terminal.json) document(terminal.out, found);
  else if (found.devices.length === 0) line(terminal.out, "There is none yet.");
  else {
    for (const { id, name, scopes: may, createdAtMs, connections } of found.devices) {
      line(
        terminal.out,
        `${id}  ${name}  ${may.join(",")}  since ${new Date(createdAtMs).toISOString()}  ${connections} connected`,
      );
    }
  }
  return exitCodes.ok;
}

export async function devicesMint(
  terminal: Console,
  name: string,
  flags: { readonly scopes?: string },
): Promise<ExitCode> {
  const asked = (flags.scopes ?? "read").split(",").map((each) => each.trim());
  const granted = scopes.filter((scope) => asked.includes(scope));
  const unknown = asked.filter((each) => !granted.some((scope) => scope === each));
  if (unknown.length > 0)
    throw new CommandFailure(
      "invalid",
      `--scopes knows ${scopes.join(", ")}, not "${unknown.join(", ")}"`,
      exitCodes.usage,
    );
  const made = await withState(terminal, (client) =>
    client.request("devices.mint", { name, scopes: granted }),
  );
  line(terminal.err, `Device ${made.id}. This is the only time that its token is shown.`);
  result(terminal, made, made.token);
  return exitCodes.ok;
}

export async function devicesRevoke(terminal: Console, id: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request("devices.revoke", { id }));
  result(terminal, done, `${done.name} is out; ${done.closed} connections were closed.`);
  return exitCodes.ok;
}

export async function devicesUnlock(terminal: Console): Promise<ExitCode> {
  const { lifted } = await withGateway(terminal, (client) => client.request("devices.unlock", {}));
  const words =
    lifted === 0 ? "Nobody was slowed." : `${lifted} that were slowed for wrong tokens are so no more.`;
  result(terminal, { lifted }, words);
  return exitCodes.ok;
}

export async function devicesLink(terminal: Console): Promise<ExitCode> {
  const made = await withGateway(terminal, (client) => client.request("devices.link", {}));
  result(terminal, made, made.url);
  return exitCodes.ok;
}
