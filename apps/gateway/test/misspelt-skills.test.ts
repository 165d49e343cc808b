// Names of skills that Parley does not bring are found where the config allows the ones that it brings.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { misspeltSkills, misspeltSkillWarning } from "../src/reload/misspelt-skills.ts";
import { skillRegistry } from "@parley/runner";
import { loaded } from "./receive/loaded.ts";

const folder = fileURLToPath(new URL("../../../config/skills", import.meta.url));

async function found(skills: object): Promise<readonly string[]> {
  const config = await loaded(JSON.stringify({ skills }));
  const book = skillRegistry({
    config,
    home: "/nowhere",
    bundled: folder,
    env: {},
    userHome: "/nowhere",
    platform: "linux",
    reservedCommands: [],
  });
  return (await misspeltSkills(config, book)).map(misspeltSkillWarning);
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
