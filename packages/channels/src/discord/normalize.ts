// Normalizes Discord gateway events into Inbounds. Pure, and checked against the schema, so that nothing
// malformed goes further (I13). An event that makes it throw becomes an `Unreadable`; null means that the
// event is not for us. Ids derive from what happened and not from how it was reported, so a replay after
// RESUME and a history read give the same ids.
import type {
  APIGuildMember,
  APIInteraction,
  APIMessage,
  APIUser,
  GatewayMessageCreateDispatchData,
  GatewayMessagePollVoteDispatchData,
  GatewayMessageReactionAddDispatchData,
} from "discord-api-types/v10";
import { type Inbound, inboundSchema, wordsOf } from "@parley/protocol";
import { absentFields, contentOf, userName } from "./content.ts";
import { commandText, formText, interactionTypes } from "./interactions/interaction-text.ts";
import { addressOf, isForum, type Place } from "./places.ts";
import { madeAtMs, namesTime } from "./snowflake.ts";

export interface BotIdentity {
  readonly id: string;
}

export interface NormalizeContext {
  readonly channel: string;
  readonly account: string;
  readonly me: BotIdentity;
  /** Time for events that carry none. */
  readonly nowMs: number;
  /** Returns the name of a channel or role. */
  readonly nameOf?: (id: string) => string | undefined;
  /** Called with the paths of parts that could not be read and were left out. */
  readonly onLeftOut?: (paths: readonly string[]) => void;
}

/** Facts about a message that the message itself does not carry. */
export interface Surroundings {
  readonly place: Place;
  /** Channel type of a thread's parent. */
  readonly parentType: number | null;
  /** Role ids of the author; those in the event win. */
  readonly roles: readonly string[];
  /** The bot's own role ids in this server. */
  readonly myRoles: readonly string[];
}

/** A message as the gateway sends it; over REST `guild_id` and `member` are missing. */
export type MessageEvent = APIMessage &
  Partial<Pick<GatewayMessageCreateDispatchData, "guild_id" | "member">>;

const messageTypes = { plain: 0, reply: 19 } as const;
const forward = 1;

export function eventId(
  { channel, account }: Pick<NormalizeContext, "channel" | "account">,
  what: string,
): string {
  return `${channel}:${account}:${what}`;
}

/**
 * Id of a message or edit event. Discord also sends updates for link previews, which keep the edit's time.
 */
export function messageEventId(
  message: Pick<APIMessage, "id" | "edited_timestamp">,
  isEdit: boolean,
): string {
  return isEdit ? `m${message.id}:e${editedMs(message)}` : `m${message.id}`;
}

export function isWanted(message: MessageEvent, me: BotIdentity, isEdit: boolean): boolean {
  if (isEdit && typeof message.edited_timestamp !== "string") return false;
  return (
    (message.type === messageTypes.plain || message.type === messageTypes.reply) &&
    message.author.id !== me.id
  );
}

export function normalizeMessage(
  message: MessageEvent,
  around: Surroundings,
  context: NormalizeContext,
  isEdit: boolean,
): Inbound | null {
  const { me, nowMs, nameOf } = context;
  const { place } = around;
  const opensPost = isForum(around.parentType) && message.id === place.id;
  const content = contentOf(message, me, nameOf, opensPost ? place.title : undefined);
  if (content === null) return null;
  const replyTo = replyOf(message, me, nameOf);
  const mentions = message.mentions.map((user) => user.id);
  const roleMentions = message.mention_roles;
  const address = addressOf(place, context, message.author.id);
  const called =
    mentions.includes(me.id) ||
    roleMentions.some((role) => around.myRoles.includes(role)) ||
    replyTo?.toBot === true;
  return checked(context, messageEventId(message, isEdit), {
    address,
    sender: senderOf(message.author, message.member?.nick, around.roles, message.webhook_id !== undefined),
    messageId: message.id,
    kind: isEdit ? "edit" : /^\/[a-z0-9_]{1,32}(?:[\s:]|$)/i.test(content.text) ? "command" : "message",
    text: content.text,
    attachments: [...content.attachments],
    ...(content.enclosed.length === 0 ? {} : { enclosed: [...content.enclosed] }),
    ...(replyTo === null ? {} : { replyTo }),
    mentions: [...mentions, ...roleMentions],
    addressed: address.kind === "dm" || called,
    ...within(place),
    ...titleOf(place, nameOf),
    atMs: writtenAtMs(message, nowMs),
    ...(isEdit ? { editedAtMs: editedMs(message) } : {}),
  });
}

/**
 * `turn` tells apart a reaction that was given, removed and given again: it is the event's place in its
 * session.
 */
export function normalizeReaction(
  reaction: GatewayMessageReactionAddDispatchData,
  isAdded: boolean,
  turn: string,
  { place, roles }: Pick<Surroundings, "place" | "roles">,
  context: NormalizeContext,
): Inbound | null {
  if (reaction.user_id === context.me.id) return null;
  const { user, nick } = reaction.member ?? {};
  const name = user === undefined ? reaction.user_id : userName(user, nick);
  const { name: emoji, id } = reaction.emoji;
  const shown = id === null ? emoji : `:${emoji ?? id}:`;
  return checked(context, `r${turn}`, {
    address: addressOf(place, context, reaction.user_id),
    sender: {
      id: reaction.user_id,
      name,
      isBot: user?.bot === true,
      ...(roles.length === 0 ? {} : { roles: [...roles] }),
    },
    messageId: `reaction-${turn}`,
    kind: "reaction",
    text: `${isAdded ? "reacted" : "took back"} ${shown ?? "an emoji"}`,
    attachments: [],
    replyTo: { messageId: reaction.message_id, toBot: reaction.message_author_id === context.me.id },
    mentions: [],
    addressed: false,
    ...within(place),
    // Reactions carry no time.
    atMs: context.nowMs,
  });
}

