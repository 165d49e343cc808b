// Which skills an agent may use at a place, what their processes are given and what their words say: real
// folders, and a config with what this is about.
import { chmod, link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@parley/config";
import { afterEach, beforeEach, expect, test } from "vitest";
import { canRead, noSkills, skillRegistry } from "../src/skills/skill-registry.ts";

let home: string;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), "parley-skills-"))));
afterEach(() => rm(home, { recursive: true, force: true }));

async function skill(folder: string, name: string, front = "", body = `Body of ${name}.`): Promise<void> {
  await mkdir(join(home, folder, name), { recursive: true });
  await writeFile(
    join(home, folder, name, "SKILL.md"),
    `---\nname: ${name}\ndescription: Does ${name}.\n${front}\n---\n${body}\n`,
  );
}

const limits = {
  maxSkillsPromptChars: 18_000,
  maxSkillsInPrompt: 150,
  maxSkillsLoadedPerSource: 200,
  maxCandidatesPerRoot: 300,
  maxSkillFileBytes: 256_000,
};
interface With {
  readonly skills?: object;
  readonly config?: object;
  readonly env?: { readonly [name: string]: string };
  readonly userHome?: string;
  readonly stateFolder?: string;
  readonly platform?: string;
  readonly origins?: object;
}
const registry = ({
  skills = {},
  config = {},
  env = {},
  userHome = "/nowhere",
  stateFolder = "state",
  platform = "linux",
  origins,
}: With = {}) =>
  skillRegistry({
    config: {
      ...config,
      skills: { bundled: true, load: { extraDirs: [join(home, "extra")] }, entries: {}, limits, ...skills },
    } as never,
    home: join(home, stateFolder),
    bundled: join(home, "bundled"),
    env,
    userHome,
    platform,
    reservedCommands: ["stop"],
    origins: origins as never,
  });
const agent = (more: object = {}) => ({ id: "main", workspace: join(home, "work"), ...more }) as never;

test("skills come from five folders, an earlier one hides a later one of its name; those that Parley brings may be off", async () => {
  await skill("work/skills", "a");
  for (const folder of ["work/.agents/skills", "work/skills"]) await skill(folder, "b");
  for (const folder of ["state/skills", "work/.agents/skills"]) await skill(folder, "c");
  for (const folder of ["bundled", "state/skills"]) await skill(folder, "d");
  for (const folder of ["extra", "bundled"]) await skill(folder, "e");
  await skill("extra", "f");
  const shown = async (more: With = {}) => {
    const { skills, roots } = await registry(more).survey(agent());
    return [
      roots.length,
      ...skills.map(({ skill: { manifest, file } }) => `${manifest.name} ${file.slice(home.length + 1)}`),
    ];
  };
  expect(await shown()).toEqual([
    5,
    "a work/skills/a/SKILL.md",
    "b work/skills/b/SKILL.md",
    "c work/.agents/skills/c/SKILL.md",
    "d state/skills/d/SKILL.md",
    "e bundled/e/SKILL.md",
    "f extra/f/SKILL.md",
  ]);
  expect((await shown({ skills: { bundled: false } })).slice(-2)).toEqual([
    "e extra/e/SKILL.md",
    "f extra/f/SKILL.md",
  ]);
  expect([registry().readRoots(), registry({ skills: { bundled: false } }).readRoots()]).toEqual([
    ["state/skills", "bundled", "extra"].map((each) => join(home, each)),
    ["state/skills", "extra"].map((each) => join(home, each)),
  ]);
});

test("the lists of the config, the agent and the place each narrow, whatever the case; an empty one allows none", async () => {
  await skill("bundled", "one");
  await skill("bundled", "two");
  await skill("state/skills", "own");
  const state = async (skills: object, more: object = {}) =>
    (await registry({ skills }).survey(agent(more))).skills.map(
      ({ skill: { manifest }, state: found }) =>
        `${manifest.name}: ${"reason" in found ? found.reason : found.status}`,
    );
  expect(await state({ allowBundled: ["ONE"] })).toEqual([
    "one: ready",
    "own: ready",
    "two: it is not in skills.allowBundled",
  ]);
  expect(await state({}, { skills: ["Own"] })).toEqual([
    'one: it is not among the skills of agent "main"',
    "own: ready",
    'two: it is not among the skills of agent "main"',
  ]);
  const names = async (narrowed?: readonly string[]) => {
    const here = await registry().at(agent(), narrowed);
    return [here.listing.facts.map(({ name }) => name), here.commands.map(({ command }) => command)];
  };
  expect(await names()).toEqual([
    ["one", "own", "two"],
    ["one", "own", "two"],
  ]);
  expect(await names(["TWO"])).toEqual([["two"], ["two"]]);
  expect(await names([])).toEqual([[], []]);
});

