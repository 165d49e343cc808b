// Checks the MCP servers of the config without starting one: programs that are not there, keys that would
// travel without encryption.
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { isSecret, type Config, type Env } from "@parley/config";
import { warn, type Finding } from "./finding.ts";

export async function mcpFindings({ mcp }: Config, env: Env): Promise<readonly Finding[]> {
  const found = await Promise.all(
    Object.entries(mcp.servers)
      .filter(([, { enabled }]) => enabled)
      .map(async ([name, { command, url, headers }]): Promise<readonly Finding[]> => {
        if (command !== undefined && !(await isThere(command, env["PATH"] ?? "")))
          return [
            warn(
              "mcp.program",
              `mcp.servers.${name} starts ${command}, which is not there: its tools are missing`,
              "Install it, or correct the command",
            ),
          ];
        if (url !== undefined && isPlain(url) && Object.values(headers).some(isSecret))
          return [
            warn(
              "mcp.plain",
              `mcp.servers.${name} sends a key over http without encryption`,
              "Use an https address",
            ),
          ];
        return [];
      }),
  );
  return found.flat();
}

/** A program is looked for as a start would look for it. */
async function isThere(command: string, path: string): Promise<boolean> {
  const places = command.includes("/") ? [command] : path.split(":").map((folder) => join(folder, command));
  const found = await Promise.all(
    places.map((place) =>
      access(place, constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

function isPlain(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
