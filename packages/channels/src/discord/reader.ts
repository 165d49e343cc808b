// Turns a dispatch into an Inbound: adds what the event does not carry (its place, the sender's roles) and
// normalizes it. Throws Fault only for failures that may pass, so that the event is read again; an event that
// can never be read becomes `Unreadable`.
import type {
  APIInteraction,
  GatewayMessagePollVoteDispatchData,
  GatewayMessageReactionAddDispatchData,
} from "discord-api-types/v10";
import { type ChannelEvent, type Inbound, isFault, type Unreadable } from "@parley/protocol";
import { isHidden } from "./content.ts";
import type { Dispatch } from "./connection.ts";
import {
  eventId,
  isWanted,
  type MessageEvent,
  messageEventId,
  normalizeInteraction,
  normalizeMessage,
  normalizeReaction,
  normalizeVote,
  type NormalizeContext,
} from "./normalize.ts";
import { interactionTypes, customIdOf } from "./interactions/interaction-text.ts";
import type { Place, Places } from "./places.ts";
import { salvage } from "./salvage.ts";
import { isSnowflake } from "./snowflake.ts";

export interface Read {
  /** Null when the event is not for us. */
  readonly event: ChannelEvent | null;
  /** For a message: its place and id, for reading the history after a gap. */
  readonly seen?: {
    readonly channel: string;
    readonly guild?: string;
    readonly user?: string;
    readonly message: string;
  };
  /** For a server's message: true when Discord withheld its content. */
  readonly hidden?: boolean;
}

/** Characters of a raw event that are kept, enough to see what was wrong. */
const rawChars = 16_384;
const nothing: Read = { event: null };

export interface Reading extends NormalizeContext {
  readonly places: Places;
  /** True when a press of this button opens a form, so that the press is no event yet. */
  readonly opensForm: (customId: string) => boolean;
}

export async function readDispatch(dispatch: Dispatch, context: Reading): Promise<Read> {
  try {
    return await read(dispatch, context);
  } catch (error) {
    if (isFault(error)) throw error;
    const { channel, account } = context;
    const reason = error instanceof Error ? error.message.slice(0, 500) : String(error);
    const id = eventId(context, nameOf(dispatch));
    const from = await writtenBy(dispatch, context);
    const event = { kind: "unreadable", id, channel, account, raw: rawOf(dispatch.body), reason } as const;
    return { event: from === null ? event : { ...event, from } };
  }
}

async function read({ event, body, sequence, session }: Dispatch, context: Reading): Promise<Read> {
  const { places } = context;
  switch (event) {
    case "MESSAGE_CREATE":
    case "MESSAGE_UPDATE":
      return readMessage(body as MessageEvent, context, event === "MESSAGE_UPDATE");
    case "MESSAGE_DELETE":
    case "MESSAGE_DELETE_BULK": {
      const { id, ids = [id] } = (body ?? {}) as { readonly id?: unknown; readonly ids?: unknown };
      const gone = (Array.isArray(ids) ? ids : []).filter(isSnowflake);
      const [first] = gone;
      if (first === undefined) return nothing;
      const { channel, account } = context;
      const messages = gone.map((message) => eventId(context, `m${message}`));
      return { event: { kind: "deletion", id: eventId(context, `d${first}`), channel, account, messages } };
    }
    case "MESSAGE_REACTION_ADD":
    case "MESSAGE_REACTION_REMOVE": {
      const reaction = body as GatewayMessageReactionAddDispatchData;
      const { member } = reaction;
      const place = await places.find(idIn(reaction.channel_id, "channel"), reaction.guild_id ?? undefined);
      const roles = member?.roles ?? (await rolesIn(place, idIn(reaction.user_id, "user"), places));
      const turn = `${session.id}-${sequence ?? reaction.message_id}`;
      return {
        event: normalizeReaction(reaction, event === "MESSAGE_REACTION_ADD", turn, { place, roles }, context),
      };
    }
    case "MESSAGE_POLL_VOTE_ADD":
    case "MESSAGE_POLL_VOTE_REMOVE": {
      const vote = body as GatewayMessagePollVoteDispatchData;
      const place = await places.find(idIn(vote.channel_id, "channel"), vote.guild_id ?? undefined);
      const voter = idIn(vote.user_id, "user");
      const roles = await rolesIn(place, voter, places);
      const turn = `${session.id}-${sequence ?? vote.message_id}`;
      const isAdded = event === "MESSAGE_POLL_VOTE_ADD";
      return { event: normalizeVote(vote, isAdded, turn, { place, roles }, context) };
    }
    case "INTERACTION_CREATE": {
      const interaction = body as APIInteraction;
      if (isPress(interaction) && context.opensForm(customIdOf(interaction))) return nothing;
      const { channel, place } = await placeOf(interaction, places);
      const user = interaction.user?.id;
      if (place.guild === undefined && user !== undefined) places.learnDirect(user, channel);
      return { event: normalizeInteraction(interaction, place, context) };
    }
    case "GUILD_CREATE": {
      const { id, channels, threads, roles } = body as { readonly id?: string } & {
        readonly [list in "channels" | "threads" | "roles"]?: unknown;
      };
      places.learnRoles(roles ?? []);
      places.learn(channels ?? [], id);
      places.learn(threads ?? [], id);
      return nothing;
    }
    case "GUILD_ROLE_CREATE":
    case "GUILD_ROLE_UPDATE":
      places.learnRoles((body as { readonly role?: unknown } | null)?.role);
      return nothing;
    case "CHANNEL_CREATE":
    case "CHANNEL_UPDATE":
    case "THREAD_CREATE":
    case "THREAD_UPDATE":
      places.learn(body);
      return nothing;
    default:
      return nothing;
  }
}