test("what the model may not choose people may call, and the other way round; reserved names are numbered", async () => {
  await skill("work/skills", "quiet", "disable-model-invocation: true");
  await skill("work/skills", "inner", "user-invocable: false");
  await skill("work/skills", "stop");
  await skill("work/skills", "off");
  const here = await registry({ skills: { entries: { OFF: { enabled: false, env: {} } } } }).at(agent());
  expect(here.listing.facts.map(({ name }) => name)).toEqual(["inner", "stop"]);
  expect(here.commands.map(({ command }) => command)).toEqual(["quiet", "stop_2"]);
});

test("a process gets the values of skills that the model may choose, and of those that a person called", async () => {
  const needs = "metadata: {parley: {requires: {env: [A_TOKEN]}, primaryEnv: A_TOKEN}}";
  await skill("work/skills", "a", needs);
  await skill("work/skills", "b", "disable-model-invocation: true");
  await skill("work/skills", "c");
  const entries = {
    A: { apiKey: secret("key of a"), env: {} },
    b: { env: { B_NAME: secret("of b"), B_PLAIN: "plain" } },
    c: { enabled: false, env: { C_NAME: "of c" } },
  };
  const { env } = await registry({ skills: { entries } }).at(agent());
  expect(env([])).toEqual({ A_TOKEN: "key of a" });
  expect(env(["b", "c"])).toEqual({ A_TOKEN: "key of a", B_NAME: "of b", B_PLAIN: "plain" });
  // Without its key it is not ready, and an empty variable of the daemon is none.
  const ready = async (more: With) =>
    (await registry(more).at(agent())).listing.facts.map(({ name }) => name);
  expect(await ready({ env: { A_TOKEN: "" } })).toEqual(["c"]);
  expect(await ready({ env: { A_TOKEN: "x" } })).toEqual(["a", "c"]);
  // A name that every object has is no entry.
  await skill("work/skills", "constructor");
  expect(await ready({ env: { A_TOKEN: "x" } })).toEqual(["a", "c", "constructor"]);
});

test("what a skill lacks is known also where it is switched off or not allowed", async () => {
  const program = join(home, "bin", "there");
  await mkdir(join(home, "bin"));
  await writeFile(program, "#!/bin/sh\n");
  await chmod(program, 0o755);
  const needs =
    "metadata: {parley: {os: [darwin], requires: {bins: [there, gone], anyBins: [no, nor], env: [X_KEY], config: [tools.on, tools.off]}}}";
  await skill("work/skills", "a", needs);
  const lacks = ["os darwin", "bin gone", "anyBins no or nor", "env X_KEY", "config tools.off"];
  const around = { config: { tools: { on: true, off: false } }, env: { PATH: join(home, "bin") } };
  const seen = async (entry: object, more: object = {}) => {
    const { skills } = await registry({ ...around, skills: { entries: { a: entry } } }).survey(agent(more));
    return skills.map(({ state, unmet }) => [
      state.status,
      unmet().map(({ kind, what }) => `${kind} ${what}`),
    ]);
  };
  expect(await seen({ env: {} })).toEqual([["unmet", lacks]]);
  expect(await seen({ enabled: false, env: {} })).toEqual([["disabled", lacks]]);
  expect(await seen({ env: {} }, { skills: [] })).toEqual([["not allowed", lacks]]);
  expect(await seen({ enabled: false, env: { X_KEY: "x" } })).toEqual([
    ["disabled", lacks.filter((each) => !each.startsWith("env"))],
  ]);
});

test("paths are shown from the workspace or the user's home; in a workspace that holds the state folder by that rule too", async () => {
  await skill("work/skills", "own");
  await skill("state/skills", "managed");
  const locations = async (more: With, workspace = "work") => {
    const here = await registry(more).at(agent({ workspace: join(home, workspace) }));
    return here.listing.facts.map(({ location }) => location.replace(home, "HOME"));
  };
  expect(await locations({})).toEqual(["HOME/state/skills/managed/SKILL.md", "skills/own/SKILL.md"]);
  expect(await locations({ userHome: home })).toEqual([
    "~/state/skills/managed/SKILL.md",
    "skills/own/SKILL.md",
  ]);
  // A folder whose name only begins alike is not the user's.
  expect(await locations({ userHome: join(home, "sta") })).toEqual([
    "HOME/state/skills/managed/SKILL.md",
    "skills/own/SKILL.md",
  ]);
  await skill("all/skills", "own");
  await skill("all/state/skills", "managed");
  expect(await locations({ stateFolder: "all/state" }, "all")).toEqual([
    "HOME/all/state/skills/managed/SKILL.md",
    "skills/own/SKILL.md",
  ]);
});

