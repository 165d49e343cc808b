// A running daemon takes up its config: only what changed is touched, what is wrong is refused with its line,
// and no message is lost by it.
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { brokenConfigs } from "./broken-configs.ts";
import { controlClient, type ControlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, testToken, type Daemon } from "./daemon.ts";
import { parley } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
let daemon: Daemon;
let operator: ControlClient;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  operator?.close();
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

type Block = { readonly [key: string]: unknown };

const gateway = { port: 0, auth: { token: testToken } };

async function begin(config: Block = {}, home?: string): Promise<void> {
  daemon = await w.start({ config, ...(home === undefined ? {} : { home }) });
  operator = await controlClient(daemon);
}

const file = (): string => join(daemon.home, "parley.json5");
const status = async (): Promise<MethodResult<"status">> =>
  (await operator.call("status")) as MethodResult<"status">;
const reload = async (): Promise<MethodResult<"reload">> =>
  (await operator.call("reload")) as MethodResult<"reload">;

/** As an editor saves it: a new file in the place of the old one. */
async function save(text: string | Block): Promise<void> {
  await writeFile(
    `${file()}.swp`,
    typeof text === "string" ? text : JSON.stringify({ gateway, ...w.config, ...text }),
  );
  await rename(`${file()}.swp`, file());
}

/** Waits for the watcher to have taken up, or refused, what the file says. */
async function taken(): Promise<void> {
  await eventually(
    async () => daemon.log().includes("the config was taken up"),
    10_000,
    "the change was taken up",
  );
}

function logged(message: string): readonly { readonly [field: string]: unknown }[] {
  const lines = daemon
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  return lines
    .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })
    .filter(({ msg }) => msg === message);
}

test("the next turn runs by the new file, and no channel is touched for it", async () => {
  await begin();
  w.telegram.as(1).says("one");
  await w.answered(1, 1);
  await save({
    agents: { defaults: { model: { primary: "fake/m1" }, userTimezone: "Asia/Tokyo" } },
    messages: { queue: { mode: "followup" } },
  });
  await taken();
  w.telegram.as(1).says("two");
  await w.answered(1, 2);
  expect(w.models.requests().at(-1)?.system).toContain("Asia/Tokyo");
  const [line] = logged("the config was taken up");
  expect(line).toMatchObject({
    changed: expect.arrayContaining(["agents.defaults.userTimezone", "messages.queue.mode"]) as unknown,
    restarted: [],
  });
  expect(w.telegram.calls("getMe")).toHaveLength(1);
});

test("who may write changes at once, without a connection made anew", async () => {
  await begin();
  const telegram = w.config["channels"] as { readonly telegram: Block };
  await save({ channels: { telegram: { ...telegram.telegram, dmPolicy: "allowlist", allowFrom: ["1"] } } });
  expect(await reload()).toMatchObject({
    outcome: expect.stringMatching(/taken|unchanged/) as unknown,
    restarted: [],
  });
  w.telegram.as(2).says("may I?");
  w.telegram.as(1).says("I may");
  expect(await w.answered(1, 1)).toEqual(["echo: I may"]);
  expect(w.answers(2)).toEqual([]);
});

describe("a secret in a file", () => {
  test("rotates while a turn runs: its account alone is stopped and started, the turn ends, its answer arrives once", async () => {
    const [home, second] = [
      await freshHome(),
      w.telegram.bot("777:second-bot-of-this-world-0123456789", "second_bot"),
    ];
    const old = (w.config["channels"] as { readonly telegram: { readonly botToken: string } }).telegram;
    await writeFile(join(home, "token"), `${old.botToken}\n`);
    const accounts = { second: { botToken: second.token, dmPolicy: "open", allowFrom: ["*"] } };
    const messages = { queue: { mode: "followup" } };
    await begin(
      { messages, channels: { telegram: { ...old, botToken: { file: "token" }, accounts } } },
      home,
    );
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    w.models.reply(async ({ lastUserText }) => {
      await gate;
      return { text: `slow: ${lastUserText}` };
    });
    w.telegram.as(5).says("before the change");
    await eventually(() => w.models.requests().length > 0);
    // Another bot, for the fake; a bot may write only to who wrote to it.
    const third = w.telegram.bot("888:third-bot-of-this-world-0123456789", "third_bot");
    w.telegram.as(5, third.token).says("so that it may write to me");
    await writeFile(join(home, "token"), `${third.token}\n`);
    await eventually(async () => logged("the config was taken up").length > 0);
    expect(logged("the config was taken up")[0]).toMatchObject({
      changed: ["channels.telegram.default.botToken"],
      restarted: ["telegram:default"],
      restartNeeded: [],
    });
    go();
    const sent = (text: string): readonly string[] =>
      w.telegram
        .calls("sendMessage")
        .filter(({ params }) => params["text"] === text)
        .map(({ token }) => token);
    await eventually(() => sent("slow: before the change").length > 0);
    w.telegram.as(7, second.token).says("to the second bot");
    await eventually(() => sent("slow: to the second bot").length > 0);
    expect(sent("slow: before the change")).toEqual([third.token]);
    // Its update and its message have the numbers that the old bot's first ones had.
    await eventually(
      () => sent("slow: so that it may write to me").length > 0,
      10_000,
      "an answer to the new bot's first message",
    );
    expect((await status()).channels.map(({ account, state }) => [account, state])).toContainEqual([
      "default",
      "ok",
    ]);
    expect(w.telegram.calls("getMe").filter(({ token }) => token === second.token)).toHaveLength(1);
    expect(daemon.log()).not.toContain(third.token);
  });
});

