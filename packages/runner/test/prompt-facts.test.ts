// What the prompt is told of the config, the place and the machine: every side of each fact, without a store.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { arch, hostname, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { channelFacts, reactionLevel } from "../src/prompt/channel-facts.ts";
import { needsReasoningTags, tellsHeartbeats, turnFacts } from "../src/prompt/prompt-facts.ts";
import { repoRoots } from "../src/prompt/repo-root.ts";

const at = (channel: string, kind = "dm", more: object = {}) =>
  ({ channel, account: "default", kind, peer: "5", ...more }) as never;
const config = (channels: object = {}, more: object = {}) =>
  ({
    channels: { telegram: {}, discord: {}, ...channels },
    memory: { citations: "auto" },
    agents: {
      defaults: {
        models: {},
        silentReply: { group: "allow" },
        bootstrapPromptTruncationWarning: "always",
        userTimezone: "UTC",
      },
    },
    commands: { ownerDisplay: "hash" },
    messages: { tts: { auto: "off", maxTextLength: 1_500 } },
    ...more,
  }) as never;
const surface = (more: object = {}) =>
  ({
    name: "telegram",
    capabilities: { inlineButtons: true, voice: true, media: true },
    actions: ["react"],
    ...more,
  }) as never;

test("buttons are told as the account allows them at this place, or how to switch them on", () => {
  const buttons = (scope: string, kind: string, account = "default") =>
    channelFacts(
      config({ telegram: { [account]: { inlineButtons: scope } } }),
      at("telegram", kind, { account }),
      surface(),
    ).buttons;
  const enable = { enableWith: "channels.telegram.capabilities.inlineButtons" };
  expect(
    ["dm", "group", "all", "allowlist", "off"].map((scope) => [
      buttons(scope, "dm"),
      buttons(scope, "group"),
    ]),
  ).toEqual([
    ["on", enable],
    [enable, "on"],
    ["on", "on"],
    ["on", "on"],
    [enable, enable],
  ]);
  expect(buttons("off", "channel", "work")).toEqual({
    enableWith: "channels.telegram.accounts.work.capabilities.inlineButtons",
  });
  expect(
    channelFacts(config(), at("telegram"), surface({ capabilities: { inlineButtons: false } })).buttons,
  ).toBe("unsupported");
  // An account that the config has not, also under a name that every object has, and another channel.
  expect(channelFacts(config(), at("telegram", "dm", { account: "constructor" }), surface()).buttons).toBe(
    "on",
  );
  expect(
    channelFacts(config({ telegram: { default: { inlineButtons: "off" } } }), at("discord"), surface())
      .buttons,
  ).toBe("on");
});

test("a place is told by its kind, its thread and its platform's actions; a webhook hears nothing", () => {
  expect(channelFacts(config(), at("telegram", "group", { thread: "0" }), surface())).toMatchObject({
    name: "telegram",
    kind: "group",
    threaded: true,
    actions: ["react"],
    unheard: false,
  });
  expect(channelFacts(config(), at("hook"), surface({ actions: undefined }))).toMatchObject({
    threaded: false,
    actions: [],
    unheard: true,
  });
});

test("an account says how much the agent reacts; else little, where it has the tool for it", () => {
  const channels = {
    telegram: { default: { reactionLevel: "off" }, work: {} },
    discord: { default: { reactionLevel: "extensive" } },
  };
  const level = (channel: string, account: string, ...tools: readonly string[]) =>
    reactionLevel(
      config(channels),
      at(channel, "dm", { account }),
      tools.map((name) => ({ name })),
    );
  expect([
    level("telegram", "default", "message"),
    level("telegram", "work", "Message"),
    level("telegram", "work", "exec"),
    level("discord", "default"),
    level("discord", "gone", "message"),
    level("web", "default", "message"),
    level("web", "default"),
  ]).toEqual(["off", "minimal", "off", "extensive", "minimal", "minimal", "off"]);
});