test("a skill's words are read as they are now, with its folder in them, at most so long; gone, they are none", async () => {
  await skill("work/skills", "a", "", "Run {baseDir}/one, then {baseDir}/two.");
  await skill("work/skills", "b", "", "b".repeat(30_000));
  await skill("work/skills", "c");
  const here = await registry().at(agent());
  const body = async (at: number) => {
    const found = here.commands[at];
    return found === undefined ? "no skill" : here.body(found.skill);
  };
  expect(await body(0)).toContain("Run skills/a/one, then skills/a/two.");
  const long = (await body(1)) ?? "";
  const end = "\n[... cut at 20000 characters]";
  expect([long.length, long.endsWith(`b${end}`)]).toEqual([20_000 + end.length, true]);
  const spare = 20_000 - ((await body(2)) ?? "").length;
  await skill("work/skills", "c", "", `Body of c.${"c".repeat(spare)}`);
  expect(await body(2)).toMatch(/^[^[]{20000}$/);
  await rm(join(home, "work/skills/c"), { recursive: true });
  expect(await body(2)).toBeNull();
});

test("an agent's own bound on the list comes before the config's", async () => {
  for (const name of ["one", "two", "three"]) await skill("work/skills", name);
  const listed = async (own: object, chars: number) =>
    (await registry({ skills: { limits: { ...limits, maxSkillsPromptChars: chars } } }).at(agent(own)))
      .listing.facts.length;
  expect(await listed({}, 18_000)).toBe(3);
  expect(await listed({ maxSkillsPromptChars: 0 }, 18_000)).toBeLessThan(3);
  expect(await listed({ maxSkillsPromptChars: 18_000 }, 0)).toBe(3);
});

test("a list of skills is of use where there is a read tool alone", () => {
  expect([canRead([]), canRead([{ name: "reader" }]), canRead([{ name: "exec" }, { name: "read" }])]).toEqual(
    [false, false, true],
  );
});

test("a skill that somebody else wrote is left out, or marked where the model reads it; a second name of its file makes it none", async () => {
  for (const name of ["mine", "boxed", "strange"]) await skill("work/skills", name);
  await skill("bundled", "brought");
  const asked: string[] = [];
  const origins = {
    of: async (root: string) => {
      asked.push(root.slice(home.length + 1));
      return (path: string) =>
        path.includes("boxed")
          ? { use: "mark", reason: "Written in a sandbox.", who: "by telegram:9" }
          : path.includes("strange")
            ? { use: "leave out", reason: "it is a stranger's", who: "by telegram:9" }
            : null;
    },
  };
  const here = await registry({ origins }).at(agent());
  const bodies = await Promise.all(here.commands.map(({ skill: each }) => here.body(each)));
  expect([asked, here.commands.map(({ command }) => command)]).toEqual([
    ["work"],
    ["boxed", "brought", "mine"],
  ]);
  expect(bodies.map((body) => body?.startsWith("[Written in a sandbox.]\n\n---\nname: boxed"))).toEqual([
    true,
    false,
    false,
  ]);
  // It may have been made to read a file from outside.
  for (const folder of ["work/skills/mine", "bundled/brought"])
    await link(join(home, folder, "SKILL.md"), join(home, folder, "other.md"));
  const later = await Promise.all(here.commands.map(({ skill: each }) => here.body(each)));
  expect(later.map((body) => body !== null)).toEqual([true, true, false]);
});

test("a process without skills has none, anywhere", async () => {
  const { at, survey, limits: none, readRoots, managed, reads } = noSkills;
  const { body, location, ...here } = await at(agent());
  expect([
    await survey(agent()),
    here.listing,
    here.commands,
    here.env(["a"]),
    await body({} as never),
  ]).toEqual([
    { roots: [], shelf: { skills: [], shadowed: [], rejected: [], cut: [] }, skills: [] },
    { facts: [] },
    [],
    {},
    null,
  ]);
  expect([location({ file: "/x" } as never), readRoots(), managed, reads(), Object.values(none)]).toEqual([
    "/x",
    [],
    "",
    0,
    [0, 0, 0, 0, 0],
  ]);
});
