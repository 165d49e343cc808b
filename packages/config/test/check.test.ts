import { createHash } from "node:crypto";
import fc from "fast-check";
import { reservedWords } from "@parley/protocol";
import { laterAnswerTable } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { tokenWeakness } from "../src/index.ts";
import { loadText, problemsOf } from "./load-text.ts";

const telegram = (block: string): string => `{ channels: { telegram: { botToken: "t", ${block} } } }`;

/** [what the file says, path of the one problem, what it says] */
const refused: readonly (readonly [string, string, RegExp])[] = [
  [telegram('dmPolicy: "open"'), "channels.telegram.dmPolicy", /must say so/],
  [telegram('dmPolicy: "open", allowFrom: ["123"]'), "channels.telegram.dmPolicy", /must say so/],
  [telegram('dmPolicy: "allowlist"'), "channels.telegram.dmPolicy", /lets nobody in/],
  [telegram('allowFrom: ["@alice"]'), "channels.telegram.allowFrom[0]", /is a name/],
  [telegram('allowFrom: ["alice"]'), "channels.telegram.allowFrom[0]", /is not a telegram id/],
  [telegram('allowFrom: ["0x7b"]'), "channels.telegram.allowFrom[0]", /is not a telegram id/],
  [telegram('allowFrom: ["007"]'), "channels.telegram.allowFrom[0]", /is not a telegram id/],
  [telegram('allowFrom: [""]'), "channels.telegram.allowFrom[0]", /is not a telegram id/],
  [telegram("allowFrom: [12345678901234567890]"), "channels.telegram.allowFrom[0]", /is not exact/],
  [telegram("allowFrom: [1.5]"), "channels.telegram.allowFrom[0]", /is not exact/],
  ["{ hooks: { endpoints: { x: {} } } }", "hooks.endpoints.x", /anybody could call it/],
  [
    '{ hooks: { token: "t", endpoints: { x: { agentId: "gone" } } } }',
    "hooks.endpoints.x.agentId",
    /no agent "gone"/,
  ],
  [
    '{ hooks: { token: "t", endpoints: { x: { deliver: "123" } } } }',
    "hooks.endpoints.x.deliver",
    /no conversation key|not a conversation key/,
  ],
  [
    '{ hooks: { token: "t", endpoints: { x: { deliver: "telegram:default:dm:1" } } } }',
    "hooks.endpoints.x.deliver",
    /no account telegram:default/,
  ],
  ['{ hooks: { token: "t", endpoints: { "a/b": {} } } }', 'hooks.endpoints["a/b"]', /name of a webhook/],
  ['{ hooks: { mappings: [{ match: { path: "ci" } }] } }', "hooks.mappings[0]", /^anybody could call it$/],
  [
    '{ hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", mappings: [{ match: { path: "ci" } }, { match: { path: "cd" } }, { match: { path: "ci" } }] } }',
    "hooks.mappings[2].match.path",
    /^\/hooks\/ci is taken by another webhook$/,
  ],
  [
    '{ hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", endpoints: { ci: {} }, mappings: [{ match: { path: "ci" } }] } }',
    "hooks.mappings[0].match.path",
    /^\/hooks\/ci is taken by another webhook$/,
  ],
  [
    '{ hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", mappings: [{ match: { path: "ci" }, agentId: "gone" }] } }',
    "hooks.mappings[0].agentId",
    /no agent "gone"/,
  ],
  [
    '{ agents: { list: [{ id: "one" }, { id: "two" }] }, bindings: [{ agentId: "one", match: { channel: "web", accountId: "default" } }], hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", endpoints: { ci: {} } } }',
    "hooks.endpoints.ci",
    /^nothing says which agent is told$/,
  ],
  [
    telegram('accounts: { work: { botToken: "u", webhookUrl: "https://a.example/t" } }'),
    "channels.telegram.accounts.work.webhookUrl",
    /forged/,
  ],
  [telegram('groups: { "my group": {} }'), 'channels.telegram.groups["my group"]', /numeric id/],
  ['{ store: { driver: "redis" } }', "store.driver", /where Redis is/],
  ['{ store: { driver: "redis", redis: {} } }', "store.redis.url", /a secret is/],
  ['{ store: { redis: { url: "http://a.example" } } }', "store.redis.url", /no address of a Redis/],
  ['{ store: { redis: { url: "redis://" } } }', "store.redis.url", /no address of a Redis/],
  [
    '{ store: { redis: { url: "/run/redis.sock", keyPrefix: "a{b}" } } }',
    "store.redis.keyPrefix",
    /a prefix has/,
  ],
  [telegram('webhookUrl: "https://a.example/t"'), "channels.telegram.webhookUrl", /forged/],
  [
    telegram('accounts: { work: { botToken: "t" } }'),
    "channels.telegram.accounts.work.botToken",
    /same token/,
  ],
  [telegram('proxy: "socks5://a.example:1"'), "channels.telegram.proxy", /no address of an HTTP proxy/],
  [telegram('proxy: "a.example:8080"'), "channels.telegram.proxy", /no address of an HTTP proxy/],
  [
    telegram('apiRoot: "https://a.example/bot1:secret/"'),
    "channels.telegram.apiRoot",
    /^this is an address of one bot/,
  ],
  [
    '{ channels: { discord: { token: "t", accounts: { work: { token: "t" } } } } }',
    "channels.discord.accounts.work.token",
    /same token/,
  ],
  [
    '{ channels: { discord: { accounts: { a: { token: "t" }, b: { token: "t" } } } } }',
    "channels.discord.accounts.b.token",
    /same token/,
  ],
  ["{ channels: { discord: { accounts: { work: {} } } } }", "channels.discord.accounts.work", /has no token/],
  [
    '{ channels: { discord: { token: "t", dmPolicy: "allowlist", allowFrom: ["*"] } } }',
    "channels.discord.dmPolicy",
    /lets nobody in/,
  ],
  [
    '{ channels: { discord: { accounts: { w: { token: "t", dmPolicy: "open" } } } } }',
    "channels.discord.accounts.w.dmPolicy",
    /must say so/,
  ],
  [
    '{ channels: { discord: { accounts: { "a:b": { token: "t" } } } } }',
    'channels.discord.accounts["a:b"]',
    /not an account id/,
  ],
  [
    '{ agents: { defaults: { models: { "rehearsal/rehearsal": { alias: "Reset" } } } } }',
    'agents.defaults.models["rehearsal/rehearsal"].alias',
    /a word of \/model itself/,
  ],
  ['{ messages: { audio: { transcribe: "nope/whisper" } } }', "messages.audio.transcribe", /does not exist/],
  [
    '{ skills: { entries: { x: { env: { LD_PRELOAD: "y" } } } } }',
    "skills.entries.x.env.LD_PRELOAD",
    /LD_PRELOAD/,
  ],
  [telegram("accounts: { work: {} }"), "channels.telegram.accounts.work", /has no botToken/],
  [telegram('accounts: { dm: { botToken: "u" } }'), "channels.telegram.accounts.dm", /word of session keys/],
  [
    telegram('accounts: { "My Bot": { botToken: "u" } }'),
    'channels.telegram.accounts["My Bot"]',
    /not an account id/,
  ],
  [
    telegram('accounts: { w: { botToken: "u", dmPolicy: "open" } }'),
    "channels.telegram.accounts.w.dmPolicy",
    /must say so/,
  ],
  [
    telegram('groupAllowFrom: ["-100123"]'),
    "channels.telegram.groupAllowFrom[0]",
    /is a group, not a person/,
  ],
  [telegram("allowFrom: [-100123]"), "channels.telegram.allowFrom[0]", /is a group, not a person/],
  [
    telegram('groups: { "-5": { allowFrom: ["@alice"] } }'),
    'channels.telegram.groups["-5"].allowFrom[0]',
    /is a name/,
  ],
  [telegram('groups: { "-5": { users: ["1"] } }'), 'channels.telegram.groups["-5"].users', /unknown key/],
  [
    telegram('groups: { "-5": { agentId: "gone" } }'),
    'channels.telegram.groups["-5"].agentId',
    /no agent "gone"/,
  ],
  [
    telegram('groups: { "-5": { topics: { "7": { agentId: "gone" } } } }'),
    'channels.telegram.groups["-5"].topics["7"].agentId',
    /no agent "gone"/,
  ],
  [
    '{ channels: { discord: { accounts: { w: { token: "t", guilds: { "1": { channels: { "2": { agentId: "gone" } } } } } } } } }',
    'channels.discord.accounts.w.guilds["1"].channels["2"].agentId',
    /no agent "gone"/,
  ],
  [
    telegram('webhookUrl: "https://a.example/t", webhookSecret: "not allowed"'),
    "channels.telegram.webhookSecret",
    /would not take/,
  ],
  [
    '{ bindings: [{ agentId: "gone", match: { channel: "telegram" } }] }',
    "bindings[0].agentId",
    /no agent "gone"/,
  ],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "constructor", accountId: "a" } }] }',
    "bindings[0].match.channel",
    /no channel/,
  ],
  [
    '{ hooks: { endpoints: { ci: { token: "t", deliver: "constructor:default:dm:1" } } } }',
    "hooks.endpoints.ci.deliver",
    /no account constructor:default/,
  ],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "signal" } }] }',
    "bindings[0].match.channel",
    /no channel "signal"/,
  ],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "telegram", accountId: "work" } }] }',
    "bindings[0].match.accountId",
    /no account/,
  ],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "discord", roles: ["1"] } }] }',
    "bindings[0].match.roles",
    /none is named/,
  ],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "telegram", peer: { kind: "dm", id: "@alice" } } }] }',
    "bindings[0].match.peer.id",
    /numeric id/,
  ],
  ['{ agents: { list: [{ id: "a" }, { id: "b" }] } }', "agents.list", /no agent would answer on web:default/],
  ['{ session: { reset: { mode: "idle" } } }', "session.reset.mode", /how long a pause/],
  [
    '{ session: { resetByType: { thread: { mode: "idle" } } } }',
    "session.resetByType.thread.mode",
    /how long a pause/,
  ],
  ['{ session: { resetByType: { dm: { mode: "daily" } } } }', "session.resetByType.dm", /unknown key/],
  ['{ session: { reset: { mode: "daily", atHour: 24 } } }', "session.reset.atHour", /24/],
  ['{ gateway: { bind: "lan" } }', "gateway.bind", /no token/],
  ['{ gateway: { bind: "192.168.1.5" } }', "gateway.bind", /no token/],
  ['{ gateway: { bind: "::" } }', "gateway.bind", /no token/],
  ['{ agents: { defaults: { model: "nope/m1" } } }', "agents.defaults.model", /does not exist/],
  [
    '{ models: { providers: { p: { api: "ollama", baseUrl: "http://h", models: [{ id: "a" }] } } }, agents: { defaults: { model: "p/b" } } }',
    "agents.defaults.model",
    /not among the models/,
  ],
  [
    '{ agents: { defaults: { model: { fallbacks: ["nope/m"] } } } }',
    "agents.defaults.model",
    /does not exist/,
  ],
  [
    '{ agents: { list: [{ id: "main" }, { id: "a", model: "nope/m" }] } }',
    "agents.list[1].model",
    /does not exist/,
  ],
  ['{ models: { providers: { mine: { api: "ollama" } } } }', "models.providers.mine", /no baseUrl/],
  ['{ agents: { list: [{ id: "Main Agent" }] } }', "agents.list[0].id", /agent id/],
  ['{ agents: { list: [{ id: "a" }, { id: "a" }] } }', "agents.list[1].id", /twice/],
  ["{ agents: { list: [] } }", "agents.list", /at least one agent/],
  [
    '{ session: { identityLinks: { Alice: ["telegram:1"] } } }',
    "session.identityLinks.Alice",
    /not a link name/,
  ],
  [
    '{ session: { identityLinks: { "web-x": ["telegram:1"] } } }',
    "session.identityLinks.web-x",
    /web visitors/,
  ],
  ['{ session: { identityLinks: { a: ["telegram:*"] } } }', "session.identityLinks.a[0]", /everybody/],
  ['{ session: { identityLinks: { a: ["telegram:@bob"] } } }', "session.identityLinks.a[0]", /is a name/],
  ['{ session: { identityLinks: { a: ["telegram:bob"] } } }', "session.identityLinks.a[0]", /is a name/],
  [
    '{ session: { identityLinks: { a: ["telegramm:1"] } } }',
    "session.identityLinks.a[0]",
    /no channel "telegramm"/,
  ],
  [
    '{ session: { identityLinks: { a: ["constructor:1"] } } }',
    "session.identityLinks.a[0]",
    /no channel "constructor"/,
  ],
  [
    '{ session: { resetByChannel: { telegramm: { mode: "daily" } } } }',
    "session.resetByChannel.telegramm",
    /no channel "telegramm"/,
  ],
  ['{ session: { identityLinks: { a: ["123"] } } }', "session.identityLinks.a[0]", /<channel>:<id>/],
  [
    '{ bindings: [{ agentId: "main", match: { channel: "web" } }, { agentId: "main", match: { channel: "web", accountId: "default" } }] }',
    "bindings[1].match",
    /bindings\[0\] says the same/,
  ],
  ['{ commands: { ownerAllowFrom: ["telegram:@bob"] } }', "commands.ownerAllowFrom[0]", /is a name/],
  ['{ commands: { ownerAllowFrom: ["telegram:1", "tg:2"] } }', "commands.ownerAllowFrom[1]", /no channel/],
  ['{ approvals: { exec: { approvers: ["discord:*"] } } }', "approvals.exec.approvers[0]", /everybody/],
  ['{ tools: { toolsBySender: { "123": {}, "*": {} } } }', 'tools.toolsBySender["123"]', /no channel/],
  [
    '{ session: { identityLinks: { a: ["telegram:1"], b: ["discord:2", "telegram:1"] } } }',
    "session.identityLinks.b[1]",
    /already/,
  ],
];

