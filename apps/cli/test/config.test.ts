// The config in an operator's hands: read, changed with its comments kept, checked; with a broken file and
// without a gateway.
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { changeConfig, checkConfig } from "../src/config-editor.ts";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";

const file = `// mine
{
  gateway: { port: 1 }, // the port
  channels: { telegram: { botToken: "123:a-secret-token" } },
}
`;
const textIn = (home: string): string => readFileSync(join(home, "parley.json5"), "utf8");

describe("config get", () => {
  test("shows one place, with its default, or the whole with secrets masked", async () => {
    const home = stateFolder(file);
    expect(await parley(home, ["config", "get", "gateway.port"])).toEqual({
      exitCode: 0,
      out: "1\n",
      err: "",
    });
    expect((await parley(home, ["config", "get", "gateway.bind"])).out).toBe("loopback\n");
    expect((await parley(home, ["config", "get", "gateway.bind", "--json"])).out).toBe('"loopback"\n');
    const whole = (await parley(home, ["config", "get"])).out;
    expect(whole).not.toContain("a-secret-token");
    expect(JSON.parse(whole)).toMatchObject({
      channels: { telegram: { default: { botToken: "[secret]" } } },
    });
    expect(JSON.parse((await parley(home, ["config", "get", "--file", "--json"])).out)).toEqual({
      gateway: { port: 1 },
      channels: { telegram: { botToken: "[secret]" } },
    });
  });

  test("--text shows the file as it stands, comments too, without its secrets", async () => {
    const home = stateFolder(
      '// mine\n{ gateway: { port: 1 /* x */, auth: { token: "a-secret-token-of-mine-0123" } } }\n',
    );
    expect(await parley(home, ["config", "get", "--text"])).toMatchObject({
      exitCode: 0,
      out: '// mine\n{ gateway: { port: 1 /* x */, auth: { token: "[secret]" } } }\n',
    });
    const broken = await parley(stateFolder("{ gateway: "), ["config", "get", "--text"]);
    expect([broken.exitCode, broken.out]).toEqual([78, ""]);
  });

  test("names the nearest key for a place that is not there", async () => {
    const { exitCode, err } = await parley(stateFolder(file), ["config", "get", "gateway.prot"]);
    expect([exitCode, err]).toEqual([1, 'Nothing is set at gateway.prot. Did you mean "port"?\n']);
  });

  test("tells what a running gateway finds wrong with its place and its fix", async () => {
    const problems = [
      { path: "a.b", message: "no such key", line: 3, column: 7, fix: "remove it" },
      { path: "c", message: "is wrong" },
    ];
    const gateway = await fakeGateway(({ method }) =>
      method === "status"
        ? { configPath: join(gateway.home, "parley.json5") }
        : { path: "/x/parley.json5", file: { a: 1 }, config: null, problems },
    );
    const { exitCode, out, err } = await parley(gateway.home, ["config", "get"]);
    expect([exitCode, JSON.parse(out)]).toEqual([78, { a: 1 }]);
    expect(err).toMatchInlineSnapshot(`
      "/x/parley.json5:3:7 a.b: no such key. remove it
      /x/parley.json5 c: is wrong
      Shown is what the file says, without defaults.
      "
    `);
  });

  test("shows a broken file as far as it goes, and what is wrong with it", async () => {
    const { exitCode, out, err } = await parley(stateFolder("{\n gateway: { prot: 1 }\n}"), [
      "config",
      "get",
    ]);
    expect(exitCode).toBe(78);
    expect(JSON.parse(out)).toEqual({ gateway: { prot: 1 } });
    expect(err).toContain('parley.json5:2:13 gateway.prot: unknown key "prot". Did you mean "port"?');
  });
});

