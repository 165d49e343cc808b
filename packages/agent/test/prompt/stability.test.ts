// I12: equal stable facts, equal bytes, whatever turn, chat, day, host, channel or window pressure on the
// other zone.
import { createHash } from "node:crypto";
import type { ToolSchema } from "@parley/models";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  compile,
  diff,
  explain,
  promptBudget,
  promptFacts,
  promptSections,
  type StableInput,
  type SurfaceFacts,
} from "../../src/index.ts";
import { schemaSize } from "../../src/prompt/schema-size.ts";
import { codingTools, namedTools, discord, stableInput, surfaceFacts, telegram, web } from "./fixtures.ts";

const text = fc.string({ maxLength: 40 });
const surfaces: fc.Arbitrary<SurfaceFacts> = fc.record({
  session: text,
  approvals: fc.boolean(),
  channel: fc.constantFrom(undefined, telegram, discord, web, {
    ...telegram,
    kind: "group" as const,
    threaded: true,
  }),
  reactions: fc.constantFrom("off" as const, "minimal" as const, "extensive" as const),
  ttsHint: fc.option(text, { nil: undefined }),
  context: fc.option(fc.string({ maxLength: 5_000 }), { nil: undefined }),
  silence: fc.constantFrom("none" as const, "unasked" as const, "free" as const),
  contextTellsSilence: fc.boolean(),
  heartbeatPrompt: fc.option(text, { nil: undefined }),
  reasoningTags: fc.boolean(),
  reasoning: fc.constantFrom("off" as const, "on" as const, "stream" as const),
  thinking: fc.constantFrom("off" as const, "low" as const, "high" as const),
  host: text,
  repo: fc.option(text, { nil: undefined }),
  os: text,
  arch: text,
  node: text,
  shell: fc.option(text, { nil: undefined }),
  model: text,
  defaultModel: text,
});
const stables: fc.Arbitrary<StableInput> = fc
  .record({
    agent: fc.constantFrom("main", "work"),
    mode: fc.constantFrom("full" as const, "minimal" as const, "none" as const),
    audience: fc.constantFrom("private" as const, "shared" as const),
    citations: fc.constantFrom("off" as const, "on" as const, "auto" as const),
    tools: fc.subarray([...codingTools, ...namedTools("message gateway")]),
    owners: fc.array(text, { maxLength: 3 }),
    timeZone: fc.constantFrom(undefined, "Europe/Berlin", "Asia/Tokyo"),
  })
  .map((overrides) => stableInput(overrides));

test("the stable zone is the same for every surface, turn and restart, also in a window that is too small", () => {
  fc.assert(
    fc.property(
      stables,
      fc.array(surfaces, { minLength: 2, maxLength: 6 }),
      fc.constantFrom(2_000, 8_000, 200_000),
      (stable, turns, windowTokens) => {
        const prompts = turns.map((surface) =>
          // A restart reads the same facts anew: equal values, other objects.
          compile(promptSections, promptFacts(structuredClone(stable), surface), promptBudget(windowTokens)),
        );
        expect(new Set(prompts.map((prompt) => prompt.stable)).size).toBe(1);
        expect(new Set(prompts.map((prompt) => prompt.stableHash)).size).toBe(1);
      },
    ),
  );
});

test("the order in which tools are offered does not move the prompt", () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(codingTools, { minLength: codingTools.length }), (tools) => {
      const stableOf = (list: typeof codingTools): string =>
        compile(
          promptSections,
          promptFacts(stableInput({ tools: list }), surfaceFacts()),
          promptBudget(200_000),
        ).stable;
      expect(stableOf(tools)).toBe(stableOf(codingTools));
    }),
  );
});

const prompt = (stable: Partial<StableInput>, surface: Partial<SurfaceFacts>): ReturnType<typeof compile> =>
  compile(promptSections, promptFacts(stableInput(stable), surfaceFacts(surface)), promptBudget(200_000));
const soul = (content: string): Partial<StableInput> => ({
  files: {
    files: [
      {
        name: "SOUL.md",
        path: "/w/SOUL.md",
        state: "present",
        text: content,
        rawChars: content.length,
        truncated: false,
      },
    ],
  },
});

test("after an edit of SOUL.md the diff names exactly project_context", () => {
  const moved = diff(prompt(soul("Dry."), {}), prompt(soul("Warm."), {}));
  expect(moved.stableMoved).toBe(true);
  expect(moved.moves.map(({ id, change }) => [id, change])).toEqual([["project_context", "changed"]]);
  expect([moved.files, moved.tools]).toEqual([["SOUL.md"], []]);
});

test("between two chats of one audience and policy only volatile sections move", () => {
  const moved = diff(
    prompt(soul("Dry."), {}),
    prompt(soul("Dry."), { session: "agent:main:discord:dm:7", channel: { ...discord, kind: "dm" } }),
  );
  expect(moved.stableMoved).toBe(false);
  expect(moved.moves.length).toBeGreaterThan(0);
  expect(moved.moves.every(({ zone }) => zone === "volatile")).toBe(true);
});

test("a diff tells what came and what went", () => {
  const moved = diff(prompt({ owners: ["1"] }, {}), prompt({}, { ttsHint: "Short." }));
  expect(moved.moves.map(({ id, change }) => [id, change])).toEqual([
    ["user_identity", "removed"],
    ["voice", "added"],
  ]);
});

test("an explanation counts sections, files and tool schemas", () => {
  const told = explain(prompt(soul("Dry."), {}), [
    { name: "read", description: "Read", parameters: { type: "object" } },
  ]);
  expect(told.estimator).toBe("chars/4");
  expect(told.files).toMatchObject([
    { name: "SOUL.md", state: "present", rawChars: 4, injectedChars: 4, truncated: false },
  ]);
  expect(told.tools[0]?.chars).toBeGreaterThan(40);
  expect(
    told.sections.filter((each) => each.included).reduce((sum, each) => sum + each.chars, 0),
  ).toBeLessThanOrEqual(told.chars);
});

