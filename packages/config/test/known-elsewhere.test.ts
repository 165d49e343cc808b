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

const everyAccount =
  "actions blockStreaming blockStreamingCoalesce botLoopProtection chunkMode configWrites contextVisibility defaultAccount dmHistoryLimit dms draftChunk errorPolicy execApprovals healthMonitor historyLimit joinIntro markdown mediaMaxMb mentionPatterns name responsePrefix retry silentReply streamMode textChunkLimit threadBindings timeoutSeconds commands";
const everyAgent =
  "blockStreamingBreak blockStreamingChunk blockStreamingCoalesce blockStreamingDefault contextInjection contextTokens elevatedDefault envelopeTimezone humanDelay identity mediaMaxMb name params promptMode skipBootstrap systemPromptOverride thinkingLevel typingIntervalSeconds typingMode verboseDefault";
const everySearch = "cache experimental extraPaths local multimodal store";
const everySync = "intervalMinutes onSessionStart watch watchDebounceMs";
const everyExec = "applyPatch backgroundMs host node notifyOnExit pathPrepend safeBins timeoutSec";

/** What other gateways have at each place. */
const elsewhere: { readonly [block: string]: string } = {
  "": "mcpServers agent auth canvasHost env identity meta plugins routing talk ui wizard",
  "channels.telegram": `${everyAccount} direct dmScope linkPreview network pollingStallThresholdMs richMessages token tokenFile trustedLocalFileRoots webhookCertPath webhookHost webhookPath webhookPort`,
  "channels.telegram.groups.-5": "botLoopProtection errorPolicy historyLimit mentionPatterns toolsBySender",
  "channels.telegram.accounts.w.groups.-5.topics.7": "historyLimit",
  "channels.discord": `${everyAccount} activity agentComponents applicationId autoPresence botToken dangerouslyAllowNameMatching dm groupAllowFrom ignoreOtherMentions maxLinesPerMessage mentionAliases pluralkit presence requireMention status tokenFile voice`,
  "channels.discord.guilds.5":
    "allow allowFrom botLoopProtection historyLimit presenceEvents reactionNotifications slug",
  "channels.discord.accounts.w.guilds.5.channels.6": "slug",
  "channels.discord.intents": "guildMembers presence voiceStates",
  session: "groupScope mainKey maintenance resetTriggers scope sendPolicy",
  "session.resetByType": "dm",
  messages: "inbound responsePrefix statusReactions",
  "messages.groupChat": "mentionPatterns unmentionedInbound visibleReplies",
  "messages.queue": "byChannel",
  "mcp.servers.x": "alwaysAllow autoApprove disabled timeout",
  agents: "entries",
  "agents.defaults": everyAgent,
  "agents.defaults.compaction": "maxHistoryShare model reserveTokens",
  "agents.defaults.compaction.memoryFlush": "prompt systemPrompt",
  "agents.defaults.heartbeat": "ackMaxChars session to",
  "agents.defaults.models.lab/m.params": "cacheRetention maxTokens temperature",
  "agents.defaults.memorySearch": everySearch,
  "agents.defaults.memorySearch.sync": everySync,
  "agents.list.0": `${everyAgent} default groupChat`,
  "agents.list.0.memorySearch": everySearch,
  "agents.list.0.memorySearch.sync": everySync,
  "agents.list.0.tools.exec": everyExec,
  commands: "allowFrom bash config debug native restart text useAccessGroups",
  cron: "failureAlert failureDestination jobs retry skipMissedJobs store triggers webhook webhookToken",
  "cron.runLog": "maxBytes",
  hooks: "allowRequestSessionKey path presets transformsDir",
  "hooks.internal": "installs",
  logging: "consoleLevel consoleStyle redactPatterns redactSensitive",
  memory: "backend qmd",
  models: "mode",
  "models.providers.lab": "auth authHeader",
  "models.providers.lab.models.0": "api name",
  skills: "install",
  "skills.load": "watch watchDebounceMs",
  tools: "bash elevated loopDetection media",
  "tools.exec": everyExec,
  "tools.web": "x_search",
  "tools.web.fetch": "firecrawl maxCharsCap maxResponseBytes readability ssrfPolicy userAgent",
  browser: "defaultProfile profiles ssrfPolicy",
};

interface Block {
  [key: string]: Block | number;
}

test("the whole words for every key that other gateways have", async () => {
  const file: Block = {};
  for (const [place, keys] of Object.entries(elsewhere)) {
    let block = file;
    for (const step of place === "" ? [] : place.split(".")) block = (block[step] ??= {}) as Block;
    for (const key of keys.split(" ")) block[key] = 1;
  }
  const asLists = (_: string, value: unknown): unknown =>
    typeof value === "object" && value !== null && "0" in value
      ? [{ id: "main", ...(value[0] as object) }]
      : value;
  const told = (await problemsOf(JSON.stringify(file, asLists)))
    .filter(({ message }) => message.startsWith("unknown key"))
    .map(({ path, fix }) => `${path}: ${fix}`);
  await expect([...told, ""].join("\n")).toMatchFileSnapshot("tables/elsewhere.txt");
});
