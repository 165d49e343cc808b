// Implements messages: create with its nonce, history, edit, delete. A bot's own messages come back to it
// over the gateway, as on the real server.
import { type APIMessage, GatewayDispatchEvents as Event, MessageFlags } from "discord-api-types/v10";
import { tellChannel, tellDeleted, tellMessage } from "../events.ts";
import { messageJson } from "../payloads.ts";
import { olderFirst, snowflakeMs } from "../snowflake.ts";
import type { Channel } from "../model.ts";
import type { RouteCall, Routes } from "./call.ts";
import { composed, type MessageBody, recomposed } from "./compose.ts";
import { reachChannel, reachMessage, requireAwake, takesMessages, wakeThread } from "./reach.ts";
import { badField, refuse } from "./refusal.ts";

export const messageRoutes: Routes = {
  "POST /channels/:channel/messages": {
    form: "MessageCreateRequest",
    limit: { calls: 5, perMs: 5_000 },
    run(call) {
      const channel = reachChannel(call, "send");
      const { state, bot, body } = call;
      if (!takesMessages(channel)) throw refuse("notText");
      if (channel.recipient !== undefined && state.closedDms.has(channel.recipient.id))
        throw refuse("dmRefused");
      if (call.files.length > 0) reachChannel(call, "attach");
      const known = knownNonce(call, body);
      if (known !== undefined) return messageJson(state, known.channel, known.message, bot);
      const fields = composed(call, channel, body);
      if (wakeThread(channel)) tellChannel(state, channel, "Update");
      const message = state.addMessage(channel, { ...fields, author: bot.user });
      if (message.nonce !== undefined)
        bot.nonces.set(String(message.nonce), { channel, message, atMs: state.clock.now() });
      channel.typing.delete(bot.user.id);
      tellMessage(state, channel, message);
      return messageJson(state, channel, message, bot);
    },
  },
  "GET /channels/:channel/messages": {
    limit: { calls: 5, perMs: 1_000 },
    run(call) {
      const { state, bot, query } = call;
      const channel = reachChannel(call, "history");
      return history(channel, query).map((message) =>
        withoutNonce(messageJson(state, channel, message, bot)),
      );
    },
  },
  "GET /channels/:channel/messages/:message": {
    limit: { calls: 5, perMs: 1_000 },
    run(call) {
      const channel = reachChannel(call, "history");
      return withoutNonce(messageJson(call.state, channel, reachMessage(call, channel), call.bot));
    },
  },
  "PATCH /channels/:channel/messages/:message": {
    form: "MessageEditRequestPartial",
    limit: { calls: 5, perMs: 5_000 },
    run(call) {
      const { state, bot, body } = call;
      const channel = reachChannel(call);
      const message = reachMessage(call, channel);
      const isForeign = message.author.id !== bot.user.id;
      const onlyHidesEmbeds = Object.keys(body as object).every((key) => key === "flags");
      if (isForeign && !onlyHidesEmbeds) throw refuse("editsOther");
      requireAwake(channel);
      const edited = { ...message, ...recomposed(call, channel, message, body) };
      return messageJson(state, channel, replaceMessage(call, channel, edited, !onlyHidesEmbeds), bot);
    },
  },
  "DELETE /channels/:channel/messages/:message": {
    limit: { calls: 5, perMs: 1_000 },
    run(call) {
      const channel = reachChannel(call);
      const message = reachMessage(call, channel);
      if (message.author.id !== call.bot.user.id) {
        if (channel.guild === undefined) throw refuse("notInDm");
        reachChannel(call, "manage");
      }
      removeMessages(call, channel, [message.id]);
    },
  },
  "POST /channels/:channel/messages/bulk-delete": {
    limit: { calls: 1, perMs: 1_000 },
    run(call) {
      const channel = reachChannel(call, "manage");
      if (channel.guild === undefined) throw refuse("notInDm");
      const ids = ((call.body as { messages?: unknown }).messages ?? []) as readonly string[];
      if (!Array.isArray(ids) || ids.length < 2 || ids.length > 100)
        throw badField(["messages"], "BASE_TYPE_BAD_LENGTH", "Must be between 2 and 100 in length.");
      const tooOldMs = 14 * 86_400_000;
      if (ids.some((id) => call.state.clock.now() - snowflakeMs(id) > tooOldMs))
        throw refuse("tooOldForBulk");
      removeMessages(
        call,
        channel,
        ids.filter((id) => channel.messages.has(id)),
      );
    },
  },
};

