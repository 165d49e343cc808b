// What an operator sees of the config and of MCP servers through a running gateway, which reads its own file.
import { Refusal } from "../fake-gateway.ts";
import { view, type View } from "./view.ts";

const status = { configPath: "<home>/parley.json5" };
const problems = [
  { path: "a.b", message: "no such key", line: 3, column: 7, fix: "remove it" },
  { path: "c", message: "is wrong" },
];
const warnings = [{ path: "d", message: "is odd", line: 9, column: 1 }];
const file = { a: 1, gateway: { port: 1 }, mcp: { servers: { calc: { command: "node" } } } };
const read = { path: "/c/parley.json5", file, config: { b: "two\u{7}\nlines", list: [3, 4] }, problems: [] };
const written = {
  path: "/c/parley.json5",
  hash: "h",
  changed: ["gateway.port", "logging.level"],
  backup: "/c/parley.json5.bak",
  warnings: [] as object[],
  restartNeeded: [] as string[],
};
const server = {
  name: "sum",
  enabled: true,
  transport: "stdio",
  target: "node sum.js",
  state: "running",
  reason: null,
  tools: [{ name: "add", tool: "sum__add", description: "adds" }],
  waiting: [],
  code: "",
  leftOut: [],
  listedAtMs: 0,
};
const refused = new Error("it does not start");
const with_ = (command: string, answers: object): View => view(command, { status, ...answers });

export const settings: readonly View[] = [
  with_("config get", { "config.get": read }),
  with_("config get b", { "config.get": read }),
  with_("config get list[1]", { "config.get": read }),
  with_("config get list[2]", { "config.get": read }),
  with_("config get a", { "config.get": { ...read, problems } }),
  with_("config get --file gateway", { "config.get": { ...read, problems } }),
  with_("config get --text", { "config.text": { text: "// mine\n{}\n\n", hash: "h", file: {} } }),
  with_("config get --text --json", { "config.text": { text: "// mine\n{}\n", hash: "h", file: {} } }),
  with_("config get --text", { "config.text": { text: null, hash: "h", file: null } }),
  with_("config get a", { "config.get": refused }),
  with_("config validate", { "config.validate": { problems, warnings, changed: [], restartNeeded: [] } }),
  with_("config validate", { "config.validate": { problems: [], warnings, changed: [], restartNeeded: [] } }),
  with_("config validate --json", { "config.validate": { problems, warnings } }),
  with_("config set gateway.port 7", { "config.set": { ...written, warnings } }),
  with_("config set gateway.port 7", {
    "config.set": { ...written, warnings, problems, restartNeeded: ["gateway.port"] },
  }),
  with_("config set gateway.port 7", {
    "config.set": { ...written, restartNeeded: ["gateway.port", "store"] },
  }),
  with_("config set gateway.port 7", { "config.set": { ...written, changed: [] } }),
  with_("config set gateway.port 7 --json", { "config.set": { ...written, problems } }),
  with_("config set gateway.port 7 --json", { "config.set": written }),
  with_("config set gateway.port 7 --string", { "config.set": written }),
  with_("config set x.y _7_", { "config.set": written }),
  with_("config set x.y 1e3", { "config.set": written }),
  with_("config set x.y _{_a:_[1,]_}", { "config.set": written }),
  with_("config set x.y _[1,_'a']", { "config.set": written }),
  with_("config set x.y null", { "config.set": written }),
  with_("config set x.y 12345678901234567890", { "config.set": written }),
  with_('config set x.y "seven"', { "config.set": written }),
  with_("config set x.y true", { "config.set": written }),
  with_("config set x.y {_a:_[1]_", { "config.set": written }),
  with_("config set x.y 1", { "config.set": refused }),
  with_("config set x.y 1", { "config.set": new Refusal("invalid", "x.y: expected string") }),
  with_("config set x.y z", { "config.set": new Refusal("invalid", "x.y: is too long") }),
  with_("config unset x.y", { "config.set": new Refusal("invalid", "x: needs y") }),
  with_("config unset x.y", { "config.set": new Refusal("conflict", "somebody else writes") }),
  with_("config unset gateway.port", { "config.set": written }),
  with_("config unset gateway.port", { "config.set": refused }),
  with_("mcp add sum -- node sum.js", { "config.get": read, "config.set": written, "mcp.test": server }),
  with_("mcp add sum --json -- node sum.js", {
    "config.get": read,
    "config.set": written,
    "mcp.test": server,
  }),
  ...["", " --json"].map((json) =>
    with_(`mcp add a.b${json} -- node`, {
      "config.get": read,
      "config.set": new Refusal("invalid", "mcp.servers: no name of a server"),
    }),
  ),
  ...["", " --json"].map((json) =>
    with_(`mcp add calc${json} --force -- node sum.js`, {
      "config.get": read,
      "config.set": written,
      "mcp.test": refused,
    }),
  ),
  with_("mcp add calc -- node sum.js", { "config.get": read }),
  with_("mcp remove calc", { "config.get": read, "config.set": written, "mcp.forget": {} }),
  with_("mcp remove calc --json", { "config.get": read, "config.set": written, "mcp.forget": refused }),
  with_("mcp remove sum", { "config.get": read }),
  // Of another state folder, or of none.
  view("config get logging.level", { status: { configPath: "/elsewhere/parley.json5" } }),
  view("config get --file --json", { status: new Error("it does not say") }),
  // One that lets nobody in, or does not get to an answer, is none for the file; any other refusal is told.
  ...["unavailable", "timeout", "unauthorized", "denied", "conflict"].map((code) =>
    view("config get logging.level", { status: new Refusal(code, `for now: ${code}`) }),
  ),
  with_("config get a..b", { "config.get": read }),
  ...[
    "config set a..b 1",
    "config unset a[x]",
    "config validate /not/there.json5",
    "config set x",
    "mcp add",
    "mcp test",
  ].map((command) => view(command, {})),
];
