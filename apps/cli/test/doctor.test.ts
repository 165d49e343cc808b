// The doctor: what it finds, that every finding says what to do, and that mending is the same once and twice.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { roomFindings } from "../src/doctor/files.ts";
import { fakeGateway, parley, stateFolder } from "./fake-gateway.ts";
import { realGateway } from "./stand-in.ts";

interface Told {
  readonly errors: number;
  readonly warnings: number;
  readonly fixed: number;
  readonly findings: readonly {
    readonly id: string;
    readonly level: string;
    readonly message: string;
    readonly fix: string;
    readonly fixed: boolean;
  }[];
}

async function doctor(
  home: string,
  ...flags: readonly string[]
): Promise<Told & { readonly exitCode: number }> {
  const { exitCode, out } = await parley(home, ["doctor", ...flags, "--json"], {
    env: { HOME: home, PATH: "/usr/bin:/bin", ...realGateway() },
  });
  return { exitCode, ...(JSON.parse(out) as Told) };
}

const idsOf = ({ findings }: Told, level: string): readonly string[] =>
  findings.filter((each) => each.level === level).map(({ id }) => id);

test("hooks that are on and cannot run, files that are refused and entries without a hook are told", async () => {
  const home = stateFolder(
    '{ gateway: { port: 1 }, hooks: { internal: { entries: { ghost: { enabled: true }, "boot-md": { enabled: true } } } } }',
  );
  const front =
    'metadata: { openclaw: { events: ["message:received"], requires: { bins: ["no-such-program"] } } }';
  for (const [name, text] of [
    ["needs", `---\nname: needs\ndescription: d\n${front}\n---\n`],
    ["broken", "no front matter"],
  ] as const) {
    mkdirSync(join(home, "hooks", name), { recursive: true });
    writeFileSync(join(home, "hooks", name, "HOOK.md"), text);
    writeFileSync(join(home, "hooks", name, "handler.js"), "export default () => {};\n");
  }
  const { findings } = await doctor(home);
  const told = findings.filter(({ id }) => id.startsWith("hook"));
  expect(told.map(({ id, message }) => [id, message])).toEqual([
    ["hook.stuck", expect.stringContaining("no-such-program")],
    ["hook.refused", expect.stringContaining("broken/HOOK.md")],
    ["hook.unknown", expect.stringContaining("entries.ghost")],
  ]);
});

test("a workspace in which anybody may write is told and closed with --fix; inside a closed folder it is not", async () => {
  const elsewhere = stateFolder(null, null);
  const workspace = join(elsewhere, "notes");
  mkdirSync(workspace);
  writeFileSync(join(workspace, "SOUL.md"), "kind");
  const home = stateFolder(
    `{ gateway: { port: 1 }, agents: { defaults: { workspace: ${JSON.stringify(workspace)} } } }`,
  );
  const open = (): void => {
    chmodSync(workspace, 0o777);
    chmodSync(join(workspace, "SOUL.md"), 0o666);
  };
  open();
  const told = async (...flags: readonly string[]): Promise<readonly string[]> =>
    (await doctor(home, ...flags)).findings.flatMap(({ id, message }) =>
      id === "workspace.open" ? [message] : [],
    );
  chmodSync(elsewhere, 0o700);
  expect(await told("--security")).toEqual([]);
  chmodSync(elsewhere, 0o755);
  expect(await told("--security")).toEqual([
    expect.stringContaining(`${workspace}, `),
    expect.stringContaining("SOUL.md"),
  ]);
  await told("--fix");
  expect(await told()).toEqual([]);
  expect([workspace, join(workspace, "SOUL.md")].map((path) => statSync(path).mode & 0o777)).toEqual([
    0o775, 0o664,
  ]);
});

