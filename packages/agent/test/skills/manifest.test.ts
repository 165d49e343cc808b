// The bounds and the words of what a SKILL.md says of itself.
import { expect, test } from "vitest";
import { skillManifest, type SkillManifest } from "../../src/skills/manifest.ts";

const given = (data: object) =>
  skillManifest({ ok: true, notes: [], body: "", data: { name: "n", description: "d", ...data } }, "folder");
const manifestOf = (data: object): SkillManifest => {
  const reading = given(data);
  if (!reading.ok) throw new Error(reading.reason);
  return reading.manifest;
};
const saidOf = (data: object): readonly string[] | string => {
  const reading = given(data);
  return reading.ok ? reading.notes : reading.reason;
};

test("only an absent name is the folder's; one that is empty is none", () => {
  for (const name of [undefined, null]) {
    expect(manifestOf({ name }).name).toBe("folder");
    expect(saidOf({ name })).toEqual(["it has no name; its folder's stands in"]);
  }
  expect(saidOf({ name: "" })).toMatch(/^its name "" cannot be used/);
  expect(saidOf({ name: `/${"n".repeat(79)}` })).toMatch(new RegExp(`^its name "/${"n".repeat(79)}" cannot`));
  expect(saidOf({ name: `/${"n".repeat(80)}` })).toMatch(
    new RegExp(`^its name "/${"n".repeat(78)}…" cannot`),
  );
  expect(saidOf({ name: ["n"] })).toBe("its name cannot be read: it is no text");
  expect(saidOf({ description: ["d"] })).toBe("its description cannot be read: it is no text");
  for (const description of [undefined, null, "", "\n"])
    expect(saidOf({ description })).toBe("it has no description, by which it would be chosen");
});

test("a homepage is a web address of at most 400 characters, its own before that of its metadata", () => {
  const web = "https://a.example/";
  expect(manifestOf({ homepage: web, parley: { homepage: "https://b.example/" } }).homepage).toBe(web);
  expect(manifestOf({ parley: { homepage: web } }).homepage).toBe(web);
  const longest = `${web}${"p".repeat(400 - web.length)}`;
  expect(manifestOf({ homepage: longest }).homepage).toBe(longest);
  expect(manifestOf({ homepage: `${longest}p` }).homepage).toBe(`${longest.slice(0, 399)}…`);
  for (const homepage of ["shttp://a.example/", "httpss://a.example/", "a.example", "javascript:x"])
    expect(manifestOf({ homepage })).not.toHaveProperty("homepage");
});

test("an emoji has sixteen characters, a key sixty-four; an empty key is one that nothing speaks of", () => {
  expect(manifestOf({ parley: { emoji: "e".repeat(16), skillKey: "k".repeat(64) } })).toMatchObject({
    emoji: "e".repeat(16),
    key: "k".repeat(64),
  });
  expect(manifestOf({ parley: { emoji: "e".repeat(17), skillKey: "k".repeat(65) } })).toMatchObject({
    emoji: `${"e".repeat(15)}…`,
    key: `${"k".repeat(63)}…`,
  });
  expect(manifestOf({}).key).toBe("n");
});

test("a key is handed over in a variable that has a name and changes no program, and else that is said", () => {
  expect(given({ parley: { primaryEnv: "" } })).toMatchObject({ notes: [] });
  expect(manifestOf({ parley: { primaryEnv: "_KEY_1" } }).primaryEnv).toBe("_KEY_1");
  for (const name of ["1KEY", "A-KEY", "PATH", "NODE_OPTIONS"]) {
    expect(manifestOf({ parley: { primaryEnv: name } })).not.toHaveProperty("primaryEnv");
    expect(saidOf({ parley: { primaryEnv: name } })).toEqual([
      `no key is handed over in "${name}": that variable changes how programs run, or is no name of one`,
    ]);
  }
  expect(saidOf({ parley: { primaryEnv: "-".repeat(81) } })).toEqual([
    expect.stringContaining(`"${"-".repeat(79)}…"`),
  ]);
});

test("a command for a tool needs a tool that can be named, and hands its words over as they are", () => {
  const command = (more: object): object => ({
    "command-dispatch": " Tool ",
    "command-tool": " t.a:b-1 ",
    ...more,
  });
  expect(given(command({}))).toMatchObject({ manifest: { dispatch: { tool: "t.a:b-1" } }, notes: [] });
  expect(given(command({ "command-arg-mode": " Raw " }))).toMatchObject({
    manifest: { dispatch: { tool: "t.a:b-1" } },
    notes: [],
  });
  const other = "m".repeat(41);
  for (const [more, said] of [
    [
      { "command-dispatch": other },
      `command-dispatch "${"m".repeat(39)}…" is not known; its command asks the model`,
    ],
    [
      { "command-dispatch": "m".repeat(40) },
      `command-dispatch "${"m".repeat(40)}" is not known; its command asks the model`,
    ],
    [{ "command-tool": "1t" }, "command-dispatch needs command-tool; its command asks the model"],
    [
      { "command-arg-mode": other },
      `command-arg-mode "${"m".repeat(39)}…" is not known; its command asks the model`,
    ],
  ] as const) {
    expect(manifestOf(command(more))).not.toHaveProperty("dispatch");
    expect(saidOf(command(more))).toEqual([said]);
  }
  expect(given({ "command-tool": "t" })).toMatchObject({ notes: [] });
});

test("its own block counts before those of others, below metadata before at the top, and what it left out is named", () => {
  expect(manifestOf({ metadata: { openclaw: { os: "mac" } }, parley: { os: "win" } }).gates.os).toEqual([
    "darwin",
  ]);
  expect(saidOf({ metadata: 5, parley: { requires: { bins: [{}] }, always: "maybe", install: [] } })).toEqual(
    [
      "metadata is left out: it is neither keys and values nor JSON",
      "its install recipes are not acted on: nothing is installed",
      "parley.always is left out: it is neither true nor false",
      "parley.requires.bins is left out: it is no list of names",
    ],
  );
  expect(saidOf({ metadata: { clawdbot: { env: [{}] } } })).toEqual([
    "metadata.clawdbot.env is left out: it is no list of names",
  ]);
  expect(saidOf({ "allowed-tools": [] })).toEqual(["allowed-tools is not acted on: a skill grants no tool"]);
});