/** One option of a poll; Discord tells each that is chosen or taken back by itself, numbered from 1. */
export function normalizeVote(
  {
    user_id: user,
    message_id: message,
    answer_id: answer,
  }: Omit<GatewayMessagePollVoteDispatchData, "channel_id">,
  isAdded: boolean,
  turn: string,
  { place, roles }: Pick<Surroundings, "place" | "roles">,
  context: NormalizeContext,
): Inbound | null {
  if (user === context.me.id) return null;
  return checked(context, `v${turn}`, {
    address: addressOf(place, context, user),
    sender: { id: user, name: user, isBot: false, ...(roles.length === 0 ? {} : { roles: [...roles] }) },
    messageId: `vote-${turn}`,
    kind: "reaction",
    text: isAdded ? "voted" : "took back a vote",
    attachments: [],
    replyTo: { messageId: message, toBot: false },
    mentions: [],
    addressed: false,
    vote: { options: [answer - 1], takenBack: !isAdded },
    ...within(place),
    atMs: context.nowMs,
  });
}

/** Null for interactions that need no row: pings, autocompletion. */
export function normalizeInteraction(
  interaction: APIInteraction,
  place: Place,
  context: NormalizeContext,
): Inbound | null {
  const member = interaction.member as (APIGuildMember & { readonly user: APIUser }) | undefined;
  const user = member?.user ?? interaction.user;
  if (user === undefined) throw new Error("it names no user");
  const shared = {
    address: addressOf(place, context, user.id),
    sender: senderOf(user, member?.nick, member?.roles ?? [], false),
    attachments: [],
    mentions: [],
    addressed: true,
    ...within(place),
    atMs: namesTime(interaction.id) ? madeAtMs(interaction.id) : context.nowMs,
  };
  const id = `i${interaction.id}`;
  switch (interaction.type as number) {
    case interactionTypes.command:
      return checked(context, id, {
        ...shared,
        messageId: `interaction-${interaction.id}`,
        kind: "command",
        text: commandText(interaction),
      });
    case interactionTypes.component:
    case interactionTypes.modal: {
      const value = formText(interaction);
      const { message } = interaction;
      const quoted =
        message === undefined
          ? {}
          : { replyTo: { messageId: message.id, toBot: true, text: message.content } };
      const callback = { id: interaction.id, value };
      return checked(context, id, {
        ...shared,
        ...quoted,
        messageId: `callback-${interaction.id}`,
        kind: "callback",
        text: value,
        callback,
      });
    }
    default:
      return null;
  }
}

type Body = Omit<Inbound, "id" | "channel" | "account">;

function checked(context: NormalizeContext, what: string, body: Body): Inbound {
  const { channel, account } = context;
  return inboundSchema.parse({ ...body, id: eventId(context, what), channel, account });
}

function titleOf({ id, guild, title }: Place, nameOf: NormalizeContext["nameOf"]): Pick<Inbound, "title"> {
  const known = guild === undefined ? undefined : (title ?? nameOf?.(id));
  return known === undefined ? {} : { title: known };
}

function within({ guild, parent }: Place): Pick<Inbound, "guild" | "parent"> {
  return { ...(guild === undefined ? {} : { guild }), ...(parent === undefined ? {} : { parent }) };
}

/** A webhook writes under any name, and its id belongs to no account. */
function senderOf(
  user: APIUser,
  nick: string | null | undefined,
  roles: readonly string[],
  isWebhook: boolean,
): Inbound["sender"] {
  const isBot = user.bot === true || isWebhook;
  return {
    id: user.id,
    name: userName(user, nick),
    isBot,
    ...(roles.length === 0 ? {} : { roles: [...roles] }),
  };
}

function replyOf(
  message: APIMessage,
  me: BotIdentity,
  nameOf: NormalizeContext["nameOf"],
): NonNullable<Inbound["replyTo"]> | null {
  const { message_reference: reference, referenced_message: quoted } = message;
  if (reference?.message_id === undefined || reference.type === forward) return null;
  if (quoted === undefined || quoted === null) return { messageId: reference.message_id, toBot: false };
  const content = contentOf({ ...absentFields, ...quoted }, me, nameOf);
  const text =
    content === null ? undefined : wordsOf({ text: content.text, enclosed: [...content.enclosed] });
  return {
    messageId: quoted.id,
    ...(text === undefined ? {} : { text }),
    ...(quoted.author === undefined ? {} : { sender: userName(quoted.author) }),
    toBot: quoted.author?.id === me.id,
  };
}

function writtenAtMs({ id, timestamp }: APIMessage, nowMs: number): number {
  const said = Date.parse(timestamp);
  return Number.isNaN(said) ? (namesTime(id) ? madeAtMs(id) : nowMs) : said;
}

function editedMs({ edited_timestamp: at }: Pick<APIMessage, "edited_timestamp">): number {
  return at === null ? 0 : Date.parse(at);
}
