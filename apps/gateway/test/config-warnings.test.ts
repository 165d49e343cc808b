// Names in the config that no skill and no tool bears are found wherever the config has such names.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import {
  misspeltSkills,
  misspeltSkillWarning,
  misspeltTools,
  uncappedModels,
  warnOfConfig,
} from "../src/message-path/config-warnings.ts";
import { skillRegistry } from "@parley/runner";
import { catalogue } from "@parley/tools";
import { loaded } from "./receive/loaded.ts";

const folder = fileURLToPath(new URL("../../../config/skills", import.meta.url));

async function found(skills: object): Promise<readonly string[]> {
  const config = await loaded(JSON.stringify({ skills }));
  const registry = skillRegistry({
    config,
    home: "/nowhere",
    bundled: folder,
    env: {},
    userHome: "/nowhere",
    platform: "linux",
    reservedCommands: [],
  });
  return (await misspeltSkills(config, registry)).map(misspeltSkillWarning);
}

test("a bundled skill that there is none of is told with those that there are; where they are all off nothing is", async () => {
  expect(await found({ allowBundled: ["daily-notes", "dayly-notes"] })).toEqual([
    expect.stringMatching(
      /^skills\.allowBundled names "dayly-notes", .* It brings daily-notes, git-helper, /,
    ),
  ]);
  expect(await found({ allowBundled: ["dayly-notes"], bundled: false })).toEqual([]);
  expect(await found({})).toEqual([]);
});

test("a rule that names no tool is found, with its place; groups, patterns, other spellings and tools of one's own are no mistake", async () => {
  const config = await loaded(
    JSON.stringify({
      tools: {
        deny: ["wrte", "EXEC", "group:fs", "web_*", "echo"],
        toolsBySender: { "telegram:7": { allow: ["raed"] } },
        subagents: { tools: { deny: ["grop:web"] } },
        web: { egress: { allow: ["127.0.0.1:8080"], deny: ["*.ads.example"] } },
      },
      agents: { list: [{ id: "main", tools: { profile: "coding", alsoAllow: ["mesage"] } }] },
      channels: { telegram: { groups: { "-5": { tools: { deny: ["exce"] } } } } },
    }),
  );
  expect(misspeltTools(config, ["echo"]).map(({ at, pattern }) => [at, pattern])).toEqual([
    ["tools", "wrte"],
    ["tools.toolsBySender.telegram:7", "raed"],
    ["tools.subagents.tools", "grop:web"],
    ["agents.list.0.tools", "mesage"],
    ["channels.telegram.default.groups.-5.tools", "exce"],
  ]);
});

test("models whose price is not known are found where an agent's dollars are limited: its own, and those that people may choose", async () => {
  const provider = { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [] };
  const config = await loaded(
    JSON.stringify({
      models: { providers: { p: provider, r: provider } },
      agents: {
        defaults: { models: { "p/choice": {}, "p/known": {}, "r/play": {} } },
        list: [
          { id: "day", model: { primary: "p/one", fallbacks: ["p/two"] }, spend: { dayUsd: 1 } },
          { id: "month", model: "p/known", spend: { monthUsd: 9 } },
          { id: "tokens", model: "p/three", spend: { dayTokens: 5 } },
          { id: "main", model: "p/four" },
        ],
      },
    }),
  );
  const asked: unknown[] = [];
  const models = {
    list: (names: readonly string[]) => {
      asked.push(names);
      // A list may hold more than was asked for.
      return [...names, "p/other"].map((id) => ({
        id,
        api: id.startsWith("r/") ? "rehearsal" : "openai-completions",
        ...(id === "p/known" ? { cost: {} } : {}),
      }));
    },
  } as never;
  const found = [
    { agent: "day", model: "p/one" },
    { agent: "day", model: "p/two" },
    { agent: "day", model: "p/choice" },
    { agent: "month", model: "p/choice" },
  ];
  expect([uncappedModels(config, models), asked]).toEqual([
    found,
    [
      ["p/one", "p/two", "p/choice", "p/known", "r/play"],
      ["p/known", "p/choice", "r/play"],
    ],
  ]);
  const lines: unknown[] = [];
  const wrong = {
    ...config,
    tools: { ...config.tools, deny: ["wrte"] },
    skills: { ...config.skills, allowBundled: ["dayly"] },
  };
  const skills = {
    survey: async () => ({
      shelf: {
        skills: [
          { source: "bundled", manifest: { name: "notes" } },
          { source: "managed", manifest: { name: "dayly" } },
        ],
        shadowed: [{ skill: { source: "bundled", manifest: { name: "hidden" } } }],
      },
    }),
  } as never;
  await warnOfConfig(
    wrong as never,
    { models, skills, toolNames: ["echo"] },
    {
      warn: (fields, words) => void lines.push([words, fields]),
    },
  );
  expect(lines).toEqual([
    ...found.map((each) => [
      `the spending limit in dollars of the agent "${each.agent}" does not hold ${each.model}: its price is not known. Set the model's cost under models.providers, or limit tokens (dayTokens, monthTokens)`,
      each,
    ]),
    [
      'skills.allowBundled names "dayly", which Parley does not bring. It brings hidden, notes',
      { name: "dayly", bundled: ["notes", "hidden"] },
    ],
    [
      `tools names "wrte", which is no tool: nothing is allowed or denied by it. The tools are ${catalogue.map(({ id }) => id).join(", ")}`,
      { at: "tools", pattern: "wrte" },
    ],
  ]);
});