/**
 * Of somebody who reacted or voted. Nobody waits for an answer to that, so it does not hold up everybody's
 * messages until Discord can say: without roles, only what is allowed to everybody or by id counts (I13).
 */
async function rolesIn({ guild }: Place, user: string, places: Places): Promise<readonly string[]> {
  if (guild === undefined) return [];
  return places.rolesOf(guild, user).catch((error: unknown) => {
    if (!isFault(error)) throw error;
    return [];
  });
}

async function placeOf(
  interaction: APIInteraction,
  places: Places,
): Promise<{ readonly channel: string; readonly place: Place }> {
  const { channel: described } = interaction;
  const guild = interaction.guild_id ?? undefined;
  const channel = idIn(described?.id ?? interaction.channel_id, "channel");
  places.learn(described, guild);
  return { channel, place: await places.find(channel, guild) };
}

/** A command that somebody is still typing, as if it were given; null when it is none. */
export async function typedCommand(
  interaction: APIInteraction,
  places: Places,
  context: NormalizeContext,
): Promise<Inbound | null> {
  const { place } = await placeOf(interaction, places);
  const given = { ...interaction, type: interactionTypes.command } as APIInteraction;
  return normalizeInteraction(given, place, context);
}

async function readMessage(told: MessageEvent, context: Reading, isEdit: boolean): Promise<Read> {
  const { places } = context;
  // An update for a link preview may have no author and brings nothing new.
  if (isEdit && told.author === undefined) return nothing;
  const { message, left } = salvage(told);
  if (!isWanted(message, context.me, isEdit)) return nothing;
  const { author, channel_id: channel, mention_roles: named } = message;
  const place = await places.find(channel, message.guild_id);
  const { guild } = place;
  const seen = { channel, ...(guild === undefined ? { user: author.id } : { guild }), message: message.id };
  const isMine = message.mentions.some((user) => user.id === context.me.id);
  if (guild !== undefined && !isMine && isHidden(message)) return { event: null, seen, hidden: true };
  if (guild === undefined) places.learnDirect(author.id, channel);
  const around = {
    place,
    parentType: await parentType(place, places),
    roles:
      message.member?.roles ??
      (guild === undefined || message.webhook_id !== undefined ? [] : await places.rolesOf(guild, author.id)),
    myRoles: guild === undefined || named.length === 0 ? [] : await places.rolesOf(guild, context.me.id),
  };
  const event = normalizeMessage(message, around, { ...context, nameOf: places.nameOf }, isEdit);
  if (left.length > 0) context.onLeftOut?.(left);
  // The message has content, but in a part that cannot be read.
  if (event === null && left.length > 0)
    throw new Error(`it says nothing but what cannot be read: ${left.join(", ")}`);
  return { event, seen, ...(guild === undefined || isMine ? {} : { hidden: false }) };
}

async function parentType({ parent, guild }: Place, places: Places): Promise<number | null> {
  return parent === undefined ? null : (await places.find(parent, guild)).type;
}

/**
 * The author of an unreadable private message. In a server nobody can tell whether the message was for the
 * bot.
 */
async function writtenBy(
  { event, body }: Dispatch,
  { places, channel, account }: Reading,
): Promise<NonNullable<Unreadable["from"]> | null> {
  const { author, channel_id: at, guild_id: guild } = (body ?? {}) as Partial<MessageEvent>;
  if (event !== "MESSAGE_CREATE" || !isSnowflake(author?.id) || !isSnowflake(at) || (guild ?? null) !== null)
    return null;
  if (author.bot === true || (await places.find(at)).guild !== undefined) return null;
  return {
    address: { channel, account, kind: "dm", peer: author.id },
    sender: { id: author.id, name: "", isBot: false },
  };
}

/** Names an unreadable event by its own id where it has one. */
function nameOf({ event, body, sequence, session }: Dispatch): string {
  const message = (body ?? {}) as Partial<MessageEvent>;
  if (event.startsWith("MESSAGE_") && !event.includes("REACTION") && typeof message.id === "string")
    return messageEventId(
      { id: message.id, edited_timestamp: message.edited_timestamp ?? null },
      event === "MESSAGE_UPDATE",
    );
  return `s${session.id}-${sequence ?? "none"}`;
}

/** Ids are used as keys, so they must be well-formed. */
function idIn(id: unknown, what: string): string {
  if (isSnowflake(id)) return id;
  throw new Error(`its ${what} id is none`);
}

function rawOf(body: unknown): string {
  try {
    return JSON.stringify(body ?? null).slice(0, rawChars);
  } catch {
    return "nested too deep to be written"; // Parsing succeeded, but writing it overflows the stack.
  }
}

function isPress({ type }: APIInteraction): boolean {
  return (type as number) === interactionTypes.component;
}
