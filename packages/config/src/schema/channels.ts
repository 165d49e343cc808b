// channels.*: the accounts that Parley speaks through and who may talk to it there. An account inherits what
// its channel says.
import { z } from "zod";
import { agentName, idField, placeKey, secretField } from "./fields.ts";
import { inlineButtons, reactionLevel } from "./prompt.ts";
import { toolRules } from "./tools.ts";

const dmPolicies = ["pairing", "allowlist", "open", "disabled"] as const;
const groupPolicies = ["allowlist", "open", "disabled"] as const;

const accountDefaults = {
  dmPolicy: "pairing",
  allowFrom: [],
  groupPolicy: "allowlist",
  allowBots: false,
  replyToMode: "off",
  pacing: "on",
  reactionNotifications: "own",
} as const;

export const telegramDefaults = {
  ...accountDefaults,
  apiRoot: "https://api.telegram.org",
  streaming: "edit",
} as const;

/** Nothing grows by edits, because Discord limits them. */
export const discordDefaults = {
  ...accountDefaults,
  apiRoot: "https://discord.com/api",
  streaming: "off",
  suppressEmbeds: true,
} as const;

const apiRoot = z
  .url({ protocol: /^https?$/, error: "must be an http or https URL" })
  .transform((url) => url.replace(/\/+$/, ""));

/** Clients of the Bot API append the token by themselves. */
const telegramApiRoot = apiRoot.check((context) => {
  if (/[^/]\/bot[^/]*$/.test(context.value))
    context.issues.push({
      code: "custom",
      message: "this is an address of one bot, not the root of the Bot API",
      params: { fix: "Leave out /bot<token>" },
      input: context.value,
    });
});

const dmPolicy = z
  .enum(dmPolicies)
  .describe(
    `Who may write in private: "pairing" (strangers get a code for the operator), "allowlist", "open" (needs allowFrom ["*"]), "disabled". Default: ${accountDefaults.dmPolicy}.`,
  );
const groupPolicy = z
  .enum(groupPolicies)
  .describe(
    `Which groups are served: "allowlist" (those listed, and in them the senders listed), "open" (any, unless they are listed; any sender), "disabled". Default: ${accountDefaults.groupPolicy}.`,
  );
const allowBots = z
  .union([z.boolean(), z.literal("mentions")])
  .exactOptional()
  .describe(
    `Whether other bots are heard; "mentions": where they mention this one. Loops of bots are cut. Default: ${accountDefaults.allowBots}.`,
  );

/** An emoji has at most a few code points; platforms refuse those that they do not know. */
export const ackReaction = z.string().min(1).max(32);
export const ackReactionScope = z.enum(["group-mentions", "group-all", "direct", "all", "off"]);
const ack = {
  ackReaction: ackReaction.exactOptional().describe("In place of messages.ackReaction."),
  ackReactionScope: ackReactionScope.exactOptional().describe("In place of messages.ackReactionScope."),
};

const pacing = (server: string) =>
  z
    .enum(["on", "off"])
    .exactOptional()
    .describe(
      `Whether sends keep to the platform's limits; off only for ${server} of your own. Default: ${accountDefaults.pacing}.`,
    );

const replyToMode = z
  .enum(["off", "first"])
  .exactOptional()
  .describe(
    `Which answers quote what they answer: "first" (all, with their first message), "off" (where the agent wants it). Default: ${accountDefaults.replyToMode}.`,
  );

/**
 * What may be said of any shared place: a group, a topic, a server, a channel. What is absent is inherited.
 */
const place = {
  enabled: z.boolean().exactOptional().describe("false: nothing here is read. Default: true."),
  requireMention: z.boolean().exactOptional().describe("Answer only when mentioned. Default: true."),
  tools: z.strictObject(toolRules).exactOptional().describe("Narrows the agent's tools here."),
  skills: z
    .array(z.string().min(1))
    .exactOptional()
    .describe("Names of the only skills that may be used here."),
  systemPrompt: z.string().min(1).max(20_000).exactOptional().describe("Told to the agent in this place."),
  agentId: agentName.exactOptional().describe("The agent that answers here, whatever the bindings say."),
};

const telegramId = idField("telegram");
const telegramTopic = z.strictObject({
  ...place,
  allowFrom: z
    .array(telegramId)
    .exactOptional()
    .describe("Senders allowed in this topic. Default: the group's."),
});
const telegramGroup = z.strictObject({
  ...place,
  groupPolicy: groupPolicy.exactOptional(),
  allowFrom: z
    .array(telegramId)
    .exactOptional()
    .describe("Senders allowed in this group. Default: groupAllowFrom."),
  topics: z
    .record(placeKey, telegramTopic)
    .exactOptional()
    .describe('Forum topics by id, or "*"; each inherits what its group says.'),
});