test.for(refused)("%s is refused at %s", async ([text, path, message]) => {
  const problems = await problemsOf(text);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatchObject({ path, line: 1 });
  expect(problems[0]?.message).toMatch(message);
});

test("an image model that its own provider does not list is refused; a well-known service has more than is listed", async () => {
  const models = `models: { providers: {
    brush: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [{ id: "flux" }] },
    openai: { apiKey: "k", models: [{ id: "gpt-5" }] } } }`;
  const choose = (model: string) =>
    `{ ${models}, agents: { defaults: { model: "openai/gpt-5", imageGenerationModel: "${model}" } } }`;
  const [problem] = await problemsOf(choose("brush/flx"));
  expect(problem).toMatchObject({ path: "agents.defaults.imageGenerationModel" });
  expect(problem?.message).toMatch(/"brush\/flx" is not among the models of "brush"/);
  for (const fine of ["brush/flux", "openai/gpt-image-1"])
    expect((await loadText(choose(fine))).warnings).toEqual([]);
});

describe("accepted", () => {
  test("an image model of a provider that is not there, with a warning; a public address begins links", async () => {
    const { warnings } = await loadText(`{ agents: { defaults: { imageGenerationModel: "nowhere/x" } } }`);
    expect(warnings).toMatchObject([
      { path: "agents.defaults.imageGenerationModel", fix: "Add it under models.providers.nowhere" },
    ]);
    await expect(loadText(`{ gateway: { publicUrl: "https://parley.test/a?b" } }`)).rejects.toThrow(
      /gateway\.publicUrl.*no query/,
    );
    expect((await loadText(`{ gateway: { publicUrl: "https://parley.test/a" } }`)).warnings).toEqual([]);
  });

  test("telegram ids as numbers, with prefixes and as the wildcard", async () => {
    const { config } = await loadText(
      telegram('dmPolicy: "open", allowFrom: [123, "456", "tg:7", "telegram:8", "*"]'),
    );
    expect(config.channels.telegram["default"]?.allowFrom).toEqual(["123", "456", "7", "8", "*"]);
  });

  test.for([
    "b7Qe2xKf9sVh4TnWz8Lc1RmYp6Dg3Ju0",
    "3f9c1e7a5b2d8046",
    "9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d",
    "parley-token-9f86d081884c7d65",
    "9273640518273645091827",
    "kahv-wimpel-sturm-otter-91",
  ])("a bind beyond loopback with the token %s", async (token) => {
    const { config, warnings } = await loadText(`{ gateway: { bind: "lan", auth: { token: "${token}" } } }`);
    expect([config.gateway.bind, warnings]).toEqual(["lan", []]);
  });

  test.for([
    "x",
    "undefined",
    "changeme",
    "changeme-changeme-changeme",
    "CHANGE_ME_BEFORE_PRODUCTION_USE",
    "replace-this-with-a-long-random-string",
    "your-gateway-token-here",
    "[object Object][object Object]",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "abababababababababababababababab",
    "0123456789abcdefghijklmnopqrstuvwxyz",
    "00000000-0000-0000-0000-000000000000",
    "12345678901234567890",
    "my-super-secret-parley-gateway-token",
    "correct-horse-battery-staple",
    "9273640518273645",
    "tR7!tR7!tR7!tR7!tR7!tR7!",
    "1a2B3c-1a2B3c-1a2B3c-1a2",
  ])("no bind beyond loopback with the token %s, which is never shown", async (token) => {
    const [problem] = await problemsOf(`{ gateway: { bind: "lan", auth: { token: "${token}" } } }`);
    expect(problem).toMatchObject({
      path: "gateway.auth.token",
      line: 1,
      fix: expect.stringContaining("openssl rand -hex 32"),
    });
    expect(problem?.message).toContain("can be guessed");
    if (token.length > 1) expect(JSON.stringify(problem)).not.toContain(token);
    const local = await loadText(`{ gateway: { auth: { token: "${token}" } } }`);
    expect(local.config.gateway.bind).toBe("loopback");
  });

  test("a proxy that is trusted is one address or a network, and never everybody", async () => {
    const troubled = async (proxy: string): Promise<boolean> =>
      (await problemsOf(JSON.stringify({ gateway: { trustedProxies: [proxy] } }))).length > 0;
    for (const fine of ["10.0.0.1", "10.0.0.1/32", "10.0.0.0/1", "fd00::1", "fd00::1/128", "fd00::/8"])
      expect([fine, await troubled(fine)]).toEqual([fine, false]);
    for (const wrong of [
      "10.0.0.1/33",
      "10.0.0.0/0",
      "10.0.0.0/08",
      "fd00::/129",
      "fd00::/0",
      "fe80::1%eth0",
      "10.0.0.0/8/8",
      "proxy",
    ])
      expect([wrong, await troubled(wrong)]).toEqual([wrong, true]);
  });

  test("a name of links may begin like the web's, but not as its visitors are called", async () => {
    const paths = async (name: string) =>
      (await problemsOf(JSON.stringify({ session: { identityLinks: { [name]: ["web:web-x"] } } }))).map(
        ({ path }) => path,
      );
    expect([await paths("web"), await paths("webster"), await paths("web_x")]).toEqual([[], [], []]);
    expect(await paths("web-x")).toEqual(["session.identityLinks.web-x"]);
  });

  test("a random token is never called weak", () => {
    for (let run = 0; run < 5_000; run += 1) {
      for (const [bytes, form] of [
        [16, "hex"],
        [32, "hex"],
        [16, "base64url"],
        [24, "base64url"],
        [32, "base64"],
      ] as const) {
        const token = createHash("sha512")
          .update(`${form} ${run}`)
          .digest()
          .subarray(0, bytes)
          .toString(form);
        expect(tokenWeakness(token), token).toBeNull();
      }
    }
  });

  test("links to a channel without an account are told, and refuse nothing", async () => {
    const { warnings } = await loadText(
      '{ session: { identityLinks: { a: ["telegram:1", "discord:2", "web:web-x"] } } }',
      {
        TELEGRAM_BOT_TOKEN: "1:a",
      },
    );
    expect(warnings.map(({ path, message }) => [path, message])).toEqual([
      ["session.identityLinks.a[1]", '"discord:2" is on discord, which has no account here'],
    ]);
  });

  test("a webhook whose token can be guessed is told, without it", async () => {
    const { warnings } = await loadText(
      '{ hooks: { token: "hunter2", endpoints: { ci: { secret: "b7Qe2xKf9sVh4TnWz8Lc" } } } }',
    );
    expect(warnings.map(({ path }) => path)).toEqual(["hooks.token"]);
    expect(JSON.stringify(warnings)).not.toContain("hunter2");
  });

  test("so is Telegram's, of each account that has its own", async () => {
    const { warnings } = await loadText(
      `{ channels: { telegram: { botToken: "1:a", webhookUrl: "https://a.example/t", webhookSecret: "b7Qe2xKf9sVh4TnWz8Lc",
         accounts: { work: { botToken: "2:b", webhookUrl: "https://a.example/w", webhookSecret: "aaaaaaaaaaaaaaaa" } } } } }`,
    );
    expect(warnings.map(({ path, message }) => [path, message])).toEqual([
      ["channels.telegram.accounts.work.webhookSecret", "it can be guessed: it repeats itself"],
    ]);
    expect(JSON.stringify(warnings)).not.toContain("aaaa");
  });

  test("any model of a provider that lists none", async () => {
    const { config } = await loadText('{ agents: { defaults: { model: "openai/some-new-model" } } }', {
      OPENAI_API_KEY: "k",
    });
    expect(config.agents.defaults.model.primary).toBe("openai/some-new-model");
  });

  test("an account takes what it does not say from its channel, but never the token", async () => {
    const { config } = await loadText(
      telegram(
        'dmPolicy: "allowlist", allowFrom: ["1"], groups: { "-5": {} }, accounts: { work: { botToken: "u", allowFrom: ["2"], groups: { "-6": { requireMention: false } } } }',
      ),
    );
    const { default: main, work } = config.channels.telegram;
    expect(main).toMatchObject({ dmPolicy: "allowlist", allowFrom: ["1"], groupAllowFrom: ["1"] });
    expect(work).toMatchObject({ dmPolicy: "allowlist", allowFrom: ["2"], groupAllowFrom: ["2"] });
    expect(Object.keys(work?.groups ?? {})).toEqual(["-6"]);
    expect([main?.botToken.reveal(), work?.botToken.reveal()]).toEqual(["t", "u"]);
  });

  test("a disabled account without a token", async () => {
    expect(
      (await loadText(telegram("accounts: { work: { enabled: false } }"))).config.channels.telegram,
    ).not.toHaveProperty("work");
  });

  test("several agents, none of them main, when bindings name every account whole", async () => {
    const { config } = await loadText(
      '{ agents: { list: [{ id: "a" }, { id: "b" }] }, channels: { telegram: { botToken: "t" } }, bindings: [{ agentId: "a", match: { channel: "web" } }, { agentId: "b", match: { channel: "telegram", accountId: "*" } }] }',
    );
    expect(config.bindings.map(({ match }) => match.accountId)).toEqual(["default", "*"]);
  });

  test('a peer of kind "direct", which is a private chat', async () => {
    const { config } = await loadText(
      '{ bindings: [{ agentId: "main", match: { channel: "telegram", peer: { kind: "direct", id: "123" } } }] }',
    );
    expect(config.bindings[0]?.match.peer).toEqual({ kind: "dm", id: "123" });
  });

  test("a second agent gets a workspace of its own", async () => {
    const { config } = await loadText('{ agents: { list: [{ id: "main" }, { id: "helper" }] } }');
    expect(config.agents.list.map((agent) => agent.workspace)).toEqual([
      "/state/workspace",
      "/state/workspace-helper",
    ]);
  });
});

