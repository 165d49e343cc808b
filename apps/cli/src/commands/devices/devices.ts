// `parley devices list|mint|pair|rotate|revoke|unlock|link`: browsers and programs with a token of their
// own, and paired devices that agents may use.
import { deviceGrants, scopes, type DeviceGrant } from "@parley/protocol";
import { document, line, result, words, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway, withState } from "../../with-gateway.ts";

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
  const grants = grantsOf(grant);
  const made = await withGateway(terminal, (client) => client.request("devices.pair", { name, grants }));
  if (!terminal.json) await showCode(terminal, grants, made.link);
  result(terminal, made, `parley node run --url ${made.url} --code ${made.code}`);
  return exitCodes.ok;
}

async function showCode(terminal: Console, grants: readonly DeviceGrant[], link: string): Promise<void> {
  if (grants.some((each) => !ofComputers.has(each))) {
    const { renderUnicodeCompact } = await import("uqr");
    words(terminal.err, `A browser: scan this, or open ${link}\n\n${renderUnicodeCompact(link)}\n`);
    if (/^http:\/\/(?:127\.|localhost|\[::1\])/.test(link))
      words(
        terminal.err,
        "This link works on this machine alone: set gateway.publicUrl to the https address under which phones reach the gateway.\n",
      );
  }
  line(terminal.err, "A computer: run this there. The code works once, within ten minutes.");
}

export async function devicesRotate(
  terminal: Console,
  id: string,
  { byHand }: { readonly byHand?: boolean },
): Promise<ExitCode> {
  const made = await withGateway(terminal, (client) =>
    client.request("devices.rotate", { id, ...(byHand === true ? { byHand } : {}) }),
  );
  const { name, token, code, url = "", link = "", grants = [], handed } = made;
  line(terminal.err, `The old token of ${name} is worthless; ${made.closed} connections were closed.`);
  if (code === undefined) {
    line(terminal.err, "This is the only time that the new one is shown.");
    result(terminal, made, token ?? "");
  } else if (handed === true) {
    result(terminal, made, `${name} was told over its connection, and takes a new one by itself.`);
  } else {
    if (!terminal.json) await showCode(terminal, grants, link);
    result(terminal, made, `parley node run --url ${url} --code ${code}`);
  }
  return exitCodes.ok;
}

/** What `parley node run` alone can do; a browser can show messages, too. */
const ofComputers: ReadonlySet<DeviceGrant> = new Set(["run", "files", "screenshot"]);

export async function devicesRevoke(
  terminal: Console,
  id: string,
  { grant }: { readonly grant?: string },
): Promise<ExitCode> {
  const grants = grant === undefined ? {} : { grants: grantsOf(grant) };
  const done = await withState(terminal, (client) => client.request("devices.revoke", { id, ...grants }));
  const left = done.grants?.join(", ");
  result(
    terminal,
    done,
    left === undefined
      ? `${done.name} is out; ${done.closed} connections were closed.`
      : `${done.name} has ${left === "" ? "no grant" : left} now.`,
  );
  return exitCodes.ok;
}

/** Throws CommandFailure for one that there is not. */
function grantsOf(written: string): DeviceGrant[] {
  const asked = written.split(",").map((each) => each.trim());
  const grants = deviceGrants.filter((each) => asked.includes(each));
  const unknown = asked.filter((each) => !grants.some((known) => known === each));
  if (unknown.length > 0)
    throw new CommandFailure(
      "invalid",
      `--grant knows ${deviceGrants.join(", ")}, not "${unknown.join(", ")}"`,
      exitCodes.usage,
    );
  return grants;
}

export async function devicesUnlock(terminal: Console): Promise<ExitCode> {
  const { lifted } = await withGateway(terminal, (client) => client.request("devices.unlock", {}));
  const said =
    lifted === 0 ? "Nobody was slowed." : `${lifted} that were slowed for wrong tokens are so no more.`;
  result(terminal, { lifted }, said);
  return exitCodes.ok;
}

export async function devicesLink(terminal: Console): Promise<ExitCode> {
  const made = await withGateway(terminal, (client) => client.request("devices.link", {}));
  result(terminal, made, made.url);
  return exitCodes.ok;
}