const telegramAccount = {
  enabled: z.boolean().exactOptional().describe("Default: true."),
  botToken: secretField(
    "The bot's token from @BotFather. TELEGRAM_BOT_TOKEN serves the default account.",
  ).exactOptional(),
  apiRoot: telegramApiRoot
    .exactOptional()
    .describe(`Root of the Bot API. Default: ${telegramDefaults.apiRoot}.`),
  proxy: secretField(
    'HTTP proxy on the way to the Bot API, "http://host:port", with "name:password@" before the host if it asks.',
  ).exactOptional(),
  dmPolicy: dmPolicy.exactOptional(),
  allowFrom: z.array(telegramId).exactOptional().describe("Numeric user ids that may write in private."),
  groupPolicy: groupPolicy.exactOptional(),
  groupAllowFrom: z
    .array(telegramId)
    .exactOptional()
    .describe("Senders allowed in groups. Default: allowFrom. Pairing lets nobody into groups."),
  groups: z
    .record(placeKey, telegramGroup)
    .exactOptional()
    .describe(
      "Groups by chat id, or \"*\"; with a map, others are not served. An account's own map replaces its channel's.",
    ),
  allowBots,
  streaming: z
    .enum(["edit", "off", "block"])
    .exactOptional()
    .describe(
      `How an answer grows: "edit" (one message, edited), "block" (message by message), "off". Default: ${telegramDefaults.streaming}.`,
    ),
  replyToMode,
  pacing: pacing("a Bot API server"),
  reactionNotifications: z
    .enum(["off", "own", "all"])
    .exactOptional()
    .describe(
      `Reactions that the agent is told of, with the next message: "own" (to its messages), "all", "off". Default: ${accountDefaults.reactionNotifications}.`,
    ),
  reactionLevel,
  ...ack,
  customCommands: z
    .array(
      z.strictObject({
        command: z
          .string()
          .regex(/^[a-z0-9_]{1,32}$/)
          .describe("The command's name: a-z, 0-9 and _, at most 32."),
        description: z.string().min(1).max(256).describe("What the menu says of it."),
      }),
    )
    .max(100)
    .exactOptional()
    .describe(
      "More commands in the menu, after Parley's own, which they cannot replace. Their text goes to the agent as it is.",
    ),
  capabilities: inlineButtons,
  webhookUrl: z
    .url({ protocol: /^https$/, error: "must be an https URL" })
    .exactOptional()
    .describe("Public URL that Telegram calls instead of being polled."),
  webhookSecret: secretField(
    "Proves that a webhook call comes from Telegram; required with webhookUrl.",
  ).exactOptional(),
};

const discordId = idField("discord");
const discordChannel = z.strictObject({
  ...place,
  users: z
    .array(discordId)
    .exactOptional()
    .describe("User ids allowed here. Neither users nor roles: allowFrom."),
  roles: z.array(discordId).exactOptional().describe("Role ids allowed here, beside the users."),
  ignoreOtherMentions: z
    .boolean()
    .exactOptional()
    .describe(
      "With requireMention: false, leave alone what mentions others and not the bot. Default: false.",
    ),
});
const discordGuild = z.strictObject({
  ...discordChannel.shape,
  channels: z
    .record(placeKey, discordChannel)
    .exactOptional()
    .describe('Channels by id, or "*"; with a map, others are not served.'),
});

const discordAccount = {
  enabled: z.boolean().exactOptional().describe("Default: true."),
  token: secretField("The bot's token. DISCORD_BOT_TOKEN serves the default account.").exactOptional(),
  apiRoot: apiRoot.exactOptional().describe(`Root of the REST API. Default: ${discordDefaults.apiRoot}.`),
  dmPolicy: dmPolicy.exactOptional(),
  allowFrom: z.array(discordId).exactOptional().describe("User ids that may write in private."),
  groupPolicy: groupPolicy.exactOptional(),
  guilds: z
    .record(placeKey, discordGuild)
    .exactOptional()
    .describe("Servers by id, or \"*\". An account's own map replaces its channel's."),
  allowBots,
  streaming: z
    .enum(["edit", "off", "block"])
    .exactOptional()
    .describe(`How an answer grows. Default: ${discordDefaults.streaming}, as Discord limits edits.`),
  replyToMode,
  pacing: pacing("a server"),
  reactionNotifications: z
    .enum(["off", "own", "all"])
    .exactOptional()
    .describe(
      `Reactions that the agent is told of, with the next message: "own" (to its messages), "all", "off". Default: ${accountDefaults.reactionNotifications}.`,
    ),
  suppressEmbeds: z
    .boolean()
    .exactOptional()
    .describe(`Whether links in answers show no preview. Default: ${discordDefaults.suppressEmbeds}.`),
  slashCommand: z
    .strictObject({
      ephemeral: z
        .boolean()
        .exactOptional()
        .describe(
          "Whether only whoever gave a slash command in a server sees its answer: true for all of Parley's own, false for none. Default: for those that only tell something, such as /status.",
        ),
    })
    .exactOptional()
    .describe("Slash commands."),
  intents: z
    .strictObject({
      messageContent: z
        .boolean()
        .default(true)
        .describe(
          "Whether to ask for the privileged message content intent; without it only direct messages and mentions are read.",
        ),
    })
    .exactOptional()
    .describe("What Discord is asked to tell."),
  reactionLevel,
  ...ack,
};

export const channelsSchema = z
  .strictObject({
    telegram: z
      .strictObject({
        ...telegramAccount,
        accounts: z
          .record(z.string(), z.strictObject(telegramAccount))
          .default({})
          .describe("More bots by account id; each inherits the keys above."),
      })
      .prefault({})
      .describe("Telegram."),
    discord: z
      .strictObject({
        ...discordAccount,
        accounts: z
          .record(z.string(), z.strictObject(discordAccount))
          .default({})
          .describe("More bots by account id; each inherits the keys above."),
      })
      .prefault({})
      .describe("Discord."),
    web: z
      .strictObject({
        enabled: z.boolean().default(true).describe("Whether the gateway serves the web chat."),
      })
      .prefault({})
      .describe("The web chat."),
  })
  .prefault({})
  .describe("Where people talk to the agent.");
