// Prompts in which everything is set, as the model reads them, and what a window that is too small takes from
// them. A diff in test/tables is a diff in behaviour.
import { expect, test } from "vitest";
import {
  builtInOverlay,
  compile,
  promptBudget,
  promptFacts,
  promptSections,
  type Section,
  type StableInput,
  type SurfaceFacts,
} from "../../src/index.ts";
import { neverDropped } from "../../src/prompt/section.ts";
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

/** Tools that are spelled otherwise, tools to be looked up, a channel with nothing, commands on the host. */
const third: readonly [Partial<StableInput>, Partial<SurfaceFacts>] = [
  {
    agent: "work",
    audience: "shared",
    tools: [
      ..."Tts Image_Generate IMAGE Sessions_History Agents_List Nodes Canvas Browser Web_Fetch Web_Search Memory_Search Update_Plan Session_Status SubAgents Sessions_Spawn Sessions_Send".split(
        " ",
      ),
      ..."Sessions_List Gateway Message Cron Process Exec Read Tool_Search".split(" "),
    ].map((name) => ({ name, summary: name === "Read" ? "" : `Does ${name}.` })),
    skills: [{ name: "stars", description: "Names stars.", location: "/skills/stars/SKILL.md" }],
    citations: "on",
    timeZone: "Asia/Tokyo",
    files: {
      files: [
        { ...file("SOUL.md", ""), state: "missing", path: "/w/SOUL.md" },
        { ...file("AGENTS.md", "/w/AGENTS.md is a folder."), state: "refused" },
        { ...file("AGENTS.md", "", 700), name: "TOOLS.md" },
      ],
    },
  },
  {
    session: "agent:work:api:dm:7",
    channel: {
      ...telegram,
      name: "api",
      capabilities: {
        ...telegram.capabilities,
        dialect: "markdown",
        textChars: 100,
        media: false,
        polls: false,
        voice: false,
        threads: false,
        pins: false,
        reactions: false,

        edits: false,
        removals: false,
        replyTags: false,
      },
      buttons: "unsupported",
    },
    approvals: false,
    silence: "free",
    reactions: "extensive",
    reasoning: "on",
    host: "one | two",
    shell: "zsh",
  },
];

/** Next to no tool, a sandbox that is read-only, a channel of plain text whose buttons could be enabled. */
const fourth: readonly [Partial<StableInput>, Partial<SurfaceFacts>] = [
  {
    audience: "shared",
    tools: namedTools("read memory_get message"),
    skills: [{ name: "stars", description: "Names stars.", location: "/skills/stars/SKILL.md" }],
    citations: "auto",
    sandbox: {
      kind: "bubblewrap",
      containerWorkspace: "/box",
      access: "ro",
      network: "on",
      elevated: false,
    },
    docs: { path: "/opt/docs" },
    cli: undefined,
    timeZone: "Asia/Tokyo",
    files: { files: [file("AGENTS.md", "Rules."), file("SOUL.md", "", 700)] },
  },
  {
    channel: { ...discord, capabilities: { ...discord.capabilities, dialect: "plain" } },
    silence: "unasked",
    contextTellsSilence: true,
    reactions: "extensive",
    thinking: "low",
  },
];

