// Recognizes keys that people copy from the configs of other gateways, and names the key that does the same
// in Parley, or says that none is needed. Such keys stay unknown and are refused; only the fix says more than
// a list of keys would.
import type { ConfigPath } from "../problem.ts";

type Fixes = { readonly [key: string]: string };

const streaming = 'Use streaming: "edit", "block" or "off"';
const approvals = "Use approvals.exec: approvers, target, timeoutMinutes";
const history = "Use messages.groupChat.historyLimit, which holds for every channel";
const mentions =
  "Remove it: a mention, a reply or a command calls the agent; requireMention: false at a group lets it answer to everything";
const prefix = "Remove it: answers are sent as they are";
const errors = "Remove it: a failed turn tells its own conversation once";
const threads =
  "Remove it: every thread and topic is a conversation of its own, and sub-agents open theirs when the agent wants it";
const noAck = "Remove it: typing is shown while the agent works";

/** Of an account of any chat platform. */
const account: Fixes = {
  actions:
    'Remove it, or narrow what the agent may do with tools: { deny: ["message"] } at a group, or tools.deny',
  blockStreaming: streaming,
  blockStreamingCoalesce: streaming,
  botLoopProtection: "Remove it: with allowBots loops of bots are cut by a fixed rule",
  chunkMode: "Remove it: a long text is cut between paragraphs, then lines, then words",
  configWrites: "Remove it: Parley does not write to this file by itself",
  contextVisibility: "Remove it: only what allowed senders say is kept as context",
  defaultAccount: 'Name the account "default"; bindings choose others by accountId',
  dmHistoryLimit:
    "Remove it: a private conversation is kept whole and compacted (agents.defaults.compaction)",
  dms: "Remove it: a private conversation is kept whole and compacted (agents.defaults.compaction)",
  draftChunk: streaming,
  errorPolicy: errors,
  execApprovals: approvals,
  healthMonitor: "Remove it: a stalled connection is found and made anew by itself",
  historyLimit: history,
  joinIntro: "Remove it: the agent does not speak before it is spoken to",
  markdown: "Remove it: tables become preformatted text where the platform has none",
  mediaMaxMb: "Remove it: the platform's own limits hold for files",
  mentionPatterns: mentions,
  name: "Remove it, and say in a comment what the account is for",
  responsePrefix: prefix,
  retry: "Remove it: what certainly was not sent is tried again for 24 hours, as late as the platform asks",
  silentReply: "Use agents.defaults.silentReply",
  streamMode: streaming,
  textChunkLimit: "Remove it: messages are as long as the platform takes them",
  threadBindings: threads,
  timeoutSeconds: "Remove it: every call to the platform has its deadline",
};

const gatewayPort =
  "Remove it: the gateway's own port (gateway.port) serves POST /telegram/<account>; point webhookUrl at it through your proxy";

const telegram: Fixes = {
  ...account,
  commands: "Use commands.nativeSkills; the menu of commands is kept by itself",
  direct: "Bind the chat to an agent with rules of its own (bindings with peer), or use tools.toolsBySender",
  dmScope: "Use session.dmScope",
  linkPreview: "Remove it: answers show no link previews",
  network: "Remove it: addresses of both families are tried",
  pollingStallThresholdMs: "Remove it: a poll that is not answered in time is ended and made anew",
  richMessages: "Remove it: answers are text with entities",
  token: "Use botToken",
  tokenFile: 'Use botToken: { file: "path" }',
  trustedLocalFileRoots: "Remove it: files are fetched over the Bot API",
  webhookCertPath: gatewayPort,
  webhookHost: gatewayPort,
  webhookPath: gatewayPort,
  webhookPort: gatewayPort,
};

const noPresence = "Remove it: the bot is shown as online while it is connected";
const slug = 'Remove it: servers and channels are named by id, or "*"';