test("an explanation tells each figure of its own zone, and the schemas by name with their bytes and hash", () => {
  const schema = (
    name: string,
    description: string,
    parameters: ToolSchema["parameters"] = { type: "object" },
  ) => ({
    name,
    description,
    parameters,
  });
  const compiled = prompt(soul("Dry."), { ttsHint: "Short." });
  const shared = { type: "object", title: "ü" };
  const told = explain(compiled, [
    schema("write", "Write"),
    schema("edit", "Edit é"),
    schema("read", "Read", shared),
    // One object for two tools, and for a tool told anew: each is measured for itself.
    schema("look", "Look further", shared),
  ]);
  const { sections, files, tools, ...figures } = told;
  const tokens = (chars: number): number => Math.ceil(chars / 4);
  expect(figures).toEqual({
    mode: "full",
    hash: compiled.hash,
    stableHash: compiled.stableHash,
    boundary: compiled.stable.length,
    chars: compiled.stable.length + compiled.volatile.length,
    tokens: tokens(compiled.text.length),
    stableTokens: tokens(compiled.stable.length),
    volatileTokens: tokens(compiled.volatile.length),
    estimator: "chars/4",
    truncations: [],
  });
  expect(compiled.stable.length).not.toBe(compiled.volatile.length);
  expect([sections, files]).toEqual([compiled.sections, compiled.files]);
  const sized = (
    name: string,
    description: string,
    parameters: ToolSchema["parameters"] = { type: "object" },
  ) => {
    const json = JSON.stringify({ name, description, parameters });
    const hex = createHash("sha256").update(json).digest("hex").slice(0, 16);
    return { name, chars: json.length, tokens: tokens(json.length), hash: hex };
  };
  expect(tools).toEqual([
    sized("edit", "Edit é"),
    sized("look", "Look further", shared),
    sized("read", "Read", shared),
    sized("write", "Write"),
  ]);
  expect(schemaSize(schema("edit", "Edit é")).bytes - schemaSize(schema("edit", "Edit e")).bytes).toBe(1);
  expect(explain(compiled).tools).toEqual([]);
  const hex = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 16);
  expect([compiled.hash, compiled.stableHash]).toEqual([hex(compiled.text), hex(compiled.stable)]);
  // A section that is in is hashed by its text, one that is out by nothing.
  const hashes = Object.fromEntries(sections.map((each) => [each.id, [each.chars, each.tokens, each.hash]]));
  expect(hashes["voice"]).toEqual([22, 6, hex("## Voice (TTS)\n\nShort.")]);
  expect(hashes["skills"]).toEqual([0, 0, ""]);
});

test("a diff tells how long each moved section was and is, and which files and tools came, went or changed", () => {
  const tools = (list: { readonly [name: string]: string }) =>
    Object.entries(list).map(([name, description]) => ({ name, description, parameters: {} }));
  const files = (list: { readonly [name: string]: string }): Partial<StableInput> => ({
    files: {
      files: Object.entries(list).map(([name, content]) => ({
        name: name as "SOUL.md",
        path: `/w/${name}`,
        state: "present" as const,
        text: content,
        rawChars: content.length,
        truncated: false,
      })),
    },
  });
  const before = explain(
    prompt({ owners: ["1"], ...files({ "AGENTS.md": "A.", "SOUL.md": "Dry.", "USER.md": "U." }) }, {}),
    tools({ read: "Read", edit: "Edit", gone: "Gone" }),
  );
  const after = explain(
    prompt(
      { owners: ["1", "22"], ...files({ "AGENTS.md": "A.", "SOUL.md": "Warm and dry.", "TOOLS.md": "T." }) },
      { ttsHint: "Short.", channel: undefined },
    ),
    tools({ read: "Reads", edit: "Edit", new: "New" }),
  );
  const chars = (of: typeof before, id: string): number =>
    of.sections.find((section) => section.id === id)?.chars ?? -1;
  const moved = (id: string, zone: string, change: string) => ({
    id,
    zone,
    change,
    charsBefore: chars(before, id),
    charsAfter: chars(after, id),
  });
  expect(diff(before, after)).toEqual({
    stableMoved: true,
    moves: [
      moved("user_identity", "stable", "changed"),
      moved("workspace_files", "stable", "changed"),
      moved("project_context", "stable", "changed"),
      moved("reply_tags", "volatile", "removed"),
      moved("messaging", "volatile", "changed"),
      moved("channel", "volatile", "removed"),
      moved("voice", "volatile", "added"),
      moved("runtime", "volatile", "changed"),
    ],
    files: ["SOUL.md", "TOOLS.md", "USER.md"],
    tools: ["new", "read", "gone"],
  });
  expect([chars(after, "user_identity") - chars(before, "user_identity"), chars(before, "voice")]).toEqual([
    4, 0,
  ]);
  expect(diff(after, after)).toEqual({ stableMoved: false, moves: [], files: [], tools: [] });
  // What an older version stored knew fewer sections, and no tools.
  const { tools: _none, ...toolless } = before;
  const older = { ...toolless, sections: before.sections.filter(({ id }) => id !== "runtime") };
  expect(diff(older, toolless)).toEqual({
    stableMoved: false,
    moves: [
      { ...moved("runtime", "volatile", "added"), charsBefore: 0, charsAfter: chars(before, "runtime") },
    ],
    files: [],
    tools: [],
  });
});