test.for([...reservedWords])("the word %s never names an account", async (word) => {
  expect(
    (await problemsOf(telegram(`accounts: { "${word}": { botToken: "u" } }`))).map(({ path }) => path),
  ).toEqual([`channels.telegram.accounts.${word}`]);
});

test("whatever JSON stands in the file, it loads or names problems that have a line and a fix", async () => {
  const keys = fc.constantFrom(
    "gateway",
    "channels",
    "telegram",
    "allowFrom",
    "agents",
    "list",
    "model",
    "accounts",
    "x",
    "constructor",
    "",
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 3 }),
      fc.dictionary(keys, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  await fc.assert(
    fc.asyncProperty(fc.dictionary(keys, tree, { maxKeys: 4 }), async (value) => {
      for (const problem of await problemsOf(JSON.stringify(value))) {
        expect(problem.line).toBeGreaterThan(0);
        expect(problem.fix).toMatch(/\S/);
      }
    }),
    { numRuns: 300 },
  );
});

test("of two models with one alias the second is refused with the first's name, whatever the case, and so is every further one", async () => {
  const models =
    '"rehearsal/a": { alias: "quick" }, "rehearsal/b": {}, "rehearsal/c": { alias: "Quick" }, "rehearsal/d": { alias: "QUICK" }';
  const found = await problemsOf(`{ agents: { defaults: { models: { ${models} } } } }`);
  const twice = found.filter(({ message }) => message.includes("is the alias of"));
  expect(twice.map(({ path, message }) => [path, message])).toEqual([
    [`agents.defaults.models["rehearsal/c"].alias`, `"Quick" is the alias of "rehearsal/a" already`],
    [`agents.defaults.models["rehearsal/d"].alias`, `"QUICK" is the alias of "rehearsal/a" already`],
  ]);
});