const discord: Fixes = {
  ...account,
  activity: noPresence,
  agentComponents: "Remove it: a button counts once, for as long as its message stands",
  applicationId: "Remove it: Discord tells it by itself",
  autoPresence: noPresence,
  botToken: "Use token",
  commands: "Use commands.nativeSkills; the menu of commands is kept by itself",
  dangerouslyAllowNameMatching: "Remove it: people are known by id, because names can be copied",
  dm: 'Use dmPolicy ("disabled" for none) and allowFrom',
  groupAllowFrom: "Use users or roles at the server or channel under guilds; with neither, allowFrom speaks",
  ignoreOtherMentions: "Put it into guilds, at the server or the channel",
  maxLinesPerMessage: "Remove it: a message is cut by its characters only",
  mentionAliases: "Remove it: mentions in answers ring nobody",
  pluralkit:
    'Remove it: what a proxy writes comes from a webhook, which allowBots: "mentions" lets through where it calls',
  presence: noPresence,
  requireMention: "Put it into guilds, at the server or the channel",
  status: noPresence,
  tokenFile: 'Use token: { file: "path" }',
  voice: "Remove it: recordings are heard, voice channels are not joined",
};

const discordPlace: Fixes = {
  allow: "Use enabled",
  allowFrom: "Use users, or roles",
  botLoopProtection: "Remove it: with allowBots loops of bots are cut by a fixed rule",
  historyLimit: history,
  presenceEvents: "Remove it: who comes online wakes nobody",
  reactionNotifications: "Put it beside guilds: it holds for the whole account",
  slug,
};

const blocks: { readonly [block: string]: Fixes } = {
  "channels.telegram": telegram,
  "channels.telegram.groups": {
    botLoopProtection: "Remove it: with allowBots loops of bots are cut by a fixed rule",
    errorPolicy: errors,
    historyLimit: history,
    mentionPatterns: mentions,
    toolsBySender: "Use tools.toolsBySender, beside the other tools settings; tools here are for everybody",
  },
  "channels.discord": discord,
  "channels.discord.guilds": discordPlace,
  "channels.discord.intents": {
    guildMembers: "Remove it: roles are asked for one by one",
    presence: "Remove it: who is online is not looked at",
    voiceStates: "Remove it: voice channels are not joined",
  },
  session: {
    groupScope: "Remove it: every group has a conversation of its own",
    mainKey: 'Remove it: the shared conversation of dmScope "main" is always called main',
    maintenance: "Remove it: what ended is tidied up by itself",
    resetTriggers: "Remove it: /new and /reset begin anew, and words behind them are the first message",
    scope: "Use session.dmScope, which says who shares a conversation in private",
    sendPolicy: 'Say where the agent speaks: groups with enabled: false, dmPolicy: "disabled", bindings',
  },
  "session.resetByType": { dm: 'Use "direct"' },
  messages: {
    inbound:
      "Remove it: parts of one message are waited for by themselves; messages.queue.debounceMs is for the mode collect",
    responsePrefix: prefix,
    statusReactions: noAck,
  },
  "messages.groupChat": {
    mentionPatterns: mentions,
    unmentionedInbound:
      "Remove it: what nobody called the agent for is context; requireMention: false at a group makes it a question",
    visibleReplies: "Remove it: an answer is always sent to where its question came from",
  },
  "": { mcpServers: "Use mcp: { servers: { … } }" },
  "mcp.servers": {
    alwaysAllow: "Remove it: what tools may be used is said by tools.allow and tools.deny",
    autoApprove: "Remove it: what tools may be used is said by tools.allow and tools.deny",
    disabled: "Use enabled: false",
    timeout: "Use timeoutSeconds",
  },
  "messages.queue": { byChannel: "Remove it: /queue sets the mode of one conversation" },
};

/** What to do in place of writing the key at this path; null for a key that nobody is known to have. */
export function fixOfKnownElsewhere(at: ConfigPath): string | null {
  const key = String(at.at(-1));
  const fixes = blocks[blockOf(at.slice(0, -1))];
  return fixes !== undefined && Object.hasOwn(fixes, key) ? (fixes[key] ?? null) : null;
}

/** The block's name, the same for each account and each group or topic. */
function blockOf(at: ConfigPath): string {
  const [first, channel, ...rest] = at;
  if (first === "mcp" && channel === "servers" && rest.length === 1) return "mcp.servers";
  if (first !== "channels") return at.join(".");
  const [step, ...inner] = rest[0] === "accounts" ? rest.slice(2) : rest;
  return (step === "groups" || step === "guilds") && inner.length > 0
    ? `channels.${channel}.${step}`
    : ["channels", channel, ...(step === undefined ? [] : [step])].join(".");
}
