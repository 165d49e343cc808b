// `parley mcp list|add|test|remove|approve`: the servers whose tools agents use, and which of their tools an
// owner has approved.
import { ConfigFault, describeProblem } from "@parley/config";
import type { MethodResult } from "@parley/protocol";
import { changeConfig, readConfig, type Change, type Written } from "../../config-editor.ts";
import { document, line, styled, type Console, type Style } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withGateway, withState } from "../../with-gateway.ts";

type Server = MethodResult<"mcp.list">["servers"][number];

export interface AddFlags {
  readonly env?: readonly string[];
  readonly header?: readonly string[];
  readonly url?: string;
  readonly transport?: string;
  readonly cwd?: string;
  readonly force?: boolean;
}

export async function mcpList(terminal: Console, name: string | undefined): Promise<ExitCode> {
  const { servers } = await withState(terminal, (client) =>
    client.request("mcp.list", name === undefined ? {} : { name }),
  );
  if (terminal.json) document(terminal.out, { servers });
  else if (servers.length === 0)
    line(terminal.out, "There are no MCP servers. Add one: parley mcp add NAME -- PROGRAM ARGUMENTS");
  else for (const server of servers) tellServer(terminal, server, name !== undefined);
  return exitCodes.ok;
}

/** Exit 1 when the server does not come up. */
export async function mcpTest(terminal: Console, name: string): Promise<ExitCode> {
  const server = await withGateway(terminal, (client) => client.request("mcp.test", { name }));
  if (terminal.json) document(terminal.out, server);
  else tellServer(terminal, server, true);
  return exitCodes.ok;
}

export async function mcpApprove(terminal: Console, name: string, code?: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) =>
    client.request("mcp.approve", { name, ...(code === undefined ? {} : { code }) }),
  );
  if (terminal.json) document(terminal.out, done);
  else if (done.tools.length === 0) line(terminal.out, `Nothing of ${name} waits for an approval.`);
  else line(terminal.out, `Approved, and used from the next turn on: ${done.tools.join(", ")}`);
  return exitCodes.ok;
}

export async function mcpAdd(
  terminal: Console,
  name: string,
  words: readonly string[],
  flags: AddFlags,
): Promise<ExitCode> {
  const { file } = await readConfig(terminal);
  if (flags.force !== true && isThere(file, name))
    throw new CommandFailure(
      "conflict",
      `There is an MCP server "${name}" already; --force replaces it.`,
      exitCodes.usage,
    );
  const written = await change(terminal, { path: placeOf(name), value: serverOf(words, flags) });
  const server = written.live
    ? await withGateway(terminal, (client) => client.request("mcp.test", { name })).catch(
        (error: unknown) => {
          if (error instanceof CommandFailure) return error;
          throw error;
        },
      )
    : null;
  const isDown = server instanceof CommandFailure;
  if (terminal.json)
    document(terminal.out, {
      name,
      path: written.path,
      live: written.live,
      server: isDown ? null : server,
      ...(isDown ? { trouble: server.message } : {}),
    });
  else {
    line(terminal.out, `Wrote ${written.path}: mcp.servers.${name}.`);
    if (isDown)
      line(
        terminal.err,
        styled(terminal.err, terminal.env, "yellow", `It cannot be used: ${server.message}`),
      );
    else if (server !== null) tellServer(terminal, server, true);
  }
  return isDown ? exitCodes.failed : exitCodes.ok;
}

/** What was approved is forgotten with it. */
export async function mcpRemove(terminal: Console, name: string): Promise<ExitCode> {
  const { file } = await readConfig(terminal);
  if (!isThere(file, name))
    throw new CommandFailure("missing", `There is no MCP server "${name}" in the config (mcp.servers).`);
  const written = await change(terminal, { path: placeOf(name) });
  await withState(terminal, (client) => client.request("mcp.forget", { name })).catch((error: unknown) => {
    // Where no gateway ever ran nothing was approved.
    if (!(error instanceof CommandFailure)) throw error;
  });
  if (terminal.json) document(terminal.out, { name, path: written.path, removed: true });
  else line(terminal.out, `Removed mcp.servers.${name} from ${written.path}.`);
  return exitCodes.ok;
}

