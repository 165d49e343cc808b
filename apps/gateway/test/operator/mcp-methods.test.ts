// What an operator is shown of MCP servers, and what each method asks of them.
import type { McpServers, ServerView } from "@parley/mcp";
import { expect, test } from "vitest";
import { mcpDaemonMethods, mcpMethods } from "../../src/operator/agent/mcp.ts";

const tool = (name: string, description: string) => ({
  name,
  description,
  schema: { type: "object", title: name },
});

const files = {
  state: "running",
  starts: 2,
  reason: "restarted",
  pid: 77,
  about: { name: "files-server", version: "1.4" },
  name: "files",
  enabled: true,
  target: "node files.js",
  transport: "stdio",
  tools: [tool("read", "Reads"), tool("list", "Lists")],
  waiting: [
    { now: tool("write", "Writes anywhere"), before: tool("write", "Writes") },
    { now: tool("move", "Moves") },
  ],
  code: "k7",
  leftOut: [{ name: "odd tool", reason: "its name" }],
  listedAtMs: 5,
} as unknown as ServerView;

const bare = {
  state: "stopped",
  starts: 0,
  name: "web",
  enabled: false,
  target: "https://mcp.example.org/",
  transport: "http",
  tools: [],
  waiting: [],
  code: "",
  leftOut: [],
  listedAtMs: null,
} as unknown as ServerView;

function servers(): { readonly mcp: McpServers; readonly asked: unknown[] } {
  const asked: unknown[] = [];
  const answers: { readonly [call: string]: unknown } = {
    list: [files, bare],
    test: files,
    approve: { tools: ["read", "list"] },
    login: "https://login.example.org/?state=1",
    finishLogin: bare,
    logout: true,
    forget: false,
  };
  const mcp = new Proxy({} as McpServers, {
    get:
      (_target, call) =>
      async (...args: unknown[]) => {
        asked.push([call, ...args]);
        return answers[String(call)];
      },
  });
  return { mcp, asked };
}

const shownFiles = {
  state: "running",
  starts: 2,
  name: "files",
  enabled: true,
  target: "node files.js",
  transport: "stdio",
  code: "k7",
  listedAtMs: 5,
  reason: "restarted",
  version: "files-server 1.4",
  pid: 77,
  tools: [
    { ...tool("read", "Reads"), tool: "files__read" },
    { ...tool("list", "Lists"), tool: "files__list" },
  ],
  waiting: [
    {
      ...tool("write", "Writes anywhere"),
      tool: "files__write",
      before: { ...tool("write", "Writes"), tool: "files__write" },
    },
    { ...tool("move", "Moves"), tool: "files__move", before: null },
  ],
  leftOut: [{ name: "odd tool", reason: "its name" }],
};
const shownBare = { ...bare, reason: null, version: null, pid: null };

test("servers are listed with their tools, what waits and what stood before, all or one by name", async () => {
  const { mcp } = servers();
  const methods = mcpMethods({ mcp });
  expect(await methods["mcp.list"]({})).toEqual({ servers: [shownFiles, shownBare] });
  expect(await methods["mcp.list"]({ name: "web" })).toEqual({ servers: [shownBare] });
  await expect(methods["mcp.list"]({ name: "we" })).rejects.toMatchObject({
    code: "missing",
    message: 'there is no MCP server "we" in the config (mcp.servers)',
  });
});

test("each method asks its server for one thing and says what came of it", async () => {
  const { mcp, asked } = servers();
  const [known, live] = [mcpMethods({ mcp }), mcpDaemonMethods({ mcp })];
  expect([
    await known["mcp.approve"]({ name: "files", code: "k7" }),
    await known["mcp.forget"]({ name: "files" }),
    await live["mcp.test"]({ name: "files" }),
    await live["mcp.login.start"]({ name: "web", redirectUrl: "http://127.0.0.1:1/cb" }),
    await live["mcp.login.finish"]({ name: "web", answer: "code=2" }),
    await live["mcp.logout"]({ name: "web" }),
  ]).toEqual([
    { name: "files", tools: ["read", "list"] },
    { name: "files", forgotten: false },
    shownFiles,
    { url: "https://login.example.org/?state=1" },
    shownBare,
    { name: "web", wasLoggedIn: true },
  ]);
  expect(asked).toEqual([
    ["approve", "files", "k7"],
    ["forget", "files"],
    ["test", "files"],
    ["login", "web", "http://127.0.0.1:1/cb"],
    ["finishLogin", "web", "code=2"],
    ["logout", "web"],
  ]);
});
