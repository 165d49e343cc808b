// The servers of a config over HTTP, played in this process: which tools a turn has of each and why others
// are not there, which calls are refused by what was approved and configured since, and what people see and
// change.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { isFault, type JsonObject, type Log } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import type { McpSettings, ServerSettings } from "../src/index.ts";
import { onHost, plain, stage, textOf, type Stage } from "./stage.ts";

/** A server whose tools are `tools`, by name and description; `called` has each call of one. */
async function site(tools: { readonly [name: string]: string }) {
  const called: unknown[] = [];
  const state = { tools, starts: 0, isDown: false };
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    if (request.method !== "POST" || state.isDown)
      return void response.writeHead(state.isDown ? 500 : 405).end();
    const { id, method, params } = JSON.parse(body) as {
      readonly id?: number;
      readonly method: string;
      readonly params?: JsonObject;
    };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize") state.starts += 1;
    if (method === "tools/call") called.push(params);
    const result = {
      initialize: {
        protocolVersion: params?.["protocolVersion"] ?? "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "Fake", version: "1" },
      },
      "tools/list": {
        tools: Object.entries(state.tools).map(([name, description]) => ({
          name,
          description,
          inputSchema: { type: "object" },
        })),
      },
      "tools/call": { content: [{ type: "text", text: `did ${params?.["name"] as string}` }] },
    }[method];
    const answer =
      result === undefined ? { error: { code: -32_601, message: "no such method" } } : { result };
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, called, state };
}
const refusal = (error: unknown): string =>
  isFault(error) ? `${error.code}: ${error.message}` : `not a fault: ${String(error)}`;

interface World {
  readonly lines: readonly unknown[];
  readonly s: Stage;
  use(servers: { readonly [name: string]: Partial<ServerSettings> }, approveFirst?: boolean): McpSettings;
  /** Names of the tools that a turn has, then those that it has not with the reason. */
  at(settings: McpSettings): Promise<readonly string[]>;
  call(settings: McpSettings, tool: string): Promise<string>;
}

function world(): World {
  const lines: unknown[] = [];
  const logOf = (by: object): Log => {
    const keep =
      (level: string) =>
      (fields: object, message: string): void =>
        void lines.push([`${level} ${message}`, { ...by, ...fields }]);
    const [debug, info, warn, error] = ["debug", "info", "warn", "error"].map(keep);
    return { debug, info, warn, error, child: (more: object) => logOf({ ...by, ...more }) } as Log;
  };
  const s = stage({}, { log: logOf({}) });
  return {
    s,
    lines,
    use(servers, approveFirst = false) {
      const own = Object.entries(servers).map(
        ([name, more]) => [name, { ...plain, transport: "http", ...more }] as const,
      );
      const settings: McpSettings = { approveFirst, servers: Object.fromEntries(own) };
      s.servers.use(settings);
      return settings;
    },
    async at(settings) {
      const { tools, unavailable } = await s.servers.at(settings, onHost);
      return [
        ...tools.map(({ name }) => name),
        ...unavailable.map(({ tool, reason }) => `${tool}: ${reason}`),
      ];
    },
    call: async (settings, tool) => {
      const result = await s.call(settings, tool, { x: 1 });
      return `${result.isError === true ? "error: " : ""}${textOf(result)}`;
    },
  };
}

test("a turn has the tools of all servers that are on, by their names in order; each that is not there says why", async () => {
  const [one, two] = [await site({ b: "B", a: "A" }), await site({ c: "C" })];
  const { use, at, call } = world();
  const settings = use({
    zeta: { url: one.url },
    alpha: { url: two.url },
    off: { url: two.url, enabled: false },
    down: { url: "http://127.0.0.1:9/" },
    boxed: { command: "/bin/false" },
  });
  expect(await at(settings)).toEqual([
    "alpha__c",
    "zeta__a",
    "zeta__b",
    expect.stringMatching(/^boxed__\*: MCP server boxed: \S/),
    expect.stringMatching(/^down__\*: MCP server down: \S/),
  ]);
  expect(await call(settings, "zeta__b")).toBe("did b");
  expect([one.called, two.called]).toEqual([
    [expect.objectContaining({ name: "b", arguments: { x: 1 } })],
    [],
  ]);
  const ruled = use({ zeta: { url: one.url, tools: { deny: ["A"] } } });
  expect(await at(ruled)).toEqual(["zeta__b"]);
  // What is known of a server needs no start of it.
  expect([one.state.starts, two.state.starts]).toEqual([1, 1]);
});

