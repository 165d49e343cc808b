// What setup makes of its flags without a person, what it says is missing, and what it then writes.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CommandFailure } from "../src/exit.ts";
import type { Known, SetupFlags } from "../src/setup/answers.ts";
import { setupPlan } from "../src/setup/changes.ts";
import { checks, writeSecrets } from "../src/setup/checks.ts";
import { answersFromFlags } from "../src/setup/from-flags.ts";
import { stateFolder } from "./fake-gateway.ts";

const none: Known = { model: null, telegram: false, discord: false };
const both: Known = { model: "openai/gpt-5", telegram: true, discord: true };
const keys = { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "", CUSTOM: "c" };

/** By word: flags, the environment and what the config has. */
const asked: { readonly [what: string]: readonly [SetupFlags, Known] } = {
  "nothing, nothing there": [{}, none],
  "nothing, all there": [{}, both],
  "the rehearsal": [{ provider: "rehearsal" }, none],
  "a provider whose key is in the environment": [{ provider: "openai" }, none],
  "a provider whose variable is empty": [{ provider: "anthropic" }, none],
  "a provider with its key": [{ provider: "anthropic", apiKey: " sk-1 " }, none],
  "a provider with a variable": [{ provider: "google", apiKey: "env:CUSTOM", model: "gemini-x" }, none],
  "a provider without a usual model": [{ provider: "groq", apiKey: "k" }, none],
  "one that needs no key": [{ provider: "ollama", model: "llama" }, none],
  "a model with its provider": [{ model: "openai/gpt-x" }, none],
  "a model with its provider, said twice": [{ model: "openai/gpt-x", provider: "openai" }, none],
  "a model whose id has a slash": [{ model: "meta/llama", provider: "openrouter", apiKey: "k" }, none],
  "a model without a provider": [{ model: "gpt-x" }, none],
  "a model without a provider, where one is there": [{ model: "gpt-x" }, both],
  "a slash before everything": [{ model: "/x", provider: "openai" }, none],
  "a server of one's own": [
    { provider: "Lab", model: "m", baseUrl: "http://lab.test/v1", apiKey: "k" },
    none,
  ],
  "a server of one's own that speaks otherwise": [
    { provider: "lab", model: "m", baseUrl: "http://lab.test", api: "anthropic-messages" },
    none,
  ],
  "a server of one's own without its place": [{ provider: "lab" }, none],
  "a key alone": [{ apiKey: "k" }, both],
  "an address alone": [{ baseUrl: "http://lab.test" }, both],
  "a known provider elsewhere": [
    { provider: "openai", baseUrl: "http://proxy.test/v1", api: "openai-responses" },
    none,
  ],
  "both bots": [{ telegramToken: " 1:a ", discordToken: "env:DISCORD" }, both],
  "both bots with their servers": [
    {
      telegramToken: "1:a",
      telegramApiRoot: "http://t.test",
      discordToken: "d",
      discordApiRoot: "http://d.test",
    },
    both,
  ],
  "servers of bots that are there": [
    { telegramApiRoot: "http://t.test", discordApiRoot: "http://d.test" },
    both,
  ],
  "servers of bots that are not": [
    { provider: "rehearsal", telegramApiRoot: "http://t.test", discordApiRoot: "http://d.test" },
    none,
  ],
  "owners and a port": [{ owner: ["telegram:1", "discord:2"], port: "1" }, both],
  "the last port": [{ port: "65535" }, both],
  "port 0": [{ port: "0" }, both],
  "one port too many": [{ port: "65536" }, both],
  "half a port": [{ port: "80.5" }, both],
  "a port in words": [{ port: "http" }, both],
};

test("flags are read, and what is missing is named by its flag", async () => {
  const rows = Object.entries(asked).map(([what, [flags, known]]) => {
    let told: unknown;
    try {
      const { answers, missing } = answersFromFlags(flags, keys, known);
      told = missing.length > 0 ? { missing, model: answers.model } : { ...answers, ...setupPlan(answers) };
    } catch (error) {
      told = { code: (error as CommandFailure).exitCode, words: (error as Error).message };
    }
    return `${what}\n  ${JSON.stringify(told)}\n`;
  });
  await expect(rows.join("")).toMatchFileSnapshot("views/setup.txt");
});

const nothing = { model: null, telegram: null, discord: null, owners: [], port: null };

test("what the config would not take is told at its place in the config's own file, which is left alone", async () => {
  const home = join(stateFolder(null, null), "new");
  const model = { provider: "mine", model: "m", key: { value: "sk-1" }, baseUrl: "nowhere", api: "smoke" };
  const [found, ...others] = await checks({ ...nothing, model }, { PARLEY_HOME: home });
  expect([found?.what, found?.probe.ok, found?.probe.fix, others]).toEqual([
    "model",
    false,
    "Mend what the message names",
    [],
  ]);
  const [api, baseUrl, ...more] = found?.probe.words.split("\n") ?? [];
  expect([api, baseUrl, more]).toEqual([
    expect.stringContaining(`${join(home, "parley.json5")}:`),
    expect.stringContaining(`${join(home, "parley.json5")}:`),
    [],
  ]);
  expect([api, baseUrl]).toEqual([
    expect.stringContaining('models.providers.mine.api: "smoke"'),
    expect.stringContaining('models.providers.mine.baseUrl: "nowhere"'),
  ]);
  expect([statSync(home).mode & 0o777, existsSync(join(home, "parley.json5"))]).toEqual([0o700, false]);
});

test("a bot whose variable is not set, or empty, is told with it and asked of nobody; one without a token is not tried", async () => {
  const bot = (env: string) => ({ token: { env }, apiRoot: null });
  const answers = { ...nothing, telegram: bot("FIRST"), discord: bot("SECOND") };
  const unset = (what: string, name: string): object => ({
    what,
    probe: {
      ok: false,
      words: `the environment variable ${name} is not set`,
      fix: `Set ${name} here and for the gateway, or give the token itself`,
    },
  });
  expect(await checks(answers, { SECOND: "" })).toEqual([
    unset("telegram", "FIRST"),
    unset("discord", "SECOND"),
  ]);
  const there = { token: null, apiRoot: "http://127.0.0.1:1" };
  const rehearsal = { provider: "rehearsal", model: "rehearsal", key: null, baseUrl: null, api: null };
  expect(await checks({ ...nothing, model: rehearsal, telegram: there, discord: there }, {})).toEqual([]);
});

test("secrets are written for their owner alone, whatever was there before", async () => {
  const home = stateFolder(null, null);
  mkdirSync(join(home, "secrets"));
  writeFileSync(join(home, "secrets/a"), "longer than the new one", { mode: 0o644 });
  await writeSecrets(home, [
    { name: "secrets/a", value: "one" },
    { name: "deep/er/b", value: "two" },
  ]);
  expect(
    ["secrets/a", "deep/er/b"].map((name) => [
      readFileSync(join(home, name), "utf8"),
      statSync(join(home, name)).mode & 0o777,
    ]),
  ).toEqual([
    ["one\n", 0o600],
    ["two\n", 0o600],
  ]);
  expect(statSync(join(home, "deep")).mode & 0o777).toBe(0o700);
});
