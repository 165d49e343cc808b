// Which providers there are, which model answers when nobody chose one, and what is a credential by its look.
import { expect, test } from "vitest";
import type { Env } from "../src/index.ts";
import { isSecret } from "../src/index.ts";
import { loadText, problemsOf } from "./load-text.ts";

const keys = { GEMINI_API_KEY: "g", OPENAI_API_KEY: "o", ANTHROPIC_API_KEY: "a" };
const own = 'lab: { api: "ollama", baseUrl: "http://127.0.0.1:1", models: [{ id: "m1" }, { id: "m2" }] }';

test.each<[string, Env, string]>([
  ["", keys, "anthropic/claude-sonnet-4-5"],
  ["", { GEMINI_API_KEY: "g", OPENAI_API_KEY: "o" }, "openai/gpt-5"],
  ["", { GEMINI_API_KEY: "g", OPENAI_API_KEY: "" }, "google/gemini-2.5-pro"],
  ["", { OPENROUTER_API_KEY: "r" }, "rehearsal/rehearsal"],
  ['google: { apiKey: "k" }', {}, "google/gemini-2.5-pro"],
  ['google: { apiKey: "k" }', { OPENAI_API_KEY: "o" }, "openai/gpt-5"],
  ["openai: {}", {}, "rehearsal/rehearsal"],
  [own, keys, "lab/m1"],
  [`google: { apiKey: "k" }, ${own}, openai: { models: [{ id: "o1" }] }`, keys, "lab/m1"],
])("with the providers { %s } and the keys %j the model is %s", async (providers, env, model) => {
  const { config } = await loadText(`{ models: { providers: { ${providers} } } }`, env);
  expect(config.agents.defaults.model).toEqual({ primary: model, fallbacks: [] });
  expect(config.agents.list.map((agent) => agent.model.primary)).toEqual([model]);
});

test("a key of the file wins over one of the environment, and each goes to its own provider", async () => {
  const { config } = await loadText(
    '{ models: { providers: { openai: { apiKey: "of-file" }, anthropic: { models: [{ id: "c" }] }, google: { baseUrl: "https://g.example" } } } }',
    keys,
  );
  const shown = Object.entries(config.models.providers).map(([name, { apiKey, baseUrl, models }]) => [
    name,
    apiKey?.reveal(),
    baseUrl,
    models.map(({ id }) => id),
  ]);
  expect(shown).toEqual([
    ["openai", "of-file", undefined, []],
    ["anthropic", "a", undefined, ["c"]],
    ["google", undefined, "https://g.example", []],
  ]);
});

test("a model that cannot be is told with what would do, wherever it is named", async () => {
  const told = async (defaults: string, env: Env = {}): Promise<readonly string[]> =>
    (await problemsOf(`{ models: { providers: { ${own} } }, agents: { ${defaults} } }`, env)).map(
      ({ path, message, fix }) => `${path}: ${message}. ${fix}`,
    );
  const listed =
    'is not among the models of "lab". Add it to models.providers.lab.models, or use one of: lab/m1, lab/m2';
  expect(
    await told(`defaults: { model: { primary: "openai/x", fallbacks: ["lab/m2", "lab/m3", "lab/m3"] },
      imageModel: { fallbacks: ["google/x", "gone/y"] }, models: { "lab/m4": {}, "lab/m1": {} } },
      list: [{ id: "main" }, { id: "b", model: "rehearsal/other" }, { id: "c", model: "lab/m5" }]`),
  ).toEqual([
    'agents.defaults.model: "openai/x" names the provider "openai", which does not exist. Set OPENAI_API_KEY in the environment, or use one of: lab',
    `agents.defaults.model: "lab/m3" ${listed}`,
    'agents.defaults.imageModel: "google/x" names the provider "google", which does not exist. Set GEMINI_API_KEY in the environment, or use one of: lab',
    'agents.defaults.imageModel: "gone/y" names the provider "gone", which does not exist. Add it under models.providers.gone, or use one of: lab',
    `agents.defaults.models["lab/m4"]: "lab/m4" ${listed}`,
    'agents.list[1].model: "rehearsal/other" names the provider "rehearsal", which does not exist. Add it under models.providers.rehearsal, or use one of: lab',
    `agents.list[2].model: "lab/m5" ${listed}`,
  ]);
  expect(await told('defaults: { model: "rehearsal/rehearsal" }')).toEqual([]);
  expect(await problemsOf('{ agents: { defaults: { model: "lab/m" } } }')).toMatchObject([
    { fix: "Add it under models.providers.lab" },
  ]);
});

