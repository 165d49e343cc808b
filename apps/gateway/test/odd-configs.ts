// Configs of a valid shape with odd values: one that has something at nearly every key, of which some places
// are changed.
import fc from "fast-check";
import type { Json, JsonObject } from "@parley/protocol";

/** Nothing listens there: nobody is called. */
const nobody = "http://127.0.0.1:9";
const tools = {
  profile: "full",
  deny: ["append"],
  byProvider: { local: { deny: ["exec"] } },
  exec: { mode: "allowlist", ask: "off", allowlist: [{ command: "ls", argPattern: "a" }], timeoutSeconds: 5 },
};
const spend = { dayUsd: 1, monthUsd: 1, dayTokens: 1, monthTokens: 1 };
const sandbox = {
  mode: "off",
  backend: "bubblewrap",
  scope: "agent",
  workspaceAccess: "none",
  network: false,
  memoryMb: 64,
};
const place = {
  enabled: true,
  requireMention: true,
  tools: { deny: ["exec"] },
  skills: ["a"],
  systemPrompt: "x",
  agentId: "main",
};

export const rich: JsonObject = {
  gateway: {
    port: 0,
    bind: "loopback",
    auth: { token: "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0" },
    allowedHosts: ["a.example"],
  },
  models: {
    providers: {
      local: {
        api: "openai-completions",
        baseUrl: `${nobody}/v1`,
        apiKey: "a-key-of-nobody",
        headers: { "x-a": "b" },
        timers: { connectSeconds: 1, idleSeconds: 1 },
        models: [
          { id: "m", contextWindow: 1000, maxTokens: 100, input: ["text"], cost: { input: 1, output: 1 } },
        ],
      },
    },
  },
  agents: {
    defaults: {
      workspace: "workspace",
      model: { primary: "local/m", fallbacks: ["rehearsal/rehearsal"] },
      models: { "local/m": { alias: "x", params: { thinking: "low" } } },
      spend,
      maxConcurrent: 4,
      timeoutSeconds: 600,
      userTimezone: "UTC",
      bootstrapMaxChars: 20_000,
      repoRoot: "repo",
      heartbeat: { every: "0m", prompt: "x" },
      contextPruning: {
        ttl: "5m",
        softTrimRatio: 0.3,
        softTrim: { maxChars: 10, headChars: 5, tailChars: 5 },
        tools: { allow: ["exec"] },
      },
      compaction: {
        reserveTokensFloor: 1,
        keepRecentTokens: 1,
        memoryFlush: { softThresholdTokens: 1 },
        postCompactionSections: ["a"],
      },
      startupContext: { dailyMemoryDays: 2, maxFileChars: 100 },
      contextLimits: { toolResultMaxChars: 8_192 },
      sandbox,
    },
    list: [{ id: "main", workspace: "workspace", model: "local/m", skills: ["a"], spend, tools, sandbox }],
  },
  channels: {
    telegram: {
      botToken: "123456:a-token-of-nobody",
      apiRoot: nobody,
      proxy: nobody,
      dmPolicy: "allowlist",
      allowFrom: ["1"],
      groups: { "-100": { ...place, allowFrom: ["1"], topics: { "5": { ...place, allowFrom: ["1"] } } } },
      webhookUrl: "https://a.example/x",
      webhookSecret: "a-secret",
      accounts: { b: { botToken: "223456:a-token-of-nobody", apiRoot: nobody, streaming: "off" } },
    },
    discord: {
      token: "a-token.of.nobody",
      apiRoot: nobody,
      guilds: { "11": { ...place, channels: { "12": { users: ["1"], roles: ["1"] } } } },
    },
    web: { enabled: true },
  },
  bindings: [
    {
      agentId: "main",
      match: { channel: "telegram", accountId: "b", peer: { kind: "dm", id: "5" } },
      session: { dmScope: "main" },
    },
  ],
  session: {
    identityLinks: { alice: ["telegram:1"] },
    reset: { mode: "daily", atHour: 4, idleMinutes: 5 },
    resetByChannel: { telegram: { mode: "none" } },
  },
  messages: {
    queue: { debounceMs: 1, cap: 10 },
    groupChat: { historyLimit: 5 },
    audio: { transcribe: "local/m" },
    tts: { maxTextLength: 100 },
  },
  commands: { ownerAllowFrom: ["telegram:1"], ownerDisplay: "hash", ownerDisplaySecret: "a-key-of-nobody" },
  tools: {
    ...tools,
    rehearsal: true,
    toolsBySender: { "telegram:1": { deny: ["exec"] } },
    fs: { readRoots: ["roots"] },
  },
  approvals: { exec: { approvers: ["telegram:1"], timeoutMinutes: 5 } },
  hooks: {
    token: "a-token-of-nobody",
    maxBodyBytes: 1_000,
    allowedAgentIds: ["main"],
    allowedSessionKeyPrefixes: ["hook:"],
    defaultSessionKey: "hook:inbox",
    mappings: [
      {
        id: "mail",
        match: { path: "mail" },
        action: "agent",
        name: "Mail",
        messageTemplate: "Mail from {{from}}",
        sessionKey: "hook:mail",
        channel: "telegram",
        to: "5",
        model: "a/b",
        thinking: "low",
        timeoutSeconds: 60,
      },
      { match: { path: "ping" }, action: "wake", textTemplate: "ping", wakeMode: "next-heartbeat" },
    ],
    endpoints: {
      ci: {
        agentId: "main",
        secret: "a-secret",
        signatureHeader: "x-s",
        message: "m {{a.b}}",
        deliver: "telegram:default:dm:5",
      },
    },
    internal: { handlers: [{ event: "tool:before", module: "./hook.ts", export: "default" }] },
  },
  skills: {
    load: { extraDirs: ["more"] },
    allowBundled: ["a"],
    entries: { a: { apiKey: "a-key-of-nobody", env: { A: "b" }, config: { a: 1 } } },
  },
  media: { keepDays: 2, maxMegabytes: 1 },
  logging: { level: "error", file: { maxMegabytes: 1, keep: 1 } },
};

