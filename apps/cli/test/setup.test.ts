// Setup: what is asked for when nobody can be asked, what is tried before it is written, what is written, and
// the questions at a terminal.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommandLine } from "../src/index.ts";
import { fakeGateway, parley, Refusal, stateFolder } from "./fake-gateway.ts";
import { realGateway } from "./stand-in.ts";

/** Knows one Telegram and one Discord token. */
async function platforms(): Promise<string> {
  const server = createServer((request, response) => {
    const known =
      request.url === "/bot1:good/getMe" ||
      (request.url === "/v10/users/@me" && request.headers.authorization === "Bot good.token");
    response.writeHead(known ? 200 : 401, { "content-type": "application/json" });
    response.end(
      known
        ? '{"ok":true,"result":{"id":1,"username":"good_bot"},"id":"77","username":"goodbot"}'
        : '{"description":"Unauthorized","message":"401: Unauthorized"}',
    );
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const file = "{\n  // mine\n  gateway: { port: 1 },\n}\n";
const textIn = (home: string): string => readFileSync(join(home, "parley.json5"), "utf8");

describe("without a terminal", () => {
  test("says what is missing and writes nothing: exit code 2", async () => {
    for (const [flags, words] of [
      [[], "a model: --provider with --api-key"],
      [["--provider", "anthropic"], "--api-key: the key of anthropic, or ANTHROPIC_API_KEY"],
      [["--provider", "openrouter", "--api-key", "k"], "--model: which model of openrouter"],
      [["--provider", "mine", "--model", "m"], "--base-url: where mine is"],
      [["--api-key", "k"], "--provider: whose key"],
    ] as const) {
      const home = stateFolder(file);
      const { exitCode, out, err } = await parley(home, ["setup", ...flags]);
      expect([exitCode, out, err]).toEqual([2, "", expect.stringContaining(words)]);
      expect(textIn(home)).toBe(file);
      expect(existsSync(join(home, "secrets"))).toBe(false);
    }
  });

  test("asks for no key that stands in the environment", async () => {
    const home = stateFolder(file);
    const flags = ["--provider", "anthropic", "--discord-api-root", "http://127.0.0.1:1"];
    const { err } = await parley(home, ["setup", ...flags], { env: { ANTHROPIC_API_KEY: "k" } });
    expect(err).toContain("--discord-token: the bot");
    expect(err).not.toContain("the key of anthropic");
  });

  test("tries the bots' tokens, then writes them beside the config, whose comments stay", async () => {
    const root = await platforms();
    const home = stateFolder(file);
    const bots = [
      "--telegram-token",
      "1:good",
      "--telegram-api-root",
      root,
      "--discord-token",
      "-",
      "--discord-api-root",
      root,
    ];
    const input = new PassThrough();
    input.end("good.token\n");
    const { exitCode, out } = await parley(
      home,
      ["setup", "--provider", "rehearsal", ...bots, "--owner", "telegram:5"],
      { input },
    );
    expect(exitCode).toBe(0);
    expect(out.replaceAll(home, "HOME")).toBe(`telegram: @good_bot
discord: goodbot
Wrote HOME/parley.json5: agents, channels, commands.
Start it with \`parley start\`, or let it run always: \`parley service install\`.
Write to the bot on Telegram; it answers with a code. Let yourself in with: parley pair approve CODE
Invite the bot: https://discord.com/oauth2/authorize?client_id=77&scope=bot+applications.commands&permissions=274877975552
`);
    expect(textIn(home)).toContain("// mine");
    expect(textIn(home)).not.toMatch(/1:good|good\.token/);
    expect(JSON.parse((await parley(home, ["config", "get", "--file", "--json"])).out)).toMatchObject({
      channels: {
        telegram: { botToken: { file: "secrets/telegram-token" } },
        discord: { token: { file: "secrets/discord-token" } },
      },
      commands: { ownerAllowFrom: ["telegram:5"] },
    });
    for (const name of ["telegram-token", "discord-token"])
      expect(statSync(join(home, "secrets", name)).mode & 0o777).toBe(0o600);
    // The same again changes nothing.
    const input2 = new PassThrough();
    input2.end("good.token");
    const again = await parley(home, ["setup", "--provider", "rehearsal", ...bots, "--owner", "telegram:5"], {
      input: input2,
    });
    expect([again.exitCode, again.out]).toEqual([0, expect.stringContaining("says so already")]);
  });

  test("with --json tells what was tried, changed and kept, and a refusal as one", async () => {
    const root = await platforms();
    const home = stateFolder(file);
    const bot = (token: string): readonly string[] => [
      "--telegram-token",
      token,
      "--telegram-api-root",
      root,
    ];
    const setup = async (...flags: readonly string[]): Promise<unknown> =>
      JSON.parse((await parley(home, ["setup", "--provider", "rehearsal", "--json", ...flags])).out);
    expect(await setup(...bot("1:bad"))).toMatchObject({ ok: false, error: { code: "invalid" } });
    const told = {
      path: join(home, "parley.json5"),
      checks: [{ what: "telegram", ok: true, words: expect.stringContaining("@good_bot") as string }],
      running: false,
      restartNeeded: [],
    };
    const first = await setup(...bot("1:good"));
    expect(first).toEqual({
      ...told,
      changed: expect.arrayContaining(["channels"]) as string[],
      backup: expect.stringContaining("parley.json5") as string,
    });
    expect(await setup(...bot("1:good"))).toEqual({ ...told, changed: [], backup: null });
    expect(await setup()).toEqual({ ...told, checks: [], changed: [], backup: null });
  });

  test("a token that the platform refuses is not written, and not shown", async () => {
    const root = await platforms();
    const home = stateFolder(file);
    const flags = ["--provider", "rehearsal", "--telegram-token", "1:bad-token", "--telegram-api-root", root];
    const { exitCode, err } = await parley(home, ["setup", ...flags]);
    expect([exitCode, err]).toEqual([1, expect.stringContaining("Telegram refuses the token: Unauthorized")]);
    expect(err).not.toContain("bad-token");
    expect([textIn(home), existsSync(join(home, "secrets"))]).toEqual([file, false]);
    expect((await parley(home, ["setup", ...flags, "--no-check"])).exitCode).toBe(0);
  });

  test("a variable in place of a secret is written as one, and has to be set", async () => {
    const home = stateFolder(file);
    const flags = [
      "setup",
      "--provider",
      "rehearsal",
      "--telegram-token",
      "env:MY_BOT",
      "--telegram-api-root",
      await platforms(),
    ];
    expect(await parley(home, flags)).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining("MY_BOT is not set") as string,
    });
    expect((await parley(home, flags, { env: { MY_BOT: "1:good" } })).exitCode).toBe(0);
    expect(textIn(home)).toContain('env: "MY_BOT"');
  });

  test("a model that does not answer is not written; no draft is left behind", async () => {
    const home = stateFolder(file);
    const flags = [
      "--provider",
      "mine",
      "--model",
      "m",
      "--base-url",
      `${await platforms()}/v1`,
      "--api-key",
      "a-secret-key",
    ];
    const { exitCode, err } = await parley(home, ["setup", ...flags], { env: realGateway() });
    expect([exitCode, err]).toEqual([
      1,
      "Nothing was written.\nmodel: mine/m: Unauthorized (HTTP 401). Check the key at the provider.\n",
    ]);
    expect(err).not.toContain("a-secret-key");
    expect(textIn(home)).toBe(file);
    // The audit log tells that the config was asked for.
    expect(readdirSync(home).toSorted()).toEqual(["audit", "gateway-token", "parley.json5"]);
  });

  test("does not write on top of a broken config: exit code 78", async () => {
    const home = stateFolder("{\n gateway: { prot: 1 }\n}");
    const { exitCode, err } = await parley(home, ["setup", "--provider", "rehearsal"]);
    expect([exitCode, err]).toEqual([78, expect.stringContaining("parley.json5:2")]);
  });
});

test("at a terminal it asks, and Ctrl-C writes nothing", async () => {
  const home = stateFolder(file);
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => input,
  }) as unknown as PassThrough & { isTTY: true };
  const running = parley(home, ["setup"], { input });
  await new Promise((resolve) => setImmediate(resolve));
  const press = setInterval(() => input.write("\u0003"), 50);
  const { exitCode, err } = await running;
  clearInterval(press);
  expect([exitCode, err]).toEqual([1, expect.stringContaining("Which language model should answer?")]);
  expect(err).toContain("Nothing was written.");
  expect(textIn(home)).toBe(file);
});