describe("a state folder", () => {
  test("that others may read is told, and closed with --fix, once and for all; nothing is deleted", async () => {
    const home = stateFolder("{ gateway: { port: 1 } }");
    mkdirSync(join(home, "logs"));
    writeFileSync(join(home, "state.db.replaced-1"), "old");
    chmodSync(home, 0o755);
    for (const name of ["gateway-token", "parley.json5", "state.db.replaced-1"])
      chmodSync(join(home, name), 0o644);
    chmodSync(join(home, "logs"), 0o755);
    const before = readdirSync(home).toSorted();

    const found = await doctor(home);
    expect([found.exitCode, idsOf(found, "error")]).toEqual([
      1,
      Array.from({ length: 5 }, () => "files.mode"),
    ]);
    expect(found.findings.every(({ level, fix }) => level === "ok" || fix !== "")).toBe(true);

    const mended = await doctor(home, "--fix");
    expect([mended.exitCode, mended.errors, mended.fixed]).toEqual([0, 0, 5]);
    const modes = ["", "logs", "gateway-token", "parley.json5", "state.db.replaced-1"].map(
      (name) => statSync(join(home, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o600, 0o600, 0o600]);
    const again = await doctor(home, "--fix");
    expect([again.errors, again.fixed]).toEqual([0, 0]);
    expect(readdirSync(home).toSorted()).toEqual(before);
  });

  test("a secret file that the config names is looked at wherever it lies, and its folder's other files are not", async () => {
    const other = stateFolder(null, null);
    for (const name of ["bot", "neighbour"])
      writeFileSync(join(other, name), "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    for (const name of ["bot", "neighbour"]) chmodSync(join(other, name), 0o644);
    const home = stateFolder(`{ channels: { telegram: { botToken: { file: "${other}/bot" } } } }`);
    const found = await doctor(home);
    const told = found.findings.filter(({ id, message }) => id === "files.mode" && message.includes(other));
    expect(told).toMatchObject([
      { level: "error", message: expect.stringContaining(`${other}/bot (mode 644)`) as string },
    ]);
    await doctor(home, "--fix");
    expect([
      statSync(join(other, "bot")).mode & 0o777,
      statSync(join(other, "neighbour")).mode & 0o777,
    ]).toEqual([0o600, 0o644]);
  });

  test("that is not there is no error, and is made with --fix", async () => {
    const home = join(stateFolder(null, null), "new");
    expect(await doctor(home)).toMatchObject({ exitCode: 0, errors: 0 });
    expect(idsOf(await doctor(home, "--fix"), "warn")).toContain("home.missing");
    expect(statSync(home).mode & 0o777).toBe(0o700);
  });
});

test.each([
  [512, []],
  [511, ["warn Only 511 MB are free at /h"]],
  [64, ["warn Only 64 MB are free at /h"]],
  [63, ["error Only 63 MB are free at /h"]],
  [0, ["error Only 0 MB are free at /h"]],
])("with %d MB left on the disk it says %j", (megabytes, said) => {
  const found = roomFindings("/h", megabytes * 1_048_576);
  expect(found.map(({ level, message }) => `${level} ${message}`)).toEqual(said);
});

test.each([
  [[], ["bwrap", "docker"]],
  [["docker"], ["bwrap"]],
  [["bwrap"], ["docker"]],
  [["bwrap", "docker"], []],
])(
  "of the sandboxes' programs %j are there, so %j are missing, each with its own way out",
  async (there, missing) => {
    const home = stateFolder(`{
    gateway: { port: 1 },
    agents: { list: [
      { id: "main", sandbox: { mode: "off", backend: "docker" } },
      { id: "one", sandbox: { mode: "non-main", backend: "bubblewrap" } },
      { id: "two", sandbox: { mode: "all", backend: "docker" } },
      { id: "three", sandbox: { mode: "all", backend: "docker" } },
    ] },
  }`);
    const programs = join(home, "bin");
    mkdirSync(programs);
    for (const name of there) writeFileSync(join(programs, name), "", { mode: 0o755 });
    const { out } = await parley(home, ["doctor", "--json"], { env: { HOME: home, PATH: programs } });
    const found = (JSON.parse(out) as Told).findings.filter(({ id }) => id === "sandbox.program");
    expect(found.map(({ message }) => /the program (\w+)/.exec(message)?.[1])).toEqual(missing);
    for (const { level, message, fix } of found)
      expect([level, fix]).toEqual([
        "error",
        message.includes("docker")
          ? expect.stringMatching(/Docker.*"bubblewrap"/)
          : expect.stringMatching(/bubblewrap.*"off"/),
      ]);
  },
);

test('a docker sandbox whose network is "egress" is told, since its commands are refused', async () => {
  const sandbox = (backend: string, mode = "all") =>
    `{ mode: "${mode}", backend: "${backend}", network: "egress" }`;
  const told = await doctor(
    stateFolder(`{ gateway: { port: 1 }, agents: { list: [
      { id: "main", sandbox: ${sandbox("docker")} }, { id: "one", sandbox: ${sandbox("bubblewrap")} },
      { id: "two", sandbox: ${sandbox("docker", "non-main")} }, { id: "three", sandbox: ${sandbox("docker", "off")} } ] } }`),
  );
  const found = told.findings.filter(({ id }) => id === "sandbox.egress");
  expect(found.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The sandbox of main is docker's/),
    expect.stringMatching(/^The sandbox of two is docker's/),
  ]);
});

test("MCP servers whose program is missing, or whose key travels in the clear, are told", async () => {
  const servers = `{
    there: { command: "sh" }, off: { command: "/no/such/program", enabled: false },
    gone: { command: "no-such-program" },
    clear: { url: "http://example.org/mcp", headers: { Authorization: "Bearer 0123456789abcdef" } },
    near: { url: "http://127.0.0.1:9/mcp", headers: { Authorization: "Bearer 0123456789abcdef" } },
  }`;
  const told = await doctor(stateFolder(`{ gateway: { port: 1 }, mcp: { servers: ${servers} } }`));
  const found = told.findings.filter(({ id }) => id.startsWith("mcp."));
  expect(found.map(({ id, message }) => [id, message.split(" ")[0]])).toEqual([
    ["mcp.program", "mcp.servers.gone"],
    ["mcp.plain", "mcp.servers.clear"],
  ]);
});

test("a broken config is told with its places, and the rest is looked at all the same: exit code 78", async () => {
  const home = stateFolder("{\n gateway: { prot: 1 },\n channels: { telegram: { dmPolicy: 'opne' } }\n}");
  const found = await doctor(home, "--security");
  expect(found.exitCode).toBe(78);
  const config = found.findings.filter(({ id }) => id === "config");
  expect(config.map(({ message }) => /parley\.json5:(\d+)/.exec(message)?.[1])).toEqual(["2", "3"]);
  expect(config[0]?.fix).toContain('"port"');
  expect(found.findings.map(({ id }) => id)).toContain("gateway.stopped");
});

test("a gateway that runs is asked how it is", async () => {
  const gateway = await fakeGateway(() => ({
    version: "1.2.3",
    pid: process.pid,
    bootId: "b",
    state: "degraded",
    reasons: ["the disk is full"],
    channels: [{ channel: "telegram", account: "default", state: "down", reason: "wrong token" }],
    deadRows: 2,
    deliveriesTroubled: 1,
  }));
  const found = await doctor(gateway.home);
  expect(idsOf(found, "warn")).toEqual(
    expect.arrayContaining(["gateway.state", "gateway.dead", "gateway.troubled"]),
  );
  expect(idsOf(found, "error")).toEqual(["channel.down"]);
});

test("a port that another program has is told", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const found = await doctor(
    stateFolder(`{ gateway: { port: ${(server.address() as AddressInfo).port} } }`, null),
  );
  expect(idsOf(found, "error")).toEqual(["gateway.port"]);
});

describe("--security", () => {
  const strong = "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0";
  test.for([
    ["gateway: { port: 1, bind: 'lan', auth: { token: 'changeme' } }", "error", "config"],
    ["gateway: { port: 1, auth: { token: 'abcdefghijkl' } }", "error", "gateway.token.weak"],
    [`gateway: { port: 1, bind: 'lan', auth: { token: '${strong}' } }`, "warn", "gateway.bind"],
    [`gateway: { port: 1, auth: { token: '${strong}' } }`, "warn", "config.secrets"],
    [
      "channels: { telegram: { botToken: '1:a', dmPolicy: 'open', allowFrom: ['*'] } }",
      "warn",
      "channel.dm-open",
    ],
    ["channels: { telegram: { botToken: '1:a', groupPolicy: 'open' } }", "warn", "channel.group-open"],
    ["channels: { telegram: { botToken: '1:a', groupPolicy: 'open' } }", "warn", "channel.open-unlimited"],
    ["backup: { everyHours: 24, folder: '/backups' }", "warn", "backup.plain"],
    [
      "channels: { discord: { token: 'a.b.c', dmPolicy: 'open', allowFrom: ['*'] } }, tools: { exec: { mode: 'full' } }",
      "error",
      "channel.open-exec",
    ],
    ["tools: { exec: { mode: 'full' } }", "warn", "exec.full"],
    ["tools: { exec: { mode: 'full', ask: 'off' } }", "error", "exec.unasked"],
    ["tools: { fs: { readRoots: ['/'] } }", "warn", "fs.read-roots"],
    ["channels: { telegram: { botToken: '1:a' } }, session: { dmScope: 'main' }", "error", "session.shared"],
    [
      "models: { providers: { far: { api: 'openai-completions', baseUrl: 'http://models.example.org/v1', apiKey: 'k' } } }",
      "warn",
      "transport.provider",
    ],
    [
      "channels: { telegram: { botToken: '1:a', apiRoot: 'http://bots.example.org' } }",
      "warn",
      "transport.channel",
    ],
    [
      "channels: { discord: { accounts: { a: { token: 'a.b.c', apiRoot: 'http://bots.example.org/api' } } } }",
      "warn",
      "transport.channel",
    ],
    ["store: { driver: 'redis', redis: { url: 'redis://db.example.org:6379' } }", "warn", "transport.redis"],
    ["channels: { telegram: { botToken: '1:a', groupPolicy: 'open' } }", "warn", "channel.open-unsandboxed"],
    ["tools: { taint: 'off' }", "warn", "tools.taint"],
    [
      "tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true, allow: ['*'] } }",
      "warn",
      "sessions.visible",
    ],
    ["tools: { message: { crossContext: 'all' } }", "warn", "message.everywhere"],
    ["browser: { evaluateEnabled: true }", "warn", "browser.evaluate"],
    ["browser: { noSandbox: true }", "warn", "browser.no-sandbox"],
    ["browser: { cdpUrl: 'ws://far.example.org:9222' }", "warn", "transport.browser"],
    ["tools: { web: { egress: { allow: ['10.0.0.0/8'] } } }", "warn", "egress.wide"],
    ["agents: { defaults: { sandbox: { mode: 'all', network: true } } }", "warn", "sandbox.network"],
    ["mcp: { servers: { files: { command: 'npx', args: ['-y', '@a/files'] } } }", "warn", "mcp.unpinned"],
    ["gateway: { port: 1, trustedProxies: ['128.0.0.0/1'] }", "error", "gateway.trusted-proxies"],
    [
      "gateway: { port: 1, trustedProxies: ['10.0.0.1'], metrics: { openOnLoopback: true } }",
      "warn",
      "gateway.metrics-open",
    ],
    ["gateway: { port: 1, publicUrl: 'http://chat.example.org' }", "warn", "gateway.public-plain"],
    [
      "telemetry: { traces: { endpoint: 'http://far.example.org/v1/traces', includeContent: true } }",
      "warn",
      "transport.traces",
    ],
  ])("%s is %s %s", async ([block = "", level = "", id = ""]) => {
    const found = await doctor(stateFolder(`{ ${block} }`, null), "--security");
    expect(idsOf(found, level)).toContain(id);
    expect(found.findings.every(({ fix, level: each }) => each === "ok" || fix !== "")).toBe(true);
  });

  test("finds nothing in a config that is safe, and takes near servers for near", async () => {
    const models =
      "models: { providers: { near: { api: 'openai-completions', baseUrl: 'http://127.0.0.1:1/v1', apiKey: { env: 'K' } } } }";
    const home = stateFolder(`{ gateway: { port: 1 }, ${models} }`, null);
    const { out } = await parley(home, ["doctor", "--security", "--json"], {
      env: { HOME: home, PATH: "/usr/bin:/bin", K: "key" },
    });
    expect((JSON.parse(out) as Told).findings.map(({ id }) => id)).toContain("security");
  });

  test.for([
    ["mcp: { servers: { files: { command: 'npx', args: ['-y', '@a/files@1.2.3'] } } }", "mcp.unpinned"],
    ["mcp: { servers: { files: { command: 'uvx', args: ['files==1.2.3'] } } }", "mcp.unpinned"],
    ["tools: { web: { egress: { allow: ['10.1.0.0/16', 'wiki:8080'] } } }", "egress.wide"],
    ["agents: { defaults: { sandbox: { mode: 'all', network: 'egress' } } }", "sandbox.network"],
    ["browser: { cdpUrl: 'ws://127.0.0.1:9222' }", "transport.browser"],
    ["gateway: { port: 1, trustedProxies: ['10.0.0.0/8'] }", "gateway.trusted-proxies"],
    ["gateway: { port: 1, publicUrl: 'https://chat.example.org' }", "gateway.public-plain"],
    ["telemetry: { traces: { endpoint: 'http://far.example.org/v1/traces' } }", "transport.traces"],
  ])("with %s it says nothing of %s", async ([block = "", id = ""]) => {
    const found = await doctor(stateFolder(`{ ${block} }`, null), "--security");
    expect(idsOf(found, "error")).not.toContain("config");
    expect(found.findings.map((each) => each.id)).not.toContain(id);
  });

  test.each([
    "rediss://db.example.org",
    "redis://10.0.0.5",
    "redis://redis:6379",
    "redis://[::1]",
    "/run/redis.sock",
  ])("takes Redis at %s for safe on its way", async (url) => {
    const home = stateFolder(`{ store: { driver: "redis", redis: { url: "${url}" } } }`, null);
    expect(idsOf(await doctor(home, "--security"), "warn")).not.toContain("transport.redis");
  });

  test("shows no secret", async () => {
    const home = stateFolder("{ gateway: { port: 1, auth: { token: 'hush-hush-hush' } } }", null);
    const { out } = await parley(home, ["doctor", "--security"], {
      env: { HOME: home, PATH: "/usr/bin:/bin" },
    });
    expect(out).not.toContain("hush-hush-hush");
    expect(readFileSync(join(home, "parley.json5"), "utf8")).toContain("hush-hush-hush");
  });
});

test("--live tries the tokens and the model", async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.url?.includes("bad") === true ? 401 : 200, {
      "content-type": "application/json",
    });
    response.end(
      request.url === "/bot1:good/getMe"
        ? '{"ok":true,"result":{"id":1,"username":"good_bot"}}'
        : '{"ok":false,"description":"Unauthorized"}',
    );
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const apiRoot = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const accounts = `accounts: { other: { botToken: '1:bad' } }`;
  const home = stateFolder(
    `{ gateway: { port: 1 }, channels: { telegram: { botToken: '1:good', apiRoot: '${apiRoot}', ${accounts} } } }`,
    null,
  );
  const found = await doctor(home, "--live");
  const live = found.findings
    .filter(({ id }) => id === "live")
    .map(({ level, message }) => `${level} ${message}`);
  expect(live.slice(0, 2)).toEqual([
    "ok telegram:default: @good_bot",
    "error telegram:other: Telegram refuses the token: Unauthorized",
  ]);
  expect(live[2]).toContain("ok model: rehearsal/rehearsal");
  expect(found.exitCode).toBe(1);
});

