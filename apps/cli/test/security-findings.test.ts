// All that the doctor says of a config that lets much in, in its words and order; and for each thing alone
// what it finds and, a step before it, what it does not.
import { homedir } from "node:os";
import type { Config } from "@parley/config";
import { expect, test } from "vitest";
import { isNear } from "../src/doctor/security/near.ts";
import { securityFindings } from "../src/doctor/security/security.ts";

const hidden = (value: string) => ({ reveal: () => value });
const places = { home: "/home/olga/.parley", configPath: "/home/olga/.parley/parley.json5" };
const strong = "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0";
const agent = {
  id: "main",
  sandbox: { mode: "off", network: false },
  tools: { exec: { mode: "allowlist", ask: "always" } },
};
const account = { dmPolicy: "allowlist", allowFrom: ["1"], groupPolicy: "allowlist" };

/** Nothing of it lets in more than it should. */
const safe = {
  gateway: {
    auth: { token: hidden(strong) },
    bind: "loopback",
    allowedHosts: [],
    trustedProxies: [],
    metrics: { openOnLoopback: false },
    publicUrl: undefined as string | undefined,
  },
  channels: { telegram: {} as object, discord: {} as object },
  agents: { list: [agent] as readonly object[] },
  limits: { person: {}, place: {} },
  session: { dmScope: "per-channel-peer" },
  bindings: [] as readonly object[],
  tools: {
    fs: { readRoots: [] as readonly string[] },
    rehearsal: false,
    taint: "ask",
    web: {
      fetch: { enabled: false },
      search: { enabled: false },
      egress: { allow: [] as readonly string[] },
    },
    sessions: { visibility: "tree" },
    agentToAgent: { enabled: false },
    message: { crossContext: "owner" },
  },
  browser: {
    enabled: false,
    evaluateEnabled: false,
    noSandbox: false,
    cdpUrl: undefined as string | undefined,
  },
  hooks: {
    token: undefined as object | undefined,
    endpoints: {} as object,
    mappings: [] as readonly object[],
  },
  mcp: { servers: {} as object },
  models: { providers: {} as object },
  telemetry: { traces: undefined as object | undefined },
  store: { redis: undefined as object | undefined },
  backup: {
    everyHours: undefined as number | undefined,
    folder: "backups",
    passphrase: undefined as object | undefined,
  },
};

const found = (more: object, file: object = {}, home = places.home) =>
  securityFindings({ ...safe, ...more } as unknown as Config, { ...places, home } as never, file as never);
const ids = (...args: Parameters<typeof found>): readonly string[] =>
  found(...args).map(({ level, id }) => (level === "ok" ? "safe" : `${level} ${id}`));

const full = { ...agent, tools: { exec: { mode: "full", ask: "always" } } };
const open = { ...account, dmPolicy: "open" };
const gateway = (more: object) => ({ gateway: { ...safe.gateway, ...more } });
const tools = (more: object) => ({ tools: { ...safe.tools, ...more } });
const browser = (more: object) => ({ browser: { ...safe.browser, ...more } });
const telegram = (more: object, id = "default") => ({
  channels: { telegram: { [id]: { ...account, ...more } }, discord: {} },
});
const agents = (...list: readonly object[]) => ({ agents: { list } });
const server = (command: string, ...args: readonly string[]) => ({
  mcp: { servers: { s: { enabled: true, command, args } } },
});
const provider = (baseUrl: string, apiKey: object | undefined = hidden("k")) => ({
  models: { providers: { p: { baseUrl, apiKey } } },
});
const traces = (more: object) => ({
  telemetry: { traces: { endpoint: "http://far.example", headers: {}, includeContent: false, ...more } },
});
const backup = (more: object) => ({ backup: { ...safe.backup, everyHours: 1, folder: "/b", ...more } });
const held = { limits: { person: { dayUsd: 1 }, place: {} } };