/** Types at a terminal: each answer once its question stands there. */
async function typed(
  home: string,
  argv: readonly string[],
  answers: readonly (readonly [question: string, keys: string])[],
) {
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: () => input,
  }) as unknown as PassThrough & { isTTY: true };
  const err = new PassThrough();
  let [shown, out, seen, next] = ["", "", 0, 0];
  const type = (): void => {
    const [question, keys = ""] = answers[next] ?? [];
    const at = question === undefined ? -1 : shown.indexOf(question, seen);
    if (question === undefined || at < 0) return;
    seen = at + question.length;
    next += 1;
    // The prompt listens once it is drawn.
    setImmediate(() => {
      for (const key of keys.split("|")) input.write(key);
    });
  };
  err.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
    type();
  });
  const stdout = new PassThrough()
    .setEncoding("utf8")
    .on("data", (chunk: string) => (out += chunk)) as PassThrough;
  const exitCode = await runCommandLine(["setup", ...argv], {
    env: { PARLEY_HOME: home },
    input,
    out: stdout,
    err,
  });
  return { exitCode, out, shown };
}

const [enter, down, up] = ["\r", "\u001B[B", "\u001B[A"];

test("at a terminal flags are taken into the answers, a question has a way back, and the whole can be changed before it is written", async () => {
  const root = await platforms();
  const home = stateFolder(file);
  const flags = ["--provider", "rehearsal", "--telegram-api-root", root];
  const { exitCode, out, shown } = await typed(home, flags, [
    ["Connect Telegram?", enter],
    ["The bot's token", enter],
    ["Connect Telegram?", enter],
    ["The bot's token", `1:good|${enter}`],
    ["Connect Discord?", enter],
    [
      "Write this? Model: rehearsal/rehearsal, Telegram: set, Discord: not connected",
      `${down}|${down}|${enter}`,
    ],
    ["Connect Telegram?", enter],
    ["The bot's token", `1:good|${enter}`],
    ["Write this?", enter],
  ]);
  expect([exitCode, shown]).toEqual([0, expect.not.stringContaining("1:good")]);
  expect(out).toContain("Write to the bot on Telegram");
  expect(textIn(home)).toContain(root);
});