test("a provider that nobody knows says how it is spoken to and where it is", async () => {
  const told = (
    await problemsOf(
      "{ models: { providers: { mine: {}, rehearsal: {}, groq: {}, other: { api: 'ollama' } } } }",
    )
  ).map(({ path, message, fix }) => `${path}: ${message}. ${fix}`);
  expect(told).toEqual([
    'models.providers.mine: "mine" is no well-known provider and has no api. Set api',
    'models.providers.mine: "mine" is no well-known provider and has no baseUrl. Set baseUrl',
    'models.providers.rehearsal: "rehearsal" is built in. Choose another name',
    'models.providers.other: "other" is no well-known provider and has no baseUrl. Set baseUrl',
  ]);
});

test("an agent's model that names no primary keeps that of all, and its own fallbacks", async () => {
  const { config } = await loadText(
    '{ agents: { defaults: { model: { fallbacks: ["openai/f"] } }, list: [{ id: "a" }, { id: "b", model: { fallbacks: ["openai/g"] } }, { id: "c", model: "openai/h" }] }, bindings: [{ agentId: "a", match: { channel: "web" } }] }',
    { OPENAI_API_KEY: "o" },
  );
  expect(config.agents.list.map(({ model }) => model)).toEqual([
    { primary: "openai/gpt-5", fallbacks: ["openai/f"] },
    { primary: "openai/gpt-5", fallbacks: ["openai/g"] },
    { primary: "openai/h", fallbacks: [] },
  ]);
});

const word = "in-plain-words-that-say-much";
/** By its name and its value: whether logs and answers hide it. */
const looks: readonly (readonly [string, string, boolean])[] = [
  ["API_KEY", "abcdef", true],
  ["API_KEY", "abcde", false],
  ["api_key", "abcdef", true],
  ["MYTOKEN", "abcdef", true],
  ["PASSWORD", "abcdef", true],
  ["DB_PASS_FILE", "abcdef", true],
  ["DB_PASS_FILE", "true", false],
  ["PASSAGE", "abcdef", false],
  ["USE_TOKENS", "true", false],
  ["SECRET_SANTA", "FALSE", false],
  ["COMPASS", "abcdef", false],
  ["COOKIE", "abcdef", true],
  ["SENTRY_DSN", "abcdef", true],
  ["GH_PAT", "abcdef", true],
  ["PATTERN", "abcdef", false],
  ["KEYBOARD", "qwertz", false],
  ["UNITS", "metric", false],
  ["NOTE", word, false],
  ["NOTE", `${word}1`, true],
  ["NOTE", "abcdefghijklmnopqrstuv1", false],
  ["NOTE", "abcdefghijklmnopqrstuvw1", true],
  ["NOTE", "123456789012345678901234", false],
  ["NOTE", "abcdefghijklmnopqrst uvw1", false],
  ["NOTE", "sk-x", true],
  ["NOTE", "task-x", false],
  ["NOTE", "ghp_x", true],
  ["NOTE", "github_pat_x", true],
  ["NOTE", "xoxb-1", true],
  ["NOTE", "AKIA1", true],
  ["NOTE", "ya29.x", true],
  ["NOTE", "eyJhbGciOiJIU.x", true],
  ["NOTE", "eyJhbGciOiJI.x", false],
  ["NOTE", "redis://me:pw@h", true],
  ["NOTE", "redis://me@h", false],
  ["NOTE", "http://h:80/x@y", false],
];

test("a variable's value is hidden by its name or by its look, for skills, hooks and MCP servers alike", async () => {
  const hidden = await Promise.all(
    looks.map(async ([name, value]) => {
      const env = { [name]: value };
      const { config } = await loadText(
        JSON.stringify({
          skills: { entries: { x: { env } } },
          hooks: { internal: { entries: { x: { env } } } },
          mcp: { servers: { x: { command: "c", env }, y: { url: "https://a.example", headers: env } } },
        }),
      );
      const { skills, hooks, mcp } = config;
      const all = [
        skills.entries["x"]?.env,
        hooks.internal.entries["x"]?.env,
        mcp.servers["x"]?.env,
        mcp.servers["y"]?.headers,
      ].map((each) => isSecret(each?.[name]));
      expect(new Set(all).size, name).toBe(1);
      return [name, value, all[0]];
    }),
  );
  expect(hidden).toEqual(looks);
  const dashed = await loadText(
    '{ mcp: { servers: { y: { url: "https://a.example", headers: { "X-Api-Key": "abcdef" } } } } }',
  );
  expect(isSecret(dashed.config.mcp.servers["y"]?.headers["X-Api-Key"])).toBe(true);
});
