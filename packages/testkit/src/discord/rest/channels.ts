// Implements places and people: the bot's own user, channels, guilds, members, typing, pins.
import { type APIMessage, ChannelType, MessageType } from "discord-api-types/v10";
import { tellChannel, tellMessage, tellPins, tellTyping } from "../events.ts";
import {
  applicationFlags,
  channelJson,
  emojisJson,
  guildJson,
  memberJson,
  messageJson,
} from "../payloads.ts";
import { olderFirst } from "../snowflake.ts";
import { type Bot, type Channel, isThread } from "../model.ts";
import { maySee } from "../world.ts";
import type { RouteCall, Routes } from "./call.ts";
import { reachChannel, reachGuild, reachMessage, requireAwake, takesMessages } from "./reach.ts";
import { badField, refuse } from "./refusal.ts";

const maxPins = 50;

export const channelRoutes: Routes = {
  "GET /gateway": {
    isOpen: true,
    run: ({ gatewayBot, bot }) => ({ url: (gatewayBot(bot) as { readonly url: string }).url }),
  },
  "GET /gateway/bot": { run: ({ gatewayBot, bot }) => gatewayBot(bot) },
  "GET /users/@me": {
    run: ({ bot }) => ({
      ...bot.user,
      bio: "",
      verified: true,
      mfa_enabled: true,
      locale: "en-US",
      email: null,
    }),
  },
  "GET /users/@me/guilds": {
    run: ({ state, bot }) =>
      [...state.guilds.values()]
        .filter((guild) => guild.members.has(bot.user.id))
        .map(({ id, name }) => ({ id, name, icon: null, owner: false, permissions: "0", features: [] })),
  },
  "GET /users/:user": {
    run({ state, params }) {
      const user = state.users.get(params["user"] ?? "");
      if (user === undefined) throw refuse("unknownUser");
      return user;
    },
  },
  "POST /users/@me/channels": {
    form: "CreatePrivateChannelRequest",
    run({ state, bot, body }) {
      const user = state.users.get(String((body as { recipient_id?: string }).recipient_id));
      if (user === undefined) throw badField(["recipient_id"], "INVALID_RECIPIENT", "Invalid Recipient(s)");
      if (user.bot === true) throw refuse("dmRefused");
      return channelJson(state.dmWith(bot, user));
    },
  },
  "GET /applications/@me": { run: ({ bot }) => application(bot) },
  "GET /oauth2/applications/@me": { run: ({ bot }) => application(bot) },
  "GET /channels/:channel": { run: (call) => channelJson(reachChannel(call), call.bot) },
  "PATCH /channels/:channel": {
    form: ({ state, params }) =>
      isThread(state.channels.get(params["channel"] ?? "")?.type ?? ChannelType.GuildText)
        ? "UpdateThreadRequestPartial"
        : null,
    limit: { calls: 5, perMs: 5_000 },
    run(call) {
      const channel = reachChannel(call, "manage");
      const { thread } = channel;
      const { name, archived, locked } = call.body as { name?: string; archived?: boolean; locked?: boolean };
      if (thread?.archived === true && archived !== false) throw refuse("archived");
      if (typeof name === "string") rename(call, channel, name);
      if (thread !== undefined) {
        if (archived !== undefined) thread.archivedAt = call.state.nowIso();
        thread.archived = archived ?? thread.archived;
        thread.locked = locked ?? thread.locked;
      }
      tellChannel(call.state, channel, "Update");
      return channelJson(channel, call.bot);
    },
  },
  "DELETE /channels/:channel": {
    run(call) {
      const channel = reachChannel(call, "manage");
      const shown = channelJson(channel, call.bot);
      if (channel.guild !== undefined) removeChannel(call, channel);
      return shown;
    },
  },
  "POST /channels/:channel/typing": {
    limit: { calls: 5, perMs: 5_000 },
    run(call) {
      const channel = reachChannel(call, "send");
      if (!takesMessages(channel)) throw refuse("notText");
      tellTyping(call.state, channel, call.bot.user.id);
    },
  },
  "GET /channels/:channel/pins": {
    run(call) {
      const channel = reachChannel(call, "history");
      return pinned(channel).map((message) => messageJson(call.state, channel, message, call.bot));
    },
  },
  "GET /channels/:channel/messages/pins": {
    run(call) {
      const channel = reachChannel(call, "history");
      const items = pinned(channel).map((message) => ({
        pinned_at: channel.lastPinAt,
        message: messageJson(call.state, channel, message, call.bot),
      }));
      return { items, has_more: false };
    },
  },
  "PUT /channels/:channel/pins/:message": { bucket: "pins", limit: { calls: 5, perMs: 4_000 }, run: pin },
  "PUT /channels/:channel/messages/pins/:message": {
    bucket: "pins",
    limit: { calls: 5, perMs: 4_000 },
    run: pin,
  },
  "DELETE /channels/:channel/pins/:message": {
    bucket: "pins",
    limit: { calls: 5, perMs: 4_000 },
    run: unpin,
  },
  "DELETE /channels/:channel/messages/pins/:message": {
    bucket: "pins",
    limit: { calls: 5, perMs: 4_000 },
    run: unpin,
  },
  "GET /guilds/:guild": { run: (call) => guildJson(reachGuild(call)) },
  "GET /guilds/:guild/channels": {
    run(call) {
      const guild = reachGuild(call);
      const own = [...call.state.channels.values()].filter(
        (channel) => channel.guild === guild && !isThread(channel.type),
      );
      return own.map((channel) => channelJson(channel, call.bot));
    },
  },
  "GET /guilds/:guild/emojis": { run: (call) => emojisJson(reachGuild(call)) },
  "GET /guilds/:guild/roles": { run: (call) => [...reachGuild(call).roles.values()] },
  "GET /guilds/:guild/members/:user": {
    run(call) {
      const member = reachGuild(call).members.get(
        call.params["user"] === "@me" ? call.bot.user.id : (call.params["user"] ?? ""),
      );
      if (member === undefined) throw refuse("unknownMember");
      return memberJson(member);
    },
  },
  "GET /guilds/:guild/threads/active": {
    run(call) {
      const guild = reachGuild(call);
      const active = [...call.state.channels.values()].filter(
        (channel) => channel.guild === guild && channel.thread?.archived === false,
      );
      const seen = active.filter((channel) => maySee(call.state, channel, call.bot));
      return threadList(
        seen.toSorted((a, b) => olderFirst(b.id, a.id)),
        call.bot,
      );
    },
  },
  "GET /channels/:channel/threads/archived/public": {
    run(call) {
      const parent = reachChannel(call, "history");
      const archived = [...call.state.channels.values()].filter(
        (channel) => channel.parentId === parent.id && channel.thread?.archived === true,
      );
      return { ...threadList(archived, call.bot), has_more: false };
    },
  },
};