describe("config set", () => {
  test.for([
    ["gateway.port", "7", "{ port: 7 }, // the port"],
    ["channels.telegram.allowFrom[0]", "42", "allowFrom: [42]"],
    ["channels.telegram.dmPolicy", "disabled", 'dmPolicy: "disabled"'],
    ["commands.ownerAllowFrom", '["telegram:1"]', 'ownerAllowFrom: ["telegram:1"]'],
    ["session.identityLinks.alice", '["telegram:5","telegram:6"]', 'alice: ["telegram:5", "telegram:6"]'],
    ["agents.defaults.userTimezone", "UTC", 'userTimezone: "UTC"'],
    ["channels.telegram.groups", '{"-100123":{"requireMention":false}}', '"-100123": {'],
    ["channels.telegram.groups", "{ '-100124': { requireMention: false }, }", '"-100124": {'],
    ["gateway.auth.token", "12345678901234567890", 'token: "12345678901234567890"'],
  ])("%s to %s keeps the comments", async ([path = "", value = "", words = ""]) => {
    const home = stateFolder(file);
    expect(await parley(home, ["config", "set", path, value])).toMatchObject({ exitCode: 0, err: "" });
    const text = textIn(home);
    expect(text).toContain(words);
    expect(text.startsWith("// mine\n")).toBe(true);
    expect(text).toContain("// the port");
    expect((await parley(home, ["config", "validate"])).exitCode).toBe(0);
  });

  test("reads a secret from standard input, and takes a number as a text when told", async () => {
    const home = stateFolder(file);
    const input = new PassThrough();
    input.end("999:another-token\n");
    expect(
      (await parley(home, ["config", "set", "channels.telegram.botToken", "-"], { input })).exitCode,
    ).toBe(0);
    expect(textIn(home)).toContain('botToken: "999:another-token"');
    expect((await parley(home, ["config", "set", "gateway.port", "5", "--string"])).exitCode).toBe(1);
  });

  test("writes nothing that would be wrong, and says where", async () => {
    const home = stateFolder(file);
    for (const [path, value, words] of [
      ["gateway.prot", "1", 'Did you mean "port"?'],
      ["gateway.port", "none", "gateway.port"],
      ["gateway.bind", "lan", "no token is set"],
    ] as const) {
      const { exitCode, err } = await parley(home, ["config", "set", path, value]);
      expect([exitCode, err]).toEqual([1, expect.stringContaining(words)]);
    }
    expect(textIn(home)).toBe(file);
    expect(await parley(home, ["config", "set", "gateway..port", "1"])).toMatchObject({ exitCode: 2 });
  });

  test("mends a broken file", async () => {
    const home = stateFolder("{\n gateway: { port: 99999 }, // too high\n}");
    expect((await parley(home, ["config", "validate"])).exitCode).toBe(78);
    expect((await parley(home, ["config", "set", "gateway.port", "7000"])).exitCode).toBe(0);
    expect(textIn(home)).toContain("port: 7000 }, // too high");
  });

  test("mends one of two mistakes, and says what is left; what it adds must be right", async () => {
    const home = stateFolder("{\n gateway: { port: 99999 },\n loging: {},\n}");
    expect((await parley(home, ["config", "set", "gateway.port", "-1"])).exitCode).toBe(1);
    expect((await parley(home, ["config", "set", "logging.level", "debug"])).exitCode).toBe(1);
    const first = await parley(home, ["config", "set", "gateway.port", "7000"]);
    expect([first.exitCode, first.out]).toEqual([0, expect.stringContaining("gateway.port")]);
    expect(first.err).toMatch(/loging: unknown key .*\nNothing of the file is in force/);
    expect(textIn(home)).toContain("port: 7000");
    expect((await parley(home, ["config", "unset", "loging"])).err).toBe("");
    expect((await parley(home, ["config", "validate"])).exitCode).toBe(0);
  });

  test("mends a mistake that hid another one", async () => {
    const home = stateFolder('{\n gateway: { prot: 1, bind: "lan" },\n}');
    const { exitCode, err } = await parley(home, ["config", "unset", "gateway.prot"]);
    expect([exitCode, err]).toEqual([0, expect.stringContaining("no token is set")]);
    expect((await parley(home, ["config", "set", "gateway.bind", "loopback"])).err).toBe("");
  });

  test("makes the file and its folder where there are none; unset takes a place out", async () => {
    const home = join(stateFolder(null, null), "new");
    expect((await parley(home, ["config", "set", "gateway.port", "7000"])).exitCode).toBe(0);
    expect((await parley(home, ["config", "unset", "gateway.port"])).exitCode).toBe(0);
    expect((await parley(home, ["config", "get", "gateway.port"])).out).toBe("7275\n");
    expect((await parley(home, ["config", "unset", "gateway.port"])).out).toContain("says so already");
  });

  test("goes through the gateway of the same folder, which says what waits for a restart", async () => {
    const gateway = await fakeGateway(({ method }) => {
      if (method === "status") return { configPath: join(gateway.home, "parley.json5") };
      return {
        path: "/x",
        hash: "h",
        changed: ["gateway.port"],
        backup: null,
        warnings: [],
        restartNeeded: ["gateway.port"],
      };
    });
    const { out } = await parley(gateway.home, ["config", "set", "gateway.port", "8000"]);
    expect(gateway.requests.at(-1)).toMatchObject({
      method: "config.set",
      params: { changes: [{ path: ["gateway", "port"], value: 8000 }] },
    });
    expect(out).toContain("`parley restart` brings it into effect: gateway.port.");
  });

  test("brings what a running gateway says of a change whole, and what is to be removed as a place alone", async () => {
    const more: { problems?: readonly object[] } = {};
    const told = { path: "models.x", message: "is odd", line: 3, column: 9, fix: "mend it" };
    const done = { path: "/x", changed: ["models"], backup: "/x.bak", restartNeeded: ["gateway"] };
    const gateway = await fakeGateway(({ method }) => {
      if (method === "status") return { configPath: join(gateway.home, "parley.json5") };
      return { ...done, warnings: [told, { path: "a", message: "b" }], ...more };
    });
    const terminal = { env: { PARLEY_HOME: gateway.home } } as never;
    const changes = [
      { path: ["models", 0, "key"], value: null },
      { path: ["gateway", "port"] },
      { path: ["a"], value: false },
    ];
    const warnings = [told, { path: "a", message: "b" }];
    expect(await changeConfig(terminal, changes)).toEqual({ ...done, warnings, problems: [], live: true });
    expect(gateway.requests.at(-1)?.params).toEqual({ changes });
    more.problems = [told];
    expect(await changeConfig(terminal, changes)).toEqual({
      ...done,
      warnings,
      problems: [told],
      live: true,
    });
  });

  test.each([
    ["denied", true],
    ["unauthorized", true],
    ["timeout", true],
    ["unavailable", true],
    ["invalid", false],
    ["internal", false],
  ])("where a gateway answers with %s the file here is read: %s", async (code, isRead) => {
    const gateway = await fakeGateway(() => {
      throw new Refusal(code, "not now");
    });
    const asked = checkConfig({ env: { PARLEY_HOME: gateway.home } } as never);
    if (isRead) expect(await asked).toEqual({ problems: [], warnings: [] });
    else await expect(asked).rejects.toMatchObject({ code, message: "not now" });
    expect(gateway.requests.map(({ method }) => method)).toEqual(["connect", "status"]);
  });

  test("does not go to the gateway of another folder", async () => {
    const gateway = await fakeGateway(({ method }) => {
      if (method === "status") return { configPath: "/elsewhere/parley.json5" };
      throw new Refusal("internal", "not this one");
    });
    const before = textIn(gateway.home);
    expect((await parley(gateway.home, ["config", "set", "logging.level", "warn"])).exitCode).toBe(0);
    expect(textIn(gateway.home)).not.toBe(before);
  });
});