test("at a terminal the model is asked for anew where it is to change, nothing goes back, and the other bot can be set later", async () => {
  const home = stateFolder(file);
  const { exitCode, shown } = await typed(
    home,
    ["--provider", "rehearsal", "--no-check"],
    [
      ["Connect Telegram?", "n"],
      ["Connect Discord?", enter],
      ["Write this? Model: rehearsal/rehearsal, Telegram: not connected", `${down}|${enter}`],
      ["Which language model should answer?", `${up}|${enter}`],
      ["Its address", enter],
      ["Which language model should answer?", `${up}|${enter}`],
      ["Its address", `http://127.0.0.1:1/v1|${enter}`],
      ["Its API key, if it wants one", enter],
      ["Which model?", enter],
      ["Which language model should answer?", `${up}|${enter}`],
      ["Its address", `http://127.0.0.1:1/v1|${enter}`],
      ["Its API key, if it wants one", enter],
      ["Which model?", `big|${enter}`],
      ["Write this? Model: local/big", `${down}|${down}|${down}|${enter}`],
      ["Connect Discord?", "y"],
      ["The bot's token (https://discord.com", `a.b.c|${enter}`],
      ["Write this? Model: local/big, Telegram: not connected, Discord: set", enter],
    ],
  );
  expect([exitCode, shown]).toEqual([0, expect.not.stringContaining("a.b.c")]);
  expect(textIn(home)).toMatch(/http:\/\/127\.0\.0\.1:1\/v1/);
  expect(textIn(home)).toContain("discord");
});

test("at a terminal the model that is there can be kept, and leaving writes nothing", async () => {
  const provider = '{ api: "openai-completions", baseUrl: "http://127.0.0.1:1", models: [{ id: "big" }] }';
  const text = `{ agents: { defaults: { model: "local/big" } }, models: { providers: { local: ${provider} } } }`;
  const home = stateFolder(text);
  const { exitCode, shown } = await typed(
    home,
    [],
    [
      ["Which language model should answer?", enter],
      ["Connect Telegram?", "n"],
      ["Connect Discord?", enter],
      ["Write this? Model: local/big", `${up}|${enter}`],
    ],
  );
  expect([exitCode, textIn(home)]).toEqual([1, text]);
  expect(shown).toContain("keep local/big");
  expect(shown).toContain("Nothing was written.");
});

test("an API server without its bot is not passed over: it goes to the bot that is there, or the token is missing", async () => {
  const home = stateFolder(file);
  const flags = ["setup", "--provider", "rehearsal", "--telegram-api-root", "http://127.0.0.1:1"];
  expect(await parley(home, flags)).toMatchObject({
    exitCode: 2,
    err: expect.stringContaining("--telegram-token") as string,
  });
  const withBot = stateFolder(
    '{ channels: { telegram: { botToken: "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" } } }',
  );
  expect((await parley(withBot, flags)).exitCode).toBe(0);
  expect(textIn(withBot)).toContain('apiRoot: "http://127.0.0.1:1"');
});

