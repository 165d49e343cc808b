// A key copied from the config of another gateway is refused, and the problem says what to do in its place.
import { expect, test } from "vitest";
import { problemsOf } from "./load-text.ts";

const telegram = (block: string): string => `{ channels: { telegram: { botToken: "t", ${block} } } }`;

test.for([
  [telegram('tokenFile: "/t"'), "channels.telegram.tokenFile", 'Use botToken: { file: "path" }'],
  [
    telegram('accounts: { w: { botToken: "u", historyLimit: 9 } }'),
    "channels.telegram.accounts.w.historyLimit",
    "messages.groupChat",
  ],
  [
    telegram('groups: { "-5": { errorPolicy: "once" } }'),
    'channels.telegram.groups["-5"].errorPolicy',
    "tells its own conversation once",
  ],
  [
    telegram('groups: { "-5": { topics: { "7": { toolsBySender: {} } } } }'),
    undefined,
    "tools.toolsBySender",
  ],
  [telegram("webhookPort: 8787"), "channels.telegram.webhookPort", "gateway.port"],
  ["{ session: { sendPolicy: {} } }", "session.sendPolicy", "enabled: false"],
  [
    "{ messages: { groupChat: { mentionPatterns: [] } } }",
    "messages.groupChat.mentionPatterns",
    "requireMention",
  ],
  ["{ channels: { discord: { textChunkLimit: 2000 } } }", "channels.discord.textChunkLimit", "Remove it"],
  ["{ channels: { discord: { dm: { enabled: true } } } }", "channels.discord.dm", "dmPolicy"],
  [
    '{ channels: { discord: { guilds: { "5": { slug: "tea" } } } } }',
    'channels.discord.guilds["5"].slug',
    "by id",
  ],
  [
    '{ channels: { discord: { guilds: { "*": { channels: { "6": { allow: true } } } } } } }',
    undefined,
    "Use enabled",
  ],
  [
    "{ channels: { discord: { intents: { presence: true } } } }",
    "channels.discord.intents.presence",
    "Remove it",
  ],
] as const)("%s", async ([text, path, fix]) => {
  const problems = await problemsOf(text);
  expect(problems).toHaveLength(1);
  if (path !== undefined) expect(problems[0]?.path).toBe(path);
  expect(problems[0]?.message).toMatch(/^unknown key/);
  expect(problems[0]?.fix).toContain(fix);
});

test("a key that only looks like one of an object's own members gets the usual words", async () => {
  const [problem] = await problemsOf(telegram("constructor: 1"));
  expect(problem?.fix).toMatch(/^Known here/);
});