type Path = readonly (string | number)[];

const paths: readonly Path[] = pathsOf(rich, []);

function pathsOf(value: Json, path: Path): readonly Path[] {
  const own = path.length === 0 ? [] : [path];
  if (Array.isArray(value))
    return [...own, ...value.flatMap((each, index) => pathsOf(each, [...path, index]))];
  if (typeof value !== "object" || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([key, each]) => pathsOf(each, [...path, key]))];
}

/** In the state folder "a-file" is a file, "dangling" a link to nothing, "there" a folder. */
const oddTexts = [
  "x",
  " ",
  "\0",
  "a\0b",
  "a\nb",
  "../..",
  "/dev/null",
  "/dev/null/x",
  "/proc/none",
  "a-file",
  "a-file/x",
  "dangling",
  "there",
  "new/one",
  "a/".repeat(3000),
  "ä".repeat(300),
  "constructor",
  "__proto__",
  "*",
  "[",
  "\u{1F600}",
  "\ud800",
  "telegram:1",
  "1.2.3.4",
  "::1",
  "http://127.0.0.1:9/x y",
  "http://[::1]:9",
  "http://u:p@127.0.0.1:9",
  "rehearsal/rehearsal",
  "local/m",
  "local/none",
  "openai/x",
  "nobody/x",
  "constructor/x",
  "main",
  "web",
  "default",
  "${HOME}",
  "1s",
  "999999d",
  "full",
  "off",
  "Europe/Berlin",
  "tool:after",
  "5",
  "-100",
];
const oddText = fc.constantFrom(...oddTexts);
const oddNumber = fc.constantFrom(0, 1, -1, 0.1, 2, 1e-9, 23, 1_000, 65_535, 2 ** 31, 2 ** 53 - 1, 1e308);

/** Never gone: without their address, bots would call the platforms. */
const isKept = (path: Path): boolean =>
  path.some((step, at) => step === "apiRoot" || (step === "channels" && at === path.length - 1));

function oddAt(path: Path): fc.Arbitrary<(config: JsonObject) => JsonObject> {
  const now = valueAt(rich, path);
  const value: fc.Arbitrary<Json | undefined> =
    typeof now === "string"
      ? oddText
      : typeof now === "number"
        ? oddNumber
        : typeof now === "boolean"
          ? fc.boolean()
          : fc.oneof(
              fc.constant(undefined),
              fc.constant(Array.isArray(now) ? [] : {}),
              Array.isArray(now) ? fc.array(oddText, { maxLength: 2 }) : fc.constant({}),
            );
  const kept = path.includes("apiRoot")
    ? fc.constantFrom<Json>(nobody, `${nobody}/`, "http://[::1]:9", "nothing", "ftp://127.0.0.1")
    : value;
  const optional =
    isKept(path) || path.includes("telegram") || path.includes("discord")
      ? kept
      : fc.oneof({ weight: 4, arbitrary: kept }, { weight: 1, arbitrary: fc.constant(undefined) });
  return optional.map((to) => (config) => withValue(config, path, to) as JsonObject);
}

/** One to four places changed. */
export const oddConfigs: fc.Arbitrary<JsonObject> = fc
  .array(fc.constantFrom(...paths).chain(oddAt), { minLength: 1, maxLength: 4 })
  .map((changes) => changes.reduce((config, change) => change(config), rich));

function valueAt(value: Json, [step, ...rest]: Path): Json {
  if (step === undefined) return value;
  return valueAt((value as { readonly [key: string | number]: Json })[step] ?? null, rest);
}

function withValue(value: Json | undefined, [step, ...rest]: Path, to: Json | undefined): Json | undefined {
  if (step === undefined) return to;
  // Another change was here before.
  if (typeof value !== "object" || value === null) return value;
  const copy = new Map<string, Json>(Object.entries(value));
  const inner = withValue(copy.get(String(step)), rest, to);
  if (inner === undefined) copy.delete(String(step));
  else copy.set(String(step), inner);
  return Array.isArray(value) ? [...copy.values()] : Object.fromEntries(copy);
}