test("heartbeats are told where they are sent and the prompt shall say so", () => {
  const tells = (every: string, includeSystemPromptSection = true) =>
    tellsHeartbeats({ heartbeat: { every, includeSystemPromptSection } } as never);
  expect([tells("30m"), tells("1h"), tells("0m"), tells("0"), tells("30m", false)]).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

test("a model that cannot think apart is told to do it in tags, when it shall think", () => {
  const needs = (thinking: string, reasoning: boolean) =>
    needsReasoningTags({ thinking, model: { reasoning } } as never);
  expect([needs("low", false), needs("off", false), needs("low", true)]).toEqual([true, false, false]);
});

const facts = (more: object = {}, agents: object = {}) => {
  const base = config();
  const sources = {
    config: {
      ...(base as object),
      agents: { defaults: { ...(base as { agents: { defaults: object } }).agents.defaults, ...agents } },
    },
    installation: { docs: "/docs", cli: "parley", shell: "sh", ownerKey: "key" },
    agent: {
      id: "main",
      workspace: "/w",
      model: { primary: "a/one" },
      heartbeat: { every: "30m", includeSystemPromptSection: true, prompt: "Look." },
    },
    mode: "full",
    model: { id: "a/b/one", reasoning: true },
    audience: "private",
    tools: [],
    sandbox: undefined,
    files: { files: [], truncations: [] },
    skills: { facts: [] },
    owners: [],
    session: { key: "agent:main:telegram:dm:5", fields: {} },
    address: at("telegram"),
    surface: surface(),
    speech: undefined,
    placeText: undefined,
    execPolicy: { mode: "allowlist", ask: "on-miss" },
    repo: "/repo",
    thinking: "off",
    reasoning: "off",
    ...more,
  };
  return JSON.parse(JSON.stringify(turnFacts(sources as never))) as {
    stable: Record<string, unknown>;
    surface: Record<string, unknown>;
  };
};
const all = (more: object = {}, agents: object = {}): string => JSON.stringify(facts(more, agents));

test("owners are told by a hash of each, in one order; without a key none is, and raw only where the config says so", () => {
  const owners = (given: readonly string[], more: object = {}) =>
    facts({ owners: given, ...more }).stable["owners"];
  const hashed = owners(["telegram:2", "telegram:1"]) as readonly string[];
  expect(hashed).toEqual(owners(["telegram:1", "telegram:2"]));
  expect([hashed.length, JSON.stringify(hashed).includes("telegram:1")]).toEqual([2, false]);
  expect(owners(["telegram:1"], { installation: {} })).toEqual([]);
  const raw = config({}, { commands: { ownerDisplay: "raw" } });
  expect(owners(["telegram:2", "telegram:1"], { config: raw, installation: {} })).toEqual([
    "telegram:1",
    "telegram:2",
  ]);
});

test("the repository is told on the host alone, and the model by its own name", () => {
  expect(all()).toContain('"/repo"');
  expect(all({ sandbox: { kind: "docker", workspace: "/w", access: "rw" } })).not.toContain('"/repo"');
  expect(facts().stable["modelFamily"]).toBe("b/one");
});

test("names of models stand in one order, whatever the config's", () => {
  const models = { "b/x": { alias: "slow" }, "a/x": { alias: "fast" }, "c/x": {} };
  expect(facts({}, { models }).stable["modelAliases"]).toEqual([
    { alias: "fast", model: "a/x" },
    { alias: "slow", model: "b/x" },
  ]);
});

test.each([
  ["a private chat", { address: at("telegram") }, {}, "none"],
  ["a group", { address: at("telegram", "group") }, {}, "free"],
  [
    "a group without silence",
    { address: at("telegram", "group") },
    { silentReply: { group: "disallow" } },
    "unasked",
  ],
  ["a webhook", { address: at("hook") }, {}, "free"],
  ["no conversation", { address: null }, {}, "free"],
])("how silent the agent may be in %s", (_what, more, agents, wanted) => {
  expect(all(more, agents)).toContain(`"silence":"${wanted}"`);
});

test.each([
  ["allowlist", "on-miss", true],
  ["allowlist", "always", true],
  ["full", "always", true],
  ["full", "on-miss", false],
  ["allowlist", "off", false],
  ["deny", "always", false],
])("where commands are %s and asked %s, people are asked: %s", (mode, ask, asks) => {
  expect(all({ execPolicy: { mode, ask } })).toContain(`"approvals":${asks}`);
});

test("a sub-agent is told what it is and how deep, whom its result goes to, and of its own sub-agents where it may have them", () => {
  const of = (key: string, tools: readonly string[] = []) =>
    all({
      mode: "minimal",
      session: { key, fields: {} },
      placeText: "Only roses.",
      tools: tools.map((name) => ({ name, description: name, parameters: {}, summary: name })),
    });
  const one = of("agent:main:subagent:c1");
  expect(one).toContain("You are a sub-agent, 1 deep");
  expect(one).toContain("goes to that session by itself and to nobody else");
  expect(one).not.toContain("Only roses.");
  expect(one).not.toContain("You may spawn");
  expect(of("agent:main:subagent:c1", ["sessions_spawn"])).toContain("You may spawn");
  expect(all({ placeText: "Only roses. Say NO_REPLY else." })).toContain('"contextTellsSilence":true');
  expect(all({ placeText: "Only roses. NO_REPLYING" })).toContain('"contextTellsSilence":false');
});

test("the repository is the nearest folder with .git, at most twelve levels up, looked for once", () => {
  const home = mkdtempSync(join(tmpdir(), "parley-repo-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const levels = (count: number) => Array.from({ length: count }, (_, nth) => `l${nth}`);
  const deep = join(home, ...levels(12));
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(home, ".git"));
  const rootOf = repoRoots();
  expect([rootOf(home), rootOf(join(home, ...levels(11))), rootOf(deep)]).toEqual([home, home, undefined]);
  // A worktree has a file of that name.
  writeFileSync(join(home, "l0", ".git"), "gitdir: elsewhere");
  expect([repoRoots()(deep), rootOf(deep), rootOf(home)]).toEqual([join(home, "l0"), undefined, home]);
});

test("all that a prompt is told, each fact from its own place", () => {
  const tool = (name: string) => ({
    name,
    description: `long ${name}`,
    parameters: {},
    summary: `does ${name}`,
    effect: "reads",
  });
  const skill = { name: "brew", description: "Makes tea", location: "skills/brew/SKILL.md" };
  const { stable, surface: shown } = facts({
    config: config(
      { telegram: { default: { reactionLevel: "extensive", inlineButtons: "off" } } },
      {
        memory: { citations: "on" },
        messages: { tts: { auto: "always", maxTextLength: 77 } },
        agents: {
          defaults: {
            models: { "c/d": { alias: "Quick" } },
            silentReply: { group: "deny" },
            bootstrapPromptTruncationWarning: "once",
            userTimezone: "Europe/Berlin",
          },
        },
      },
    ),
    installation: { docs: { path: "/docs" }, cli: "/bin/parley", shell: "/bin/zsh", ownerKey: "key" },
    agent: {
      id: "work",
      workspace: "/home/w",
      model: { primary: "p/usual" },
      heartbeat: { every: "30m", includeSystemPromptSection: true, prompt: "Look around." },
    },
    model: { id: "anthropic/claude-sonnet-4-5", reasoning: false },
    audience: "shared",
    tools: [tool("read"), tool("message")],
    sandbox: undefined,
    skills: { facts: [skill], note: "one is left out" },
    session: { key: "agent:work:telegram:group:-7:topic:3", fields: {} },
    address: at("telegram", "group", { peer: "-7", thread: "3" }),
    speech: { voice: () => ({}) },
    placeText: "Only roses.",
    execPolicy: { mode: "allowlist", ask: "always" },
    repo: "/home",
    thinking: "high",
    reasoning: "stream",
  });
  const { version: running, ...told } = stable as Record<string, unknown>;
  const { host, os, arch: cpu, node, ...seen } = shown;
  expect([running, host, os, cpu, node]).toEqual([version, hostname(), platform(), arch(), process.version]);
  expect({ told, seen }).toMatchInlineSnapshot(`
    {
      "seen": {
        "approvals": true,
        "channel": {
          "actions": [
            "react",
          ],
          "buttons": {
            "enableWith": "channels.telegram.capabilities.inlineButtons",
          },
          "capabilities": {
            "inlineButtons": true,
            "media": true,
            "voice": true,
          },
          "kind": "group",
          "name": "telegram",
          "threaded": true,
          "unheard": false,
        },
        "context": "Only roses.",
        "contextTellsSilence": false,
        "defaultModel": "p/usual",
        "heartbeatPrompt": "Look around.",
        "model": "anthropic/claude-sonnet-4-5",
        "reactions": "extensive",
        "reasoning": "stream",
        "reasoningTags": true,
        "repo": "/home",
        "session": "agent:work:telegram:group:-7:topic:3",
        "shell": "/bin/zsh",
        "silence": "unasked",
        "thinking": "high",
        "ttsHint": "Your reply is also spoken: a recording follows its text.
    More than 77 characters are not spoken, nor is code.
    Write it to be heard: short sentences, no tables.",
      },
      "told": {
        "agent": "work",
        "audience": "shared",
        "citations": "on",
        "cli": "/bin/parley",
        "docs": {
          "path": "/docs",
        },
        "files": {
          "files": [],
          "truncations": [],
        },
        "mode": "full",
        "modelAliases": [
          {
            "alias": "Quick",
            "model": "c/d",
          },
        ],
        "modelFamily": "claude-sonnet-4-5",
        "owners": [],
        "skills": [
          {
            "description": "Makes tea",
            "location": "skills/brew/SKILL.md",
            "name": "brew",
          },
        ],
        "skillsNote": "one is left out",
        "timeZone": "Europe/Berlin",
        "tools": {
          "deferred": [],
          "list": [
            {
              "name": "read",
              "summary": "does read",
            },
            {
              "name": "message",
              "summary": "does message",
            },
          ],
        },
        "warnTruncation": false,
        "workspace": "/home/w",
      },
    }
  `);
});

test("a sub-agent is told of its work whole: in a thread people read along, elsewhere one session alone", () => {
  const tools = ["sessions_spawn"].map((name) => ({ name, description: "", parameters: {}, summary: "" }));
  const context = (key: string, more: object = {}): unknown =>
    facts({ mode: "minimal", session: { key, fields: {} }, ...more }).surface["context"];
  expect([
    context("agent:main:subagent:0123456789ab-2"),
    context("agent:main:subagent:0123456789abt-1", { tools }),
  ]).toMatchInlineSnapshot(`
    [
      "You are a sub-agent, 2 deep: another session gave you a task and waits for its result.
    Do that task and nothing else. Your last message is the result: it goes to that session by itself and to nobody else, so make it whole, short and true, and say what you could not do.
    If nothing need be told, answer with ANNOUNCE_SKIP alone.",
      "You are a sub-agent, 1 deep: another session gave you a task and waits for its result.
    You work in a thread of your own. Do that task; your last message is the result: people see it in the thread and that session is told it by itself, so make it whole, short and true, and say what you could not do.
    People may write to you in the thread: answer them there.
    You may spawn sub-agents of your own for parts of it; their results come to you by themselves.",
    ]
  `);
});