test.each<readonly [string, object, readonly string[]]>([
  ["nothing", {}, ["safe"]],
  ["no token of its own", gateway({ auth: { token: undefined } }), ["safe"]],
  ["a weak token", gateway({ auth: { token: hidden("abcdefghijkl") } }), ["error gateway.token.weak"]],
  [
    "a weak token of webhooks, here alone",
    { hooks: { token: hidden("password"), endpoints: {}, mappings: [] } },
    ["safe"],
  ],
  [
    "a weak token of webhooks that others reach",
    { ...gateway({ bind: "lan" }), hooks: { token: hidden("password"), endpoints: {}, mappings: [] } },
    ["error hooks.token.weak", "warn gateway.bind"],
  ],
  [
    "a weak secret of one webhook behind a proxy, and a good one",
    {
      ...gateway({ trustedProxies: ["10.0.0.1"] }),
      hooks: { token: hidden(`${strong}x`), endpoints: { ci: { secret: hidden("short") } }, mappings: [] },
    },
    ["error hooks.token.weak"],
  ],
  [
    "the token of a mapping that is weak, and the secret of one that is the gateway's own",
    {
      ...gateway({ publicUrl: "https://a.example" }),
      hooks: {
        endpoints: {},
        mappings: [{ token: hidden(`${strong}x`) }, { token: hidden("short"), secret: hidden(strong) }],
      },
    },
    ["error hooks.token.weak", "error hooks.token.reused"],
  ],
  [
    "webhooks with the gateway's own token",
    { hooks: { token: hidden(strong), endpoints: {}, mappings: [] } },
    ["error hooks.token.reused"],
  ],
  ["another machine's address", gateway({ bind: "lan" }), ["warn gateway.bind"]],
  ["::1", gateway({ bind: "::1" }), ["safe"]],
  ["a name of a proxy", gateway({ allowedHosts: ["a.example"] }), ["safe"]],
  ["any name", gateway({ allowedHosts: ["a.example", "*"] }), ["error gateway.allowed-hosts"]],
  ["a proxy network of /8", gateway({ trustedProxies: ["10.0.0.0/8"] }), ["safe"]],
  [
    "a proxy network of /7",
    gateway({ trustedProxies: ["10.0.0.1", "10.0.0.0/7"] }),
    ["error gateway.trusted-proxies"],
  ],
  ["open metrics", gateway({ metrics: { openOnLoopback: true } }), ["safe"]],
  [
    "open metrics behind a proxy",
    gateway({ metrics: { openOnLoopback: true }, trustedProxies: ["10.0.0.1"] }),
    ["warn gateway.metrics-open"],
  ],
  ["a plain address of one's own", gateway({ publicUrl: "http://10.0.0.1" }), ["safe"]],
  ["a plain address", gateway({ publicUrl: "http://a.example" }), ["warn gateway.public-plain"]],
  ["one who may write", telegram({}), ["safe"]],
  [
    "all who may write, by a list, within limits",
    { ...telegram({ allowFrom: ["*"] }), ...held, ...agents({ ...agent, sandbox: { mode: "all" } }) },
    ["warn channel.dm-open"],
  ],
  ["pairing though the list has all", telegram({ dmPolicy: "pairing", allowFrom: ["*"] }), ["safe"]],
  [
    "open to all",
    telegram(open),
    ["warn channel.dm-open", "warn channel.open-unlimited", "warn channel.open-unsandboxed"],
  ],
  [
    "open groups, with a cap of the agent",
    { ...telegram({ groupPolicy: "open" }), ...agents({ ...agent, spend: { dayUsd: 1 } }) },
    ["warn channel.group-open", "warn channel.open-unsandboxed"],
  ],
  [
    "open groups, with caps that are none",
    { ...telegram({ groupPolicy: "open" }), limits: { person: { dayUsd: undefined }, place: {} } },
    ["warn channel.group-open", "warn channel.open-unlimited", "warn channel.open-unsandboxed"],
  ],
  [
    "open, within a place's limits",
    { ...telegram(open), limits: { person: {}, place: { messagesPerHour: 1 } } },
    ["warn channel.dm-open", "warn channel.open-unsandboxed"],
  ],
  [
    "open, and any command",
    { ...telegram(open), ...held, ...agents(full) },
    ["warn channel.dm-open", "error channel.open-exec", "warn exec.full"],
  ],
  [
    "a random secret of a webhook",
    telegram({ webhook: { secret: hidden("b7Qe2xKf9sVh4TnWz8Lc") } }),
    ["safe"],
  ],
  [
    "one that can be guessed",
    telegram({ webhook: { secret: hidden("x".repeat(20)) } }),
    ["warn channel.webhook-secret"],
  ],
  ["any command in a sandbox", agents({ ...full, sandbox: { mode: "all", network: false } }), ["safe"]],
  [
    "any command beside the main session's",
    agents({ ...full, sandbox: { mode: "non-main", network: false } }),
    ["warn exec.full"],
  ],
  [
    "any command unasked",
    agents({ ...full, tools: { exec: { mode: "full", ask: "off" } } }),
    ["error exec.unasked"],
  ],
  [
    "allowed commands unasked",
    agents({ ...agent, tools: { exec: { mode: "allowlist", ask: "off" } } }),
    ["safe"],
  ],
  ["folders to read", tools({ fs: { readRoots: ["/srv", "/home/olga/x"] } }), ["safe"]],
  ...["/", "/etc", "/root", "/home", homedir()].map(
    (root) => [root, tools({ fs: { readRoots: [root] } }), ["warn fs.read-roots"]] as const,
  ),
  ["rehearsal", tools({ rehearsal: true }), ["warn tools.rehearsal"]],
  ["no taint, nothing read", tools({ taint: "off" }), ["safe"]],
  [
    "no taint, pages fetched",
    tools({ taint: "off", web: { ...safe.tools.web, fetch: { enabled: true } } }),
    ["warn tools.taint"],
  ],
  [
    "no taint, the web searched",
    tools({ taint: "off", web: { ...safe.tools.web, search: { enabled: true } } }),
    ["warn tools.taint"],
  ],
  [
    "no taint, a browser",
    { ...tools({ taint: "off" }), ...browser({ enabled: true }) },
    ["warn tools.taint"],
  ],
  ["all sessions of one agent", tools({ sessions: { visibility: "all" } }), ["safe"]],
  [
    "all sessions of all agents",
    tools({ sessions: { visibility: "all" }, agentToAgent: { enabled: true } }),
    ["warn sessions.visible"],
  ],
  ["messages everywhere", tools({ message: { crossContext: "all" } }), ["warn message.everywhere"]],
  ["scripts of a browser that is off", browser({ evaluateEnabled: true, noSandbox: true }), ["safe"]],
  ["scripts of a browser", browser({ enabled: true, evaluateEnabled: true }), ["warn browser.evaluate"]],
  ["a browser without its sandbox", browser({ enabled: true, noSandbox: true }), ["warn browser.no-sandbox"]],
  ["a browser near by", browser({ cdpUrl: "ws://browser:1" }), ["safe"]],
  ["a browser far away", browser({ cdpUrl: "WS://far.example" }), ["warn transport.browser"]],
  [
    "networks of /16 and IPv6",
    tools({ web: { ...safe.tools.web, egress: { allow: ["10.1.0.0/16", "fd00::/8", "a:1"] } } }),
    ["safe"],
  ],
  [
    "a network of /15",
    tools({ web: { ...safe.tools.web, egress: { allow: ["10.0.0.0/15"] } } }),
    ["warn egress.wide"],
  ],
  [
    "a network of /9",
    tools({ web: { ...safe.tools.web, egress: { allow: ["10.0.0.0/9"] } } }),
    ["warn egress.wide"],
  ],
  [
    "a sandbox's network without a sandbox",
    agents({ ...agent, sandbox: { mode: "off", network: true } }),
    ["safe"],
  ],
  [
    "a sandbox with the web alone",
    agents({ ...agent, sandbox: { mode: "all", network: "egress" } }),
    ["safe"],
  ],
  [
    "a sandbox with the host's network",
    agents({ ...agent, sandbox: { mode: "all", network: true } }),
    ["warn sandbox.network"],
  ],
  ["a program of a version", server("npx", "-y", "@a/b@1.2.3"), ["safe"]],
  ["a program of a version, without a scope", server("/usr/bin/npx", "b@1"), ["safe"]],
  ["the newest of a scope", server("npx", "-y", "@a/b"), ["warn mcp.unpinned"]],
  ["the newest by its tag", server("bunx", "b@latest"), ["warn mcp.unpinned"]],
  ["the newest of Python", server("uvx", "b"), ["warn mcp.unpinned"]],
  ["a version of Python", server("uvx", "b==1.0"), ["safe"]],
  ["a version of Python, by its sign", server("uvx", "b@1.0"), ["safe"]],
  ["the newest by pnpm", server("pnpx", "b"), ["warn mcp.unpinned"]],
  ["a version by pnpm", server("pnpx", "@a/b@2"), ["safe"]],
  ["the newest of a scope, by bun", server("bunx", "@a/b@next"), ["warn mcp.unpinned"]],
  ["options alone", server("npx", "-y"), ["safe"]],
  ["a program that is there", server("/usr/bin/node", "server.js"), ["safe"]],
  [
    "a server that is off",
    { mcp: { servers: { s: { enabled: false, command: "npx", args: ["b"] } } } },
    ["safe"],
  ],
  ["one main session and one person", { session: { dmScope: "main" }, ...telegram({}) }, ["safe"]],
  [
    "one main session and two",
    { session: { dmScope: "main" }, ...telegram({ allowFrom: ["1", "2"] }) },
    ["error session.shared"],
  ],
  [
    "one main session and whoever pairs",
    { session: { dmScope: "main" }, ...telegram({ dmPolicy: "pairing", allowFrom: [] }) },
    ["error session.shared"],
  ],
  [
    "one main session and all of a list of one",
    { session: { dmScope: "main" }, ...telegram({ allowFrom: ["*"] }), ...held, ...agents() },
    ["warn channel.dm-open", "error session.shared"],
  ],
  [
    "one main session and strangers on Discord alone",
    {
      session: { dmScope: "main" },
      channels: { telegram: {}, discord: { default: { ...open, allowFrom: [] } } },
      ...held,
      ...agents(),
    },
    ["warn channel.dm-open", "error session.shared"],
  ],
  [
    "a binding to it",
    { bindings: [{ session: { dmScope: "main" } }], ...telegram({ allowFrom: ["1", "2"] }) },
    ["error session.shared"],
  ],
  [
    "a binding to another",
    { bindings: [{ session: { dmScope: "per-peer" } }, {}], ...telegram({ allowFrom: ["1", "2"] }) },
    ["safe"],
  ],
  ["a provider's key in the clear", provider("http://far.example"), ["warn transport.provider"]],
  ["a provider without a key", { models: { providers: { p: { baseUrl: "http://far.example" } } } }, ["safe"]],
  ["a provider near by", provider("http://10.0.0.1"), ["safe"]],
  ["a channel's token in the clear", telegram({ apiRoot: "http://far.example" }), ["warn transport.channel"]],
  ["traces without words", traces({}), ["safe"]],
  ["traces with words", traces({ includeContent: true }), ["warn transport.traces"]],
  ["traces with a key", traces({ headers: { a: "b" } }), ["warn transport.traces"]],
  ["traces with words, near by", traces({ includeContent: true, endpoint: "http://10.0.0.1" }), ["safe"]],
  ["Redis far away", { store: { redis: { url: hidden("redis://db.example") } } }, ["warn transport.redis"]],
  ["Redis far away, encrypted", { store: { redis: { url: hidden("rediss://db.example") } } }, ["safe"]],
  ["plain backups elsewhere", backup({}), ["warn backup.plain"]],
  ["no backups", backup({ everyHours: undefined }), ["safe"]],
  ["backups beside the state", backup({ folder: "backups" }), ["safe"]],
  ["encrypted backups", backup({ passphrase: hidden("p") }), ["safe"]],
])("%s", (_what, more, expected) => {
  expect(ids(more)).toEqual(expected);
});

