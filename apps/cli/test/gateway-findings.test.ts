// What the doctor says of the daemon, of the service that is to bring it back, and of hooks and MCP servers,
// word by word.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { placesIn, secret, type Config } from "@parley/config";
import { expect, onTestFinished, test } from "vitest";
import { gatewayFindings } from "../src/doctor/gateway.ts";
import { hookFindings } from "../src/doctor/hooks.ts";
import { mcpFindings } from "../src/doctor/mcp.ts";
import { unitPlan } from "../src/unit/plan.ts";
import { systemdUnit } from "../src/unit/systemd.ts";
import { fakeGateway, stateFolder } from "./fake-gateway.ts";

const env = (home: string, more: { readonly [name: string]: string } = {}) => ({
  PARLEY_HOME: home,
  HOME: home,
  PATH: `${home}/bin`,
  ...more,
});

async function findings(
  home: string,
  more: { readonly [name: string]: string } = {},
  config: object | null = null,
): Promise<readonly string[]> {
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { env: env(home, more), input, out, err, json: true };
  const found = await gatewayFindings(terminal, placesIn(terminal.env), config as Config | null);
  return found.map(
    ({ id, level, message, fix }) => `${level} ${id}: ${message}${fix === "" ? "" : ` -> ${fix}`}`,
  );
}

const status = {
  version: "1.2.3",
  pid: 77,
  bootId: "b",
  state: "ok",
  reasons: [],
  channels: [{ channel: "telegram", account: "a", state: "ok" }],
  deadRows: 0,
  deliveriesTroubled: 0,
};
const wellWords = "ok gateway: Parley 1.2.3 runs (process 77) and is well";
const channel = (account: string, state: string, reason?: string) => ({
  channel: "discord",
  account,
  state,
  ...(reason === undefined ? {} : { reason }),
});

test.each<[string, object, readonly string[]]>([
  ["is well", {}, [wellWords]],
  [
    "has troubles",
    { state: "degraded", reasons: ["the disk is full", "a model is down"] },
    [
      "warn gateway.state: The gateway is degraded: the disk is full; a model is down -> docs/operations.md says what each reason means and what to do",
    ],
  ],
  [
    "names no reason",
    { state: "draining" },
    [
      "warn gateway.state: The gateway is draining: no reason given -> docs/operations.md says what each reason means and what to do",
    ],
  ],
  [
    "has channels that are down",
    {
      channels: [
        channel("a", "down", "wrong token"),
        channel("b", "degraded", "slow"),
        channel("c", "down"),
        channel("d", "ok"),
      ],
    },
    [
      wellWords,
      "error channel.down: discord:a is down: wrong token -> Mend what the reason names, then `parley restart`",
      "error channel.down: discord:c is down -> Mend what the reason names, then `parley restart`",
    ],
  ],
  [
    "gave messages and answers up",
    { deadRows: 1, deliveriesTroubled: 2 },
    [
      wellWords,
      "warn gateway.dead: 1 messages failed for good -> Look at `parley dead list`, then retry or drop them",
      "warn gateway.troubled: 2 answers did not arrive -> Look at `parley outbox list --troubled`, then retry or drop them",
    ],
  ],
  [
    "gave messages up alone",
    { deadRows: 3 },
    [
      wellWords,
      "warn gateway.dead: 3 messages failed for good -> Look at `parley dead list`, then retry or drop them",
    ],
  ],
])("of a gateway that %s", async (_what, more, told) => {
  const gateway = await fakeGateway(() => ({ ...status, ...more }));
  expect(await findings(gateway.home)).toEqual(told);
});

test("one that lets nobody in is told with its words; one that runs and does not listen with its process", async () => {
  const gateway = await fakeGateway(() => ({}), "the token is wrong");
  expect(await findings(gateway.home)).toEqual([
    expect.stringMatching(
      /^error gateway\.refused: The gateway at http.*the token is wrong[^]* -> Stop what listens there, or set gateway\.port$/,
    ),
  ]);
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "gateway"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const home = stateFolder("{ gateway: { port: 1 } }");
  writeFileSync(join(home, "daemon.pid"), `${child.pid}\n`);
  expect(await findings(home)).toEqual([
    `error gateway.silent: The gateway (process ${child.pid}) runs and does not answer where the config says -> Restart it; if it still does not answer, look at \`parley logs\``,
  ]);
});