test("an account that goes keeps what was to be sent, and what came in; when it is back all is answered once", async () => {
  await begin();
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  w.models.reply(async ({ lastUserText }) => {
    await gate;
    return { text: `slow: ${lastUserText}` };
  });
  w.telegram.as(5).says("hello");
  await eventually(() => w.models.requests().length > 0);
  await save({ channels: { telegram: { enabled: false } } });
  await eventually(() => logged("the config was taken up").length === 1);
  go();
  await eventually(async () => (await status()).deliveriesWaiting === 1);
  w.telegram.as(5).says("while you were away");
  expect((await status()).channels.map(({ channel }) => channel)).not.toContain("telegram");
  await save({});
  expect(await w.answered(5, 2)).toEqual(["slow: hello", "slow: while you were away"]);
});

describe("a config that is wrong", () => {
  test("is refused whole, be it one of thirty: messages are answered all along, the trouble is shown with its line until it is mended", async () => {
    const home = await brokenHome();
    await begin({}, home);
    const person = w.telegram.as(1);
    const expected: string[] = [];
    for (const { is, text, at, says } of brokenConfigs) {
      await save(text);
      // Said before the reload, so that it is on its way through it.
      person.says(is);
      expected.push(`echo: ${is}`);
      const answer = await reload();
      expect([is, answer]).toEqual([
        is,
        expect.objectContaining({ outcome: "refused", changed: [], restarted: [] }),
      ]);
      const shown = await status();
      expect([is, shown.state]).toEqual([is, "degraded"]);
      for (const problems of [answer.problems, shown.config.problems]) {
        expect([is, problems[0]]).toEqual([is, expect.stringContaining(`parley.json5:${at} `)]);
        expect(problems.join("\n")).toMatch(says);
        for (const problem of problems) expect(problem).toMatch(placeAndFix);
      }
      await w.answered(1, expected.length);
    }
    for (const empty of ["", null]) {
      await (empty === null ? rm(file()) : save(empty));
      expect((await reload()).problems.join()).toContain("is empty or gone");
    }
    person.says("still there?");
    expect(await w.answered(1, expected.length + 1)).toEqual([...expected, "echo: still there?"]);
    expect(w.telegram.calls("getMe")).toHaveLength(1);
    await save({});
    await eventually(async () => (await status()).state === "ok");
    expect(logged("the config was refused; the last good one stays in force").length).toBeGreaterThanOrEqual(
      brokenConfigs.length,
    );
  }, 300_000);

  test("keeps a daemon from starting: every one of thirty with place, key and fix", async () => {
    const home = await brokenHome();
    expect(brokenConfigs).toHaveLength(30);
    for (const { is, text, at, says } of brokenConfigs) {
      await writeFile(join(home, "parley.json5"), text);
      const said = await loadConfig({ env: {}, home }).then(
        () => "it was taken",
        (error: unknown) => String((error as Error).message),
      );
      expect([is, said]).toEqual([is, expect.stringContaining(`parley.json5:${at} `)]);
      expect(said).toMatch(says);
      for (const line of said.split("\n")) expect(line).toMatch(placeAndFix);
    }
  });

  test.for(["ends in the middle", "has two accounts of one token"])(
    "ends the process with 78: %s",
    async (chosen) => {
      const home = await brokenHome();
      const { text = "", at, says } = brokenConfigs.find(({ is }) => is === chosen) ?? {};
      await writeFile(join(home, "parley.json5"), text);
      for (const words of [["start"], ["config", "validate"]]) {
        const { exitCode, out, err } = await parley(home, ...words);
        expect([words, exitCode, out]).toEqual([words, 78, ""]);
        expect(err).toContain(`${join(home, "parley.json5")}:${at} `);
        expect(err).toMatch(says ?? /never/);
      }
    },
  );
});

