// Prompts in which everything is set, as the model reads them, and what a window that is too small takes from
// them. A diff in test/tables is a diff in behaviour.
import { expect, test } from "vitest";
import {
  builtInOverlay,
  compile,
  promptBudget,
  promptFacts,
  promptSections,
  type StableInput,
  type SurfaceFacts,
} from "../../src/index.ts";
import { codingTools, discord, namedTools, stableInput, surfaceFacts, telegram } from "./fixtures.ts";

const file = (name: "SOUL.md" | "AGENTS.md", words: string, rawChars = words.length) => ({
  name,
  path: `/w/${name}`,
  state: "present" as const,
  text: words,
  rawChars,
  truncated: rawChars > words.length,
});

const first: readonly [Partial<StableInput>, Partial<SurfaceFacts>] = [
  {
    tools: [
      ...codingTools,
      ...namedTools("message gateway update_plan"),
      { name: "Zebra", summary: `stripes ${"and more stripes ".repeat(20)}` },
      { name: "late", summary: "", deferred: true },
      { name: "early", summary: "", deferred: true },
    ],
    skills: [
      {
        name: "stars",
        description: `Names stars. ${"Far away. ".repeat(200)}`,
        location: "/skills/stars/SKILL.md",
      },
      { name: "a<b", description: "Tells more from less & less.", location: "/skills/ab/SKILL.md" },
      { name: "bare", description: "", location: "/skills/bare/SKILL.md" },
      { name: "lost", description: "Its path is no line.", location: "/skills/lo\nst/SKILL.md" },
    ],
    skillsNote: "Two more are not listed.",
    modelAliases: [
      { alias: "fast", model: "a/b" },
      { alias: "deep", model: "c/d" },
    ],
    owners: ["telegram:1", "discord:2"],
    sandbox: {
      kind: "docker",
      containerWorkspace: "/workspace",
      access: "rw",
      network: "egress",
      elevated: true,
      browserUrl: "http://b",
    },
    provider: { ...builtInOverlay("gpt-5"), stablePrefix: "P.", dynamicSuffix: "S." },
    warnTruncation: true,
    files: {
      files: [file("AGENTS.md", "Rules. ".repeat(300), 9_000), file("SOUL.md", "Soul. ".repeat(400))],
    },
  },
  {
    session: "agent:main:telegram:group:-1007:topic:42",
    channel: { ...telegram, kind: "group", threaded: true },
    silence: "unasked",
    reactions: "minimal",
    ttsHint: "Short.",
    context: "A garden. ".repeat(60),
    heartbeatPrompt: "Look.",
    reasoningTags: true,
    reasoning: "stream",
    thinking: "high",
    repo: "/w/repo",
    model: "other/model",
  },
];

const second: readonly [Partial<StableInput>, Partial<SurfaceFacts>] = [
  {
    mode: "minimal",
    audience: "shared",
    tools: namedTools("read exec memory_get"),
    skills: [{ name: "stars", description: "Names stars.", location: "/skills/stars/SKILL.md" }],
    citations: "on",
    sandbox: {
      kind: "bubblewrap",
      containerWorkspace: "/box",
      access: "none",
      network: "off",
      elevated: false,
    },
    timeZone: undefined,
    files: { files: [file("SOUL.md", "Soul.", 5_000)] },
  },
  { channel: { ...discord, unheard: true }, approvals: false, shell: undefined, context: "Find it." },
];

/** Says of what only fills a text how often it stands there. */
const brief = (text: string): string =>
  text.replaceAll(
    /((?:\w+[.!]? ){1,3}?)\1{4,}/gu,
    (all, once: string) => `${once}(${all.length / once.length} times) `,
  );

const compiled = (which: typeof first, windowTokens: number) =>
  compile(
    promptSections,
    promptFacts(stableInput(which[0]), surfaceFacts(which[1])),
    promptBudget(windowTokens),
  );