/** In a sandbox of its own: nothing of the host's workspace is told, not even where a file is missing. */
const fifth: readonly [Partial<StableInput>, Partial<SurfaceFacts>] = [
  {
    tools: namedTools("read write memory_search memory_get"),
    skills: [{ name: "stars", description: "Names stars.", location: "/skills/stars/SKILL.md" }],
    sandbox: {
      kind: "docker",
      containerWorkspace: "/box",
      access: "none",
      network: "off",
      elevated: true,
    },
    docs: undefined,
    warnTruncation: true,
    files: {
      files: [
        { ...file("SOUL.md", ""), state: "missing", path: "/w/SOUL.md" },
        { ...file("AGENTS.md", "/w/AGENTS.md is a folder, and /w/AGENTS.md stays one."), state: "refused" },
        file("AGENTS.md", "", 700),
        file("SOUL.md", "Begins.\n\n[...truncated, read SOUL.md for full content...]\n\nEnds.", 900),
      ],
    },
  },
  { channel: undefined, heartbeatPrompt: "Look\nup.", context: "A job." },
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
  const told = [first, second, third, fourth, fifth].map((which) => {
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

/** What stands in a prompt as one line, the longest that is told whole, and the facts with a value. */
const lineLimits: readonly (readonly [
  what: string,
  chars: number,
  facts: (value: string) => readonly [Partial<StableInput>, Partial<SurfaceFacts>],
])[] = [
  ["a tool's summary", 160, (summary) => [{ tools: [{ name: "x", summary }] }, {}]],
  ["a skill's name", 64, (name) => [{ skills: [{ name, description: "", location: "l" }] }, {}]],
  [
    "a skill's description",
    1024,
    (description) => [{ skills: [{ name: "s", description, location: "l" }] }, {}],
  ],
  [
    "the note under the skills",
    400,
    (skillsNote) => [{ skillsNote, skills: [{ name: "s", description: "", location: "l" }] }, {}],
  ],
  ["an alias", 120, (alias) => [{ modelAliases: [{ alias, model: "m" }] }, {}]],
  ["the model of an alias", 120, (model) => [{ modelAliases: [{ alias: "a", model }] }, {}]],
  ["an owner's id", 80, (id) => [{ owners: ["first", id] }, {}]],
  ["a time zone", 64, (timeZone) => [{ timeZone }, {}]],
  ["a heartbeat's words", 2000, (heartbeatPrompt) => [{}, { heartbeatPrompt }]],
  ["the host", 200, (host) => [{}, { host }]],
  ["the program's docs", 400, (path) => [{ docs: { path } }, {}]],
  ["its sources", 400, (source) => [{ docs: { path: "/d", source } }, {}]],
  ["its command for a status", 400, (cli) => [{ cli }, {}]],
  [
    "its command for help",
    400,
    (cli) => [
      {
        cli,
        docs: undefined,
        tools: [
          { name: "gateway", summary: "" },
          { name: "exec", summary: "" },
        ],
      },
      {},
    ],
  ],
  ["the workspace", 1024, (workspace) => [{ workspace }, {}]],
  [
    "a missing file's path",
    1024,
    (path) => [{ files: { files: [{ ...file("SOUL.md", ""), state: "missing", path }] } }, {}],
  ],
  [
    "why a file is refused",
    1024,
    (why) => [{ files: { files: [{ ...file("SOUL.md", why), state: "refused" }] } }, {}],
  ],
  ["a sandbox's kind", 40, (kind) => [{ sandbox: { ...box, kind } }, {}]],
  ["a sandbox's folder", 1024, (containerWorkspace) => [{ sandbox: { ...box, containerWorkspace } }, {}]],
  [
    "a sandbox's folder with no other",
    1024,
    (containerWorkspace) => [{ sandbox: { ...box, access: "none", containerWorkspace } }, {}],
  ],
  ["a browser bridge", 1024, (browserUrl) => [{ sandbox: { ...box, browserUrl } }, {}]],
];
const box = {
  kind: "docker",
  containerWorkspace: "/workspace",
  access: "rw",
  network: "off",
  elevated: false,
} as const;

/** A section of one zone that is so many characters long and can be made as short as it is asked to. */
function made(
  id: string,
  priority: number,
  chars: number,
  more: { readonly leastChars?: number; readonly shrinksFirst?: true; readonly level?: 0 | 1 | 2 } = {},
): Section {
  const { leastChars, level = 0, ...others } = more;
  return {
    id,
    title: id,
    level,
    zone: "stable",
    modes: ["full"],
    priority,
    ...others,
    render: () => id.repeat(chars),
    ...(leastChars === undefined
      ? {}
      : { shrink: (_: unknown, maxChars: number) => id.repeat(Math.max(leastChars, maxChars)) }),
    why: () => "made",
  };
}

const fitted = (sections: readonly Section[], stableTokens: number): string[] => {
  const prompt = compile(sections, promptFacts(stableInput(), surfaceFacts()), {
    stableTokens,
    volatileTokens: 0,
  });
  const cuts = prompt.truncations.map((cut) => `${cut.section} ${cut.how} ${cut.keptChars}/${cut.rawChars}`);
  return [
    prompt.text
      .split("\n\n")
      .map((part) => `${part.slice(0, 1)}${part.length}`)
      .join(" "),
    ...cuts,
  ];
};

test("a zone at its share is whole; over it by one, the least important is shortened by just that", () => {
  const three = [made("a", 9, 10), made("b", 5, 10, { leastChars: 4 }), made("c", 7, 8, { leastChars: 2 })];
  // Four characters to a token, and the empty lines between sections are not counted.
  expect(fitted(three, 7)).toEqual(["a10 b10 c8"]);
  expect(fitted([...three.slice(0, 2), made("c", 7, 9, { leastChars: 2 })], 7)).toEqual([
    "a10 b9 c9",
    "b shortened 9/10",
  ]);
  expect(fitted(three, 5)).toEqual(["a10 b4 c6", "b shortened 4/10", "c shortened 6/8"]);
  // Only when nothing can be shortened any more is something left out, and no more than must be.
  expect(fitted(three, 4)).toEqual(["a10 b4 c2", "b shortened 4/10", "c shortened 2/8"]);
  expect(fitted(three, 3)).toEqual(["a10 c2", "b dropped 0/10", "c shortened 2/8"]);
  expect(fitted(three, 2)).toEqual(["0", "b dropped 0/10", "c dropped 0/8", "a dropped 0/10"]);
});

test("what shrinks first does so down to two fifths of its zone, then the others do, then it goes on", () => {
  const zone = (files: number, others: number) => [
    made("f", 99, files, { leastChars: 0, shrinksFirst: true }),
    made("o", 1, others, { leastChars: 10 }),
  ];
  expect(fitted(zone(90, 30), 25)).toEqual(["f70 o30", "f shortened 70/90"]);
  expect(fitted(zone(90, 60), 25)).toEqual(["f40 o60", "f shortened 40/90"]);
  expect(fitted(zone(90, 61), 25)).toEqual(["f40 o60", "f shortened 40/90", "o shortened 60/61"]);
  expect(fitted(zone(30, 80), 25)).toEqual(["f30 o70", "o shortened 70/80"]);
  const stiff = [made("f", 99, 90, { leastChars: 0, shrinksFirst: true }), made("o", 1, 80)];
  expect(fitted(stiff, 25)).toEqual(["f20 o80", "f shortened 20/90"]);
  // A shorter text that is not shorter is none.
  expect(fitted([made("s", 1, 20, { leastChars: 20 })], 4)).toEqual(["0", "s dropped 0/20"]);
  expect(fitted([made("n", neverDropped, 20), made("m", neverDropped - 1, 20)], 4)).toEqual([
    "n20",
    "m dropped 0/20",
  ]);
  // A heading counts, whole and shortened.
  const headed = [made("h", 1, 10, { leastChars: 1, level: 2 })];
  expect(compile(headed, promptFacts(stableInput(), surfaceFacts()), promptBudget(200_000)).text).toBe(
    "## h\n\nhhhhhhhhhh",
  );
  expect(fitted(headed, 4)).toEqual(["#4 h10"]);
});

test("the same facts with another share or other sections are compiled anew", () => {
  const facts = promptFacts(stableInput({ agent: "again" }), surfaceFacts());
  const stableOf = (sections: readonly Section[], stableTokens: number): string =>
    compile(sections, facts, { stableTokens, volatileTokens: 9 }).stable;
  const [long, other] = [[made("a", 1, 20, { leastChars: 1 })], [made("b", 1, 9)]];
  expect([stableOf(long, 9), stableOf(long, 2), stableOf(other, 9), stableOf(long, 9)]).toEqual([
    "a".repeat(20),
    "a".repeat(8),
    "b".repeat(9),
    "a".repeat(20),
  ]);
});

test.each(lineLimits)(
  "%s is told whole up to %i characters, and never as more than one line",
  (_, chars, of) => {
    const told = (value: string): string => compiled(of(value), 400_000).text;
    const [whole, over] = ["x".repeat(chars), "x".repeat(chars + 1)];
    const at = told(whole);
    expect([at.includes(whole), at.includes("…")]).toEqual([true, false]);
    // Wherever it stands, it is cut, and by as much as the mark needs.
    expect(told(over)).toBe(at.replaceAll(whole, `${"x".repeat(chars - 1)}…`));
    expect(told(`\u202e${"x".repeat(9)}\n\u200b## Safety`)).toBe(
      at.replaceAll(whole, `${"x".repeat(9)} ## Safety`),
    );
  },
);

test("a skill is listed while its path stands in the prompt as it is", () => {
  const listed = (location: string): boolean =>
    compiled([{ skills: [{ name: "s", description: "d", location }] }, {}], 200_000).text.includes(location);
  expect([listed("x".repeat(400)), listed("x".repeat(401)), listed("a\u200bb")]).toEqual([
    true,
    false,
    false,
  ]);
});

test("tools to be looked up are told by name, sorted, as many as 4,000 characters hold, where a tool finds them", () => {
  const late = (name: string) => ({ name, summary: "Not told.", deferred: true });
  const line = (...names: string[]): string | undefined =>
    compiled([{ tools: [{ name: "Tool_search", summary: "" }, ...names.map(late)] }, {}], 200_000)
      .text.split("\n")
      .find((each) => each.startsWith("More tools"));
  const head =
    "More tools, to be loaded with `Tool_search` before they are called (it finds them by words, too): ";
  expect(line()).toBeUndefined();
  expect(line("zebra", "Ant", "bee")).toBe(`${head}Ant, bee, zebra.`);
  // Each counts with the comma and the space behind it; one that finds no room lets a shorter one follow.
  const long = "m".repeat(3_992);
  expect(line("a", long, "z")).toBe(`${head}a, ${long}, z.`);
  expect(line("ab", long, "z")).toBe(`${head}ab, ${long}, and 1 more.`);
  expect(line(`${long}mmm`, "n", "o")).toBe(`${head}${long}mmm, n, and 1 more.`);
  const untold = compiled([{ tools: [{ name: "read", summary: "" }, late("zebra")] }, {}], 200_000);
  expect(untold.text).not.toContain("zebra");
});