test("a key that stands twice, or must not stand at all, is named where it stands", async () => {
  const found = await problemsOf(
    '{\n agents: { list: [{ id: "a" }, { id: "b",\n  id: "c", "__proto__": 1 }] } }',
  );
  expect(found.map(({ path, line, column }) => [path, line, column])).toEqual([
    ["agents.list[1].id", 3, 3],
    ["agents.list[1].__proto__", 3, 12],
  ]);
});

test("what does not do what it seems to is told, and refused by nobody", async () => {
  const { warnings } = await loadText(`{
    commands: { ownerAllowFrom: ["telegram:1", "telegram:bob", "discord:0", "web:web-1"] },
    models: { providers: { openai: { models: [{ id: "a", contextWindow: 8000, maxTokens: 8000 },
      { id: "b", contextWindow: 8000, maxTokens: 8001 }, { id: "c", maxTokens: 900000 }] } } },
  }`);
  expect(warnings.map(({ path, line, message, fix }) => [path, line, `${message}. ${fix}`])).toEqual([
    [
      "models.providers.openai.models[1].maxTokens",
      4,
      "an answer of 8001 tokens does not fit into the contextWindow of 8000. Set it well below contextWindow",
    ],
    [
      "commands.ownerAllowFrom[1]",
      2,
      '"telegram:bob" is nobody: ids are numbers there. Use the numeric id; /whoami shows it',
    ],
    [
      "commands.ownerAllowFrom[2]",
      2,
      '"discord:0" is nobody: ids are numbers there. Use the numeric id; /whoami shows it',
    ],
  ]);
});

