// A running daemon takes up its config: only what changed is touched, what is wrong is refused with its line, and no message is lost by it.
import { readFileSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient, type ControlClient } from "./control-client.ts";
import { cleanUp, eventually, freshHome, testToken, type Daemon } from "./daemon.ts";
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
const status = async (): Promise<MethodResult<"status">> => (await operator.call("status")) as MethodResult<"status">;
const reload = async (): Promise<MethodResult<"reload">> => (await operator.call("reload")) as MethodResult<"reload">;

/** As an editor saves it: a new file in the place of the old one. */
async function save(text: string | Block): Promise<void> {
  await writeFile(`${file()}.swp`, typeof text === "string" ? text : JSON.stringify({ gateway, ...w.config, ...text }));
  await rename(`${file()}.swp`, file());
}

/** Waits for the watcher to have taken up, or refused, what the file says. */
async function taken(): Promise<void> {
  await eventually(async () => daemon.log().includes("the config was taken up"), 10_000, "the change was taken up");
}

function logged(message: string): readonly { readonly [field: string]: unknown }[] {
  const lines = daemon
    .log()
    .split("\n")
    .filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as { readonly [field: string]: unknown }).filter(({ msg }) => msg === message);
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
  expect(await reload()).toMatchObject({ outcome: expect.stringMatching(/taken|unchanged/) as unknown, restarted: [] });
  w.telegram.as(2).says("may I?");
  w.telegram.as(1).says("I may");
  expect(await w.answered(1, 1)).toEqual(["echo: I may"]);
  expect(w.answers(2)).toEqual([]);
});

describe("a secret in a file", () => {
  test("rotates while a turn runs: its account alone is stopped and started, the turn ends, its answer arrives once", async () => {
    const [home, second] = [await freshHome(), w.telegram.bot("777:second-bot-of-this-world-0123456789", "second_bot")];
    const old = (w.config["channels"] as { readonly telegram: { readonly botToken: string } }).telegram;
    await writeFile(join(home, "token"), `${old.botToken}\n`);
    const accounts = { second: { botToken: second.token, dmPolicy: "open", allowFrom: ["*"] } };
    const messages = { queue: { mode: "followup" } };
    await begin({ messages, channels: { telegram: { ...old, botToken: { file: "token" }, accounts } } }, home);
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
    expect((await status()).channels.map(({ account, state }) => [account, state])).toContainEqual(["default", "ok"]);
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
  const broken: readonly (readonly [string, string, RegExp])[] = [
    ["is no JSON5", "{ gateway: {", /parley\.json5:\d+:\d+ not valid JSON5/],
    ["has an unknown key", `{\n  gatway: {},\n}`, /parley\.json5:2:3 gatway: unknown key "gatway"\. Did you mean "gateway"\?/],
    ["has a value of the wrong type", `{\n  gateway: { port: "many" },\n}`, /parley\.json5:2:\d+ gateway\.port:/],
    ["names a variable that is not set", '{ channels: { telegram: { botToken: "${NO_SUCH_THING}" } } }', /NO_SUCH_THING is not set/],
    ["names a secret file that is gone", '{ channels: { telegram: { botToken: { file: "gone" } } } }', /gone does not exist/],
    [
      "has two accounts of one token",
      '{ channels: { telegram: { botToken: "1:a", accounts: { b: { botToken: "1:a" } } } } }',
      /same token/,
    ],
    ["names a model that nobody has", '{ agents: { defaults: { model: { primary: "nobody/x" } } } }', /"nobody\/x" names the provider/],
    ["opens the door without a token", '{ gateway: { bind: "lan" } }', /no token is set/],
    ["is empty", "", /is empty or gone/],
  ];

  test("is refused whole: the last good one goes on, the trouble is shown with its line until it is mended", async () => {
    await begin();
    for (const [, text, trouble] of broken) {
      await save(text);
      const answer = await reload();
      expect(answer).toMatchObject({ outcome: "refused", changed: [], restarted: [] });
      expect(answer.problems.join("\n")).toMatch(trouble);
      const shown = await status();
      expect(shown.config.problems.join("\n")).toMatch(trouble);
      expect(shown.state).toBe("degraded");
    }
    await rm(file());
    expect((await reload()).problems.join()).toContain("is empty or gone");
    w.telegram.as(1).says("still there?");
    expect(await w.answered(1, 1)).toEqual(["echo: still there?"]);
    expect(w.telegram.calls("getMe")).toHaveLength(1);
    await save({});
    await eventually(async () => (await status()).state === "ok");
    expect(logged("the config was refused; the last good one stays in force").length).toBeGreaterThanOrEqual(broken.length);
  });
});

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
    const text = await (await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${testToken}` } })).text();
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
    expect(line).toMatch(/^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+(?:\{[a-z]+="[^"]*"(?:,[a-z]+="[^"]*")*\})? -?[\d.e+-]+|)$/);
  expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
});

test("the log is on disk too, and neither place shows a secret that came with a reload", async () => {
  await begin();
  const canary = "canary-0123456789/ä+secret";
  const provider = { api: "openai-completions", baseUrl: "http://127.0.0.1:9", apiKey: canary, models: [{ id: "m2" }] };
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
    for (const spelling of [canary, encodeURIComponent(canary), JSON.stringify(canary).slice(1, -1)]) expect(text).not.toContain(spelling);
  }
  expect(readFileSync(join(daemon.home, "logs", "parley.log")).length).toBeGreaterThan(0);
});
