// Which servers are one and the same, where each may run, and which end with a new config. Nothing is started
// here but a program that there is not.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock, systemIds, type Log } from "@parley/protocol";
import type { Sandbox } from "@parley/tools";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hasKey, runningServers, type RunningServersOptions } from "../src/running-servers.ts";
import { connectionOf, type ServerSettings } from "../src/settings.ts";

const settings = (more: Partial<ServerSettings> = {}): ServerSettings => ({
  enabled: true,
  command: "/nowhere/serve",
  args: [],
  env: {},
  headers: {},
  oauth: {},
  transport: "stdio",
  timeoutMs: 1_000,
  startTimeoutMs: 1_000,
  idleMs: 1_000,
  tools: {},
  sandbox: "auto",
  ...more,
});
const place = (kind: string, rules = "r", workspace = "/w"): Sandbox => ({ kind, rules, workspace }) as never;

function world(more: Partial<RunningServersOptions> = {}) {
  const lines: unknown[] = [];
  const logOf = (by: object): Log => ({
    debug: () => {},
    info: () => {},
    error: () => {},
    warn: ({ error: _error, ...fields }, message) => void lines.push([message, { ...by, ...fields }]),
    child: (fields) => logOf({ ...by, ...fields }),
  });
  const servers = runningServers(
    {
      host: {},
      folder: "/nowhere",
      rules: async () => ({}) as never,
      refused: () => {},
      mayStart: true,
      onWaiting: () => {},
      clock: virtualClock(),
      ids: systemIds(),
      log: logOf({}),
      ...more,
    },
    { listed: async () => expect.unreachable() },
    { authOf: () => expect.unreachable() },
    () => false,
  );
  return { servers, lines };
}

test("a server is one for each name, connection and place; no sandbox is the host", () => {
  const { servers } = world();
  const host = servers.at("a", settings(), place("none"));
  const same = [
    servers.at("a", settings({ tools: { deny: ["x"] }, idleMs: 5 }), place("none", "other", "/x")),
    servers.at("a", settings(), place("none")),
  ];
  expect(same.every((each) => each === host)).toBe(true);
  const others = [
    host,
    servers.at("b", settings(), place("none")),
    servers.at("a", settings({ args: ["-v"] }), place("none")),
    servers.at("a", settings(), place("bubblewrap")),
    servers.at("a", settings(), place("bubblewrap", "r2")),
    servers.at("a", settings(), place("bubblewrap", "r", "/w2")),
    servers.at("a", settings({ sandbox: "off" }), place("bubblewrap")),
  ];
  expect(new Set(others).size).toBe(others.length);
  expect([servers.find("a"), servers.find("b"), servers.find("c")]).toEqual([host, others[1], undefined]);
});

test("a server that would run in a sandbox that cannot be made is told so; one outside of it needs none", () => {
  const { servers } = world();
  const refused = {
    code: "unavailable",
    message: "it would run in the agent's sandbox, which cannot be made",
  };
  expect(() => servers.at("a", settings(), null)).toThrow(expect.objectContaining(refused));
  const off = servers.at("a", settings({ sandbox: "off" }), null);
  expect(servers.at("a", settings({ sandbox: "off" }), place("bubblewrap"))).toBe(off);
  const { command: _command, ...rest } = settings({ url: "https://mcp.example/", transport: "http" });
  expect(servers.at("remote", rest, null)).toBe(servers.at("remote", rest, place("bubblewrap")));
  expect(() => world({ mayStart: false }).servers.at("a", settings(), place("none"))).toThrow(
    expect.objectContaining({ code: "unavailable", message: "the gateway is not running" }),
  );
});

test("those that the config does not mean any more end, and the others stay", async () => {
  const { servers } = world();
  const [a, , b] = [
    servers.at("a", settings(), place("none")),
    servers.at("a", settings({ args: ["old"] }), place("none")),
    servers.at("b", settings(), place("none")),
  ];
  const kept = connectionOf(settings());
  await servers.end(({ name, connection }) => name === "a" && connection === kept);
  expect([servers.find("a"), servers.find("b")]).toEqual([a, undefined]);
  await expect(b.ready()).rejects.toMatchObject({ code: "unavailable" });
  expect(servers.at("b", settings(), place("none"))).not.toBe(b);
});

test("a program that there is not is told with its server's name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-mcp-"));
  try {
    const { servers, lines } = world({ folder });
    await expect(servers.at("a", settings(), place("none")).ready()).rejects.toMatchObject({
      code: "unavailable",
    });
    expect(lines).toContainEqual([
      "an MCP server did not come up",
      { part: "mcp", server: "a", stderr: expect.any(String) },
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("of what a program says before it ends the last four thousand signs are told, of its last start alone", async () => {
  const { servers, lines } = world({ folder: tmpdir(), clock: systemClock() });
  const args = ["-c", `printf '%04990dlast words' 0 >&2; exit 3`];
  const own = servers.at("a", settings({ command: "/bin/sh", args, cwd: tmpdir() }), place("none"));
  const why = "its program ended with exit code 3";
  for (const _ of [1, 2]) {
    await expect(own.ready()).rejects.toMatchObject({ code: "unavailable", message: why });
    own.forgive();
  }
  const stderr = `${"0".repeat(3_990)}last words`;
  expect(lines.filter((line) => JSON.stringify(line).includes("come up"))).toEqual(
    [1, 2].map(() => ["an MCP server did not come up", { part: "mcp", server: "a", stderr }]),
  );
});

test("only the header of a key, in any case, leaves no login to make", () => {
  expect(
    [{}, { Authorization: "x" }, { AUTHORIZATION: "x" }, { "x-authorization": "x" }].map(hasKey),
  ).toEqual([false, true, true, false]);
});
