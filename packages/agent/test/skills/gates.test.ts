import { chmod, mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { describe, expect, test } from "vitest";
import { skillEnvironment } from "../../src/skills/environment.ts";
import { hasSetting, isAllowed, judgeSkill, type SkillSurroundings } from "../../src/skills/eligibility.ts";
import type { SkillManifest } from "../../src/skills/manifest.ts";
import { readingOf } from "../../src/skills/skill-file.ts";
import { home, put } from "./home.ts";

function manifest(meta: string, name = "x"): SkillManifest {
  const reading = readingOf(`---\nname: ${name}\ndescription: y\nmetadata: {parley: ${meta}}\n---\n`, "x");
  if (!reading.ok) throw new Error(reading.reason);
  return reading.manifest;
}

const around: SkillSurroundings = {
  platform: "linux",
  path: "",
  hasEnv: () => false,
  hasConfig: () => false,
  entry: () => null,
};
const reasonOf = (meta: string, more: Partial<SkillSurroundings> = {}): string => {
  const verdict = judgeSkill(manifest(meta), { ...around, ...more });
  return verdict.status === "ready" ? "ready" : `${verdict.status}: ${verdict.reason}`;
};

describe("a gate", () => {
  test("os: one of them must be this one", () => {
    expect(reasonOf("{os: [linux, darwin]}")).toBe("ready");
    expect(reasonOf("{os: [macos]}")).toBe("unmet: it is for darwin");
    expect(reasonOf("{os: [windows]}", { platform: "win32" })).toBe("ready");
  });

  test("bins: all must be programs on the path; anyBins: one", async () => {
    const path = await home();
    await chmod(await put(join(path, "one"), "#!/bin/sh\n"), 0o755);
    await put(join(path, "text"), "no program");
    expect(reasonOf("{bins: [one]}", { path })).toBe("ready");
    expect(reasonOf("{bins: [one, two, text]}", { path })).toBe(
      "unmet: the program two is missing; the program text is missing",
    );
    expect(reasonOf("{anyBins: [two, one]}", { path })).toBe("ready");
    expect(reasonOf("{anyBins: [two, three]}", { path })).toBe(
      "unmet: one of the programs two or three is needed",
    );
    // A path would ask whether any file is there.
    expect(reasonOf(`{bins: ["${path}/one"]}`, { path })).toMatch(/^unmet/);
    expect(reasonOf('{bins: ["../one"]}', { path: join(path, "sub") })).toMatch(/^unmet/);
  });

  test("env: the daemon's own, or what the operator gives the skill, or its key", () => {
    const meta = "{requires: {env: [X_KEY]}, primaryEnv: X_KEY}";
    expect(reasonOf(meta)).toBe("unmet: the variable X_KEY is not set");
    expect(reasonOf(meta, { hasEnv: (name) => name === "X_KEY" })).toBe("ready");
    expect(reasonOf(meta, { entry: () => ({ env: new Set(["X_KEY"]), hasApiKey: false }) })).toBe("ready");
    expect(reasonOf(meta, { entry: () => ({ env: new Set(), hasApiKey: true }) })).toBe("ready");
    expect(
      reasonOf("{requires: {env: [Y]}, primaryEnv: X_KEY}", {
        entry: () => ({ env: new Set(), hasApiKey: true }),
      }),
    ).toMatch(/Y is not set/);
  });

  test("config: a path that is set and not false, through own properties only", () => {
    const config = {
      a: { b: true, no: false, empty: "", list: [1], none: [], nothing: {} },
      skills: { entries: { x: { config: { city: "Bern" } } } },
    };
    const hasConfig = (path: string): boolean => hasSetting(config, path);
    expect(reasonOf('{config: ["a.b", "a.list", "skills.entries.x.config.city"]}', { hasConfig })).toBe(
      "ready",
    );
    for (const path of [
      "a.no",
      "a.empty",
      "a.none",
      "a.nothing",
      "a.missing",
      "a.b.c",
      "a.toString",
      "a.constructor.name",
      "toString",
    ])
      expect(reasonOf(`{config: ["${path}"]}`, { hasConfig })).toBe(
        `unmet: ${path} is not set in the config`,
      );
  });

  test("always: whatever is required, but the system must fit", () => {
    expect(reasonOf("{always: true, bins: [no-such], env: [NO]}")).toBe("ready");
    expect(reasonOf("{always: true, os: [darwin]}")).toBe("unmet: it is for darwin");
  });

  test("enabled: false comes first", () => {
    expect(
      reasonOf("{always: true}", { entry: () => ({ enabled: false, env: new Set(), hasApiKey: false }) }),
    ).toBe("disabled: skills.entries.x.enabled is false");
  });

  test("what is said of a skill's name holds, whatever key it chose", () => {
    const entry = (key: string) =>
      key === "x" ? { enabled: false, env: new Set<string>(), hasApiKey: false } : null;
    expect(reasonOf("{skillKey: other}", { entry })).toBe("disabled: skills.entries.x.enabled is false");
  });

  test("a program is looked for in each folder of the path, by a name of at most 64 characters", async () => {
    const path = await home();
    const [longest, longer] = ["p".repeat(64), "p".repeat(65)];
    for (const name of [longest, longer, "a.b+c-d_e"])
      await chmod(await put(join(path, name), "#!/bin/sh\n"), 0o755);
    await mkdir(join(path, "folder"));
    const search = ["/nowhere", "", path].join(delimiter);
    expect(reasonOf(`{bins: [${longest}, a.b+c-d_e]}`, { path: search })).toBe("ready");
    expect(reasonOf(`{bins: [${longer}, folder, ""]}`, { path: search })).toBe(
      `unmet: the program ${longer} is missing; the program folder is missing`,
    );
  });

  test("what is said of its key holds beside what is said of its name", () => {
    const of =
      (said: { readonly [key: string]: { enabled?: boolean; env?: string[]; hasApiKey?: boolean } }) =>
      (key: string) => {
        const found = said[key];
        return found === undefined ? null : { hasApiKey: false, ...found, env: new Set(found.env ?? []) };
      };
    const meta = "{skillKey: other, requires: {env: [A, B, KEY]}, primaryEnv: KEY}";
    expect(reasonOf(meta, { entry: of({ x: { enabled: true }, other: { enabled: false } }) })).toBe(
      "disabled: skills.entries.other.enabled is false",
    );
    expect(reasonOf(meta, { entry: of({ x: { env: ["A"] }, other: { env: ["B"], hasApiKey: true } }) })).toBe(
      "ready",
    );
    expect(reasonOf(meta, { entry: of({ x: { hasApiKey: true }, other: { env: ["B"] } }) })).toBe(
      "unmet: the variable A is not set",
    );
    expect(reasonOf("{os: [mac, windows]}", { entry: of({ x: { enabled: true } }) })).toBe(
      "unmet: it is for darwin or win32",
    );
  });

  test("a setting counts unless it is nothing: no zero, no null, no empty list", () => {
    const config = {
      one: 1,
      zero: 0,
      nil: null,
      off: false,
      on: true,
      word: "w",
      blank: "",
      list: [0],
      none: [],
      "a.b": 1,
    };
    const isSet = (path: string): boolean => hasSetting(config, path);
    expect(["one", "on", "word", "list", "list.0"].map(isSet)).toEqual([true, true, true, true, false]);
    expect(["zero", "nil", "off", "blank", "none", "a.b", "nil.x", "word.length", ""].map(isSet)).toEqual(
      Array(9).fill(false),
    );
    expect([hasSetting(null, "a"), hasSetting("a", "length")]).toEqual([false, false]);
  });

  test("tells everything that is missing at once", () => {
    expect(reasonOf('{os: [darwin], bins: [a], env: [B], config: ["c.d"]}')).toBe(
      "unmet: it is for darwin; the program a is missing; the variable B is not set; c.d is not set in the config",
    );
  });
});

test("every list of names narrows, and none is everything", () => {
  expect(isAllowed("Git", [])).toBe(true);
  expect(isAllowed("Git", [undefined, undefined])).toBe(true);
  expect(isAllowed("Git", [["git", "x"], undefined])).toBe(true);
  expect(isAllowed("Git", [["git"], ["x"]])).toBe(false);
  expect(isAllowed("Git", [[]])).toBe(false);
});

test("a turn's environment holds the operator's values and nothing that changes how programs run", () => {
  const env = skillEnvironment(
    [
      manifest("{primaryEnv: A_KEY}", "a"),
      manifest("{primaryEnv: B_KEY}", "b"),
      manifest("{skillKey: other}", "c"),
    ],
    (key) =>
      ({
        a: {
          env: { MODE: "1", NODE_OPTIONS: "--require ./x.js", PATH: "/evil", LD_PRELOAD: "x" },
          apiKey: "ka",
        },
        b: { env: { B_KEY: "explicit", MODE: "2" }, apiKey: "kb" },
        other: { env: { C: "3" } },
      })[key] ?? null,
  );
  expect(env).toEqual({ MODE: "1", A_KEY: "ka", B_KEY: "explicit", C: "3" });
});

test("what is said of a skill's name goes before what is said of its key, and each fills what the other leaves", () => {
  const envOf = (values: { readonly [key: string]: object }): unknown =>
    skillEnvironment(
      [manifest("{skillKey: theirs, primaryEnv: D_KEY}", "d")],
      (key) => (values[key] ?? null) as never,
    );
  expect([
    envOf({ d: { env: { X: "name" } }, theirs: { env: { X: "key", Y: "key" }, apiKey: "of the key" } }),
    envOf({ d: { env: {}, apiKey: "of the name" }, theirs: { env: {}, apiKey: "of the key" } }),
    envOf({ d: { env: {}, apiKey: "of the name" } }),
  ]).toEqual([
    { X: "name", Y: "key", D_KEY: "of the key" },
    { D_KEY: "of the name" },
    { D_KEY: "of the name" },
  ]);
});