test("at a terminal a provider that needs a key asks for it until there is one, and bots that are there stay as they are", async () => {
  const home = stateFolder(
    '{ channels: { telegram: { botToken: "1:t" }, discord: { token: "a.b.c" } }, gateway: { port: 1 } }',
  );
  const { exitCode, shown } = await typed(
    home,
    ["--provider", "anthropic", "--no-check"],
    [
      ["Its API key (nothing goes back)", enter],
      ["Which language model should answer?", enter],
      ["Its API key (nothing goes back)", `sk-of-mine|${enter}`],
      ["Which model? (its id)", enter],
      ["Telegram is set up. Change its token?", enter],
      ["Discord is set up. Change its token?", enter],
      ["Write this? Model: anthropic/claude-sonnet-4-5, Telegram: as it is, Discord: ", enter],
    ],
  );
  expect([exitCode, shown]).toEqual([0, expect.not.stringContaining("sk-of-mine")]);
  expect(readFileSync(join(home, "secrets/anthropic-key"), "utf8")).toBe("sk-of-mine\n");
  expect(textIn(home)).toContain('botToken: "1:t"');
  expect(textIn(home)).toContain('token: "a.b.c"');
});

test("at a terminal a token that is refused is asked for again, or written as it is by whoever says so", async () => {
  const root = await platforms();
  const home = stateFolder(file);
  const { exitCode, shown } = await typed(
    home,
    ["--provider", "rehearsal", "--telegram-api-root", root],
    [
      ["Connect Telegram?", enter],
      ["The bot's token (from @BotFather, /newbot)", `2:bad|${enter}`],
      ["Try again? (No writes it as it is)", enter],
      ["Connect Telegram?", enter],
      ["The bot's token (from @BotFather, /newbot)", `2:bad|${enter}`],
      ["Try again? (No writes it as it is)", "n"],
      ["Connect Discord?", enter],
      ["Write this? Model: rehearsal/rehearsal, Telegram: set, Discord: not connected", enter],
    ],
  );
  expect([exitCode, shown]).toEqual([0, expect.stringContaining("Telegram refuses the token: ")]);
  expect(readFileSync(join(home, "secrets/telegram-token"), "utf8")).toBe("2:bad\n");
});

describe("with a gateway that runs", () => {
  const config = {
    agents: { defaults: { model: { primary: "rehearsal/rehearsal" } } },
    channels: { telegram: {}, discord: {} },
  };
  const written = {
    hash: "h",
    changed: ["channels", "gateway.port"],
    backup: "/c/parley.json5.bak",
    warnings: [],
    restartNeeded: [] as string[],
  };
  /** Answers as a gateway of this folder does, with this config, and this end of a change. */
  async function ours(found: object, set: () => object = () => written) {
    const gateway = await fakeGateway(({ method }) => {
      const path = join(gateway.home, "parley.json5");
      if (method === "status") return { configPath: path, pid: 7, bootId: "b" };
      return method === "config.get"
        ? { path, file: {}, config, problems: [], ...found }
        : { path, ...set() };
    });
    return gateway;
  }
  const bots = ["--telegram-token", "1:t", "--discord-token", "a.b.c", "--no-check"];
  const setup = ["setup", "--provider", "rehearsal", ...bots, "--port", "7"];

  test("it is asked for the change, and what it still waits for is told", async () => {
    const told = async (...restartNeeded: readonly string[]) => {
      const gateway = await ours({}, () => ({ ...written, restartNeeded }));
      const run = await parley(gateway.home, setup);
      return { gateway, run, text: run.out.replaceAll(gateway.home, "HOME") };
    };
    const { gateway, run, text } = await told();
    expect([run.exitCode, run.err]).toEqual([0, ""]);
    expect(text).toBe(`Wrote HOME/parley.json5: channels, gateway.port.
The gateway runs and has taken it up.
Write to the bot on Telegram; it answers with a code. Let yourself in with: parley pair approve CODE
`);
    expect((await told("gateway.port")).text).toContain(
      "gateway.port.\nThe gateway runs; `parley restart` brings this into effect.\nWrite to the bot",
    );
    expect(
      gateway.requests.flatMap(({ method, params }) => (method === "config.set" ? [params] : [])),
    ).toEqual([
      {
        changes: [
          { path: ["gateway", "port"], value: 7 },
          { path: ["agents", "defaults", "model", "primary"], value: "rehearsal/rehearsal" },
          { path: ["channels", "telegram", "botToken"], value: { file: "secrets/telegram-token" } },
          { path: ["channels", "discord", "token"], value: { file: "secrets/discord-token" } },
        ],
      },
    ]);
    const { out } = await parley(gateway.home, [...setup, "--json"]);
    expect(JSON.parse(out)).toEqual({
      path: join(gateway.home, "parley.json5"),
      changed: written.changed,
      backup: written.backup,
      checks: [],
      running: true,
      restartNeeded: [],
    });
  });

  test("what it finds wrong stops the set-up with each place and fix: exit code 78", async () => {
    const problems = [
      { path: "a.b", message: "no such key", line: 3, column: 7, fix: "remove it" },
      { path: "c", message: "is wrong" },
    ];
    const gateway = await ours({ problems });
    const { exitCode, err } = await parley(gateway.home, setup);
    expect([exitCode, err.replaceAll(gateway.home, "HOME")]).toEqual([
      78,
      "The config is broken; mend it first:\n  HOME/parley.json5:3 a.b: no such key. remove it\n  HOME/parley.json5 c: is wrong. \n",
    ]);
    expect(existsSync(join(gateway.home, "secrets"))).toBe(false);
  });

  test("a change that it refuses is told as one; what else goes wrong stays what it is", async () => {
    const end = async (code: string): Promise<unknown> => {
      const gateway = await ours({}, () => {
        throw new Refusal(code, "gateway.port: is taken");
      });
      const { exitCode, out } = await parley(gateway.home, [...setup, "--json"]);
      return [exitCode, (JSON.parse(out) as { readonly error: unknown }).error];
    };
    expect([await end("invalid"), await end("conflict")]).toEqual([
      [1, { code: "invalid", message: "Nothing was written to the config:\ngateway.port: is taken" }],
      [1, { code: "conflict", message: "gateway.port: is taken" }],
    ]);
  });
});

