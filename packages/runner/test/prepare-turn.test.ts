// What a turn is prepared with: the models and in which order, the tools and what is refused of them, whose
// notes are written where, what the prompt is made of and what the commit keeps of it; and what the log says
// when the part that providers cache has changed. The files are real, the rest is what a test says.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { cooldowns, type Model, type ModelEvent, type ModelRequest } from "@parley/models";
import { noUsage, silentLog, type Log, type SessionKey, type SkillCall } from "@parley/protocol";
import type { Session } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { workspaceFiles, type Tool } from "@parley/tools";
import { expect, onTestFinished, test } from "vitest";
import { turnPreparer, type PreparerNeeds } from "../src/prepare-turn.ts";
import { promptHistory } from "../src/prompt/prompt-history.ts";
import { memoryStore } from "./store.ts";

const tool = (name: string): Tool => ({
  name,
  summary: `does ${name}`,
  description: `does ${name} at length`,
  parameters: { type: "object", properties: {} },
  effect: "reads",
  parse: (args) => ({ ok: true, args }),
  run: async () => ({ content: [] }),
});
const place = {
  address: { channel: "telegram", account: "work", kind: "group", peer: "-7" },
  guild: "g1",
  parent: "p1",
} as const;
const session = (fields: Session["fields"] = {}, more: object = {}): Session => ({
  key: "agent:ops:telegram:group:-7" as SessionKey,
  epoch: 3,
  lastSeq: 4,
  fields,
  createdAtMs: 1,
  updatedAtMs: 2,
  ...more,
});
const owner = { owner: true, senders: ["telegram:1", "telegram:2"] };
const guest = { owner: false, senders: ["telegram:9", "telegram:8"] };