function placeOf(name: string): Change["path"] {
  return ["mcp", "servers", name];
}

async function change(terminal: Console, edit: Change): Promise<Written> {
  try {
    return await changeConfig(terminal, [edit]);
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error;
    const [problem] = error.problems;
    throw new CommandFailure(
      "invalid",
      problem === undefined ? error.message : describeProblem("Not written", problem),
      exitCodes.config,
      { cause: error },
    );
  }
}

function isThere(file: unknown, name: string): boolean {
  let at: unknown = file;
  for (const key of ["mcp", "servers", name]) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return false;
    at = (at as { readonly [key: string]: unknown })[key];
  }
  return true;
}

function serverOf([first, ...rest]: readonly string[], flags: AddFlags): { readonly [key: string]: unknown } {
  const isAddress = first !== undefined && /^https?:\/\//i.test(first);
  const url = flags.url ?? (isAddress ? first : undefined);
  const written = flags.url ?? first ?? "";
  if (!/^https?:/i.test(written) && /^[a-z][a-z0-9+.-]*:\/\//i.test(written))
    throw new CommandFailure(
      "invalid",
      `A server has an http or https address, not ${JSON.stringify(written)}`,
      exitCodes.usage,
    );
  const { transport, cwd } = flags;
  const env = pairs(flags.env ?? [], "=", "--env takes NAME=VALUE");
  const headers = pairs(flags.header ?? [], ":", '--header takes "Name: value"');
  if (url === undefined && first === undefined)
    throw new CommandFailure(
      "invalid",
      "Say what it is: parley mcp add NAME -- PROGRAM ARGUMENTS, or parley mcp add NAME https://ADDRESS",
      exitCodes.usage,
    );
  return {
    ...(url === undefined ? { command: first } : { url }),
    ...(url === undefined && rest.length > 0 ? { args: rest } : {}),
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(transport === undefined ? {} : { transport }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function pairs(
  words: readonly string[],
  between: string,
  usage: string,
): { readonly [name: string]: string } {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf(between);
      if (at <= 0)
        throw new CommandFailure("invalid", `${usage}, not ${JSON.stringify(word)}`, exitCodes.usage);
      return [word.slice(0, at).trim(), word.slice(at + 1).trim()];
    }),
  );
}

const summaryChars = 100;

export function tellServer(terminal: Console, server: Server, isWhole: boolean): void {
  const { name, enabled, transport, target, state, reason, tools, waiting, code, leftOut, listedAtMs } =
    server;
  const style = (kind: Style, text: string): string => styled(terminal.out, terminal.env, kind, text);
  const word = enabled ? state : "off";
  const colour: Style = state === "failed" ? "red" : word === "running" ? "green" : "dim";
  line(terminal.out, `${style("bold", name)}  ${style(colour, word)}  ${transport}  ${target}`);
  if (reason !== null) line(terminal.out, style("yellow", `  ${reason}`));
  line(
    terminal.out,
    listedAtMs === null
      ? "  its tools are not known yet: they are listed when an agent first needs them, or by parley mcp test"
      : `  ${tools.length} tools${isWhole ? "" : `: ${tools.map((tool) => tool.name).join(", ")}`}`,
  );
  if (isWhole)
    for (const tool of tools) line(terminal.out, `  ${tool.tool}  ${style("dim", short(tool.description))}`);
  for (const tool of waiting) {
    line(
      terminal.out,
      style("yellow", `  waits: ${tool.name} (${tool.before === null ? "new" : "changed"})`),
    );
    if (tool.before !== null) line(terminal.out, `    before: ${tool.before.description}`);
    line(terminal.out, `    ${tool.before === null ? "says" : "now"}: ${tool.description}`);
    if (isWhole) line(terminal.out, `    arguments: ${JSON.stringify(tool.schema)}`);
  }
  if (code !== "") line(terminal.out, `  To use what waits: parley mcp approve ${name} ${code}`);
  for (const { name: tool, reason: why } of leftOut)
    line(terminal.out, style("yellow", `  left out: ${tool}, ${why}`));
}

function short(text: string): string {
  const [first = ""] = text.trim().split("\n");
  return first.length <= summaryChars ? first : `${first.slice(0, summaryChars - 1).toWellFormed()}…`;
}