test("validate checks another file too, and tells every problem in JSON", async () => {
  const home = stateFolder(file);
  const other = join(home, "other.json5");
  writeFileSync(other, "{ gateway: { prot: 1, port: 0.5 } }");
  const { exitCode, out } = await parley(home, ["config", "validate", other, "--json"]);
  expect(exitCode).toBe(78);
  const told = JSON.parse(out) as {
    readonly ok: boolean;
    readonly problems: readonly { readonly path: string; readonly line: number }[];
  };
  expect(told.ok).toBe(false);
  expect(told.problems.map(({ path }) => path).toSorted()).toEqual(["gateway.port", "gateway.prot"]);
  expect(told.problems.every(({ line }) => line === 1)).toBe(true);
});

test("validate tells the warnings of a right config too", async () => {
  const home = stateFolder("{ gateway: { port: 1 }, channels: { telegram: { botToken: 'odd' } } }");
  const { exitCode, out, err } = await parley(home, ["config", "validate"]);
  expect([exitCode, out]).toEqual([0, expect.stringContaining("valid")]);
  expect(err).toContain("channels.telegram.botToken");
});

test("schema and file", async () => {
  const home = stateFolder(null);
  expect(JSON.parse((await parley(home, ["config", "schema"])).out)).toMatchObject({
    title: "Parley configuration",
  });
  expect((await parley(home, ["config", "file"])).out).toBe(`${join(home, "parley.json5")}\n`);
});