test("variables that are set only for the gateway are no error of its config", async () => {
  const gateway = await fakeGateway(({ method }) => {
    if (method === "config.validate") return { problems: [], warnings: [] };
    const well = {
      version: "1",
      pid: process.pid,
      bootId: "b",
      state: "ok",
      reasons: [],
      channels: [],
      deadRows: 0,
      deliveriesTroubled: 0,
    };
    return { configPath: join(gateway.home, "parley.json5"), ...well };
  });
  const config = join(gateway.home, "parley.json5");
  writeFileSync(
    config,
    readFileSync(config, "utf8").replace(/\}$/, ', channels: { telegram: { botToken: { env: "T" } } } }'),
  );
  const found = await doctor(gateway.home);
  expect([found.exitCode, idsOf(found, "error")]).toEqual([0, []]);
  expect(found.findings.find(({ id }) => id === "config.here")).toMatchObject({
    level: "warn",
    message: "The config is right for the running gateway and not in this environment",
    fix: "Set the same variables here to check the rest",
  });
});

test("the doctor says each finding in its colour, with what to do and what --fix does of it, and counts them", async () => {
  const home = stateFolder("{ gateway: { port: 1 } }");
  chmodSync(join(home, "gateway-token"), 0o644);
  chmodSync(join(home, "parley.json5"), 0o600);
  const run = (more: object, ...flags: readonly string[]) =>
    parley(home, ["doctor", ...flags], { env: { HOME: home, PATH: "/nowhere" }, ...more });
  const mode = `${home}/gateway-token (mode 644)`;
  const lines = (text: string): readonly string[] => text.trimEnd().split("\n");
  const before = lines((await run({})).out);
  const at = before.findIndex((line) => line.includes(mode));
  expect(before.at(at)).toMatch(/^warn {3}Others on this machine may use /);
  expect(before.at(at + 1)).toMatch(/^ {7}\S.* \(--fix does it\)$/);
  expect(before).toContain(`ok     ${home}/parley.json5 is valid`);
  expect(before).toContain("warn   No language model is set up: the rehearsal answers");
  expect(before[before.indexOf("warn   No language model is set up: the rehearsal answers") + 1]).toBe(
    "       Run `parley setup`",
  );
  const warnings = before.filter((line) => line.startsWith("warn ")).length;
  expect(warnings).toBeGreaterThan(1);
  expect(before.at(-1)).toBe(`0 errors, ${warnings} warnings.`);
  const shown = lines((await run({ isTTY: true }, "--fix")).out.replaceAll("\u001B[", "^"));
  expect(shown.find((line) => line.includes(mode))).toMatch(/^\^32mfixed\^0m {2}/);
  expect(shown).toContain("^33mwarn ^0m  No language model is set up: the rehearsal answers");
  expect(shown).toContain(`^32mok   ^0m  ${home}/parley.json5 is valid`);
  expect(shown.at(-1)).toBe(`0 errors, ${warnings - 1} warnings, 1 fixed.`);
  writeFileSync(join(home, "parley.json5"), "{ gateway: { prot: 1 } }");
  const broken = await run({ isTTY: true });
  expect(lines(broken.out).at(-1)).toMatch(/^1 error, (?:1 warning|\d+ warnings)\.$/);
  expect([broken.exitCode, broken.out.replaceAll("\u001B[", "^")]).toEqual([
    78,
    expect.stringMatching(
      /^\^31merror\^0m {2}\S+parley\.json5:1:14 gateway\.prot: unknown key "prot"\n {7}Did you/,
    ),
  ]);
});