test.each([
  [true, ["http://localhost:1", "http://redis", "http://127.0.0.1", "http://127.255.0.1", "http://10.9.8.7"]],
  [
    true,
    ["http://192.168.0.1", "http://172.16.0.1", "http://172.31.255.1", "http://172.20.0.1", "/run/x.sock"],
  ],
  [true, ["http://[::1]:1", "http://[fc00::1]", "http://[fd12::1]", "http://[fe80::1]", "nowhere"]],
  [
    false,
    ["http://a.example", "http://128.0.0.1", "http://11.0.0.1", "http://192.169.0.1", "http://1.10.0.1"],
  ],
  [
    false,
    ["http://172.15.0.1", "http://172.32.0.1", "http://10.example.org", "http://127.0.0.1.example.org"],
  ],
  [false, ["http://[::2]", "http://[2001:db8::1]", "http://[fe00::1]"]],
])("near is %s of %j", (near, urls) => {
  expect(urls.map((url) => [url, isNear(url)])).toEqual(urls.map((url) => [url, near]));
});

test.each([
  ["/home/olga/.parley", "safe"],
  ["/home/olga/Dropbox/parley", "warn home.synced"],
  ["/home/olga/OneDrive - Work/parley", "warn home.synced"],
  ["/Users/olga/Library/Mobile Documents/x", "warn home.synced"],
  ["/home/olga/Nextcloud", "warn home.synced"],
  ["/home/olga/OneDrive", "warn home.synced"],
  ["/home/olga/Google Drive/x", "warn home.synced"],
  ["/home/olga/GoogleDrive", "warn home.synced"],
  ["/home/olga/iCloudDrive/x", "warn home.synced"],
  ["/home/olga/Syncthing/x", "warn home.synced"],
  ["/home/olga/pCloudDrive/x", "warn home.synced"],
  ["/home/olga/Library/Other/x", "safe"],
  ["/home/olga/Nextcloud2", "safe"],
  ["/home/olga/MyDropbox/parley", "safe"],
])("a state folder at %s is %s", (home, id) => {
  expect(ids({}, {}, home)).toEqual([id]);
});

