// Names in tool rules that are no tool are found wherever the config has such rules.
import { expect, test } from "vitest";
import { misspeltTools } from "../src/reload/misspelt-tools.ts";
import { loaded } from "./receive/loaded.ts";

test("a rule that names no tool is found, with its place; groups, patterns, other spellings and tools of one's own are no mistake", async () => {
  const config = await loaded(
    JSON.stringify({
      tools: {
        deny: ["wrte", "EXEC", "group:fs", "web_*", "echo"],
        toolsBySender: { "telegram:7": { allow: ["raed"] } },
        subagents: { tools: { deny: ["grop:web"] } },
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
