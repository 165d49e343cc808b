// Implements reactions: one emoji of one person counts once, and a message takes twenty kinds.
import type { APIEmoji } from "discord-api-types/v10";
import { tellReaction, tellReactionsGone } from "../events.ts";
import type { Channel } from "../model.ts";
import type { World } from "../world.ts";
import type { RouteCall, Routes } from "./call.ts";
import { reachChannel, reachMessage, requireAwake } from "./reach.ts";
import { refuse } from "./refusal.ts";

const maxKinds = 20;
/** One each quarter of a second, as Discord's own documentation warns. */
const limit = { calls: 1, perMs: 250 };
const path = "/channels/:channel/messages/:message/reactions";

export const reactionRoutes: Routes = {
  [`PUT ${path}/:emoji/@me`]: {
    limit,
    bucket: "reactions",
    run(call) {
      const channel = reachChannel(call, "react", "history");
      const message = reachMessage(call, channel);
      requireAwake(channel);
      addReaction(call.state, channel, message.id, call.bot.user.id, emojiOf(call));
    },
  },
  [`DELETE ${path}/:emoji/@me`]: {
    limit,
    bucket: "reactions",
    run(call) {
      const channel = reachChannel(call);
      removeReaction(call.state, channel, reachMessage(call, channel).id, call.bot.user.id, emojiOf(call));
    },
  },
  [`DELETE ${path}/:emoji/:user`]: {
    limit,
    bucket: "reactions",
    run(call) {
      const channel = reachChannel(call, "manage");
      removeReaction(
        call.state,
        channel,
        reachMessage(call, channel).id,
        call.params["user"] ?? "",
        emojiOf(call),
      );
    },
  },
  [`DELETE ${path}`]: {
    limit,
    bucket: "reactions",
    run(call) {
      const channel = reachChannel(call, "manage");
      const message = reachMessage(call, channel);
      channel.reactions.delete(message.id);
      tellReactionsGone(call.state, channel, message.id);
    },
  },
  [`GET ${path}/:emoji`]: {
    run(call) {
      const channel = reachChannel(call, "history");
      const kinds = channel.reactions.get(reachMessage(call, channel).id);
      const users = kinds?.get(emojiKey(emojiOf(call)))?.users ?? new Set<string>();
      return [...users].flatMap((id) => call.state.users.get(id) ?? []);
    },
  },
};

function emojiKey(emoji: APIEmoji): string {
  return emoji.id ?? emoji.name ?? "";
}

/** Custom emoji are written `name:id`; anything else must contain a pictograph. */
function emojiOf({ params, state }: RouteCall): APIEmoji {
  const emoji = parsedEmoji(params["emoji"] ?? "");
  const { id = null } = emoji ?? {};
  const isKnown = id === null || [...state.guilds.values()].some(({ emojis }) => emojis.has(id));
  if (emoji === null || !isKnown) throw refuse("unknownEmoji");
  return emoji;
}

export function parsedEmoji(text: string): APIEmoji | null {
  const [, name, id] = /^(?:<a?:)?(\w+):(\d+)>?$/.exec(text) ?? [];
  if (name !== undefined && id !== undefined) return { id, name };
  return /^(?:\p{RGI_Emoji}|\p{Extended_Pictographic}\u{FE0F}?)$/v.test(text)
    ? { id: null, name: text }
    : null;
}

export function addReaction(
  state: World,
  channel: Channel,
  messageId: string,
  userId: string,
  emoji: APIEmoji,
): void {
  const kinds =
    channel.reactions.get(messageId) ?? new Map<string, { emoji: APIEmoji; users: Set<string> }>();
  const key = emojiKey(emoji);
  const reaction = kinds.get(key) ?? { emoji, users: new Set<string>() };
  if (!kinds.has(key) && kinds.size >= maxKinds) throw refuse("tooManyReactions");
  channel.reactions.set(messageId, kinds.set(key, reaction));
  if (reaction.users.has(userId)) return;
  reaction.users.add(userId);
  tellReaction(state, channel, messageId, userId, emoji, true);
}

export function removeReaction(
  state: World,
  channel: Channel,
  messageId: string,
  userId: string,
  emoji: APIEmoji,
): void {
  const kinds = channel.reactions.get(messageId);
  const key = emojiKey(emoji);
  const reaction = kinds?.get(key);
  if (reaction === undefined || !reaction.users.delete(userId)) throw refuse("unknownEmoji");
  if (reaction.users.size === 0) kinds?.delete(key);
  tellReaction(state, channel, messageId, userId, emoji, false);
}
