// Serves MCP servers to the operator: lists them with their tools, starts one to look at it, and records what
// an owner approves.
import { toolName, type McpServers, type ServerView } from "@parley/mcp";
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";

type Shown = MethodResult<"mcp.list">["servers"][number];

export function mcpMethods({ mcp }: { readonly mcp: McpServers }) {
  return {
    async "mcp.list"({ name }: MethodParams<"mcp.list">): Promise<MethodResult<"mcp.list">> {
      const servers = (await mcp.list()).filter((server) => name === undefined || server.name === name);
      if (name !== undefined && servers.length === 0)
        throw new Fault("missing", `there is no MCP server "${name}" in the config (mcp.servers)`);
      return { servers: servers.map(shown) };
    },
    async "mcp.approve"({ name, code }: MethodParams<"mcp.approve">): Promise<MethodResult<"mcp.approve">> {
      const { tools } = await mcp.approve(name, code);
      return { name, tools: [...tools] };
    },
    async "mcp.forget"({ name }: MethodParams<"mcp.forget">): Promise<MethodResult<"mcp.forget">> {
      return { name, forgotten: await mcp.forget(name) };
    },
  };
}

/** Needs a daemon, whose servers run. */
export function mcpDaemonMethods({ mcp }: { readonly mcp: McpServers }) {
  return {
    async "mcp.test"({ name }: MethodParams<"mcp.test">): Promise<MethodResult<"mcp.test">> {
      return shown(await mcp.test(name));
    },
    async "mcp.login.start"({
      name,
      redirectUrl,
    }: MethodParams<"mcp.login.start">): Promise<MethodResult<"mcp.login.start">> {
      return { url: await mcp.login(name, redirectUrl) };
    },
    async "mcp.login.finish"({
      name,
      answer,
    }: MethodParams<"mcp.login.finish">): Promise<MethodResult<"mcp.login.finish">> {
      return shown(await mcp.finishLogin(name, answer));
    },
    async "mcp.logout"({ name }: MethodParams<"mcp.logout">): Promise<MethodResult<"mcp.logout">> {
      return { name, wasLoggedIn: await mcp.logout(name) };
    },
  };
}

function shown({ tools, waiting, leftOut, about, reason, pid, ...server }: ServerView): Shown {
  type Described = ServerView["tools"][number];
  const described = (each: Described) => ({
    ...each,
    tool: toolName(server.name, each.name),
    // Only zod writes JSON with lists that may be changed.
    schema: each.schema as unknown as Shown["tools"][number]["schema"],
  });
  return {
    ...server,
    reason: reason ?? null,
    version: about === undefined ? null : `${about.name} ${about.version}`.trim(),
    pid: pid ?? null,
    tools: tools.map(described),
    waiting: waiting.map(({ now, before }) => ({
      ...described(now),
      before: before === undefined ? null : described(before),
    })),
    leftOut: leftOut.map((each) => ({ ...each })),
  };
}