function threadList(
  threads: readonly Channel[],
  bot: Bot,
): { readonly threads: unknown; readonly members: unknown } {
  const joined = threads.filter((channel) => channel.thread?.members.has(bot.user.id) === true);
  return {
    threads: threads.map((channel) => channelJson(channel, bot)),
    members: joined.map(({ id, thread }) => ({
      id,
      user_id: bot.user.id,
      join_timestamp: thread?.createdAt,
      flags: 1,
    })),
  };
}

function application(bot: Bot): unknown {
  return {
    id: bot.user.id,
    name: bot.user.username,
    icon: null,
    description: "",
    bot_public: true,
    bot_require_code_grant: false,
    verify_key: "0".repeat(64),
    team: null,
    summary: "",
    bot: bot.user,
    flags: applicationFlags(bot),
  };
}

function rename({ state, bot }: RouteCall, channel: Channel, name: string): void {
  if (name.length < 1 || name.length > 100)
    throw badField(["name"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 100 in length.");
  if (channel.name === name) return;
  channel.name = name;
  if (channel.thread !== undefined)
    tellMessage(
      state,
      channel,
      state.addMessage(channel, { type: MessageType.ChannelNameChange, content: name, author: bot.user }),
    );
}

/** A channel goes with its threads. */
export function removeChannel({ state }: Pick<RouteCall, "state">, channel: Channel): void {
  const children = [...state.channels.values()].filter(
    (other) => other.thread !== undefined && other.parentId === channel.id,
  );
  for (const gone of [...children, channel]) {
    tellChannel(state, gone, "Delete");
    state.channels.delete(gone.id);
  }
}

function pinned(channel: Channel): readonly APIMessage[] {
  return [...channel.pinned].flatMap((id) => channel.messages.get(id) ?? []).toReversed();
}

function pin(call: RouteCall): void {
  const channel = reachChannel(call, "manage");
  const message = reachMessage(call, channel);
  requireAwake(channel);
  if (channel.pinned.has(message.id)) return;
  if (channel.pinned.size >= maxPins) throw refuse("tooManyPins");
  channel.pinned.add(message.id);
  channel.lastPinAt = call.state.nowIso();
  tellPins(call.state, channel);
  const reference = { type: 0, message_id: message.id, channel_id: channel.id };
  tellMessage(
    call.state,
    channel,
    call.state.addMessage(channel, {
      type: MessageType.ChannelPinnedMessage,
      message_reference: reference,
      author: call.bot.user,
    }),
  );
}

function unpin(call: RouteCall): void {
  const channel = reachChannel(call, "manage");
  channel.pinned.delete(reachMessage(call, channel).id);
  tellPins(call.state, channel);
}
