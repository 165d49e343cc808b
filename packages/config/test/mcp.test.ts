// Servers of the Model Context Protocol as the rest of Parley reads them: how each is spoken to, from where,
// and what of its settings is hidden.
import { homedir } from "node:os";
import { expect, test } from "vitest";
import { isSecret } from "../src/index.ts";
import { loadText, problemsOf } from "./load-text.ts";

const servers = async (file: object) =>
  (await loadText(JSON.stringify({ mcp: { servers: file } }))).config.mcp.servers;

/** A secret as what it holds, with a word that it is one. */
const shown = (value: unknown): unknown =>
  isSecret(value)
    ? `secret ${value.reveal()}`
    : typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shown(each)]))
      : value;

test("a server has its defaults, its folder in full, and hides what looks like a credential", async () => {
  const usual = {
    enabled: true,
    timeoutSeconds: 60,
    startTimeoutSeconds: 30,
    idleMinutes: 15,
    tools: {},
    sandbox: "auto",
    oauth: {},
    headers: {},
    env: {},
    args: [],
  };
  const found = await servers({
    program: {
      command: "npx",
      args: ["-y", "--key"],
      env: { API_KEY: "abcdef", REGION: "eu", DATABASE: "postgres://me:pw@h/db" },
      cwd: "tools/x",
    },
    away: {
      url: "https://a.example/mcp",
      headers: { "X-Api-Key": "abcdef", Accept: "json" },
      oauth: { clientId: "id", clientSecret: "a word", scope: "all" },
      enabled: false,
      timeoutSeconds: 1,
      startTimeoutSeconds: 2,
      idleMinutes: 0,
      tools: { allow: ["get_*"], deny: ["get_all"] },
      sandbox: "off",
    },
  });
  expect(shown(found)).toEqual({
    program: {
      ...usual,
      transport: "stdio",
      command: "npx",
      args: ["-y", "--key"],
      env: { API_KEY: "secret abcdef", REGION: "eu", DATABASE: "secret postgres://me:pw@h/db" },
      cwd: "/state/tools/x",
    },
    away: {
      ...usual,
      transport: "http",
      url: "https://a.example/mcp",
      headers: { "X-Api-Key": "secret abcdef", Accept: "json" },
      oauth: { clientId: "id", clientSecret: "secret a word", scope: "all" },
      enabled: false,
      timeoutSeconds: 1,
      startTimeoutSeconds: 2,
      idleMinutes: 0,
      tools: { allow: ["get_*"], deny: ["get_all"] },
      sandbox: "off",
    },
  });
});

test("a folder may be the user's own or one in full", async () => {
  const found = await servers({
    home: { command: "c", cwd: "~/x" },
    full: { command: "c", cwd: "/srv/x" },
    none: { command: "c" },
  });
  expect(Object.values(found).map(({ cwd }) => cwd)).toEqual([`${homedir()}/x`, "/srv/x", undefined]);
});

test("how a server is spoken to is what it says under either name, else what is set", async () => {
  const url = "https://a.example";
  const ways: readonly (readonly [object, string])[] = [
    [{ command: "c" }, "stdio"],
    [{ command: "c", transport: "stdio" }, "stdio"],
    [{ command: "c", type: "stdio" }, "stdio"],
    [{ url }, "http"],
    [{ url, transport: "http" }, "http"],
    [{ url, transport: "streamable-http" }, "http"],
    [{ url, type: "streamable-http" }, "http"],
    [{ url, transport: "sse" }, "sse"],
    [{ url, type: "sse" }, "sse"],
  ];
  for (const [server, transport] of ways) {
    const { x } = await servers({ x: server });
    expect([server, x?.transport, "type" in (x ?? {})]).toEqual([server, transport, false]);
  }
  const refused: readonly (readonly [object, string])[] = [
    [{ command: "c", transport: "http" }, "transport: http needs a url"],
    [{ command: "c", type: "sse" }, "transport: sse needs a url"],
    [{ url, type: "stdio" }, "transport: stdio needs a command"],
    [
      { url, type: "sse", transport: "sse" },
      "type: transport and type are two names of one setting: keep one",
    ],
    [{ url, command: "c" }, "url: a server has a command or a url, not both"],
    [{}, "command: a server has a command or a url"],
    [{ url: "https://me@a.example" }, "url: no name and password in the address: use headers"],
    [{ url: "https://:pw@a.example" }, "url: no name and password in the address: use headers"],
  ];
  for (const [server, why] of refused) {
    const problems = await problemsOf(JSON.stringify({ mcp: { servers: { x: server } } }));
    expect(problems.map(({ path, message }) => `${path.replace("mcp.servers.x.", "")}: ${message}`)).toEqual([
      expect.stringContaining(why),
    ]);
  }
});
