// What holds for every section, whatever it says.
import { readdir } from "node:fs/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  builtInOverlay,
  compile,
  promptBudget,
  promptFacts,
  type PromptMode,
  promptSections,
  type Section,
  type StableInput,
  type SurfaceFacts,
} from "../../src/index.ts";
import { codingTools, namedTools, stableInput, surfaceFacts, telegram, web } from "./fixtures.ts";

/** The table of DESIGN section 6. */
const inMinimal = (
  "identity tooling execution_bias tool_call_style safety cli_reference workspace sandbox time_zone project_context " +
  "subagent_context reasoning_format runtime"
).split(" ");

const everything = promptFacts(
  stableInput({
    tools: [...codingTools, ...namedTools("message gateway")],
    skills: [{ name: "s", description: "d", location: "l" }],
    modelAliases: [{ alias: "fast", model: "a/b" }],
    owners: ["telegram:1"],
    sandbox: {
      kind: "docker",
      containerWorkspace: "/workspace",
      access: "rw",
      network: "off",
      elevated: false,
    },
    provider: { ...builtInOverlay("gpt-5"), stablePrefix: "P.", dynamicSuffix: "S." },
    files: {
      files: [
        {
          name: "SOUL.md",
          path: "/w/SOUL.md",
          state: "present",
          text: "Soul.",
          rawChars: 5,
          truncated: false,
        },
      ],
    },
  }),
  surfaceFacts({
    silence: "unasked",
    reactions: "minimal",
    ttsHint: "Short.",
    context: "Text.",
    heartbeatPrompt: "Look.",
    reasoningTags: true,
  }),
);
const rendered = (section: Section): string | null =>
  section.zone === "stable" ? section.render(everything.stable) : section.render(everything);
const compiledIn = (mode: PromptMode): ReturnType<typeof compile> =>
  compile(promptSections, { ...everything, stable: { ...everything.stable, mode } }, promptBudget(200_000));

afterEach(() => {
  vi.useRealTimers();
});

describe.each(promptSections.map((section) => [section.id, section] as const))(
  "section %s",
  (id, section) => {
    test("has text where everything is set, and the same bytes twice", () => {
      expect(rendered(section)).toBeTruthy();
      expect(rendered(section)).toBe(rendered(section));
    });

    test("has no clock", () => {
      vi.useFakeTimers({ now: new Date("2026-01-01T00:00:00Z") });
      const first = rendered(section);
      vi.setSystemTime(new Date("2031-12-31T23:59:59Z"));
      expect(rendered(section)).toBe(first);
    });

    test("is absent in modes that it does not claim", () => {
      for (const mode of ["full", "minimal", "none"] as const) {
        const report = compiledIn(mode).sections.find((each) => each.id === id);
        expect(report?.included).toBe(section.modes.includes(mode));
        if (!section.modes.includes(mode)) expect(report?.reason).toBe(`mode ${mode} leaves it out`);
      }
    });
  },
);

test("minimal mode keeps exactly what the design lists", () => {
  const ids = compiledIn("minimal")
    .sections.filter((each) => each.included)
    .map((each) => each.id);
  expect(ids.toSorted()).toEqual(inMinimal.toSorted());
});

test("skills and memory are weighed before Parley itself is changed", () => {
  const ids = promptSections.map(({ id }) => id);
  expect(ids.slice(ids.indexOf("skills"), ids.indexOf("skills") + 3)).toEqual([
    "skills",
    "memory_recall",
    "self_update",
  ]);
});

test("every section file stands in the order", async () => {
  const there = await readdir(new URL("../../src/prompt/sections/", import.meta.url));
  expect(there.map((file) => file.replace(".ts", "").replaceAll("-", "_")).toSorted()).toEqual(
    promptSections.map(({ id }) => id).toSorted(),
  );
});

test("mode none is the identity line", () => {
  expect(compiledIn("none").text).toBe("You are a personal assistant running inside Parley.");
});

test("section ids are unique and every stable section comes before every volatile one", () => {
  expect(new Set(promptSections.map((each) => each.id)).size).toBe(promptSections.length);
  const zones = promptSections.map((each) => each.zone);
  expect(zones.lastIndexOf("stable")).toBeLessThan(zones.indexOf("volatile"));
});

test("text, zones and boundary agree", () => {
  const prompt = compiledIn("full");
  expect(prompt.stable + prompt.volatile).toBe(prompt.text);
  expect(prompt.text.slice(0, prompt.boundary)).toBe(prompt.stable);
  expect(prompt.volatile).toContain("## Runtime");
  expect(prompt.stable).not.toContain("## Runtime");
});

