// Stands in where no server of the config can be used, because there is nothing that could start one.
import { Fault } from "@parley/protocol";
import type { McpServers } from "./servers.ts";

export const noServers: McpServers = {
  use: () => undefined,
  at: async () => ({ tools: [], unavailable: [] }),
  list: async () => [],
  test: missing,
  approve: missing,
  forget: missing,
  login: missing,
  finishLogin: missing,
  logout: missing,
  close: async () => undefined,
};

async function missing(name: string): Promise<never> {
  throw new Fault("missing", `there is no MCP server "${name}"`);
}
