// Small windows: what gives way, in which order, and that it is on record.
import { expect, test } from "vitest";
import { compile, estimateTokens, promptBudget, promptFacts, promptSections } from "../../src/index.ts";
import { stableInput, surfaceFacts } from "./fixtures.ts";

const soul = "Many words. ".repeat(1_000);
const facts = promptFacts(
  stableInput({
    modelAliases: [{ alias: "fast", model: "a/b" }],
    skills: Array.from({ length: 20 }, (_, at) => ({
      name: `skill-${at}`,
      description: "What it does. ".repeat(30),
      location: `/skills/${at}/SKILL.md`,
    })),
    files: {
      files: [
        {
          name: "SOUL.md",
          path: "/w/SOUL.md",
          state: "present",
          text: soul,
          rawChars: soul.length,
          truncated: false,
        },
      ],
    },
  }),
  surfaceFacts(),
);

test("of a window two fifths are for what stays and a tenth for what changes, rounded down", () => {
  expect(promptBudget(200_000)).toEqual({ stableTokens: 80_000, volatileTokens: 20_000 });
  expect(promptBudget(32_769)).toEqual({ stableTokens: 13_107, volatileTokens: 3_276 });
});

test("a large window cuts nothing", () => {
  expect(compile(promptSections, facts, promptBudget(200_000)).truncations).toEqual([]);
});

test("a smaller window shortens the workspace files and leaves skills and tools whole", () => {
  const prompt = compile(promptSections, facts, promptBudget(16_000));
  expect(prompt.truncations.map(({ section, how }) => [section, how])).toEqual([
    ["project_context", "shortened"],
  ]);
  const large = compile(promptSections, facts, promptBudget(200_000));
  for (const id of ["skills", "tooling"]) {
    const charsIn = (each: typeof prompt): number | undefined =>
      each.sections.find((section) => section.id === id)?.chars;
    expect([id, charsIn(prompt)]).toEqual([id, charsIn(large)]);
  }
});

test("a still smaller one leaves the files their share and shortens the skills too, and says so", () => {
  const prompt = compile(promptSections, facts, promptBudget(10_000));
  expect(prompt.truncations.map(({ section, how }) => [section, how])).toEqual([
    ["project_context", "shortened"],
    ["skills", "shortened"],
  ]);
  expect(prompt.stable).toContain("[...truncated, read SOUL.md for full content...]");
  expect(estimateTokens(prompt.stable)).toBeLessThanOrEqual(10_000 * 0.4 + 100);
  expect(prompt.sections.find(({ id }) => id === "skills")?.reason).toContain("shortened to fit the window");
});

test("a tiny window drops by priority, but never identity, tooling, safety, workspace or runtime", () => {
  const prompt = compile(promptSections, facts, promptBudget(1_000));
  const included = prompt.sections.filter((each) => each.included).map(({ id }) => id);
  expect(included).toEqual(["identity", "tooling", "safety", "workspace", "runtime"]);
  const dropped = prompt.truncations.filter(({ how }) => how === "dropped").map(({ section }) => section);
  expect(dropped).toContain("model_aliases");
  expect(prompt.sections.find(({ id }) => id === "model_aliases")?.reason).toContain(
    "dropped to fit the window",
  );
});
