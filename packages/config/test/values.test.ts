// What each place of the config takes and what it refuses, for the rules that no JSON Schema tells: names,
// addresses, spans, patterns. After a wanted change: `vitest run --project @parley/config values -u`.
import { expect, test } from "vitest";
import { problemsOf } from "./load-text.ts";

const longer = (text: string, chars: number): string => text.repeat(chars);
const ids = [
  "1",
  "12345678901234567890",
  "123456789012345678901",
  "-5",
  "0",
  "01",
  "1a",
  " 1",
  "",
  "*",
  "**",
];
const people = ["telegram:1", "web:web-1", "tele_gram-2:1", "Telegram:1", "1:1", "telegram:", "telegram:1 2"];
const spans = ["0m", "1s", "24h", "123456d", "1234567d", "1w", "m", "1.5h", "-1h"];
const refs = ["openai/gpt-5", "openai/a/b", "openai//b", "a/b", "/b", "a/", "a", "a b/c", "a/b c", "a/b "];
const webAddresses = [
  "http://a.example",
  "https://a.example/x/",
  "HTTPS://a.example",
  "http:a",
  "ftp://a.example",
  "wss://a.example",
  "a.example",
  "javascript:https://a",
  "",
];
const httpOnly = ["http://a.example", "HTTPS://a.example/x", "ftp://a.example", "a.example"];
const headers = ["X-A", "a.b!#$%&'*+^_`|~9", "a b", "a:b", "ä", "", longer("h", 128), longer("h", 129)];
const variables = ["A", "_a1", "1A", "A-B", "A B", "", longer("V", 128), longer("V", 129)];
const agentIds = ["main", "a1_-", "1a", "-a", "_a", "A", "ä", "a.b", "", longer("a", 64), longer("a", 65)];
const roles = ["1", "12345678901234567890", "123456789012345678901", "-5", "0", "*", ""];