async function stage(file: { readonly agents?: object } = {}) {
  const home = await mkdtemp(join(tmpdir(), "parley-prepare-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const workspace = join(home, "ops");
  await mkdir(workspace);
  const clock = virtualClock({ startMs: Date.parse("2026-05-31T22:30:00Z") });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const provider = { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [] };
  const book = {
    models: { providers: { p: provider, q: provider } },
    agents: {
      defaults: {
        model: { primary: "p/one", fallbacks: ["p/two", "q/three"] },
        models: { "p/one": { alias: "usual" }, "p/two": {}, "q/three": { alias: "third" }, "q/four": {} },
        timeoutSeconds: 90,
        userTimezone: "Europe/Berlin",
        ...file.agents,
      },
      list: [
        { id: "main" },
        {
          id: "ops",
          workspace,
          thinkingDefault: "low",
          reasoningDefault: "stream",
          heartbeat: { every: "30m" },
        },
      ],
    },
  };
  const { config } = await loadConfig({ env: {}, home, readFile: async () => JSON.stringify(book) });
  const asked = {
    tools: [] as object[],
    skills: [] as unknown[],
    rules: [] as unknown[],
    speakers: [] as unknown[],
    channels: [] as string[],
    models: [] as string[],
    requests: [] as (readonly [model: string, request: ModelRequest])[],
  };
  const lines: (readonly [level: string, words: string, fields: unknown])[] = [];
  const line = (level: string) => (fields: unknown, words: string) =>
    void lines.push([level, words, JSON.parse(JSON.stringify(fields))]);
  const log = { ...silentLog, info: line("info"), debug: line("debug"), warn: line("warn") } as Log;
  /** Models that fail when they are asked. */
  const down = new Set<string>();
  const modelOf = (id: string): Model => ({
    id,
    contextWindow: id === "q/three" ? 50_000 : 200_000,
    maxTokens: 4_000,
    vision: false,
    reasoning: id !== "q/three",
    thinking: ["off", "low", "high"],
    async *stream(request): AsyncGenerator<ModelEvent> {
      asked.requests.push([id, request]);
      const end = { type: "end", usage: noUsage, content: [] } as const;
      if (down.has(id)) yield { ...end, stop: "error", error: { kind: "not_found", message: `no ${id}` } };
      else yield { ...end, stop: "stop" };
    },
  });
  const here = {
    tools: [tool("read"), tool("write"), { ...tool("notes__find"), deferred: true }],
    refused: new Map([["write", "for owners"]]),
    decision: { tools: [], removed: [] as object[] },
    unavailable: [] as object[],
    files: workspaceFiles({
      root: workspace,
      inside: workspace,
      readOnly: false,
      readRoots: [],
      forbidden: [],
    } as never),
    sandbox: undefined as object | undefined,
    execPolicy: { mode: "allowlist", ask: "always", allowlist: ["ls"], grants: [], owner: true },
  };
  const skills = {
    listing: { facts: [{ name: "brew", description: "Makes tea", location: "skills/brew/SKILL.md" }] },
    commands: [
      { command: "brew", skill: { manifest: { name: "brew" } } },
      { command: "list", skill: { manifest: { name: "list", dispatch: { tool: "read" } } } },
    ],
    env: (called: readonly string[]) => ({ CALLED: called.join("+") }),
    location: () => "",
    body: async ({ manifest }: { manifest: { name: string } }) => `How to ${manifest.name}.`,
  };
  /** Files by hash whose author is no owner. */
  const foreign = new Map<string, object>();
  const stableMoves = new Map<string, number>();
  const prompts = promptHistory(store.cells, clock);
  const preparer = turnPreparer({
    config,
    tools: { at: async (request: object) => (asked.tools.push(request), here) },
    speakers: async (at: unknown) => (asked.speakers.push(at), guest),
    owners: async () => ["telegram:1"],
    rules: (at: unknown) => (
      asked.rules.push(at),
      { tools: [{ deny: ["exec"] }], skills: ["brew"], systemPrompt: "Only roses." }
    ),
    hooks: [],
    origins: {
      of: async (root: string) => (path: string) =>
        root === workspace ? (foreign.get(path.slice(root.length + 1)) ?? null) : null,
    },
    installation: {},
    skills: {
      at: async (of: { id: string }, narrowed: unknown) => (asked.skills.push([of.id, narrowed]), skills),
    },
    channel: (account: string) => (
      asked.channels.push(account),
      { name: "telegram", capabilities: { inlineButtons: false, media: false, voice: false }, actions: [] }
    ),
    cells: store.cells,
    models: {
      get: async (id: string) => (asked.models.push(id), modelOf(id)),
      list: () => [],
    },
    cooldowns: cooldowns(clock),
    prompts,
    stableMoves,
    clock,
    ids: seededIds(1),
    log,
  } as unknown as PreparerNeeds);
  const prepare = (more: object = {}) =>
    preparer.forTurn({ agent: "ops", session: session(), by: owner, ...place, ...more });
  /** Commits what the turn keeps, as the store does, and returns the session after it. */
  const commit = async (prepared: Awaited<ReturnType<typeof prepare>>, of: Session): Promise<Session> => {
    const note = prepared.promptNote(`${of.key}#1`);
    for (const { key, value } of note.cells) await store.cells.put(key, value ?? "", {});
    note.committed();
    return { ...of, fields: { ...of.fields, ...note.patch } };
  };
  const ask = async (prepared: Awaited<ReturnType<typeof prepare>>, more: object = {}) => {
    const from = asked.requests.length;
    const request = {
      system: prepared.system,
      messages: [],
      tools: [],
      thinking: "off",
      cacheKey: "k",
      ...more,
    };
    for await (const _event of prepared.model.stream(request as never, new AbortController().signal));
    return asked.requests.slice(from);
  };
  return {
    home,
    workspace,
    clock,
    config,
    asked,
    lines,
    foreign,
    log,
    down,
    here,
    stableMoves,
    preparer,
    prepare,
    commit,
    ask,
  };
}

test("a turn has its agent's tools, place, folder, limits and words, each from where it belongs", async () => {
  const { prepare, asked, config, workspace, here, lines } = await stage();
  const prepared = await prepare({ wanted: { thinking: "high" } });
  const agent = config.agents.list.find(({ id }) => id === "ops");
  expect(asked.tools).toEqual([
    {
      agent,
      session: "agent:ops:telegram:group:-7",
      places: [{ deny: ["exec"] }],
      by: owner,
      model: expect.objectContaining({ id: "p/one" }) as object,
    },
  ]);
  expect([asked.skills, asked.rules, asked.speakers, asked.channels, asked.models]).toEqual([
    [["ops", ["brew"]]],
    [place],
    [],
    ["telegram:work"],
    ["p/one", "p/two", "q/three"],
  ]);
  const {
    model,
    system,
    tools,
    thinkingFor,
    refuses,
    spill: _spill,
    context,
    notesPlace,
    startupNotes: _startup,
    finalOnly,
    promptNote: _note,
    ...told
  } = prepared;
  expect(told).toEqual({
    env: { CALLED: "" },
    skillBodies: new Map(),
    alone: false,
    execPolicy: here.execPolicy,
    workspace,
    thinking: "high",
    reasoning: "stream",
    refusal: null,
    timeoutMs: 90_000,
    keepsNotes: true,
    notes: [],
    tellsEmptyInGroups: true,
  });
  expect([model.id, tools.map(({ name }) => name), finalOnly(), context.timeZone]).toEqual([
    "p/one",
    ["read", "write", "notes__find"],
    false,
    "Europe/Berlin",
  ]);
  expect(["read", "write", "exec"].map(refuses)).toEqual([
    null,
    'Not run: whoever asked may not use "write" here: for owners.',
    'Not run: the tool "exec" is not for this model.',
  ]);
  expect([thinkingFor({ thinking: "off" }), thinkingFor({}), prepared.thinking]).toEqual([
    "off",
    "low",
    "high",
  ]);
  expect([notesPlace.folder, notesPlace.heading]).toEqual(["memory", null]);
  expect(system.volatile).toContain("Only roses.");
  expect(system.volatile).not.toMatch(/^\n/);
  expect(lines).toEqual([
    [
      "debug",
      "prompt compiled",
      {
        session: "agent:ops:telegram:group:-7",
        prompt: expect.stringMatching(/^[0-9a-f]+$/) as string,
        stable: expect.stringMatching(/^[0-9a-f]+$/) as string,
        chars: `${system.stable}\n\n${system.volatile}`.length,
      },
    ],
  ]);
  expect(await prepared.spill("r.txt", "a long result")).toBe(".parley/results/r.txt");
  expect(await readFile(join(workspace, ".parley/results/r.txt"), "utf8")).toBe("a long result");
});

test("notes of a conversation in which anybody else spoke are not the owner's, until it begins anew", async () => {
  const { prepare, commit } = await stage();
  const first = await prepare();
  expect(first.promptNote("t").patch).not.toHaveProperty("othersSpoke");
  const theirs = await prepare({ by: guest });
  expect(theirs.notesPlace).toMatchObject({
    folder: expect.stringMatching(/^memory\/sessions\/[0-9a-f]{16}$/) as string,
    heading: "[Notes on talk with telegram:9, telegram:8, not an owner, in agent:ops:telegram:group:-7]",
  });
  const after = await commit(theirs, session());
  expect(after.fields["othersSpoke"]).toBe(3);
  const owners = await prepare({ session: after });
  expect([owners.notesPlace.folder, owners.notesPlace.heading]).toEqual([
    theirs.notesPlace.folder,
    "[Notes on talk with somebody, not an owner, in agent:ops:telegram:group:-7]",
  ]);
  expect((await commit(owners, after)).fields["othersSpoke"]).toBe(3);
  const anew = await prepare({ session: { ...after, epoch: 4 } });
  expect([anew.notesPlace.folder, anew.notesPlace.heading]).toEqual(["memory", null]);
});

test("the notes of the last days are told by the day where people are, as much as the config says, from the folder of the turn", async () => {
  const { prepare, workspace } = await stage({
    agents: { startupContext: { dailyMemoryDays: 2, maxFileChars: 120, maxTotalChars: 200 } },
  });
  await mkdir(join(workspace, "memory"), { recursive: true });
  for (const day of ["2026-05-30", "2026-05-31", "2026-06-01", "2026-06-02"])
    await writeFile(join(workspace, "memory", `${day}.md`), `- of ${day}`);
  expect(await (await prepare()).startupNotes()).toEqual({
    text: "## memory/2026-06-01.md\n- of 2026-06-01\n## memory/2026-05-31.md\n- of 2026-05-31",
  });
  expect(await (await prepare({ by: guest })).startupNotes()).toBeNull();
  await writeFile(join(workspace, "memory", "2026-06-01.md"), `old ${"x".repeat(300)} new`);
  const cut = (await (await prepare()).startupNotes())?.text ?? "";
  expect([cut.includes("old"), cut.split("\n")[2]?.endsWith("x new"), cut.length < 200]).toEqual([
    false,
    true,
    true,
  ]);
});

test("a workspace that does not fit its prompt is told once in a conversation, and anew when that changes or it begins anew", async () => {
  const { prepare, commit, workspace } = await stage({
    agents: {
      bootstrapMaxChars: 1_000,
      bootstrapTotalMaxChars: 3_000,
      bootstrapPromptTruncationWarning: "once",
    },
  });
  const grow = (name: string) => writeFile(join(workspace, name), `${name} ${"words ".repeat(400)}`);
  await grow("SOUL.md");
  const first = await prepare();
  const [note = "", ...more] = first.notes;
  expect([note.includes("SOUL.md"), more]).toEqual([true, []]);
  const after = await commit(first, session());
  expect(after.fields["truncationTold"]).toEqual({ epoch: 3, note });
  const second = await prepare({ session: after });
  expect([second.notes, "truncationTold" in second.promptNote("t").patch]).toEqual([[], false]);
  expect((await prepare({ session: { ...after, epoch: 4 } })).notes).toEqual([note]);
  await grow("AGENTS.md");
  const [again = ""] = (await prepare({ session: after })).notes;
  expect([again.includes("AGENTS.md"), again === note]).toEqual([true, false]);
});

test("the log and the count name what moved the part of the prompt that providers cache, and nothing where it stayed", async () => {
  const { prepare, commit, workspace, lines, stableMoves, here, preparer } = await stage();
  const moved = () => lines.filter(([level]) => level === "info").map(([, words, fields]) => [words, fields]);
  const one = await prepare();
  const after = await commit(one, session());
  await prepare({ session: after });
  expect([moved(), stableMoves.size, preparer.stableMoves()]).toEqual([[], 0, stableMoves]);
  await writeFile(join(workspace, "SOUL.md"), "Dry.");
  const two = await prepare({ session: after });
  const hash = (of: typeof one) => (of.promptNote("t").patch["prompt"] as { readonly stable: string }).stable;
  const words = "the stable prompt moved: this call will miss the provider's cache";
  const was = hash(one);
  expect(moved()).toEqual([
    [
      words,
      {
        moved: ["workspace_files", "project_context"],
        files: ["SOUL.md"],
        tools: [],
        stable: hash(two),
        was,
      },
    ],
  ]);
  const later = await commit(two, after);
  const [read] = here.tools;
  if (read === undefined) throw new Error("no tool");
  here.tools = [
    { ...read, parameters: { type: "object", properties: { path: {} } } },
    ...here.tools.slice(1),
  ];
  const three = await prepare({ session: later });
  expect(moved().slice(1)).toEqual([
    [words, { moved: ["tools"], files: [], tools: ["read"], stable: hash(two), was: hash(two) }],
  ]);
  await rm(join(workspace, "SOUL.md"));
  const gone = { ...(later.fields["prompt"] as object), report: "expired" };
  await prepare({ session: { ...later, fields: { prompt: gone } } as Session });
  expect(moved().slice(2)).toEqual([
    [words, { moved: ["unknown"], files: [], tools: [], stable: was, was: hash(three) }],
  ]);
  expect([...stableMoves]).toEqual([
    ["workspace_files", 1],
    ["project_context", 1],
    ["tools", 1],
    ["unknown", 1],
  ]);
});

test("the model is the turn's, else the session's, else the agent's; the fallbacks are the turn's, else the agent's", async () => {
  const { prepare, asked } = await stage();
  const chain = async (more: object) => {
    asked.models.length = 0;
    const { model } = await prepare(more);
    return [model.id, ...asked.models];
  };
  const own = session({ model: "q/four" });
  expect([
    await chain({}),
    await chain({ session: own }),
    await chain({ model: "THIRD" }),
    await chain({ model: "third", session: own }),
    await chain({ model: "nonsense" }),
    await chain({ model: "nonsense", session: own }),
    await chain({ fallbacks: ["third", "gone/model", "q/four"] }),
    await chain({ fallbacks: [], session: own }),
    await chain({ session: session({ model: "gone/model" }) }),
  ]).toEqual([
    ["p/one", "p/one", "p/two", "q/three"],
    ["q/four", "q/four"],
    ["q/three", "q/three"],
    ["q/three", "q/three"],
    ["p/one", "p/one", "p/two", "q/three"],
    ["q/four", "q/four"],
    ["p/one", "p/one", "q/three", "q/four"],
    ["q/four", "q/four"],
    ["p/one", "p/one", "p/two", "q/three"],
  ]);
  await expect(prepare({ agent: "gone" })).rejects.toMatchObject({
    code: "missing",
    message: 'there is no agent "gone" in agents.list any more',
  });
});

test("a fallback that answers has a prompt of its own and no tool that the first model lacks; it is what the commit keeps", async () => {
  const { prepare, ask, down, here, asked } = await stage();
  const prepared = await prepare({
    within: ["read", "exec"],
    wanted: { thinking: "high" },
    timeoutMs: 5_000,
  });
  expect([prepared.tools.map(({ name }) => name), prepared.timeoutMs]).toEqual([["read"], 5_000]);
  const first = prepared.promptNote("t");
  const tools = [{ name: "read" }, { name: "write" }];
  expect((await ask(prepared, { tools })).map(([id]) => id)).toEqual(["p/one"]);
  expect(prepared.promptNote("t").patch).toEqual(first.patch);
  for (const id of ["p/one", "p/two"]) down.add(id);
  here.refused = new Map([["read", "not by night"]]);
  const calls = await ask(prepared, { tools });
  expect(calls.map(([id]) => id)).toEqual(["p/one", "p/two", "q/three"]);
  const [, request] = calls.at(-1) ?? ["", undefined];
  expect([request?.thinking, request?.tools.map(({ name }) => name)]).toEqual(["high", ["read"]]);
  expect(request?.system.volatile).toContain("q/three");
  expect(prepared.system.volatile).not.toContain("q/three");
  // It cannot think apart, so it was told to answer in tags.
  expect(prepared.finalOnly()).toBe(true);
  expect(prepared.refuses("read")).toBe('Not run: whoever asked may not use "read" here: not by night.');
  expect(prepared.refuses("write")).toBe('Not run: the tool "write" is not for this model.');
  expect(prepared.promptNote("t").patch).not.toEqual(first.patch);
  expect(asked.tools.map((request_) => (request_ as { model: Model }).model.id)).toEqual([
    "p/one",
    "p/two",
    "q/three",
  ]);
});

test("a level of thinking that the model does not take is refused in its words, and a skill's command runs alone", async () => {
  const { prepare, here } = await stage();
  expect((await prepare({ wanted: { thinking: "medium" } })).refusal).toBe(
    '`p/one` does not take the thinking level "medium". Valid levels: off, low, high.',
  );
  expect((await prepare({ wanted: { reasoning: "on" } })).reasoning).toBe("on");
  const call = (name: string, more: object = {}): SkillCall => ({ name, input: "x", location: "l", ...more });
  const words = await prepare({ called: [call("brew"), call("gone")] });
  expect([words.model.id, words.alone, words.env, words.skillBodies]).toEqual([
    "p/one",
    false,
    { CALLED: "brew" },
    new Map(),
  ]);
  const command = await prepare({ called: [call("list", { tool: "read" })] });
  expect([command.model.id, command.alone, command.env]).toEqual(["skill/list", true, { CALLED: "list" }]);
  here.tools = here.tools.filter(({ name }) => name !== "read");
  expect((await prepare({ called: [call("brew")] })).skillBodies).toEqual(
    new Map([["brew", "How to brew."]]),
  );
});

test("notes are written before a compaction only where the tools may write to the workspace", async () => {
  const { prepare, here } = await stage();
  const keeps = async (more: object) => {
    const before = { ...here };
    Object.assign(here, more);
    const { keepsNotes } = await prepare();
    Object.assign(here, before);
    return keepsNotes;
  };
  const box = { kind: "docker", containerWorkspace: "/w", network: "none", elevated: false };
  const of = (name: string) => [{ tool: name, rule: "tools.deny", step: "global" }];
  expect([
    await keeps({}),
    await keeps({ decision: { tools: [], removed: of("read") } }),
    await keeps({ decision: { tools: [], removed: of("write") } }),
    await keeps({ unavailable: [{ tool: "write", reason: "no sandbox" }] }),
    await keeps({ unavailable: [{ tool: "exec", reason: "no shell" }] }),
    await keeps({ sandbox: { ...box, access: "rw" } }),
    await keeps({ sandbox: { ...box, access: "none" } }),
  ]).toEqual([true, true, false, false, true, true, false]);
});

test("an operator's look asks who writes at the place, and without a place nobody; a light turn reads no files, or one", async () => {
  const { preparer, prepare, asked, workspace } = await stage();
  await writeFile(join(workspace, "SOUL.md"), "Be dry as dust.");
  await writeFile(join(workspace, "HEARTBEAT.md"), "Look at the boiler.");
  const look = (at: object | null, more: object = {}) =>
    preparer.prompt({ agent: "ops", session: session(), place: at as never, ...more });
  const seen = await look(place, { wanted: { thinking: "off" } });
  expect([asked.speakers, asked.tools.at(-1)]).toMatchObject([[place], { by: guest }]);
  expect(seen.facts).toMatchObject({
    stable: { agent: "ops", audience: "shared" },
    surface: { thinking: "off", context: "Only roses." },
  });
  const nowhere = await look(null);
  expect([asked.speakers.length, asked.rules.length, asked.tools.at(-1)]).toMatchObject([
    1,
    1,
    { by: { owner: false, senders: [] }, places: [] },
  ]);
  expect(nowhere.facts).toMatchObject({
    stable: { audience: "shared", mode: "full" },
    surface: { channel: undefined, silence: "free" },
  });
  await look(place, { by: owner });
  expect([asked.speakers.length, asked.tools.at(-1)]).toMatchObject([1, { by: owner }]);
  const dm = { address: { ...place.address, kind: "dm", peer: "9" } };
  const inPrivate = await look(dm, { by: owner });
  expect([asked.rules.length, inPrivate.facts.stable.audience, asked.skills.at(-1)]).toEqual([
    2,
    "private",
    ["ops", undefined],
  ]);
  const reads = async (light: unknown) => {
    const { system } = await prepare({ light, ...dm });
    return ["Be dry as dust.", "Look at the boiler."].map((words) => system.stable.includes(words));
  };
  expect([await reads(false), await reads(true), await reads("heartbeat")]).toEqual([
    [true, true],
    [false, false],
    [false, true],
  ]);
  asked.channels.length = 0;
  const { system } = await prepare({ unseen: true });
  expect([asked.channels, system.volatile.includes("channel=")]).toEqual([[], false]);
});

test("a file whose author is no owner is left out of the prompt or marked in it, also after one that is plain", async () => {
  const { prepare, workspace, foreign } = await stage();
  for (const name of ["SOUL.md", "AGENTS.md", "TOOLS.md"])
    await writeFile(join(workspace, name), `words of ${name}`);
  foreign.set("SOUL.md", { use: "leave out", reason: "written for somebody", who: "by telegram:9" });
  foreign.set("TOOLS.md", { use: "mark", reason: "Written in a sandbox.", who: "by telegram:9" });
  const { stable } = (await prepare()).system;
  expect(["SOUL.md", "AGENTS.md", "TOOLS.md"].map((name) => stable.includes(`words of ${name}`))).toEqual([
    false,
    true,
    true,
  ]);
  expect(stable).toContain("Written in a sandbox.");
  foreign.clear();
  expect((await prepare()).system.stable).toContain("words of SOUL.md");
});

test("the repository in the prompt is the config's, else that of the agent's folder", async () => {
  const own = await stage();
  await mkdir(join(own.home, ".git"));
  expect((await own.prepare()).system.volatile).toContain(own.home);
  const named = await stage({ agents: { repoRoot: "/somewhere/else" } });
  expect((await named.prepare()).system.volatile).toContain("/somewhere/else");
});
