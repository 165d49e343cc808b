// Random configs, workspaces and places for the property about the prompt's claims.
import fc from "fast-check";
import type { Address, JsonObject } from "@parley/protocol";

export interface Draw {
  readonly config: JsonObject;
  /** Null: a session without a conversation. */
  readonly address: Address | null;
  readonly session: string;
  readonly fields: JsonObject;
  readonly isOwner: boolean;
  /** The first person who was paired. */
  readonly paired: string | null;
  /** Files of the workspace by path; what Parley writes by itself stands below them. */
  readonly files: { readonly [path: string]: string };
  readonly removed: readonly string[];
  /** The workspace lies around the state folder, as a home folder does. */
  readonly isAround: boolean;
  /** It is a checkout. */
  readonly isRepo: boolean;
}

const skill = (name: string): string => `---\nname: ${name}\ndescription: Does ${name}.\n---\nDo ${name}.\n`;
const optional = <T>(value: T): fc.Arbitrary<T | undefined> =>
  fc.option(fc.constant(value), { nil: undefined });

const files = fc
  .record({
    "skills/one/SKILL.md": optional(skill("one")),
    ".agents/skills/two/SKILL.md": optional(skill("two")),
    "more/three/SKILL.md": optional(skill("three")),
    "SOUL.md": optional("I am dry.\n".repeat(900)),
    "IDENTITY.md": optional("- Name: Otto\n"),
    "MEMORY.md": optional("- Ann drinks tea.\n"),
    "memory/2026-11-20.md": optional("She came.\n"),
    "memory/shared/all.md": optional("There is coffee.\n"),
    "HEARTBEAT.md": fc.constantFrom(undefined, "# Checks\n<!-- none -->\n- [ ]\n", "- Is the post there?\n"),
  })
  .map((all) =>
    Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
  );

const sandbox = fc.record({
  mode: fc.constantFrom("off", "all", "all", "non-main"),
  backend: fc.constantFrom("bubblewrap", "bubblewrap", "docker"),
  scope: fc.constantFrom("session", "agent", "shared"),
  workspaceAccess: fc.constantFrom("none", "none", "ro", "rw"),
  network: fc.constantFrom(false, true, "egress" as const),
});

const tools = fc.record(
  {
    profile: fc.constantFrom("minimal", "coding", "messaging", "full", "full"),
    deny: fc.subarray(
      [
        "read",
        "memory_search",
        "write",
        "exec",
        "process",
        "group:fs",
        "group:runtime",
        "gateway",
        "session_status",
        "update_plan",
      ],
      {
        maxLength: 3,
      },
    ),
    exec: fc.record({
      mode: fc.constantFrom("deny", "allowlist", "full"),
      ask: fc.constantFrom("off", "on-miss", "always"),
    }),
  },
  { requiredKeys: [] },
);

const models = [
  { id: "plain", input: ["text"], contextWindow: 200_000, maxTokens: 8_000 },
  { id: "sees", input: ["text", "image"], reasoning: true, contextWindow: 200_000, maxTokens: 8_000 },
  { id: "small", input: ["text"], contextWindow: 16_000, maxTokens: 2_000 },
  {
    id: "openai/gpt-5-mini",
    input: ["text", "image"],
    reasoning: true,
    contextWindow: 100_000,
    maxTokens: 8_000,
  },
  { id: "my-gpt-5ish", input: ["text"], contextWindow: 100_000, maxTokens: 8_000 },
];
const modelRefs = models.map(({ id }) => `local/${id}`);

interface Spot {
  readonly address: Address | null;
  readonly session: string;
}
const at = (
  channel: string,
  kind: Address["kind"],
  peer: string,
  session: string,
  thread?: string,
): Spot => ({
  address: { channel, account: "default", kind, peer, ...(thread === undefined ? {} : { thread }) },
  session,
});
const spots: readonly Spot[] = [
  at("telegram", "dm", "7", "agent:main:telegram:dm:7"),
  at("telegram", "dm", "7", "agent:main:main"),
  at("telegram", "group", "-100", "agent:main:telegram:group:-100"),
  at("telegram", "group", "-100", "agent:main:telegram:group:-100:topic:5", "5"),
  at("discord", "dm", "7", "agent:main:discord:dm:7"),
  at("discord", "channel", "12", "agent:main:discord:channel:12"),
  at("discord", "channel", "12", "agent:main:discord:channel:12:thread:13", "13"),
  at("web", "dm", "web-1", "agent:main:web:dm:web-1"),
  at("hook", "dm", "main/ci", "agent:main:hook:ci"),
  at("api", "dm", "client/user", "agent:main:api:client:user"),
  { address: null, session: "agent:main:main" },
  { address: null, session: "agent:main:cron:daily" },
  { address: null, session: "agent:main:subagent:5" },
  at("discord", "channel", "12", "agent:main:subagent:0123456789abt-1", "13"),
];