test("of a list with everybody in it the list is named", () => {
  const [dm] = found({ ...telegram({ allowFrom: ["1", "*"] }), ...held });
  expect([dm?.message, dm?.fix]).toEqual([
    'telegram:default: the allowlist has "*", which is everybody: anybody who finds the bot may talk to the agent, at your cost',
    'List people in channels.telegram.allowFrom instead of "*", or set channels.telegram.dmPolicy to "pairing"',
  ]);
});

test("each finding says what is so, where, and what to do", () => {
  const discord = { work: { ...open, groupPolicy: "open", apiRoot: "http://far.example" } };
  const all = found(
    {
      ...gateway({
        auth: { token: hidden("abcdefghijkl") },
        bind: "0.0.0.0",
        allowedHosts: ["*"],
        trustedProxies: ["0.0.0.0/0", "10.0.0.1"],
        metrics: { openOnLoopback: true },
        publicUrl: "http://a.example",
      }),
      channels: { telegram: { default: { ...open, webhook: { secret: hidden("short") } } }, discord },
      ...agents(full, { ...full, id: "two", sandbox: { mode: "non-main", network: true } }),
      ...tools({ fs: { readRoots: ["/etc", "/srv", "/"] } }),
      session: { dmScope: "main" },
      ...provider("http://far.example"),
      ...server("npx", "-y", "notes"),
      ...backup({}),
    },
    { a: "[secret]", b: { c: ["x", "[secret]"], d: { env: "E" } }, e: "secret" },
  );
  expect(all.map(({ level, id, message, fix }) => `${level} ${id}: ${message}\n  ${fix}`).join("\n"))
    .toMatchInlineSnapshot(`
    "error gateway.token.weak: gateway.auth.token gives full control and can be guessed: it has 12 characters, fewer than 16
      Run \`parley config unset gateway.auth.token\`: a random one is then made
    warn gateway.bind: gateway.bind "0.0.0.0" lets other machines reach the control plane, without encryption
      Use "loopback" behind a reverse proxy with TLS, or a VPN
    error gateway.allowed-hosts: gateway.allowedHosts has "*": any web page may then reach the gateway by another name
      List the names of your proxy instead
    error gateway.trusted-proxies: gateway.trustedProxies has 0.0.0.0/0: strangers may then say that they are anybody
      List the addresses of your proxies
    warn gateway.metrics-open: gateway.metrics.openOnLoopback is set behind a proxy: one that does not say for whom it asks shows everybody the metrics
      Run \`parley config unset gateway.metrics.openOnLoopback\`, and give the scraper a token
    warn gateway.public-plain: gateway.publicUrl http://a.example is not encrypted: codes and tokens travel readable
      Put TLS before the gateway, and write https
    warn channel.dm-open: telegram:default: dmPolicy is "open": anybody who finds the bot may talk to the agent, at your cost
      Set channels.telegram.dmPolicy to "pairing" or "allowlist"
    warn channel.open-unlimited: telegram:default is open to strangers, and nothing limits what one of them may spend
      Set limits.person, for example { messagesPerMinute: 10, dayUsd: 1 }
    error channel.open-exec: telegram:default is open to strangers, and main, two may run any command
      Close the channel, or set tools.exec.mode to "allowlist"
    warn channel.webhook-secret: telegram:default: webhookSecret can be guessed: it has 5 characters, fewer than 16
      Use what \`openssl rand -hex 32\` prints: whoever has it writes as anybody
    warn channel.dm-open: discord:work: dmPolicy is "open": anybody who finds the bot may talk to the agent, at your cost
      Set channels.discord.accounts.work.dmPolicy to "pairing" or "allowlist"
    warn channel.group-open: discord:work: the bot serves every group that anybody adds it to
      Set channels.discord.accounts.work.groupPolicy to "allowlist"
    warn channel.open-unlimited: discord:work is open to strangers, and nothing limits what one of them may spend
      Set limits.person, for example { messagesPerMinute: 10, dayUsd: 1 }
    error channel.open-exec: discord:work is open to strangers, and main, two may run any command
      Close the channel, or set tools.exec.mode to "allowlist"
    warn exec.full: main, two may run any command on this machine
      Set tools.exec.mode to "allowlist", or agents.defaults.sandbox.mode to "all"
    warn fs.read-roots: tools.fs.readRoots has /etc, /: keys and passwords of others lie there
      List the folders that are really needed
    warn sandbox.network: Sandboxed commands of two reach this machine's own servers
      Set sandbox.network to "egress": the web alone
    warn mcp.unpinned: mcp.servers.s starts the newest notes that somebody published, with its rights on this machine
      Name a version (notes@1.2.3), or install it
    error session.shared: session.dmScope is "main" and several people may write: each of them sees what the others said to the agent
      Set session.dmScope to "per-channel-peer"
    warn config.secrets: /home/olga/.parley/parley.json5 itself holds a, b.c.1
      Write { env: "NAME" } or { file: "secrets/name" } in their place, so that the file can be shown and copied
    warn transport.provider: The key of models.providers.p travels unencrypted to http://far.example
      Use https
    warn transport.channel: The token of channels.discord.accounts.work travels unencrypted to its apiRoot
      Use https
    warn backup.plain: The backups in /b are not encrypted: they hold all chats
      Set backup.passphrase, as { file: "secrets/backup" }"
  `);
});

