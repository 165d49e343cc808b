// What an operator reads of an agent: its notes and who wrote them, its prompt and what changed, and the
// config, as whole pages. After a wanted change: `vitest run --project @parley/web pages/ -u`.
import type { MethodParams, MethodResult, Scope } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { Config } from "../../src/pages/config.ts";
import { Memory } from "../../src/pages/memory.ts";
import { Prompt } from "../../src/pages/prompt.ts";
import { nowMs, offeredTo, section, showPage } from "./show-page.ts";

const [hourMs, dayMs] = [3_600_000, 86_400_000];

describe("memory", () => {
  type Proposal = MethodResult<"memory.proposals">["proposals"][number];
  const proposal = (state: Proposal["state"], more: Partial<Proposal> = {}): Proposal => ({
    id: `p-${state}`,
    agent: `agent of ${state}`,
    session: "s",
    turn: `turn-${state}`,
    state,
    createdAtMs: nowMs - state.length * dayMs,
    expiresAtMs: nowMs + state.length * hourMs,
    said: `said of ${state}`,
    changes: [
      {
        kind: "merge",
        lines: [
          { path: "MEMORY.md", line: 3, text: "tea" },
          { path: "notes.md", line: 9, text: "green tea" },
        ],
        text: "green\ntea",
        why: "they say the same",
      },
      {
        kind: "contradiction",
        lines: [
          { path: "MEMORY.md", line: 4, text: "cat" },
          { path: "MEMORY.md", line: 5, text: "dog" },
        ],
        text: null,
        why: "one of both\u202e",
        untrusted: "https://example.org",
      },
    ],
    ...more,
  });
  const proposals = [
    proposal("open"),
    proposal("accepting", { changes: [] }),
    proposal("accepted", { by: "Ada\u202e", said: "said\u202e" }),
    proposal("refused"),
    proposal("expired"),
  ];
  const change = (id: string, more: object = {}): MethodResult<"memory.history">["changes"][number] => ({
    id,
    path: `${id}.md`,
    session: "s",
    turn: `t-${id}`,
    by: ["Eve", "Bob"],
    tool: "memory_save",
    atMs: nowMs - id.length * hourMs,
    removed: "",
    added: `added by ${id}`,
    ...more,
  });
  const hit = (more: object) => ({
    path: "MEMORY.md",
    startLine: 3,
    endLine: 5,
    heading: "Tea",
    score: 1,
    source: "memory" as const,
    scope: "curated",
    snippet: "green tea",
    ...more,
  });
  const lines = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ path: "MEMORY.md", line: at + 1, text: `line ${at + 1}` }));
  const agents = [
    { id: "main", isDefault: false },
    { id: "helper", isDefault: true },
  ];
  const answers = {
    "agents.list": { agents },
    "memory.proposals": { proposals },
    "memory.history": {
      agent: "main",
      changes: [
        change("one", { removed: "was\nthere" }),
        change("three", { undoneAtMs: nowMs, by: ["Mal\u202e"] }),
      ],
    },
    "memory.search": ({ query }: MethodParams<"memory.search">) => ({
      agent: "main",
      mode: query === "tea" ? "hybrid" : "keyword",
      notes: query === "tea" ? ["no vectors yet", "one file left"] : [],
      results:
        query === "tea"
          ? [
              hit({}),
              hit({
                source: "sessions",
                path: "agent:main:x\u202e",
                startLine: 8,
                endLine: 9,
                heading: "Cats\u202e",
                untrusted: "a page",
                scope: "person:7",
                snippet: "a cat\u202e",
              }),
            ]
          : [],
    }),
    "memory.why": ({ line }: { line: string }) => ({
      agent: "main",
      lines: [
        {
          path: "MEMORY.md",
          line: 3,
          text: line,
          writtenBy: [
            { session: "s1", turn: "t1", by: ["Eve"], atMs: nowMs - hourMs, tool: "memory_save" },
            { session: "s2", turn: "t2", by: ["Eve", "Bob"], atMs: nowMs, tool: "edit", untrusted: "a page" },
          ],
        },
        { path: "b.md", line: 1, text: "by hand", writtenBy: [] },
      ],
    }),
    "memory.decide": ({ decision }: { decision: string }) => ({ said: `${decision}: done` }),
    "memory.undo": {},
    "memory.forget": ({ query, confirm }: MethodParams<"memory.forget">) => ({
      done: confirm === true,
      lines: query === "none" ? [] : lines(2),
      notes: ["a backup still has them"],
      ...(confirm === true ? { history: 1 } : {}),
    }),
  } as never;

  test("what was found, what is proposed in every state, what changed, and who wrote a line", async () => {
    const page = await showPage(Memory, { at: "#/memory?q=tea", answers });
    const found = await page.text();
    const looker = await showPage(Memory, { at: "#/memory", answers, may: ["read"] });
    const none = await showPage(Memory, {
      at: "#/memory?q=nothing",
      answers: {
        "agents.list": { agents: agents.slice(0, 1) } as never,
        "memory.proposals": { proposals: [] },
        "memory.history": { agent: "main", changes: [] },
        "memory.search": { agent: "main", mode: "keyword", notes: [], results: [] },
      },
    });
    await expect(
      section("found", found) +
        section("who wrote it", await page.go("#/memory/MEMORY.md%233?q=tea&agent=main")) +
        section("may only look", await looker.text()) +
        section("nothing", await none.text()),
    ).toMatchFileSnapshot("shown/memory.txt");
    expect(page.asked.slice(0, 4)).toEqual([
      "agents.list {}",
      "memory.proposals {}",
      'memory.history {"limit":50}',
      'memory.search {"query":"tea","maxResults":30}',
    ]);
    expect(page.asked).toContain('memory.why {"agent":"main","line":"MEMORY.md#3"}');
  });

  test("of what was forgotten the texts of conversations are counted where some were rewritten, and the lines that went", async () => {
    let done: object = { lines: lines(3), history: 2 };
    const page = await showPage(Memory, {
      at: "#/memory",
      answers: {
        ...(answers as object),
        "memory.forget": ({ confirm }: MethodParams<"memory.forget">) =>
          confirm === true ? { done: true, notes: [], ...done } : { done: false, notes: [], lines: lines(1) },
      } as never,
    });
    const forget = async (): Promise<string | undefined> => {
      await page.submit("Show what would go", { forget: "tea" });
      await page.press("Forget 1 line");
      return /Forgotten: .*/.exec(await page.text())?.[0];
    };
    const told = [await forget()];
    for (done of [{ lines: lines(2), history: 0 }, { lines: lines(1) }, { lines: [], history: 1 }])
      told.push(await forget());
    expect(told).toEqual([
      "Forgotten: 3 lines, and 2 texts of conversations rewritten.",
      "Forgotten: 2 lines, and 0 texts of conversations rewritten.",
      "Forgotten: 1 line, and 0 texts of conversations rewritten.",
      "Forgotten: 0 lines, and 1 text of conversations rewritten.",
    ]);
  });

  test("each button is offered to whoever has its scope alone", async () => {
    const at = (scope: Scope) => offeredTo(scope, Memory, { at: "#/memory", answers });
    expect([await at("write"), await at("approve"), await at("admin")]).toEqual([
      ["Search"],
      ["Search"],
      ["Search", "Accept 2 changes", "Refuse", "Take back", "Show what would go"],
    ]);
  });

  test("a search goes to an address with the words and the agent", async () => {
    const page = await showPage(Memory, { at: "#/memory?q=old", answers });
    await page.submit("Search", { q: "a b", agent: "helper" });
    await page.submit("Search", { q: "c" });
    expect(page.went).toEqual(["#/memory?q=a+b&agent=helper", "#/memory?q=c"]);
  });

  test("a proposal is accepted or refused, a change taken back, and what is forgotten is shown before", async () => {
    const page = await showPage(Memory, {
      at: "#/memory",
      answers: {
        ...(answers as object),
        "memory.history": {
          agent: "main",
          changes: [change("one"), change("two"), change("three", { undoneAtMs: 1 })],
        },
        "memory.proposals": { proposals: [proposal("open", { id: "first" }), proposal("open")] },
      },
    });
    expect(await page.press("Accept 2 changes", 1)).toBe("accept: done");
    expect(await page.press("Refuse", 1)).toBe("refuse: done");
    expect(await page.press("Take back", 1)).toBe(undefined);
    await expect(page.press("Take back", 2)).rejects.toThrow("2 buttons");
    const preview = await page.submit("Show what would go", { forget: "tea" });
    const forget = (text: string): string => text.slice(text.lastIndexOf("## Forget"));
    const sections = section("what would go", forget(preview));
    expect(preview).toContain("### “tea” means 2 lines\nremoved: -MEMORY.md:1 line 1\nremoved: -MEMORY.md:2");
    await page.press("Forget 2 lines");
    const gone = await page.text();
    expect(gone).toContain("Forgotten: 2 lines, and 1 text of conversations rewritten.");
    expect(gone).not.toContain("[Forget 2 lines");
    const none = await page.submit("Show what would go", { forget: "none" });
    expect(none).not.toContain("[Forget 0");
    await expect(
      sections + section("gone", forget(gone)) + section("nothing means it", forget(none)),
    ).toMatchFileSnapshot("shown/memory-forgotten.txt");
    const look = ["agents.list {}", "memory.proposals {}", 'memory.history {"limit":50}'];
    expect(page.asked).toEqual([
      ...look,
      'memory.decide {"id":"p-open","decision":"accept","idempotencyKey":"uuid-1"}',
      ...look,
      'memory.decide {"id":"p-open","decision":"refuse","idempotencyKey":"uuid-2"}',
      ...look,
      'memory.undo {"id":"two","idempotencyKey":"uuid-3"}',
      ...look,
      'memory.forget {"query":"tea"}',
      'memory.forget {"query":"tea","confirm":true}',
      ...look,
      'memory.forget {"query":"none"}',
    ]);
  });
});