/** Of a place the value that is tried there; `file` puts it into a file that is right without it. */
const places: readonly (readonly [string, readonly unknown[], (value: never) => object])[] = [
  [
    "gateway.bind",
    ["loopback", "127.0.0.1", "::1", "Loopback", "localhost", "1.2.3", "127.0.0.1:80", ""],
    (bind: string) => ({ gateway: { bind, auth: { token: "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0" } } }),
  ],
  [
    "gateway.publicUrl",
    [...webAddresses, "https://a.example/?", "https://a.example/#x", "https://a.example:8443"],
    (publicUrl: string) => ({ gateway: { publicUrl } }),
  ],
  [
    "gateway.allowedHosts[0]",
    [
      "a.Example",
      "10.0.0.1",
      "[::1]",
      "a-b",
      "2001:db8::5",
      "a.example:8443",
      "[a]",
      "http://a",
      "a/b",
      "a_b",
      "a b",
      "ä.example",
      "",
    ],
    (host: string) => ({ gateway: { allowedHosts: [host] } }),
  ],
  [
    "models.providers",
    ["openai", "OpenAI", "a.b_c-1", "9", ".a", "-a", "a b", "a/b", "", longer("p", 64), longer("p", 65)],
    (name: string) => ({
      models: { providers: { [name]: { api: "ollama", baseUrl: "http://127.0.0.1:1" } } },
    }),
  ],
  [
    "models.providers.openai.baseUrl",
    httpOnly,
    (baseUrl: string) => ({ models: { providers: { openai: { baseUrl } } } }),
  ],
  [
    "models.providers.openai.api",
    ["google", "google-generative-ai", "openai-responses", "openai"],
    (api: string) => ({ models: { providers: { openai: { api } } } }),
  ],
  [
    "models.providers.openai.headers",
    headers,
    (name: string) => ({ models: { providers: { openai: { headers: { [name]: "v" } } } } }),
  ],
  [
    "models.providers.openai.timers.idleSeconds",
    [0, 0.1, 3600, 3600.1, -1, "60"],
    (idleSeconds: number) => ({ models: { providers: { openai: { timers: { idleSeconds } } } } }),
  ],
  [
    "models.providers.openai.models[0].contextWindow",
    [0, 1, 1.5, 2_000_000],
    (contextWindow: number) => ({
      models: { providers: { openai: { models: [{ id: "m", contextWindow }] } } },
    }),
  ],
  ["messages.audio.transcribe", refs, (transcribe: string) => ({ messages: { audio: { transcribe } } })],
  [
    "agents.defaults.models",
    ["openai/a", "openai/a/b", "openai", "openai/"],
    (ref: string) => ({ agents: { defaults: { models: { [ref]: {} } } } }),
  ],
  [
    "agents.defaults.models.*.alias",
    [
      "a",
      "Fast.1_2-3",
      "-a",
      "a b",
      "list",
      "STATUS",
      "default",
      "reset",
      "",
      longer("a", 32),
      longer("a", 33),
    ],
    (alias: string) => ({ agents: { defaults: { models: { "openai/a": { alias } } } } }),
  ],
  [
    "agents.defaults.userTimezone",
    ["Europe/Berlin", "europe/berlin", "UTC", "+02:00", "Berlin", "local", ""],
    (userTimezone: string) => ({ agents: { defaults: { userTimezone } } }),
  ],
  [
    "agents.defaults.thinkingDefault",
    ["off", "xhigh", "High", " low ", "loud", ""],
    (thinkingDefault: string) => ({ agents: { defaults: { thinkingDefault } } }),
  ],
  [
    "agents.defaults.contextPruning.ttl",
    spans,
    (ttl: string) => ({ agents: { defaults: { contextPruning: { ttl } } } }),
  ],
  [
    "agents.defaults.heartbeat.every",
    spans,
    (every: string) => ({ agents: { defaults: { heartbeat: { every } } } }),
  ],
  [
    "agents.defaults.heartbeat.target",
    [
      "owner",
      "last",
      "none",
      "telegram:123",
      "telegram:-100:topic:7",
      "discord:user:1",
      "discord:channel:1",
      "discord:thread:1",
      "telegram:default:dm:123",
      "web:default:dm:web-1",
      "Owner",
      "owner ",
      "telegram:x",
      "telegram:1:topic:",
      "discord:1",
      "discord:role:1",
      "telegram:default:dm:",
      "telegram:default:user:1",
    ],
    (target: string) => ({ agents: { defaults: { heartbeat: { target } } } }),
  ],
  [
    "agents.defaults.heartbeat.activeHours.start",
    ["00:00", "08:30", "23:59", "24:00", "24:01", "8:00", "08:60", "08:00 ", "", "1224:00"],
    (start: string) => ({ agents: { defaults: { heartbeat: { activeHours: { start, end: "20:00" } } } } }),
  ],
  [
    "agents.defaults.heartbeat.activeHours.timezone",
    ["user", "local", "Asia/Tokyo", "Tokyo", ""],
    (timezone: string) => ({
      agents: { defaults: { heartbeat: { activeHours: { start: "08:00", end: "20:00", timezone } } } },
    }),
  ],
  [
    "agents.defaults.memorySearch.remote.baseUrl",
    [...webAddresses, "https://", "https://a b"],
    (baseUrl: string) => ({ agents: { defaults: { memorySearch: { remote: { baseUrl } } } } }),
  ],
  [
    "agents.defaults.memorySearch.upkeep.at",
    ["00:00", "23:59", "24:00", "3:30", "03:60", "03:30:00"],
    (at: string) => ({ agents: { defaults: { memorySearch: { upkeep: { at } } } } }),
  ],
  [
    "agents.defaults.sandbox.docker.image",
    ["debian:stable-slim", "a.example:5000/x/y@sha256:0", "_a", "-a", "/a", "a b", ""],
    (image: string) => ({ agents: { defaults: { sandbox: { docker: { image } } } } }),
  ],
  [
    "agents.defaults.sandbox.network",
    [true, false, "egress", "on"],
    (network: string) => ({ agents: { defaults: { sandbox: { network } } } }),
  ],
  ["agents.list[0].id", agentIds, (id: string) => ({ agents: { list: [{ id }] } })],
  [
    "channels.telegram.apiRoot",
    [
      ...webAddresses,
      "http://h:8081/bots",
      "http://h/bot1:s",
      "http://h/bot",
      "http://h/bot1:s/",
      "http://bot",
    ],
    (apiRoot: string) => ({ channels: { telegram: { apiRoot } } }),
  ],
  [
    "channels.telegram.allowFrom[0]",
    [...ids, "tg:7", "TG:7", "Telegram:8", "discord:9", "@ada", "-100", "-x", 7, -7, 0, 1.5, 2 ** 53, true],
    (id: string) => ({ channels: { telegram: { botToken: "t", allowFrom: [id] } } }),
  ],
  [
    "channels.discord.allowFrom[0]",
    [...ids, "discord:7", "DISCORD:7", "tg:7", "@ada", 7],
    (id: string) => ({ channels: { discord: { token: "t", allowFrom: [id] } } }),
  ],
  [
    "channels.telegram.groups",
    ids,
    (id: string) => ({ channels: { telegram: { botToken: "t", groups: { [id]: {} } } } }),
  ],
  [
    "channels.telegram.allowBots",
    [true, false, "mentions", "all"],
    (allowBots: string) => ({ channels: { telegram: { botToken: "t", allowBots } } }),
  ],
  [
    "channels.telegram.customCommands[0].command",
    ["a", "a_1", "A", "a-b", "/a", "", longer("c", 32), longer("c", 33)],
    (command: string) => ({
      channels: { telegram: { botToken: "t", customCommands: [{ command, description: "d" }] } },
    }),
  ],
  [
    "channels.telegram.webhookUrl",
    httpOnly,
    (webhookUrl: string) => ({
      channels: { telegram: { botToken: "t", webhookUrl, webhookSecret: "b7Qe2xKf9sVh4TnWz8Lc" } },
    }),
  ],
  [
    "channels.telegram.webhookSecret",
    ["aZ0_-b7Qe2xKf9sVh4TnWz8", "a b", "ä", longer("x", 256), longer("x", 257)],
    (webhookSecret: string) => ({
      channels: { telegram: { botToken: "t", webhookUrl: "https://a.example", webhookSecret } },
    }),
  ],
  [
    "channels.telegram.proxy",
    ["http://p:1", "http://n:w@p:1", "https://p:1", "socks5://p:1", "http://", "p:1", "http://p:1/x"],
    (proxy: string) => ({ channels: { telegram: { botToken: "t", proxy } } }),
  ],
  [
    "channels.telegram.accounts",
    ["work", "w_-1", "Work", "1w", "-w", "a:b", "", "dm", longer("w", 64), longer("w", 65)],
    (account: string) => ({ channels: { telegram: { accounts: { [account]: { botToken: "u" } } } } }),
  ],
  ["browser.cdpUrl", webAddresses, (cdpUrl: string) => ({ browser: { cdpUrl } })],
  [
    "bindings[0].match.peer.id",
    [...ids, "web-x", "web-", "web-a b"],
    (id: string) => ({
      bindings: [{ agentId: "main", match: { channel: "web", peer: { kind: "dm", id } } }],
    }),
  ],
  [
    "bindings[0].match.guildId",
    roles,
    (guildId: string) => ({ bindings: [{ agentId: "main", match: { channel: "discord", guildId } }] }),
  ],
  ["commands.ownerAllowFrom[0]", people, (id: string) => ({ commands: { ownerAllowFrom: [id] } })],
  ["commands.nativeSkills", [true, "auto", "on"], (nativeSkills: string) => ({ commands: { nativeSkills } })],
  [
    "cron.sessionRetention",
    ["1s", "12345d", "123456d", "1w"],
    (sessionRetention: string) => ({ cron: { sessionRetention } }),
  ],
  [
    "hooks.sessionRetention",
    ["1s", "12345d", "123456d", "1w"],
    (sessionRetention: string) => ({ hooks: { sessionRetention } }),
  ],
  [
    "hooks.endpoints",
    ["ci", "9_-", "CI", "-ci", "a/b", "", longer("h", 64), longer("h", 65)],
    (name: string) => ({ hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", endpoints: { [name]: {} } } }),
  ],
  [
    "hooks.endpoints.ci.signatureHeader",
    headers,
    (signatureHeader: string) => ({
      hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", endpoints: { ci: { signatureHeader } } },
    }),
  ],
  [
    "hooks.internal.entries.x.env",
    variables,
    (name: string) => ({ hooks: { internal: { entries: { x: { env: { [name]: "v" } } } } } }),
  ],
  [
    "hooks.internal.entries.x.sha256",
    [longer("0f", 32), longer("0F", 32), longer("0", 63), longer("0", 65)],
    (sha256: string) => ({ hooks: { internal: { entries: { x: { sha256 } } } } }),
  ],
  [
    "mcp.servers",
    ["a", "A-b_c", "9", "-a", "_a", "a__b", "a.b", "", longer("s", 31), longer("s", 32)],
    (name: string) => ({ mcp: { servers: { [name]: { command: "c" } } } }),
  ],
  [
    "mcp.servers.x.env",
    variables,
    (name: string) => ({ mcp: { servers: { x: { command: "c", env: { [name]: "v" } } } } }),
  ],
  [
    "mcp.servers.x.env.NAME",
    ["", "a b\tc", "a\nb", "a\rb", "a\0b"],
    (value: string) => ({ mcp: { servers: { x: { command: "c", env: { NAME: value } } } } }),
  ],
  [
    "mcp.servers.x.headers",
    headers,
    (name: string) => ({ mcp: { servers: { x: { url: "https://a.example", headers: { [name]: "v" } } } } }),
  ],
  ["mcp.servers.x.url", httpOnly, (url: string) => ({ mcp: { servers: { x: { url } } } })],
  [
    "session.identityLinks",
    ["alice", "a_-1", "Alice", "1", "-a", "a.b", "web-x", "", longer("n", 64), longer("n", 65)],
    (name: string) => ({ session: { identityLinks: { [name]: ["web:web-1"] } } }),
  ],
  [
    "store.redis.url",
    ["redis://h", "rediss://h:1/0", "/run/r.sock", "redis://", "http://h", "run/r.sock", "redis:h"],
    (url: string) => ({ store: { driver: "redis", redis: { url } } }),
  ],
  [
    "store.redis.keyPrefix",
    ["Parley_1-x", "a:b", "", longer("k", 64), longer("k", 65)],
    (keyPrefix: string) => ({ store: { redis: { url: "redis://h", keyPrefix } } }),
  ],
  ["telemetry.traces.endpoint", httpOnly, (endpoint: string) => ({ telemetry: { traces: { endpoint } } })],
  [
    "tools.exec.allowlist[0]",
    ["git", "", { command: "git" }, { command: "git", argPattern: "a|b" }, { argPattern: "a" }, 7],
    (allowed: object) => ({ tools: { exec: { allowlist: [allowed] } } }),
  ],
  [
    "tools.exec.allowlist[0].argPattern",
    ["a)(b", "a)|(b", "(?:a)", "\\d+", "[", "\\c", "a{1}", "{"],
    (argPattern: string) => ({ tools: { exec: { allowlist: [{ command: "git", argPattern }] } } }),
  ],
  [
    "tools.toolsBySender",
    ["*", "telegram:1", "telegram:*", "telegram:ada", "signal:1", "1"],
    (id: string) => ({ tools: { toolsBySender: { [id]: {} } } }),
  ],
  [
    "tools.web.egress.allow[0]",
    [
      "a.example",
      "a.example:8443",
      "10.0.0.0/32",
      "10.0.0.0/33",
      "fd00::/128",
      "fd00::/129",
      "fd00::/0",
      "10.0.0.0/",
      "10.0.0.0/8/8",
      "*.a.example",
      "a*.example",
      "a.example/x",
      "a?b",
      "a#b",
      "n@a.example",
      "a\\b",
      "a b",
      "a.example:99999",
      "",
    ],
    (host: string) => ({ tools: { web: { egress: { allow: [host] } } } }),
  ],
  [
    "tools.web.egress.deny[0]",
    ["*.a.example", "*a.example", "*.*.example", "*.", "*"],
    (host: string) => ({ tools: { web: { egress: { deny: [host] } } } }),
  ],
  [
    "update.url",
    [
      "https://a.example/x",
      "https://",
      "http://a.example",
      "http://127.0.0.1:8/x",
      "http://127.0.0.1",
      "http://127.0.0.1.a.example/",
      "http://localhost/x",
      "http://localhost.a.example/",
      "http://[::1]:8/",
      "/srv/releases",
      "srv/releases",
      " https://a.example",
    ],
    (url: string) => ({ update: { url } }),
  ],
  [
    "update.publicKey",
    ["-----BEGIN PUBLIC KEY-----\nx", " -----BEGIN PUBLIC KEY-----", "-----BEGIN PRIVATE KEY-----", ""],
    (publicKey: string) => ({ update: { publicKey } }),
  ],
];

const short = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.length > 40 && typeof value === "string" ? `${text.slice(0, 5)}..." of ${value.length}` : text;
};

test("what each place takes, and the words for what it refuses", async () => {
  let table = "";
  for (const [place, values, file] of places) {
    const taken: string[] = [];
    const refused: string[] = [];
    for (const value of values) {
      const problems = await problemsOf(JSON.stringify(file(value as never)), { OPENAI_API_KEY: "k" });
      if (problems.length === 0) taken.push(short(value));
      for (const { path, message, fix = "" } of problems) {
        const at = path.startsWith(place) ? "" : `${path}: `;
        const more = fix.startsWith("See ") ? "" : `. ${fix}`;
        refused.push(`  not ${short(value)}: ${at}${message}${more}\n`);
      }
    }
    table += `${place}\n  takes ${taken.join("  ")}\n${refused.join("")}`;
  }
  await expect(table).toMatchFileSnapshot("tables/values.txt");
});
