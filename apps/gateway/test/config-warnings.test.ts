// Names in the config that no skill and no tool bears are found wherever the config has such names.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { misspeltSkills, misspeltSkillWarning, misspeltTools } from "../src/message-path/config-warnings.ts";
import { skillRegistry } from "@parley/runner";
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