describe("a prompt", () => {
  type Explained = MethodResult<"prompt.explain">;
  const part = (id: string, zone: "stable" | "volatile", text: string, more: object = {}) => ({
    id,
    zone,
    chars: text.length,
    tokens: text.length * 10,
    hash: text,
    included: text !== "",
    reason: `why ${id}`,
    ...more,
  });
  const explained = (turn: number | null, last: string, more: Partial<Explained> = {}): Explained => ({
    session: "agent:main:telegram:dm:7",
    turn,
    turnId: null,
    atMs: null,
    stableHash: turn === 3 ? "other" : "same",
    explanation: {
      mode: "full",
      hash: "h",
      stableHash: "same",
      boundary: 10,
      chars: 0,
      tokens: 1_234,
      stableTokens: 1_000,
      volatileTokens: 234,
      estimator: "letters",
      // The text has the stable ones first.
      sections: [
        part("now", "volatile", last),
        part("who", "stable", "aaaa"),
        part("left", "stable", turn === 3 ? "zz" : ""),
        part("how", "stable", "bbbb"),
      ],
      files: [
        {
          name: "AGENTS.md",
          state: "present",
          rawChars: 1,
          injectedChars: 1,
          truncated: false,
          hash: String(turn),
        },
      ],
      truncations: [],
      tools: [
        { name: "read", chars: 1, tokens: 0, hash: "r" },
        { name: turn === 3 ? "gone" : "exec", chars: 1, tokens: 300, hash: "e" },
      ],
    },
    moved: null,
    ...more,
  });
  const text = (last: string): string => `aaaa\n\nbbbb\n\n${last}`;
  const answers = {
    "sessions.list": { sessions: [{ key: "agent:main:main", name: "Mine" }] },
    "prompt.explain": ({ turn }: { turn?: number }) =>
      turn === -1
        ? explained(60, "cc")
        : turn === 3
          ? explained(3, "dddd")
          : explained(turn ?? null, "cc", {
              moved: { since: { turn: 3 } } as never,
            }),
    "prompt.show": ({ turn }: { turn?: number }) => ({
      ...explained(turn ?? null, "cc"),
      hash: "h",
      boundary: 10,
      text: text(turn === 3 ? "dddd" : "cc"),
    }),
  } as never;

  test("its parts with their sizes, its text by section, and what moved since another turn", async () => {
    const page = await showPage(Prompt, { at: "#/prompt", answers });
    const now = await page.text();
    const looker = await showPage(Prompt, { at: "#/prompt", answers, may: ["read"] });
    const uneven = await showPage(Prompt, {
      at: "#/prompt/agent%3Amain%3Amain?turn=7&since=7",
      answers: {
        ...(answers as object),
        "prompt.show": { ...explained(7, "cc"), hash: "h", boundary: 4, text: `${text("cc")} and more` },
      },
    });
    const none = await showPage(Prompt, {
      at: "#/prompt",
      answers: {
        "sessions.list": { sessions: [] },
        "prompt.explain": explained(null, "", {
          explanation: { ...explained(null, "").explanation, sections: [] },
        }),
        "prompt.show": { ...explained(null, ""), hash: "", boundary: 0, text: "" },
      },
    });
    await expect(
      section("now", now) +
        section("may only look", await looker.text()) +
        section("a text that does not come out even", await uneven.text()) +
        section("none", await none.text()),
    ).toMatchFileSnapshot("shown/prompt.txt");
    expect(page.asked).toEqual([
      'sessions.list {"limit":100}',
      "prompt.explain {}",
      "prompt.show {}",
      'prompt.explain {"turn":-1}',
      'prompt.explain {"turn":3}',
      'prompt.show {"turn":3}',
    ]);
  });

  test("a session without a turn, and a turn whose text is kept no longer, have nothing to compare with", async () => {
    const page = await showPage(Prompt, {
      at: "#/prompt?turn=5&since=2",
      answers: {
        ...(answers as object),
        "prompt.explain": ({ turn }: { turn?: number }) => {
          if (turn === -1 || turn === 2) throw page.refusal("invalid", `no turn ${turn}`);
          return explained(turn ?? null, "cc");
        },
      } as never,
    });
    const text = await page.text();
    expect(text.slice(text.indexOf("Prompt of"), text.indexOf("1,234 tokens"))).toBe(
      "Prompt of\nnow=\nCompared with\nthe turn before=\n",
    );
    expect(text).toContain("There is no turn to compare with, or its text is kept no longer.");
    expect(text).not.toContain("! ");
  });

  test("an address with no such number means now", async () => {
    const page = await showPage(Prompt, { at: "#/prompt/s?turn=0&since=1.5", answers });
    await page.text();
    expect(page.asked.slice(1, 3)).toEqual(['prompt.explain {"session":"s"}', 'prompt.show {"session":"s"}']);
  });
});

