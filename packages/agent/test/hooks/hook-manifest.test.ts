// What a HOOK.md says of itself: its events, its names, and what is said of the rest.
import { hookEventNames, hookFamilies } from "@parley/protocol";
import { expect, test } from "vitest";
import { hookManifest, type HookManifest } from "../../src/hooks/hook-manifest.ts";

const given = (data: object, own: object = {}) =>
  hookManifest(
    {
      ok: true,
      notes: ["read before"],
      body: "",
      data: { name: "n", description: "d", ...data, openclaw: { events: "message:received", ...own } },
    },
    "folder",
  );
const manifestOf = (data: object, own?: object): HookManifest => {
  const reading = given(data, own);
  if (!reading.ok) throw new Error(reading.reason);
  return reading.manifest;
};
const saidOf = (data: object, own?: object): readonly string[] | string => {
  const reading = given(data, own);
  return reading.ok ? reading.notes : reading.reason;
};

test("the least that it says has its defaults, and what was said of the file before stays said", () => {
  expect(given({})).toEqual({
    ok: true,
    notes: ["read before"],
    manifest: {
      name: "n",
      description: "d",
      key: "n",
      events: ["message:received"],
      exportName: "default",
      gates: { always: false, os: [], bins: [], anyBins: [], env: [], config: [] },
    },
  });
});

test("every event and every family may be heard, each once, in the order in which they are named", () => {
  const all = [...hookFamilies, ...hookEventNames];
  expect(manifestOf({}, { events: [...all, "command", "gateway:startup"] }).events).toEqual(all);
});

test("an event that is not known is left out with a note; a hook with none that is known is refused", () => {
  const events = ["message:received", "message:dreamt", "messages"];
  expect(manifestOf({}, { events }).events).toEqual(["message:received"]);
  expect(saidOf({}, { events })).toEqual([
    "read before",
    'the event "message:dreamt" is not known, and never comes',
    'the event "messages" is not known, and never comes',
  ]);
  expect(saidOf({}, { events: [] })).toBe("it listens to no event: name some in metadata.openclaw.events");
  expect(saidOf({}, { events: "dreamt" })).toBe(
    `it listens to no event that is known: they are ${hookEventNames.join(", ")}`,
  );
  expect(saidOf({}, { events: ["e".repeat(61)] })).toMatch(/no event that is known/);
  expect(saidOf({}, { events: ["command", "e".repeat(61)] })[1]).toBe(
    `the event "${"e".repeat(59)}…" is not known, and never comes`,
  );
});

test("its folder stands in for a name; a name that is none refuses it, and so does one that is no text", () => {
  expect(manifestOf({ name: undefined }).name).toBe("folder");
  expect(manifestOf({ name: 7 }).name).toBe("7");
  expect(saidOf({ name: "../x" })).toMatch(/^its name "\.\.\/x" cannot be used/);
  expect(saidOf({ name: `/${"n".repeat(80)}` })).toMatch(new RegExp(`^its name "/n{78}…" cannot`));
  expect(saidOf({ name: ["a"] })).toBe("its name cannot be read: it is no text");
  expect(saidOf({ description: { a: 1 } })).toBe("its description cannot be read: it is no text");
});

test("a description is one line of at most 1,024 characters, and its absence is said", () => {
  expect(manifestOf({ description: "one\n  two\tthree" }).description).toBe("one two three");
  const longest = "d".repeat(1_024);
  expect(manifestOf({ description: longest }).description).toBe(longest);
  expect(manifestOf({ description: `${longest}d` }).description).toBe(`${"d".repeat(1_023)}…`);
  for (const description of [undefined, null, " \n"]) {
    expect(manifestOf({ description }).description).toBe("");
    expect(saidOf({ description })).toEqual(["read before", "it has no description"]);
  }
});

test("what may be said beside is read from its own block, the homepage from the top too", () => {
  expect(
    manifestOf(
      { homepage: "https://top.example/" },
      {
        homepage: "https://own.example/",
        emoji: "🦊",
        hookKey: "key",
        export: "handle",
        requires: { env: ["A"] },
      },
    ),
  ).toMatchObject({
    homepage: "https://own.example/",
    emoji: "🦊",
    key: "key",
    exportName: "handle",
    gates: { env: ["A"] },
  });
  expect(manifestOf({ homepage: "https://top.example/" }).homepage).toBe("https://top.example/");
  for (const homepage of [7, "ftp://x.example/", "no address"])
    expect(manifestOf({ homepage })).not.toHaveProperty("homepage");
  expect(manifestOf({}, { emoji: "e".repeat(17), hookKey: "k".repeat(65) })).toMatchObject({
    emoji: `${"e".repeat(15)}…`,
    key: `${"k".repeat(63)}…`,
  });
  for (const [chars, name] of [
    [128, "x".repeat(128)],
    [129, `${"x".repeat(127)}…`],
  ] as const)
    expect(manifestOf({}, { export: "x".repeat(chars) }).exportName).toBe(name);
  // What was said to be nothing is nothing, and does not become the default.
  expect(manifestOf({}, { export: "", hookKey: "" })).toMatchObject({ exportName: "", key: "" });
  expect(manifestOf({ homepage: "https://top.example/" }, { homepage: "" })).not.toHaveProperty("homepage");
});