test("a tool that is new or says something else waits for its code, and no call of an older turn is made meanwhile", async () => {
  const { url, state, called } = await site({ a: "Does a", b: "Does b" });
  const { s, lines, use, at, call } = world();
  const settings = use({ own: { url } });
  expect(await at(settings)).toEqual(["own__a", "own__b"]);
  expect(lines).toEqual([]);
  const turn = await s.tools(settings);
  state.tools = { a: "Does something else", c: "Is new" };
  const seen = await s.servers.test("own");
  expect(seen).toMatchObject({
    name: "own",
    state: "running",
    enabled: true,
    target: url,
    transport: "http",
    starts: 1,
    tools: [],
    waiting: [
      { name: "a", now: { description: "Does something else" }, before: { description: "Does a" } },
      { name: "c", now: { description: "Is new" } },
    ],
  });
  expect(s.told).toMatchObject([{ server: "own", tools: [{ name: "a" }, { name: "c" }], code: seen.code }]);
  expect(lines).toEqual([
    [
      "warn tools of an MCP server are new or say something else: they wait for an approval (parley mcp approve)",
      { server: "own", tools: ["a", "c"], code: seen.code },
    ],
  ]);
  // The same that waits already is told no second time.
  await s.servers.test("own");
  expect([s.told.length, lines.length]).toEqual([1, 1]);
  const approve = "an owner has to approve it (parley mcp approve own)";
  expect(await at(settings)).toEqual([
    `own__a: it says something else than before: ${approve}`,
    `own__c: it is new: ${approve}`,
  ]);
  expect(
    await at({
      ...settings,
      servers: { own: { ...plain, url, transport: "http", tools: { allow: ["c"] } } },
    }),
  ).toEqual([`own__c: it is new: ${approve}`]);
  const late = async (name: string): Promise<string> => {
    const tool = turn.find((each) => each.name === name) ?? expect.unreachable(`there is ${name}`);
    return textOf(await tool.run({}, { signal: new AbortController().signal } as never));
  };
  const otherwise = (name: string): string =>
    `MCP server own: the server now describes ${name} in another way than was approved, or has it no more; an owner has to look at it (parley mcp approve own)`;
  expect([await late("own__a"), await late("own__b"), called]).toEqual([otherwise("a"), otherwise("b"), []]);
  expect(await s.servers.approve("own", "00000000").catch(refusal)).toMatch(/^conflict: /);
  expect(await s.servers.approve("own", seen.code)).toEqual({ tools: ["a", "c"] });
  expect(lines.slice(1)).toEqual([
    ["info tools of an MCP server were approved", { server: "own", tools: ["a", "c"] }],
  ]);
  expect(await at(settings)).toEqual(["own__a", "own__c"]);
  expect(await call(settings, "own__a")).toBe("did a");
  // What the operator took away since is gone for a turn that began before.
  const turned = await s.tools(settings);
  const after = async (more: Partial<ServerSettings> | null): Promise<string> => {
    use(more === null ? {} : { own: { url, ...more } });
    const tool = turned.find((each) => each.name === "own__c") ?? expect.unreachable("there is one");
    return textOf(await tool.run({}, { signal: new AbortController().signal } as never));
  };
  const gone = "MCP server own: c is not in the config any more";
  expect([
    await after({}),
    await after({ enabled: false }),
    await after({ tools: { deny: ["c"] } }),
    await after(null),
  ]).toEqual([
    "did c",
    gone,
    gone,
    'MCP server own: there is no MCP server "own" in the config (mcp.servers)',
  ]);
});

