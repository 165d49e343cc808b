// `parley devices list|mint|pair|revoke|unlock|link`: browsers and programs with a token of their own, and
// paired devices that agents may use.
import { deviceGrants, scopes } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withGateway, withState } from "../with-gateway.ts";

export async function devicesList(terminal: Console): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("devices.list", {}));
  if (terminal.json) document(terminal.out, found);
  else if (found.devices.length === 0) line(terminal.out, "There is none yet.");
  else {
    for (const { id, name, scopes: may, grants, createdAtMs, lastSeenAtMs, connections } of found.devices) {
      const rights = grants === undefined ? may.join(",") : `grants ${grants.join(",")}`;
      const seen = lastSeenAtMs === undefined ? "" : `, last seen ${new Date(lastSeenAtMs).toISOString()}`;
      line(
        terminal.out,
        `${id}  ${name}  ${rights}  since ${new Date(createdAtMs).toISOString()}${seen}  ${connections} connected`,
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

export async function devicesPair(
  terminal: Console,
  { name, grant }: { readonly name: string; readonly grant: string },
): Promise<ExitCode> {
  const asked = grant.split(",").map((each) => each.trim());
  const grants = deviceGrants.filter((each) => asked.includes(each));
  const unknown = asked.filter((each) => !grants.some((known) => known === each));
  if (unknown.length > 0)
    throw new CommandFailure(
      "invalid",
      `--grant knows ${deviceGrants.join(", ")}, not "${unknown.join(", ")}"`,
      exitCodes.usage,
    );
  const made = await withGateway(terminal, (client) => client.request("devices.pair", { name, grants }));
  line(terminal.err, "Run this on the device within ten minutes; the code works once.");
  result(terminal, made, `parley node run --url ${made.url} --code ${made.code}`);
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
