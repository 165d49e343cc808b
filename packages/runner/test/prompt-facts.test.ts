// What the prompt is told of the config, the place and the machine: every side of each fact, without a store.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  return JSON.parse(JSON.stringify(turnFacts(sources as never))) as { stable: Record<string, unknown> };
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