test("each warning has its place and its whole words", async () => {
  const { warnings } = await loadText(
    `{
    approvals: { exec: { approvers: ["discord:bob"] } },
    channels: { web: { enabled: false }, telegram: { botToken: "1:a b", webhookUrl: "https://a.example", webhookSecret: "b7Qe2xKf9sVh4TnWz8Lc",
      accounts: { work: { botToken: "abc" }, other: { botToken: "abd", apiRoot: "http://own:1", webhookSecret: "aaaaaaaaaaaaaaaa" } } } },
    agents: { defaults: { imageGenerationModel: { primary: "rehearsal/r", fallbacks: ["brush/x"] } } },
    session: { identityLinks: { ada: ["web:web-1", "telegram:1", "discord:2"] } },
    hooks: { token: "b7Qe2xKf9sVh4TnWz8Lc", endpoints: { ci: { token: "short", secret: "b7Qe2xKf9sVh4TnWz8Lc" } },
      mappings: [{ match: { path: "a" } }, { match: { path: "b" }, token: "b7Qe2xKf9sVh4TnWz8Lc", secret: "abc" }] },
  }`,
  );
  expect(warnings.map(({ path, message, fix }) => `${path}: ${message}. ${fix}`)).toMatchInlineSnapshot(`
    [
      "channels.telegram.botToken: this is no token of a bot, so the account stays down. Copy it again from @BotFather: <number>:<secret>",
      "channels.telegram.accounts.work.botToken: this is no token of a bot, so the account stays down. Copy it again from @BotFather: <number>:<secret>",
      "hooks.endpoints.ci.token: it can be guessed: it has 5 characters, fewer than 16. Use what \`openssl rand -hex 32\` prints",
      "hooks.mappings[1].secret: it can be guessed: it has 3 characters, fewer than 16. Use what \`openssl rand -hex 32\` prints",
      "channels.telegram.accounts.other.webhookSecret: it can be guessed: it repeats itself. Use what \`openssl rand -hex 32\` prints",
      "agents.defaults.imageGenerationModel: "rehearsal/r" names the provider "rehearsal", which does not exist, so it makes no pictures. Add it under models.providers.rehearsal",
      "agents.defaults.imageGenerationModel: "brush/x" names the provider "brush", which does not exist, so it makes no pictures. Add it under models.providers.brush",
      "session.identityLinks.ada[0]: "web:web-1" is on web, which has no account here. Set up channels.web, or remove the link",
      "session.identityLinks.ada[2]: "discord:2" is on discord, which has no account here. Set up channels.discord, or remove the link",
      "approvals.exec.approvers[0]: "discord:bob" is nobody: ids are numbers there. Use the numeric id; /whoami shows it",
    ]
  `);
});