test("a prompt in which everything is set reads like this, on a channel and where little is left", async () => {
  const told = [first, second].map((which) => {
    const { stable, volatile } = compiled(which, 200_000);
    return brief(`${stable}\n<!-- cache boundary -->${volatile}\n`);
  });
  await expect(told.join("\n<!-- the next prompt -->\n")).toMatchFileSnapshot("../tables/whole-prompts.txt");
});

test("a window that is too small takes first what may be shortened, then what may be left out", async () => {
  const told = [24_000, 9_000, 7_000, 5_000, 2_000].flatMap((windowTokens) => {
    const { truncations, sections } = compiled(first, windowTokens);
    return [
      `window ${windowTokens}`,
      ...truncations.map((cut) => `  ${cut.section} ${cut.how}: ${cut.keptChars} of ${cut.rawChars}`),
      // Those that stay as they are are told once.
      ...sections
        .filter((each) => windowTokens === 7_000 || each.reason.includes("to fit"))
        .map(
          (each) => `    ${each.id} ${each.zone} ${each.chars} chars ${each.tokens} tokens: ${each.reason}`,
        ),
    ];
  });
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot("../tables/prompt-cuts.txt");
});

test("equal facts are one object while sixteen others are asked for, and whatever differs is another", () => {
  const of = (more: Partial<StableInput>) => promptFacts(stableInput(more), surfaceFacts()).stable;
  const base = { owners: ["a", "b"], tools: [{ name: "x", summary: "X" }] };
  const known = of(base);
  expect(of(structuredClone(base))).toBe(known);
  const others: readonly Partial<StableInput>[] = [
    { ...base, owners: ["b", "a"] },
    { ...base, owners: ["a"] },
    { ...base, owners: ["a", "b", "c"] },
    { ...base, tools: [{ name: "x", summary: "Y" }] },
    { ...base, tools: [{ name: "x", summary: "X", deferred: true }] },
    { ...base, skillsNote: "More." },
    { ...base, sandbox: undefined },
  ];
  expect(others.map((each) => of(each) === known)).toEqual(others.map(() => false));
  // Whoever is asked for stays; of the others the one that was not asked for longest goes.
  const ask = (from: number, many: number): void => {
    for (let at = from; at < from + many; at += 1) of({ agent: `agent-${at}` });
  };
  expect(of(base)).toBe(known);
  ask(0, 15);
  expect(of(base)).toBe(known);
  ask(15, 15);
  expect(of(base)).toBe(known);
  ask(30, 16);
  expect(of(base)).not.toBe(known);
});

test("each workspace file is reported with what is told of it; one that is missing has no hash", () => {
  const path = "/w/x";
  const at = { path, rawChars: 0, truncated: false };
  const { files } = compile(
    promptSections,
    promptFacts(
      stableInput({
        files: {
          files: [
            { ...file("AGENTS.md", "Rules."), note: "written by a guest" },
            { ...at, name: "SOUL.md", state: "missing", text: "" },
            { ...at, name: "TOOLS.md", state: "refused", text: "it is a folder", note: "it is a folder" },
            { ...at, name: "USER.md", state: "refused", text: "it is a link", note: "it is a link" },
            file("IDENTITY.md" as "SOUL.md", "Rules.", 9),
          ],
        },
      }),
      surfaceFacts(),
    ),
    promptBudget(200_000),
  );
  expect(
    files.map(({ name, state, rawChars, injectedChars, truncated, note }) => [
      name,
      state,
      rawChars,
      injectedChars,
      truncated,
      note,
    ]),
  ).toEqual([
    ["AGENTS.md", "present", 6, 6, false, "written by a guest"],
    ["SOUL.md", "missing", 0, 0, false, undefined],
    ["TOOLS.md", "refused", 0, 0, false, "it is a folder"],
    ["USER.md", "refused", 0, 0, false, "it is a link"],
    ["IDENTITY.md", "present", 9, 6, true, undefined],
  ]);
  const [agents, soul, tools, user, identity] = files.map(({ hash }) => hash);
  expect([soul, agents === identity, tools === user, tools === ""]).toEqual(["", true, false, false]);
});