/** `…/parley.json5:4:7 channels.telegram.botToken: what is wrong. What to do`. */
const placeAndFix = /parley\.json5:\d+:\d+ \S.*\. ["A-Z]/;

/** A state folder with what the thirty configs name in it. */
async function brokenHome(): Promise<string> {
  const home = await freshHome();
  await mkdir(join(home, "secrets"));
  await writeFile(join(home, "blank"), " \n");
  return home;
}

test("what cannot change while it runs says so by key, and no more once it is taken back; SIGHUP reads the file too", async () => {
  await begin();
  await save({ gateway: { port: 1, auth: { token: testToken } }, logging: { level: "warn" } });
  const answer = await reload();
  expect(answer.restartNeeded).toEqual(["gateway.port"]);
  expect((await status()).config.restartNeeded).toEqual(["gateway.port"]);
  await save({});
  daemon.kill("SIGHUP");
  await eventually(async () => (await status()).config.restartNeeded.length === 0);
  expect(await daemon.stop()).toBe(0);
});

test("/metrics tells of turns, models, deliveries, channels and the config, and of nobody", async () => {
  await begin();
  w.telegram.as({ id: 424_242, name: "Alice" }).says("hello");
  await w.answered(424_242, 1);
  await save("{ oops");
  await reload();
  expect((await fetch(`${daemon.url}/metrics`)).status).toBe(401);
  const page = await eventually(async () => {
    const text = await (
      await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${testToken}` } })
    ).text();
    return text.includes('state="sent"} 1') && text;
  });
  for (const line of [
    'parley_turns_total{outcome="answered"} 1',
    'parley_model_calls_total{model="fake/m1",result="ok"} 1',
    'parley_delivery_parts_total{account="telegram:default",state="sent"} 1',
    'parley_channel_up{account="telegram:default"} 1',
    'parley_turn_wait_seconds_count{pool="main"} 1',
    'parley_events_received_total{verdict="queued"} 1',
    "parley_config_ok 0",
    "parley_ready 1",
    "parley_store_up 1",
  ]) {
    expect(page).toContain(`${line}\n`);
  }
  expect(page).toMatch(/^parley_model_tokens_total\{model="fake\/m1",kind="input"\} [1-9]/m);
  expect(page).toMatch(/^nodejs_eventloop_lag_seconds\{stat="p99"\} \d/m);
  expect(page).toMatch(/^process_resident_memory_bytes \d{7,}$/m);
  expect(page).not.toMatch(/424242|Alice/);
  for (const line of page.split("\n"))
    expect(line).toMatch(
      /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? -?[\d.e+-]+|)$/,
    );
  expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
});

test("the log is on disk too, and neither place shows a secret that came with a reload", async () => {
  await begin();
  const canary = "canary-0123456789/ä+secret";
  const provider = {
    api: "openai-completions",
    baseUrl: "http://127.0.0.1:9",
    apiKey: canary,
    models: [{ id: "m2" }],
  };
  const providers = (w.config["models"] as { readonly providers: Block }).providers;
  await save({ models: { providers: { ...providers, other: provider } }, logging: { level: "debug" } });
  await taken();
  await operator.call("models.test", { model: "other/m2" }).catch(() => {});
  w.telegram.as(1).says(`my key is ${canary}`);
  await w.answered(1, 1);
  await daemon.stop();
  const onDisk = await readFile(join(daemon.home, "logs", "parley.log"), "utf8");
  expect(onDisk).toContain('"msg":"turn committed"');
  expect(onDisk).toContain('"msg":"stopped"');
  for (const text of [onDisk, daemon.log()]) {
    for (const spelling of [canary, encodeURIComponent(canary), JSON.stringify(canary).slice(1, -1)])
      expect(text).not.toContain(spelling);
  }
  expect(readFileSync(join(daemon.home, "logs", "parley.log")).length).toBeGreaterThan(0);
});