test("of one that does not run it is told how to start it, and who has its port on whatever address", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const home = stateFolder("{ gateway: { port: 1 } }", null);
  const of = (bind: string, driver = "redis"): Promise<readonly string[]> =>
    findings(home, {}, { gateway: { bind, port }, store: { driver }, agents: { list: [] } });
  const stopped =
    "warn gateway.stopped: The gateway is not running -> Run `parley start`, or `parley service install`";
  const taken = expect.stringMatching(
    new RegExp(
      `^error gateway\\.port: A.* listens on port ${port} -> Stop it, or run \`parley config set gateway\\.port <n>\`$`,
    ),
  ) as string;
  expect([
    await findings(home),
    await of("loopback"),
    await of("lan"),
    await of("127.0.0.9"),
    // There is no database yet, which is nobody's trouble.
    await of("127.0.0.9", "sqlite"),
  ]).toEqual([[stopped], [stopped, taken], [stopped, taken], [stopped], [stopped]]);
});

const own = "wanted";
const systemctl = (pid: number, active: string, enabled: string): string =>
  `echo MainPID=${pid}; echo ActiveState=${active}; echo SubState=x; echo UnitFileState=${enabled}`;
const install = "`parley service install`";
const lingers = "warn service.linger: The service ends when you log out -> Run `loginctl enable-linger eve`";