const twoAgents = (match: string): string =>
  `{ channels: { telegram: { botToken: "1:t" }, discord: { token: "t" } },
     agents: { list: [{ id: "a" }, { id: "b" }] },
     bindings: [{ agentId: "a", match: { channel: "web" } }, { agentId: "a", match: { channel: "telegram", accountId: "*" } },
       { agentId: "b", match: { channel: "discord", ${match} } }] }`;

test.each([
  ["", null],
  ['accountId: "*"', null],
  ['accountId: "default"', null],
  ['guildId: "1"', "discord:default"],
  ['guildId: "1", roles: ["2"]', "discord:default"],
  ['peer: { kind: "dm", id: "3" }', "discord:default"],
])("a binding that says { %s } leaves nobody without an agent, or is told", async (match, unanswered) => {
  const found = await problemsOf(twoAgents(match));
  expect(found.filter(({ path }) => path === "agents.list")).toEqual(
    unanswered === null
      ? []
      : [expect.objectContaining({ message: expect.stringContaining(`on ${unanswered}:`) })],
  );
});

test("the whole words of every refusal, with the fix (after a wanted change: run with -u)", async () => {
  const table = await laterAnswerTable(
    refused.map(([text]) => text),
    async (text) => (await problemsOf(text)).map(({ path, message, fix }) => `${path}: ${message}. ${fix}`),
  );
  await expect(table).toMatchFileSnapshot("tables/refusals.txt");
});