test("a change is tried as a number and as a text, and of two refusals the one is told that says something", async () => {
  const refusals = ["x.y: expected string", "x.y: is too short"];
  const told = async (...words: readonly string[]): Promise<unknown> => {
    const tried: unknown[] = [];
    const gateway = await fakeGateway(({ method, params }) => {
      if (method === "status") return { configPath: join(gateway.home, "parley.json5") };
      tried.push((params as { changes: readonly { value: unknown }[] }).changes[0]?.value);
      throw new Refusal("invalid", words[tried.length - 1] ?? "");
    });
    const { err } = await parley(gateway.home, ["config", "set", "x.y", "7"]);
    return [tried, err.split("\n")[1]];
  };
  expect([await told(...refusals), await told(...refusals.toReversed())]).toEqual([
    [[7, "7"], "x.y: is too short"],
    [[7, "7"], "x.y: is too short"],
  ]);
});

test("the folder of a new config is its owner's alone; where a file stands in its way, that is told", async () => {
  const home = join(stateFolder(null, null), "new");
  expect((await parley(home, ["config", "set", "gateway.port", "7000"])).exitCode).toBe(0);
  expect(statSync(home).mode & 0o777).toBe(0o700);
  const below = join(home, "parley.json5", "sub");
  const run = await parley(below, ["config", "set", "gateway.port", "7000", "--json"]);
  expect([run.exitCode, run.err, JSON.parse(run.out)]).toEqual([
    1,
    "",
    {
      ok: false,
      error: {
        code: "denied",
        message: `${below} cannot be there: ENOTDIR: not a directory, mkdir '${below}'. What should be a folder on its way is a file: move that, or name another place`,
      },
    },
  ]);
});

test("what is wrong with the file is told once, by the gateway that has it, and not again for the way there", async () => {
  const problem = { path: "gateway.prot", message: 'unknown key "prot"', line: 1, column: 3 };
  const gateway = await fakeGateway(({ method }) =>
    method === "status"
      ? { configPath: join(gateway.home, "parley.json5") }
      : { problems: [problem], warnings: [] },
  );
  writeFileSync(join(gateway.home, "parley.json5"), `{ gateway: { port: ${gateway.port} }, loging: {} }`);
  const { exitCode, out, err } = await parley(gateway.home, ["config", "validate"]);
  expect([exitCode, out, err]).toEqual([
    78,
    "",
    `${gateway.home}/parley.json5:1:3 gateway.prot: unknown key "prot"\n`,
  ]);
  const { err: warned } = await parley(gateway.home, ["resume"]);
  expect(warned).toMatch(/^config: \S+parley\.json5:1:\d+ loging: unknown key/);
});