test("a config that names a place which one of several agents cannot have is wrong, as a change to it would be", async () => {
  const home = stateFolder(null);
  const workspace = join(home, "gateway-token", "notes");
  const agents = JSON.stringify({ list: [{ id: "main" }, { id: "two", workspace }] });
  writeFileSync(join(home, "parley.json5"), `{ gateway: { port: 1 }, agents: ${agents} }`);
  const found = await doctor(home);
  const config = found.findings.filter(({ id }) => id.startsWith("config"));
  expect([found.exitCode, config]).toMatchObject([
    78,
    [
      {
        level: "error",
        message: expect.stringMatching(/parley\.json5:1:\d+ agents\.list\[1\]\.workspace: /) as string,
        fix: "Name a folder that the user of the daemon may write to",
      },
    ],
  ]);
});

test("of the config, the model and the accounts the doctor says what is well and what is odd", async () => {
  const told = async (text: string, env: object = {}): Promise<unknown> => {
    const home = stateFolder(text);
    const { out } = await parley(home, ["doctor", "--json"], {
      env: { HOME: home, PATH: "/nowhere", ...env },
    });
    return (JSON.parse(out) as Told).findings.flatMap(({ id, level, message, fix }) =>
      /^(?:config|model|channel)/.test(id)
        ? [[id, level, message.replaceAll(home, "HOME").replace(/:1:\d+ /, ":1 "), fix]]
        : [],
    );
  };
  const valid = ["config", "ok", "HOME/parley.json5 is valid", ""];
  expect(await told("{}")).toEqual([
    valid,
    ["model.rehearsal", "warn", "No language model is set up: the rehearsal answers", "Run `parley setup`"],
    [
      "channel.none",
      "warn",
      "Neither Telegram nor Discord is set up: only the web chat works",
      "Run `parley setup`",
    ],
  ]);
  const model =
    "agents: { defaults: { model: 'ollama/m' } }, models: { providers: { ollama: { models: [{ id: 'm' }] } } }";
  expect(await told(`{ ${model}, channels: { telegram: { botToken: 'odd' } } }`)).toEqual([
    valid,
    [
      "config.warning",
      "warn",
      "HOME/parley.json5:1 channels.telegram.botToken: this is no token of a bot, so the account stays down",
      "Copy it again from @BotFather: <number>:<secret>",
    ],
    ["model", "ok", "The model is ollama/m", ""],
  ]);
  expect(await told(`{ ${model}, channels: { discord: { token: 'a.b.c' } } }`)).toContainEqual([
    "model",
    "ok",
    "The model is ollama/m",
    "",
  ]);
});