describe("the config", () => {
  const schema = {
    properties: {
      $schema: { type: "string" },
      gateway: {
        description: "How it listens.",
        properties: { port: { type: "integer", default: 7275, minimum: 0, maximum: 65_535 } },
      },
      name: { type: "string", description: "What it is called.", default: "Parley" },
      on: { type: "boolean" },
      bind: { enum: ["loopback", "lan"] },
      hosts: { type: "array", items: { type: "string" } },
      odd: { anyOf: [{ type: "string" }, { type: "object" }] },
    },
  };
  const file = { name: "Mine", on: false, bind: "lan", hosts: ["a", "b"], odd: { x: 1 } };
  const read = (more: object = {}) => ({
    path: "/home/ada/.parley/parley.json5",
    exists: true,
    hash: "h1",
    file,
    config: null,
    problems: [{ path: "hosts[0]", line: 4, column: 2, message: "no such host", fix: "write one" }],
    warnings: [{ path: "", message: "the file is old" }],
    ...more,
  });
  const answers = (more: object = {}): never =>
    ({
      "config.get": read(),
      "config.text": { text: "{ name: 'Mine' }", hash: "h1", file },
      "config.schema": { schema },
      ...more,
    }) as never;

  test("each kind of field with its help, its default and what is wrong with it", async () => {
    const page = await showPage(Config, { at: "#/config", answers: answers() });
    const looker = await showPage(Config, { at: "#/config", answers: answers(), may: ["read"] });
    const broken = await showPage(Config, {
      at: "#/config",
      answers: answers({
        "config.get": read({ file: null, problems: [], warnings: [] }),
        "config.text": { text: "{", hash: "h1", file: null },
      }),
    });
    await expect(
      section("the form", await page.text()) +
        section("may only look", await looker.text()) +
        section("no JSON5", await broken.text()),
    ).toMatchFileSnapshot("shown/config.txt");
    expect(looker.asked).toEqual(["config.get {}", "config.schema {}"]);
  });

  test("a field changes the text that was read when the first one was filled in, and is saved over that one alone", async () => {
    let at = 1;
    const text = (): string => `text ${at}`;
    const page = await showPage(Config, {
      at: "#/config",
      answers: answers({
        "config.get": () => read({ hash: `h${at}` }),
        "config.text": ({ text: of, config }: { text?: string; config?: { name?: string } }) =>
          of === undefined
            ? { text: text(), hash: `h${at}`, file: { ...file, name: text() } }
            : { text: `${of} with ${config?.name}`, hash: "none", file: config ?? file },
        "config.validate": { problems: [], warnings: [], restartNeeded: ["gateway.port"] },
        "config.apply": ({ baseHash }: { baseHash: string }) => ({
          hash: baseHash === "h3" ? "h4" : "h3",
          changed: ["name"],
          backup: null,
          restartNeeded: [],
        }),
      }),
    });
    await page.text();
    const filled = await page.fill("field-name", "New");
    expect(filled).toContain("text 1 with New");
    // Somebody else saved the file since.
    at = 2;
    await page.pass(60_000);
    await page.fill("field-name", "Newer");
    await page.pass(600);
    expect(page.asked.slice(3).filter((each) => !/^config\.(?:get|schema|text) \{\}$/.test(each))).toEqual([
      expect.stringMatching(/^config\.text \{"text":"text 1","config":\{"name":"New",/),
      'config.validate {"text":"text 1 with New"}',
      expect.stringMatching(/^config\.text \{"text":"text 1 with New","config":\{"name":"Newer",/),
      'config.validate {"text":"text 1 with New with Newer"}',
    ]);
    const before = page.asked.length;
    at = 3;
    await page.press("Save");
    expect(page.asked[before]).toBe(
      'config.apply {"text":"text 1 with New with Newer","baseHash":"h1","idempotencyKey":"uuid-1"}',
    );
    expect(await page.press("Take it back")).toContain("1");
    expect(page.asked.find((each, nth) => nth > before && each.startsWith("config.apply"))).toBe(
      'config.apply {"text":"text 1","baseHash":"h3","idempotencyKey":"uuid-2"}',
    );
  });
});