test("each of the other findings says so, too", () => {
  const hooks = {
    token: hidden(strong),
    endpoints: { ci: { token: hidden("short") } },
    mappings: [{ secret: hidden("password") }],
  };
  const all = found(
    {
      ...gateway({ publicUrl: "https://a.example" }),
      hooks,
      channels: { telegram: {}, discord: { default: open } },
      ...agents(
        { ...agent, id: "bare" },
        {
          ...full,
          id: "free",
          tools: { exec: { mode: "full", ask: "off" } },
          sandbox: { mode: "all", network: false },
        },
      ),
      ...tools({
        rehearsal: true,
        taint: "off",
        web: {
          fetch: { enabled: true },
          search: { enabled: false },
          egress: { allow: ["10.0.0.0/8", "0.0.0.0/0"] },
        },
        sessions: { visibility: "all" },
        agentToAgent: { enabled: true },
        message: { crossContext: "all" },
      }),
      ...browser({ enabled: true, evaluateEnabled: true, noSandbox: true, cdpUrl: "ws://far.example" }),
      ...traces({ includeContent: true }),
      store: { redis: { url: hidden("redis://db.example") } },
    },
    {},
    "/home/olga/Dropbox",
  );
  const unasked = found(agents({ ...full, tools: { exec: { mode: "full", ask: "off" } } }));
  const bare = found({ ...telegram({ groupPolicy: "open" }), ...held });
  const told = [...all, ...unasked, ...bare.slice(-1), ...found({})];
  expect(told.map(({ level, id, message, fix }) => `${level} ${id}: ${message}\n  ${fix}`).join("\n"))
    .toMatchInlineSnapshot(`
      "error hooks.token.reused: hooks.token is gateway.auth.token: who may call a webhook may do everything
        Write what \`openssl rand -hex 32\` prints
      error hooks.token.weak: hooks.endpoints.ci.token lets other machines make the agent work, and can be guessed: it has 5 characters, fewer than 16
        Write what \`openssl rand -hex 32\` prints
      error hooks.token.weak: hooks.mappings[0].secret lets other machines make the agent work, and can be guessed: it has 8 characters, fewer than 16
        Write what \`openssl rand -hex 32\` prints
      warn channel.dm-open: discord:default: dmPolicy is "open": anybody who finds the bot may talk to the agent, at your cost
        Set channels.discord.dmPolicy to "pairing" or "allowlist"
      warn channel.open-unlimited: discord:default is open to strangers, and nothing limits what one of them may spend
        Set limits.person, for example { messagesPerMinute: 10, dayUsd: 1 }
      error channel.open-exec: discord:default is open to strangers, and free may run any command
        Close the channel, or set tools.exec.mode to "allowlist"
      warn tools.rehearsal: The rehearsal tools are on
        Run \`parley config unset tools.rehearsal\`
      warn tools.taint: Agents that read the web send and spend outside without asking: a page can tell them to
        Run \`parley config unset tools.taint\`
      warn sessions.visible: tools.sessions.visibility "all" shows an owner's turn the sessions of other agents too
        Use "tree" or "agent", unless one person owns all agents
      warn message.everywhere: tools.message.crossContext is "all": whoever talks to the agent can have it write to other people
        Use "owner"
      warn browser.evaluate: Agents may run scripts of their own in pages where they are logged in
        Run \`parley config unset browser.evaluateEnabled\`
      warn browser.no-sandbox: Chromium runs without its own sandbox: a page that breaks out has the daemon's rights
        Run the gateway as a user that is not root, then \`parley config unset browser.noSandbox\`
      warn egress.wide: tools.web.egress.allow opens 10.0.0.0/8, 0.0.0.0/0: pages can lead an agent to every machine there
        List the hosts that are needed, with their ports
      warn transport.traces: Traces with what was said, or with a key, travel unencrypted to http://far.example
        Use https
      warn transport.browser: The browser of agents is steered unencrypted over browser.cdpUrl: whoever is between reads its logins
        Use wss or https, or a browser on this machine
      warn transport.redis: Chats travel unencrypted to Redis on another machine
        Use "rediss://", or a network of their own
      warn home.synced: The state folder /home/olga/Dropbox is copied by a sync program: chats and keys leave this machine, and the database can break
        Set PARLEY_HOME to a folder that is not synced
      error exec.unasked: main may run any command on this machine, and nobody is asked
        Set tools.exec.mode to "allowlist", or agents.defaults.sandbox.mode to "all"
      warn channel.open-unsandboxed: telegram:default is open to strangers, and the tools of main run on this machine itself
        Set agents.defaults.sandbox.mode to "non-main" or "all", or take tools away by tools.toolsBySender
      ok security: Nothing in the config lets more in than it should
        "
    `);
});
