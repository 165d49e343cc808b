import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { configJsonSchema, hostEnv, loadConfig } from "../src/index.ts";
import { parseDocument } from "../src/file/document.ts";
import { home, loadText, problemsOf } from "./load-text.ts";

test.each([100, 100_000])(
  "a file of %i blocks in each other is refused in words, never by a stack",
  async (depth) => {
    const messages = (await problemsOf(`{"env":${"[".repeat(depth)}${"]".repeat(depth)}}`)).map(
      ({ message }) => message,
    );
    expect(messages).toContain("nested more than 64 levels deep");
    expect(messages.join(" ")).not.toContain("stack");
  },
);

test("of a file with many thousands of mistakes the first thousand are listed, and how many there are", async () => {
  const keys = Array.from({ length: 50_000 }, (_, at) => `k${at}: 1`).join(", ");
  const started = process.cpuUsage();
  const problems = await problemsOf(`{ ${keys}, gateway: { port: "x" } }`);
  expect(problems).toHaveLength(1_001);
  expect(problems[0]).toMatchObject({
    path: "",
    message: "50001 mistakes, of which 1000 are listed",
    fix: "Mend these first",
  });
  expect(problems.map(({ path }) => path)).toContain("k0");
  // All of them took half a minute, in which a gateway that reads its config again hears nobody.
  expect(process.cpuUsage(started).user).toBeLessThan(10_000_000);
});

test("sixty-four blocks in each other are read, one more is told by its place", async () => {
  const messages = async (depth: number) =>
    (await problemsOf(`{env:${"[".repeat(depth)}1${"]".repeat(depth)}}`)).map(
      ({ path, message, line, column }) => `${path} ${line}:${column} ${message}`,
    );
  expect((await messages(63)).join()).not.toContain("nested");
  expect(await messages(64)).toEqual(["env[0][0] 1:70 nested more than 64 levels deep"]);
});

test("numbers that JSON5 has beside those of JSON are read as what they are", () => {
  const { value } = parseDocument("[NaN, Infinity, -Infinity, +Infinity, -1, +2, .5, 0x10]");
  expect(value).toEqual([Number.NaN, Infinity, -Infinity, Infinity, -1, 2, 0.5, 16]);
});

test("a secret whose file is not there, is empty, or cannot be read is told by the file, and one has no blanks around it", async () => {
  const load = (files: { readonly [path: string]: string | Error }) =>
    loadConfig({
      env: {},
      home,
      readFile: async (path) => {
        if (path === `${home}/parley.json5`) return '{ gateway: { auth: { token: { file: "t" } } } }';
        const found = files[path] ?? null;
        if (found instanceof Error) throw found;
        return found;
      },
    });
  const told = (files: { readonly [path: string]: string | Error }) =>
    load(files).then(
      () => "",
      (error: Error) => error.message,
    );
  const file = `${home}/t`;
  const fix = "Write the secret into it, readable only by the user of the daemon";
  for (const [text, what] of [
    [undefined, "does not exist"],
    [" \n", "is empty"],
    [new Error("EACCES: no"), "cannot be read (EACCES: no)"],
  ] as const)
    expect(await told(text === undefined ? {} : { [file]: text })).toContain(
      `gateway.auth.token: the secret file ${file} ${what}. ${fix}`,
    );
  const { config, reads } = await load({ [file]: " \n b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0\n" });
  expect(config.gateway.auth.token?.reveal()).toBe("b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0");
  expect(reads).toEqual([`${home}/parley.json5`, file]);
});

