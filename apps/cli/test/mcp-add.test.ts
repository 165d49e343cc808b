// What `parley mcp add` writes into the config file, for every form of a server, and what it refuses.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parley, stateFolder } from "./fake-gateway.ts";

const forms: readonly (readonly [string, object | string])[] = [
  ["x node", { command: "node" }],
  ["x -- node calc.js --deep", { command: "node", args: ["calc.js", "--deep"] }],
  ["x --env A=1 --env B=x=y --cwd /w -- node", { command: "node", env: { A: "1", B: "x=y" }, cwd: "/w" }],
  ["x https://a.example/mcp", { url: "https://a.example/mcp" }],
  ["x HTTPS://a.example", { url: "HTTPS://a.example" }],
  ["x --url https://a.example/mcp", { url: "https://a.example/mcp" }],
  [
    "x https://a.example --header K:_v --transport sse",
    { url: "https://a.example", headers: { K: "v" }, transport: "sse" },
  ],
  [
    "x https://a.example --header A:1 --header B:2:3",
    { url: "https://a.example", headers: { A: "1", B: "2:3" } },
  ],
  ["x", "Say what it is"],
  ["x ftp://a.example", "A server has an http or https address"],
  ["x --env A -- node", "--env takes NAME=VALUE"],
  ["x --env =1 -- node", "--env takes NAME=VALUE"],
  ["x https://a.example --header K", "--header takes"],
  ["old node", 'There is an MCP server "old" already'],
];

test.for(forms)("mcp add %s", async ([words, wanted]) => {
  const before = '{ mcp: { servers: { old: { command: "o" } } } }';
  const home = stateFolder(before);
  const argv = words.split(" ").map((word) => word.replaceAll("_", " "));
  const { exitCode, err } = await parley(home, ["mcp", "add", ...argv]);
  const text = readFileSync(join(home, "parley.json5"), "utf8");
  if (typeof wanted === "string") {
    expect([exitCode, text]).toEqual([2, before]);
    expect(err).toContain(wanted);
  } else {
    expect([exitCode, err]).toEqual([0, ""]);
    const shown = await parley(home, ["config", "get", "mcp.servers.x", "--file", "--json"]);
    const asShown = JSON.parse(JSON.stringify(wanted)) as { [key: string]: { [name: string]: string } };
    for (const held of ["env", "headers"])
      for (const name of Object.keys(asShown[held] ?? {}))
        Object.assign(asShown[held] ?? {}, { [name]: "[secret]" });
    expect(JSON.parse(shown.out)).toEqual(asShown);
    for (const value of Object.values({
      ...(wanted as { env?: object }).env,
      ...(wanted as { headers?: object }).headers,
    }))
      expect(text).toContain(JSON.stringify(value));
  }
});

const name =
  'a server\'s name has letters, digits, "-" and single "_", begins with a letter or digit and has at most 31 characters. Rename the key';

test.each([
  ["a.b node", `Not written:2:36 mcp.servers["a.b"]: ${name}`],
  ["a..b node", `Not written:2:36 mcp.servers["a..b"]: ${name}`],
  [
    "x --transport pipe -- node",
    'Not written:4:3 mcp.servers.x.transport: "pipe": invalid option: expected one of "stdio"|"http"|"streamable-http"|"sse". Use "stdio", "http", "streamable-http", "sse"',
  ],
])("mcp add %s is no server: the config stays, and its place is told", async (words, told) => {
  const before = '{ mcp: {\n servers: { old: { command: "o" } } } }';
  const home = stateFolder(before);
  const { exitCode, out, err } = await parley(home, ["mcp", "add", ...words.split(" ")]);
  expect([exitCode, out, err]).toEqual([78, "", `${told}\n`]);
  expect(readFileSync(join(home, "parley.json5"), "utf8")).toBe(before);
});

test("mcp add and remove without a gateway tell in JSON what was written, and that nothing was tried", async () => {
  const home = stateFolder("{}");
  const told = async (...argv: readonly string[]): Promise<unknown> =>
    JSON.parse((await parley(home, ["mcp", ...argv, "--json"], { env: { NODE_OPTIONS: "--bad-flag" } })).out);
  const path = join(home, "parley.json5");
  expect(await told("add", "x", "node")).toEqual({ name: "x", path, live: false, server: null });
  expect(await told("remove", "x")).toEqual({ name: "x", path, removed: true });
  expect(readFileSync(path, "utf8")).not.toContain("node");
});