test("an operator reads of every section why it is there and why it is not", () => {
  const bare = promptFacts(stableInput({ tools: [], files: { files: [] } }), surfaceFacts());
  const told = (section: Section): readonly string[] =>
    [everything, bare].map((facts) =>
      section.zone === "stable" ? section.why(facts.stable) : section.why(facts),
    );
  const reasons = promptSections.map(
    (section) => `${section.id}: ${[...new Set(told(section))].join(" | ")}`,
  );
  expect(reasons.join("\n")).toMatchInlineSnapshot(`
    "identity: always
    provider_prefix: the provider adds a prefix | the provider adds no prefix
    tooling: 18 tools after policy | 0 tools after policy
    interaction_style: filled by the provider | no provider contribution fills it
    execution_bias: replaced by the provider | always
    tool_call_style: always
    safety: always
    cli_reference: the gateway tool is available | no gateway tool
    skills: 1 eligible skills | no skill is eligible
    memory_recall: memory tools are available | no memory tool
    self_update: the gateway tool is available | no gateway tool
    model_aliases: 1 aliases are configured | no aliases are configured
    workspace: always; with sandbox paths | always
    documentation: local docs | no tool to read the docs with
    sandbox: sandboxed with docker | no sandbox
    user_identity: 1 owner ids are known | no owner is known
    time_zone: a time zone is configured
    workspace_files: 1 workspace files are loaded | 0 workspace files are loaded
    project_context: 1 of 1 workspace files are present | no workspace files for this session
    reply_tags: telegram can quote
    messaging: always; the message tool is available | always; no message tool
    channel: the turn answers on telegram
    voice: replies are spoken | replies are not spoken
    reactions: guidance: minimal | reaction guidance is off
    group_context: the conversation has text of its own | a private conversation without text of its own
    subagent_context: the parent handed over a context | no context was handed over
    silent_replies: where nothing need be said | whoever writes here is owed an answer
    heartbeats: heartbeats are on | heartbeats are off or kept out of the prompt
    reasoning_format: the model reasons in tags | the model needs no reasoning tags
    provider_suffix: the provider adds a suffix | the provider adds no suffix
    runtime: always"
  `);
});

test("of quoting it is said whether the turn has a conversation, and whether that can quote", () => {
  const quoting = promptSections.find(({ id }) => id === "reply_tags");
  const told = (replyTags: boolean | null): string | undefined => {
    const { channel, ...alone } = surfaceFacts();
    if (channel === undefined) throw new Error("the fixture has a channel");
    const with_ = { ...channel, capabilities: { ...channel.capabilities, replyTags: replyTags === true } };
    const facts = promptFacts(stableInput(), replyTags === null ? alone : { ...alone, channel: with_ });
    return quoting?.zone === "volatile" ? quoting.why(facts) : undefined;
  };
  expect([null, false, true].map(told)).toEqual([
    "no conversation",
    "telegram cannot quote",
    "telegram can quote",
  ]);
});

test("of each condition that is not met, the one that is missing is told", () => {
  const why = (
    id: string,
    stable: Partial<StableInput> = {},
    surface: Partial<SurfaceFacts> = {},
  ): string | undefined =>
    compile(
      promptSections,
      promptFacts(stableInput(stable), surfaceFacts(surface)),
      promptBudget(200_000),
    ).sections.find((section) => section.id === id)?.reason;
  const reacting = {
    reactions: "minimal",
    channel: { ...telegram, capabilities: web.capabilities },
  } as const;
  const skills = [
    { name: "s", description: "d", location: "l" },
    { name: "t", description: "d", location: "not\na line" },
  ];
  const group = { channel: { ...telegram, kind: "group" } } as const;
  expect([
    why("reactions", { tools: namedTools("read") }, { reactions: "minimal" }),
    why("reactions", { tools: namedTools("message") }, reacting),
    why("reactions", { tools: namedTools("message") }, { reactions: "extensive" }),
    why("documentation", { docs: undefined }),
    why("documentation", { tools: namedTools("write") }),
    why("skills", { tools: namedTools("write"), skills }),
    why("skills", { tools: namedTools("read"), skills }),
    why("group_context", {}, group),
    why("group_context", {}, { ...group, context: "Text." }),
    why("group_context", {}, { channel: undefined }),
    why("silent_replies", {}, { silence: "free", contextTellsSilence: true }),
    why("channel", {}, { channel: undefined }),
    why("time_zone", { timeZone: undefined }),
    why("tool_call_style", { provider: { replace: { tool_call_style: "Hush." } } }),
    why("execution_bias", { provider: { replace: { tool_call_style: "Hush." } } }),
    why("interaction_style", { provider: { replace: { tool_call_style: "Hush." } } }),
    why("subagent_context", { mode: "minimal" }, { context: "Do it." }),
    why("reasoning_format"),
  ]).toEqual([
    "no tool to react with",
    "the channel has no reactions",
    "guidance: extensive",
    "no docs lie beside this program",
    "no tool to read the docs with",
    "no read tool to open a skill with",
    "1 eligible skills",
    "others read along",
    "others read along",
    "a private conversation without text of its own",
    "the conversation's context already tells it",
    "no conversation",
    "no time zone is configured",
    "replaced by the provider",
    "always",
    "no provider contribution fills it",
    "the parent handed over a context",
    "the model needs no reasoning tags",
  ]);
});

test("with one of two memory tools only that one is spoken of", () => {
  const recall = promptSections.find(({ id }) => id === "memory_recall");
  const withTools = (...names: string[]): string => {
    const facts = promptFacts(
      stableInput({ tools: names.map((name) => ({ name, summary: "" })) }),
      surfaceFacts(),
    );
    return (recall?.zone === "stable" ? recall.render(facts.stable) : recall?.render(facts)) ?? "";
  };
  expect(withTools("memory_search")).toContain("memory_search");
  expect(withTools("memory_search")).not.toContain("memory_get");
  expect(withTools("memory_get")).not.toContain("memory_search");
  expect(withTools("memory_get", "memory_search")).toMatch(/memory_search.*then use .*memory_get/);
  expect(withTools()).toBe("");
});