const defaults = fc.record({
  sandbox,
  model: fc.constantFrom(...modelRefs),
  thinkingDefault: fc.constantFrom("off", "low", "high"),
  userTimezone: fc.constantFrom("UTC", "Asia/Tokyo"),
  heartbeat: fc.record({
    every: fc.constantFrom("0h", "30m"),
    includeSystemPromptSection: fc.boolean(),
    prompt: fc.constant("Look around."),
  }),
  silentReply: fc.record({ group: fc.constantFrom("deny", "allow") }),
  bootstrapMaxChars: fc.constantFrom(1_000, 20_000),
  bootstrapPromptTruncationWarning: fc.constantFrom("once", "always", "off"),
  models: fc.constantFrom({}, { "local/sees": { alias: "eyes" }, "local/small": { alias: "fast" } }),
});

const platform = (token: object): fc.Arbitrary<JsonObject> =>
  fc
    .record({
      reactionLevel: fc.constantFrom("off", "minimal", "extensive"),
      streaming: fc.constantFrom("off", "edit", "block"),
    })
    .map((settings) => ({ ...token, dmPolicy: "open", allowFrom: ["*"], groupPolicy: "open", ...settings }));

const config = fc
  .record({
    defaults,
    tools,
    telegram: platform({ botToken: "1:x", apiRoot: "http://127.0.0.1:9" }),
    discord: platform({ token: "a.b.c", apiRoot: "http://127.0.0.1:9" }),
    inlineButtons: fc.constantFrom("off", "dm", "all"),
    topicPrompt: fc.boolean(),
    owners: fc.constantFrom([], ["telegram:7"], ["telegram:7", "discord:7"]),
    ownerDisplay: fc.constantFrom("raw", "hash"),
    tts: fc.constantFrom("off", "always", "inbound", "tagged"),
    // Without a key nothing speaks, whatever is installed on this machine.
    speaks: fc.constantFrom(
      { providers: { openai: { baseUrl: "http://127.0.0.1:9/v1" } } },
      { provider: "elevenlabs" },
    ),
    citations: fc.constantFrom("off", "on", "auto"),
    toolSearch: fc.constantFrom("off", "on"),
  })
  .map((c): JsonObject => ({
    models: {
      providers: {
        local: {
          api: "openai-completions",
          baseUrl: "http://127.0.0.1:9/v1",
          apiKey: "a-key-of-nobody",
          models,
        },
      },
    },
    agents: { defaults: c.defaults },
    tools: c.tools,
    channels: {
      telegram: {
        ...c.telegram,
        capabilities: { inlineButtons: c.inlineButtons },
        groups: {
          "-100": c.topicPrompt
            ? { requireMention: false, systemPrompt: "This group is about tea." }
            : { requireMention: false },
        },
      },
      discord: c.discord,
    },
    commands: {
      ownerAllowFrom: c.owners,
      ownerDisplay: c.ownerDisplay,
      ownerDisplaySecret: "a-key-of-nobody",
    },
    messages: { tts: { auto: c.tts, ...c.speaks } },
    memory: { citations: c.citations },
    mcp: { toolSearch: { mode: c.toolSearch } },
  }));

export const draws: fc.Arbitrary<Draw> = fc
  .record({
    config,
    spot: fc.constantFrom(...spots),
    reasoning: fc.constantFrom("off", "on", "stream"),
    isOwner: fc.boolean(),
    paired: fc.constantFrom(null, "telegram:7"),
    files,
    removed: fc.subarray(["SOUL.md", "TOOLS.md", "BOOTSTRAP.md", "HEARTBEAT.md"], { maxLength: 2 }),
    isRepo: fc.boolean(),
    isAround: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  })
  .map(({ spot, reasoning, ...rest }) => ({ ...rest, ...spot, fields: { reasoning } }));

/**
 * An owner in private whose agent runs on the host with every tool: random draws seldom have all of that at
 * once.
 */
export const ownersOnHost: fc.Arbitrary<Draw> = draws.map((draw) => {
  const { agents, channels, commands, ...rest } = draw.config as Record<string, Record<string, JsonObject>>;
  return {
    ...draw,
    ...at("telegram", "dm", "7", "agent:main:main"),
    isOwner: true,
    config: {
      ...rest,
      agents: { defaults: { ...agents?.["defaults"], sandbox: { mode: "off" } } },
      channels: channels ?? {},
      commands: { ...commands, ownerAllowFrom: ["telegram:7"] },
      tools: { profile: "full", exec: { mode: "full", ask: "off" } },
    } as JsonObject,
  };
});