/**
 * The message that this author created with the same nonce a short while ago. Looked for only when the call
 * enforces it.
 */
function knownNonce(
  { state, bot, options }: RouteCall,
  { nonce, enforce_nonce: isEnforced }: MessageBody,
): { readonly channel: Channel; readonly message: APIMessage } | undefined {
  if (nonce === undefined || nonce === null || isEnforced !== true) return undefined;
  const known = bot.nonces.get(String(nonce));
  if (known === undefined || state.clock.now() - known.atMs >= options.nonceWindowMs) return undefined;
  return { channel: known.channel, message: known.channel.messages.get(known.message.id) ?? known.message };
}

/** A nonce comes back from the create and in its event; what is read later does not have it. */
function withoutNonce({ nonce: _nonce, ...message }: APIMessage): APIMessage {
  return message;
}

/** Newest first, as Discord lists history. */
function history(channel: Channel, query: URLSearchParams): readonly APIMessage[] {
  const limit = Number(query.get("limit") ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100)
    throw badField(
      ["limit"],
      limit > 100 ? "NUMBER_TYPE_MAX" : "NUMBER_TYPE_MIN",
      "int value should be between 1 and 100.",
    );
  const pivots = ["around", "before", "after"].filter((name) => query.has(name));
  for (const name of pivots)
    if (!/^\d+$/.test(query.get(name) ?? ""))
      throw badField([name], "NUMBER_TYPE_COERCE", `Value "${query.get(name)}" is not snowflake.`);
  const all = [...channel.messages.values()]
    .filter((message) => !channel.ephemeral.has(message.id))
    .toSorted((a, b) => olderFirst(b.id, a.id));
  const [before, after, around] = [query.get("before"), query.get("after"), query.get("around")];
  if (around !== null) {
    const newer = all.filter((message) => olderFirst(message.id, around) >= 0).slice(-Math.ceil(limit / 2));
    return [...newer, ...all.filter((message) => olderFirst(message.id, around) < 0)].slice(0, limit);
  }
  if (before !== null) return all.filter((message) => olderFirst(message.id, before) < 0).slice(0, limit);
  // The messages next to the one named, not the newest: a client pages upwards.
  if (after !== null) return all.filter((message) => olderFirst(message.id, after) > 0).slice(-limit);
  return all.slice(0, limit);
}

/** Puts an edited message in its place and tells it. Hiding embeds is no edit that people see. */
export function replaceMessage(
  { state }: Pick<RouteCall, "state">,
  channel: Channel,
  edited: APIMessage,
  isEdit: boolean,
): APIMessage {
  const message: APIMessage = { ...edited, ...(isEdit ? { edited_timestamp: state.nowIso() } : {}) };
  const shown = (message.flags ?? 0) & MessageFlags.SuppressEmbeds ? { ...message, embeds: [] } : message;
  channel.messages.set(shown.id, shown);
  tellMessage(state, channel, shown, Event.MessageUpdate);
  return shown;
}

export function removeMessages(
  { state }: Pick<RouteCall, "state">,
  channel: Channel,
  ids: readonly string[],
): void {
  const seen = ids.filter((id) => !channel.ephemeral.has(id));
  for (const id of ids) {
    channel.messages.delete(id);
    channel.reactions.delete(id);
    channel.pinned.delete(id);
  }
  if (seen.length > 0) tellDeleted(state, channel, seen);
}