describe("without a file", () => {
  test("people live in the time zone of the machine", async () => {
    vi.stubEnv("TZ", "Asia/Tokyo");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect((await loadText(null)).config.agents.defaults.userTimezone).toBe("Asia/Tokyo");
  });

  test("everything has its default and nothing needs a key", async () => {
    const { config, warnings, path } = await loadText(null);
    expect(config.gateway).toEqual({
      port: 7275,
      bind: "loopback",
      auth: {},
      allowedHosts: [],
      trustedProxies: [],
      metrics: { enabled: true, openOnLoopback: false },
    });
    expect(config.agents.defaults.model).toEqual({ primary: "rehearsal/rehearsal", fallbacks: [] });
    expect(config.agents.list).toEqual([
      {
        id: "main",
        workspace: `${home}/workspace`,
        model: config.agents.defaults.model,
        contextLimits: { toolResultMaxChars: 8192, postCompactionMaxChars: 1800 },
        heartbeat: config.agents.defaults.heartbeat,
        memorySearch: expect.objectContaining({ enabled: true, embedder: null }),
        tools: { byProvider: {}, exec: config.tools.exec },
        sandbox: config.agents.defaults.sandbox,
      },
    ]);
    expect(config.channels).toEqual({ telegram: {}, discord: {}, web: { enabled: true } });
    expect(config.session).toEqual({
      dmScope: "per-channel-peer",
      identityLinks: {},
      reset: { mode: "none", atHour: 4 },
      resetByType: {},
      resetByChannel: {},
      threadBindings: { enabled: true, idleHours: 24, maxAgeHours: 0 },
    });
    expect(config.bindings).toEqual([]);
    expect(config.messages.groupChat).toEqual({ historyLimit: 50 });
    expect(config.messages.queue).toEqual({ mode: "steer", debounceMs: 500, cap: 20, drop: "summarize" });
    expect([warnings, path]).toEqual([[], `${home}/parley.json5`]);
  });

  test.for([
    ["ANTHROPIC_API_KEY", "anthropic", /^anthropic\//],
    ["OPENAI_API_KEY", "openai", /^openai\//],
    ["GEMINI_API_KEY", "google", /^google\//],
  ] as const)(
    "%s in the environment is enough for a provider and a default model",
    async ([variable, name, model]) => {
      const { config } = await loadText(null, { [variable]: "key-1" });
      expect(config.models.providers[name]?.apiKey?.reveal()).toBe("key-1");
      expect(config.agents.defaults.model.primary).toMatch(model);
    },
  );

  test("bot tokens in the environment open the default accounts, which nobody may use before pairing", async () => {
    const { config } = await loadText(null, { TELEGRAM_BOT_TOKEN: "1:a", DISCORD_BOT_TOKEN: "b" });
    expect(config.channels.telegram["default"]).toMatchObject({
      apiRoot: "https://api.telegram.org",
      dmPolicy: "pairing",
      allowFrom: [],
    });
    expect(config.channels.telegram["default"]?.botToken.reveal()).toBe("1:a");
    expect(config.channels.discord["default"]?.token.reveal()).toBe("b");
  });
});

test("the example loads, and is right about the schema beside it", async () => {
  const text = readFileSync(new URL("../../../config/parley.example.json5", import.meta.url), "utf8");
  // It leaves the bots' tokens to the environment.
  const { config, warnings } = await loadText(text, { TELEGRAM_BOT_TOKEN: "1:a", DISCORD_BOT_TOKEN: "b" });
  expect(config.agents.defaults.model.primary).toBe("local/my-model");
  expect(warnings).toEqual([]);
});

test("config/parley.schema.json is what the schema says now", () => {
  const written = readFileSync(new URL("../../../config/parley.schema.json", import.meta.url), "utf8");
  expect(JSON.parse(written), "run `pnpm --filter @parley/config schema`").toEqual(
    JSON.parse(JSON.stringify(configJsonSchema())),
  );
});

test("every key of the schema has a description", () => {
  const missing: string[] = [];
  const walk = (schema: unknown, path: string): void => {
    if (typeof schema !== "object" || schema === null) return;
    for (const [key, value] of Object.entries((schema as { properties?: object }).properties ?? {})) {
      if (!("description" in value)) missing.push(`${path}.${key}`);
      walk(value, `${path}.${key}`);
    }
    const { items, additionalProperties } = schema as { items?: unknown; additionalProperties?: unknown };
    walk(items, `${path}[]`);
    walk(additionalProperties, `${path}.*`);
  };
  walk(configJsonSchema(), "");
  // The two forms of one secret are explained by the key that holds them.
  expect(missing.filter((path) => !/\.(env|file)$/.test(path))).toEqual([]);
});

describe("problems", () => {
  test("an unknown key names its line, column and the key that was meant", async () => {
    const [problem, ...more] = await problemsOf("{\n  gateway: {\n    prot: 1,\n  },\n}");
    expect(more).toEqual([]);
    expect(problem).toEqual({
      path: "gateway.prot",
      line: 3,
      column: 5,
      message: 'unknown key "prot"',
      fix: 'Did you mean "port"?',
    });
  });

  test("all problems are told at once, in the order of the file", async () => {
    const problems = await problemsOf(
      '{ logging: { level: "loud" }, gateway: { port: 70000 }, channels: { telegram: { botTokn: "x" } } }',
    );
    expect(problems.map(({ path }) => path)).toEqual([
      "logging.level",
      "gateway.port",
      "channels.telegram.botTokn",
    ]);
  });

  test.for([
    ['{ gateway: { port: "many" } }', "Write a number, without quotes"],
    ["{ gateway: { port: 1.5 } }", "Write a whole number, without quotes"],
    ["{ gateway: { port: 70000 } }", "Use at most 65535"],
    ["{ messages: { queue: { cap: 0 } } }", "Use at least 1"],
    ["{ logging: { level: 1 } }", /^Use "\w+", "\w+"/],
    ['{ channels: { web: { enabled: "yes" } } }', "Write true or false, without quotes"],
    ['{ gateway: { allowedHosts: "a" } }', "Write a list, in [ ]"],
    ['{ gateway: { allowedHosts: ["http://a"] } }', "See gateway.allowedHosts in docs/configuration.md"],
    ...[
      "proxy.example",
      "10.0.0.0/33",
      "0.0.0.0/0",
      "::/0",
      "10.0.0.0/",
      "10.0.0.1/8/8",
      "fe80::1%eth0",
      "",
    ].map(
      (each) =>
        [
          `{ gateway: { trustedProxies: ["${each}"] } }`,
          "See gateway.trustedProxies in docs/configuration.md",
        ] as const,
    ),
    ["{ gateway: null }", "Write a block, in { }"],
  ] as const)("a value of the wrong form says which form is right: %s", async ([text, fix]) => {
    expect((await problemsOf(text)).map((problem) => problem.fix)).toEqual([
      typeof fix === "string" ? fix : expect.stringMatching(fix),
    ]);
  });

  test("the fault is invalid, and its message has path, line and fix", async () => {
    const error = await loadText("{ foo: 1 }").catch((fault: unknown) => fault);
    expect(isFault(error, "invalid")).toBe(true);
    expect((error as Error).message).toMatch(/parley\.json5:1:3 foo: unknown key "foo"\. Known here: /);
  });

  test.for([
    ["{ gateway: { port: 1 ", 1],
    ["{\n gateway: { port: 1 }}\n}", 3],
    ["{\n\n gateway 1 }", 3],
    ["[1]", 1],
    ['"text"', 1],
    ["{ a: 1, a: 2 }", 1],
    ['{ "__proto__": { x: 1 } }', 1],
    [`{ gateway: ${"[".repeat(200)}${"]".repeat(200)} }`, 1],
  ] as const)("broken text %j is a problem with a line, never a crash", async ([text, line]) => {
    const problems = await problemsOf(text);
    expect(problems[0]?.line).toBe(line);
  });

  test("an empty file is a file without keys", async () => {
    expect((await loadText("")).config.gateway.port).toBe(7275);
    expect((await loadText("// nothing yet\n{}")).config.gateway.port).toBe(7275);
  });

  test("PARLEY_CONFIG that leads nowhere is an error, not a silent default", async () => {
    await expect(
      loadConfig({ env: { PARLEY_CONFIG: "/nowhere/x.json5" }, home, readFile: async () => null }),
    ).rejects.toThrow(/\/nowhere\/x\.json5 does not exist, but PARLEY_CONFIG names it/);
  });

  test.skipIf(process.platform === "win32")(
    "a pipe, a folder, a circle of links and a file without end are told at once, and nobody waits for them",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "parley-config-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const path = join(folder, "parley.json5");
      const load = () =>
        loadConfig({ env: {}, home: folder }).then(
          ({ isBlank }) => isBlank,
          (error: Error) => error.message,
        );
      const make: readonly (readonly [() => void, string | boolean])[] = [
        [() => execFileSync("mkfifo", [path]), "cannot be read: it is a pipe, and no file. Put a file"],
        [() => mkdirSync(path), "cannot be read: EISDIR"],
        [() => symlinkSync("parley.json5", path), "cannot be read: ELOOP"],
        [() => symlinkSync("/dev/zero", path), "cannot be read: it is larger than 32 MB. Put a file"],
        [() => (writeFileSync(path, ""), truncateSync(path, 33 * 1024 * 1024)), "it is larger than 32 MB"],
        [() => symlinkSync("/dev/null", path), true],
      ];
      for (const [place, expected] of make) {
        place();
        const told = await load();
        if (typeof expected === "string") expect(told).toContain(expected);
        else expect(told).toBe(expected);
        rmSync(path, { recursive: true });
      }
      // A secret's file is no other, and neither is that of variables, which every command reads.
      execFileSync("mkfifo", [join(folder, "token")]);
      writeFileSync(path, '{ gateway: { auth: { token: { file: "token" } } } }');
      expect(await load()).toContain(`${folder}/token cannot be read (it is a pipe, and no file)`);
      execFileSync("mkfifo", [join(folder, "env")]);
      vi.stubEnv("PARLEY_HOME", folder);
      onTestFinished(() => void vi.unstubAllEnvs());
      expect(hostEnv()["PARLEY_HOME"]).toBe(folder);
    },
  );

  test("a file that cannot be read says why", async () => {
    const readFile = (): Promise<never> => Promise.reject(new Error("EACCES: permission denied"));
    await expect(loadConfig({ env: {}, home, readFile })).rejects.toThrow(/cannot be read: EACCES/);
  });
});

describe("a file of a newer version", () => {
  test("starts with a warning for each key that is ignored", async () => {
    const { config, warnings } = await loadText(
      "{ configVersion: 2, gateway: { port: 1, speed: 9 }, future: { a: 1 } }",
    );
    expect(config.gateway.port).toBe(1);
    expect(warnings.map(({ path }) => path)).toEqual(["configVersion", "gateway.speed", "future"]);
  });

  test("still must not be wrong about the keys that are known", async () => {
    expect(
      (await problemsOf('{ configVersion: 2, gateway: { port: "x" }, future: 1 }')).map(({ path }) => path),
    ).toEqual(["gateway.port"]);
  });
});

test("the config cannot be changed by accident", async () => {
  const { config } = await loadText("{ channels: { telegram: { botToken: 'x', allowFrom: [1] } } }");
  const allowFrom = config.channels.telegram["default"]?.allowFrom ?? [];
  expect(allowFrom).toEqual(["1"]);
  expect(() => (allowFrom as string[]).push("*")).toThrow(TypeError);
});

test("who sees the answers of slash commands is said for all accounts, and by one for itself", async () => {
  const { config, warnings } = await loadText(
    "{ channels: { discord: { token: 'x', slashCommand: { ephemeral: true }, accounts: { two: { token: 'y', slashCommand: { ephemeral: false } }, three: { token: 'z', slashCommand: {} } } } } }",
  );
  const { default: first, two, three } = config.channels.discord;
  expect([first?.ephemeral, two?.ephemeral, three?.ephemeral]).toEqual([true, false, undefined]);
  expect(warnings).toEqual([]);
});

test.each([
  ["{}", ["command: a server has a command or a url"]],
  ['{ command: "c", url: "https://a.example" }', ["url: a server has a command or a url, not both"]],
  ['{ url: "https://a.example", transport: "stdio" }', ["transport: stdio needs a command"]],
  ['{ command: "c", transport: "http" }', ["transport: http needs a url"]],
  ['{ command: "c", type: "sse" }', ["transport: sse needs a url"]],
  [
    '{ command: "c", type: "stdio", transport: "stdio" }',
    ["type: transport and type are two names of one setting: keep one"],
  ],
  ['{ url: "https://eve@a.example" }', ["url: no name and password in the address: use headers"]],
  ['{ url: "https://:pw@a.example" }', ["url: no name and password in the address: use headers"]],
  ['{ command: "c", transport: "stdio" }', []],
  ['{ url: "https://a.example", type: "sse" }', []],
  ['{ url: "https://a.example", transport: "http" }', []],
])("the MCP server %s is told what is wrong with it", async (server, wrong) => {
  const problems = await problemsOf(`{ mcp: { servers: { x: ${server} } } }`);
  expect(problems.map(({ path, message }) => `${path.replace("mcp.servers.x.", "")}: ${message}`)).toEqual(
    wrong,
  );
});

test("a level of thinking that there is not is told with those that there are", async () => {
  expect(await problemsOf('{ agents: { defaults: { thinkingDefault: "loud" } } }')).toMatchObject([
    {
      path: "agents.defaults.thinkingDefault",
      message: '"loud" is no level of thinking',
      fix: "Use one of: off, minimal, low, medium, high, xhigh",
    },
  ]);
});