test.each<[string, { unit?: string; ctl: string; linger?: string; user?: string }, readonly string[]]>([
  [
    "runs this gateway and stays",
    { ctl: systemctl(77, "active", "enabled") },
    ["ok service: FILE is installed and runs"],
  ],
  [
    "runs another process, is not enabled and ends with the login",
    { ctl: systemctl(78, "active", "disabled"), linger: "no", user: "eve" },
    [
      "ok service: FILE is installed and runs",
      `warn service.disabled: The service does not start with the machine -> Run ${install}`,
      "error service.two: The gateway that answers (process 77) is not the service's -> Stop it with `parley stop`, then `parley service install`",
      lingers,
    ],
  ],
  [
    "does not run while a gateway does, for a user who may linger",
    { ctl: systemctl(78, "failed", "enabled"), linger: "yes", user: "eve" },
    [
      "warn service.stopped: FILE is installed and does not run -> Run `parley service install`, or `parley service uninstall`",
    ],
  ],
  [
    "cannot be asked about",
    { ctl: "exit 1", linger: "no" },
    [
      "warn service.stopped: FILE is installed and does not run -> Run `parley service install`, or `parley service uninstall`",
    ],
  ],
  [
    "was written for an older version",
    { unit: "marked", ctl: systemctl(77, "active", "enabled-runtime") },
    [
      "ok service: FILE is installed and runs",
      `warn service.stale: FILE was written for another version or place -> Run ${install}`,
    ],
  ],
  [
    "is somebody's own",
    { unit: "[Service]\nExecStart=/bin/true\n", ctl: systemctl(77, "active", "enabled") },
    ["ok service: FILE is installed and runs"],
  ],
])("of a service that %s", async (_what, { unit = own, ctl, linger = "yes", user }, told) => {
  const { home } = await fakeGateway(() => status);
  mkdirSync(join(home, "bin"));
  for (const [name, body] of [
    ["systemctl", ctl],
    ["loginctl", `echo ${linger}`],
  ] as const)
    writeFileSync(join(home, "bin", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  const more = user === undefined ? {} : { USER: user };
  const plan = unitPlan(env(home, more), { manager: "systemd" });
  const wanted = systemdUnit(plan);
  mkdirSync(join(plan.file, ".."), { recursive: true });
  writeFileSync(plan.file, unit === own ? wanted : unit === "marked" ? `${wanted}# older\n` : unit);
  const found = await findings(home, more);
  expect(found.map((each) => each.replace(plan.file, "FILE"))).toEqual([wellWords, ...told]);
});

/** What is found of hooks, of which the gateway says this. */
async function hooksFound(list: object, internal: object = {}, gateway?: string) {
  const fake = await fakeGateway(({ method }) => (method === "hooks.list" ? list : {}), gateway);
  const [input, out, err] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const terminal = { env: env(fake.home), input, out, err, json: true };
  const config = {
    hooks: { internal: { enabled: true, entries: {}, load: { extraDirs: [] }, ...internal } },
  };
  const found = await hookFindings(terminal, placesIn(terminal.env), config as unknown as Config);
  const asked = fake.requests.filter(({ method }) => method === "hooks.list").length;
  return { asked, told: found.map(({ id, level, message, fix }) => `${level} ${id}: ${message} -> ${fix}`) };
}

test("of hooks all that do not run, fail or are refused are told, and names without one; else how many are ready", async () => {
  const counts = { runs: 9, failed: 0, timedOut: 0, dropped: 0, lastError: null };
  const hook = (name: string, status: string, more: object = {}) => ({ name, status, counts: null, ...more });
  const entries = { ghost: {}, "UP-case": {}, lost: {} };
  const hooks = [
    hook("ready", "ready", { counts }),
    hook("Up-Case", "disabled"),
    hook("unmet", "unmet", { reason: "it needs a program" }),
    hook("changed", "changed", { reason: "its file is another" }),
    hook("fails", "ready", { counts: { ...counts, failed: 2, timedOut: 3, lastError: "boom" } }),
    hook("slow", "ready", { counts: { ...counts, timedOut: 1 } }),
    hook("full", "ready", { counts: { ...counts, dropped: 4 } }),
  ];
  const rejected = ["a", "b"].map((file) => ({ file, reason: `${file} is no hook` }));
  const info = (name: string): string =>
    `\`parley hooks info ${name}\` shows what it needs; \`parley hooks disable ${name}\` ends it`;
  const look = (name: string): string => `Look at \`parley hooks info ${name}\` and \`parley logs\``;
  expect((await hooksFound({ hooks, rejected }, { entries })).told).toEqual([
    `warn hook.stuck: The hook unmet is on and does not run: it needs a program -> ${info("unmet")}`,
    `warn hook.stuck: The hook changed is on and does not run: its file is another -> ${info("changed")}`,
    `warn hook.failing: The hook fails failed 5 of 9 times since the start: boom -> ${look("fails")}`,
    `warn hook.failing: The hook slow failed 1 of 9 times since the start -> ${look("slow")}`,
    `warn hook.failing: The hook full failed 0 of 9 times since the start, and was not told of 4 events -> ${look("full")}`,
    "warn hook.refused: a is refused: a is no hook -> Mend it, or take the folder away",
    "warn hook.refused: b is refused: b is no hook -> Mend it, or take the folder away",
    "warn hook.unknown: hooks.internal.entries.ghost names no hook that is there -> `parley hooks list` shows their names",
    "warn hook.unknown: hooks.internal.entries.lost names no hook that is there -> `parley hooks list` shows their names",
  ]);
  const well = {
    hooks: [hook("a", "ready", { counts }), hook("b", "disabled"), hook("c", "ready")],
    rejected: [],
  };
  const folders = { load: { extraDirs: ["/x"] } };
  expect(await hooksFound(well, folders)).toEqual({
    asked: 1,
    told: ["ok hooks: Hooks: 2 ready, none in trouble -> "],
  });
  // Where there can be none, or they are off, nobody is asked.
  for (const internal of [{}, { ...folders, enabled: false }])
    expect(await hooksFound(well, internal)).toEqual({ asked: 0, told: [] });
  expect((await hooksFound(well, folders, "nobody gets in")).told).toEqual([]);
});

test("of MCP servers a program that is not there, and a key that travels openly, are told of each that is on", async () => {
  const home = stateFolder(null);
  mkdirSync(join(home, "bin"));
  for (const [name, mode] of [
    ["there", 0o755],
    ["plain", 0o644],
  ] as const)
    writeFileSync(join(home, "bin", name), "", { mode });
  const headers = { Authorization: secret("sk-1") };
  const servers = {
    a: { command: "there" },
    b: { command: "plain" },
    c: { command: join(home, "bin/there") },
    d: { command: "./there" },
    off: { command: "none", enabled: false },
    open: { url: "http://example.org/mcp", headers: { Accept: "x", ...headers } },
    keyless: { url: "http://example.org/mcp", headers: { Accept: "x" } },
    closed: { url: "https://example.org/mcp", headers },
    four: { url: "http://127.0.0.9:1/mcp", headers },
    six: { url: "http://[::1]:1/mcp", headers },
    name: { url: "http://localhost/mcp", headers },
    near: { url: "http://127.0.0.1.example.org/mcp", headers },
  };
  const mcp = Object.fromEntries(
    Object.entries(servers).map(([name, each]) => [name, { enabled: true, headers: {}, ...each }]),
  );
  const found = await mcpFindings({ mcp: { servers: mcp } } as unknown as Config, env(home));
  expect(found.map(({ id, level, message }) => `${level} ${id}: ${message}`)).toEqual([
    "warn mcp.program: mcp.servers.b starts plain, which is not there: its tools are missing",
    "warn mcp.program: mcp.servers.d starts ./there, which is not there: its tools are missing",
    "warn mcp.plain: mcp.servers.open sends a key over http without encryption",
    "warn mcp.plain: mcp.servers.near sends a key over http without encryption",
  ]);
});