test("where the config wants it the first tools wait as well; forgotten, the next listing is the first one again", async () => {
  const { url } = await site({ a: "A" });
  const { s, use, at } = world();
  const careful = use({ own: { url } }, true);
  const waits = "own__a: it is new: an owner has to approve it (parley mcp approve own)";
  expect(await at(careful)).toEqual([waits]);
  expect(await s.servers.approve("own")).toEqual({ tools: ["a"] });
  expect(await at(careful)).toEqual(["own__a"]);
  expect([await s.servers.forget("own"), await s.servers.forget("own")]).toEqual([true, false]);
  const settings = use({ own: { url } });
  expect(await at(settings)).toEqual(["own__a"]);
  // Another address under the same name is another server.
  const other = await site({ a: "A" });
  expect(await at(use({ own: { url: other.url } }))).toEqual([
    "own__a: it says something else than before: an owner has to approve it (parley mcp approve own)",
  ]);
});

test("people see each server by its name, and what is wrong with what they ask", async () => {
  const { url, state } = await site({ a: "A" });
  const { s, use, at } = world();
  const settings = use({
    own: { url },
    off: { url, enabled: false },
    program: { command: "/bin/false" },
    keyed: { url, headers: { AUTHORIZATION: "x" } },
  });
  await at({ ...settings, servers: { own: settings.servers["own"] ?? plain } });
  expect(
    (await s.servers.list()).map(({ name, state: is, enabled, tools }) => [name, is, enabled, tools.length]),
  ).toEqual([
    ["keyed", "stopped", true, 0],
    ["off", "stopped", false, 0],
    ["own", "running", true, 1],
    ["program", "stopped", true, 0],
  ]);
  const none = 'missing: there is no MCP server "none" in the config (mcp.servers)';
  expect([
    await s.servers.test("none").catch(refusal),
    await s.servers.approve("none").catch(refusal),
    await s.servers.login("none", "http://127.0.0.1/").catch(refusal),
    await s.servers.finishLogin("none", "x").catch(refusal),
    await s.servers.logout("none").catch(refusal),
    await s.servers.test("toString").catch(refusal),
    await s.servers.test("off").catch(refusal),
    await s.servers.login("program", "http://127.0.0.1/").catch(refusal),
    await s.servers.login("keyed", "http://127.0.0.1/").catch(refusal),
    await s.servers.finishLogin("own", "x").catch(refusal),
    await s.servers.logout("own"),
  ]).toEqual([
    ...Array<string>(5).fill(none),
    none.replace("none", "toString"),
    "invalid: mcp.servers.off.enabled is false",
    "invalid: program is a program of this machine: nobody logs in to it",
    "invalid: mcp.servers.keyed.headers says who we are: take Authorization out first",
    "missing: MCP server own: no login to own is open: begin with parley mcp login own",
    false,
  ]);
  // Who logs out ends what was let in; a look starts it anew, and says whose failure it is.
  expect((await s.servers.list()).find(({ name }) => name === "own")?.state).toBe("stopped");
  expect([(await s.servers.test("own")).state, state.starts]).toEqual(["running", 2]);
  state.isDown = true;
  await s.servers.logout("own");
  expect(await s.servers.test("own").catch(refusal)).toMatch(/^unavailable: MCP server own: \S/);
  // It is tried again at once by whoever looks, and not by a turn.
  state.isDown = false;
  expect((await s.servers.test("own")).state).toBe("running");
  await s.servers.close();
  expect((await s.servers.list()).map(({ state: is }) => is)).toEqual(Array(4).fill("stopped"));
});

test("a changed config ends the servers that it changes, and leaves the others running", async () => {
  const [one, two, three] = [await site({ a: "A" }), await site({ b: "B" }), await site({ c: "C" })];
  const { s, use, at } = world();
  const settings = use({ one: { url: one.url }, two: { url: two.url }, three: { url: three.url } });
  await at(settings);
  use({
    one: { url: one.url, tools: { deny: ["x"] }, timeoutMs: 9_000 },
    two: { url: two.url, headers: { "x-new": "1" } },
    three: { url: three.url, enabled: false },
  });
  expect((await s.servers.list()).map(({ name, state }) => [name, state])).toEqual([
    ["one", "running"],
    ["three", "stopped"],
    ["two", "stopped"],
  ]);
});