test("one secret can come on standard input, whichever it is; two, or none there, are a mistake", async () => {
  const run = async (text: string, ...flags: readonly string[]) => {
    const home = stateFolder(file);
    const input = new PassThrough();
    input.end(text);
    const { exitCode, err } = await parley(home, ["setup", "--no-check", ...flags], { input });
    return [exitCode, err, existsSync(join(home, "secrets")) ? readdirSync(join(home, "secrets")) : []];
  };
  const telegram = ["--provider", "rehearsal", "--telegram-token", "-"];
  expect([
    await run("1:t\n", ...telegram),
    await run("sk-1\n", "--provider", "anthropic", "--api-key", "-"),
    await run(" \n", ...telegram),
    await run("1:t\n", ...telegram, "--discord-token", "-"),
  ]).toEqual([
    [0, "", ["telegram-token"]],
    [0, "", ["anthropic-key"]],
    [2, "Standard input is empty\n", []],
    [2, "Only one secret can come on standard input\n", []],
  ]);
});

test("what the config may not be is told without a gateway too, and nothing of it is written", async () => {
  const home = stateFolder(file);
  const { exitCode, err } = await parley(home, ["setup", "--provider", "rehearsal", "--owner", "a b"]);
  expect([exitCode, err, textIn(home)]).toEqual([
    1,
    expect.stringMatching(/^Nothing was written to the config:\n.*commands\.ownerAllowFrom/),
    file,
  ]);
});

test("at a terminal a model that does not do is told with what to mend, and asked for again or taken as it is", async () => {
  const home = stateFolder(file);
  const answered = [
    ["Its address", `http://127.0.0.1:1/v1|${enter}`],
    ["Its API key, if it wants one", enter],
    ["Which model?", `big|${enter}`],
  ] as const;
  const { exitCode, shown } = await typed(
    home,
    ["--provider", "mine", "--api", "smoke"],
    [
      ...answered,
      ["Try again? (No writes it as it is)", enter],
      ["Which language model should answer?", `${up}|${enter}`],
      ...answered,
      ["Try again? (No writes it as it is)", "n"],
      ["Connect Telegram?", "n"],
      ["Connect Discord?", enter],
      ["Write this? Model: local/big, Telegram: not connected", `${up}|${enter}`],
    ],
  );
  expect([exitCode, textIn(home)]).toEqual([1, file]);
  const words = shown.replaceAll(/\s+/g, " ");
  for (const name of ["mine", "local"]) expect(words).toContain(`models.providers.${name}.api: "smoke"`);
  expect(words).toContain("Mend what the message names.");
});
