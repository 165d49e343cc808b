// Resolves Discord channel ids to a private chat, a channel, or a thread with its channel. Events carry only
// the id, so this asks Discord and remembers the answers, bounded; nothing else of a server is kept (I9).
import { type Address, Fault, isFault } from "@parley/protocol";
import { refusalCode } from "./refusals.ts";
import type { DiscordRest } from "./rest.ts";
import { isSnowflake, snowflake } from "./snowflake.ts";

export interface Place {
  readonly id: string;
  readonly guild?: string;
  /** Discord's channel type; null when the bot may not know. */
  readonly type: number | null;
  /** For a thread, its channel. */
  readonly parent?: string;
  /** For a thread, its title. */
  readonly title?: string;
}

export interface Places {
  /**
   * Throws Fault for failures that may pass (unavailable, rate_limited). A channel that the bot may not read
   * counts as a plain channel.
   */
  find(channel: string, guild?: string): Promise<Place>;
  /** The same for a channel whose server is not known. */
  look(channel: string): Promise<Place>;
  /** Learns channels from an event that describes them, and ignores anything else. */
  learn(channels: unknown, guild?: string): void;
  /** The name of a channel or role, as far as events have told it. */
  nameOf(id: string): string | undefined;
  /** Learns roles from a server's list, and ignores anything else. */
  learnRoles(roles: unknown): void;
  /** The channel id to send to. Opens the private chat if needed. Throws Fault. */
  target(to: Address, signal?: AbortSignal): Promise<string>;
  /** Remembers a private chat by its person, because messages name only its channel. */
  learnDirect(user: string, channel: string): void;
  /** A member's role ids; empty for a person who left. */
  rolesOf(guild: string, user: string): Promise<readonly string[]>;
  /** The server's boost tier, 0 to 3; null when the bot may not know. */
  boostTier(guild: string): Promise<number | null>;
}

export const channelTypes = {
  directMessage: 1,
  category: 4,
  announcementThread: 10,
  publicThread: 11,
  privateThread: 12,
  forum: 15,
  media: 16,
} as const;

function isThread(type: number | null): boolean {
  return (
    type === channelTypes.announcementThread ||
    type === channelTypes.publicThread ||
    type === channelTypes.privateThread
  );
}

export function isForum(type: number | null): boolean {
  return type === channelTypes.forum || type === channelTypes.media;
}

export function addressOf(
  place: Place,
  names: { readonly channel: string; readonly account: string },
  user: string,
): Address {
  if (place.guild === undefined) return { ...names, kind: "dm", peer: user };
  if (place.parent === undefined) return { ...names, kind: "channel", peer: place.id };
  return { ...names, kind: "channel", peer: place.parent, thread: place.id };
}

const mostPlaces = 5_000;
const mostMembers = 1_000;
const mostNames = 10_000;
/** Roles are asked for again after this time, so that a person does not long keep one that was taken away. */
const rolesFreshMs = 60_000;

export function places(rest: DiscordRest, monoMs: () => number): Places {
  const known = new Map<string, Place>();
  const direct = new Map<string, string>();
  const roles = new Map<string, { readonly ids: readonly string[]; readonly atMs: number }>();

  const names = new Map<string, string>();
  const learnName = (one: unknown): void => {
    const { id, name } = (one ?? {}) as Readonly<Record<string, unknown>>;
    if (isSnowflake(id) && typeof name === "string") remember(names, id, name, mostNames);
  };

  const learnOne = (channel: unknown, guild?: string): Place | null => {
    const {
      id,
      type,
      parent_id: parent,
      name,
      guild_id: own,
    } = (channel ?? {}) as Readonly<Record<string, unknown>>;
    if (!isSnowflake(id) || typeof type !== "number" || (isThread(type) && !isSnowflake(parent))) return null;
    learnName(channel);
    const server = isSnowflake(own) ? own : guild;
    const place: Place = {
      id,
      type,
      ...(server === undefined ? {} : { guild: server }),
      ...(isThread(type) && isSnowflake(parent) ? { parent } : {}),
      ...(isThread(type) && typeof name === "string" ? { title: name } : {}),
    };
    remember(known, id, place, mostPlaces);
    return place;
  };

  const look = async (channel: string, guild?: string): Promise<Place> => {
    const found = known.get(channel);
    if (found !== undefined) return found;
    const plain: Place = { id: channel, type: null, ...(guild === undefined ? {} : { guild }) };
    try {
      return learnOne(await rest.call({ method: "GET", route: `/channels/${channel}` }), guild) ?? plain;
    } catch (error) {
      if (!isRefusedForGood(error)) throw error;
      // Not remembered, because permissions change.
      return plain;
    }
  };

  return {
    async find(channel, guild) {
      // Without a server it is a private chat, unless we know better: a server's channel must never pass for
      // a private chat.
      if (guild === undefined && known.get(channel)?.guild === undefined)
        return { id: channel, type: channelTypes.directMessage };
      const place = await look(channel, guild);
      return place.guild === undefined && guild !== undefined ? { ...place, guild } : place;
    },
    look: (channel) => look(channel),
    learn(channels, guild) {
      if (Array.isArray(channels)) for (const channel of channels) learnOne(channel, guild);
      else learnOne(channels, guild);
    },
    nameOf: (id) => names.get(id),
    learnRoles(roles) {
      for (const role of Array.isArray(roles) ? roles : [roles]) learnName(role);
    },
    async target(to, signal) {
      if (to.thread !== undefined) return snowflake(to.thread, "thread");
      if (to.kind !== "dm") return snowflake(to.peer, "channel");
      const user = snowflake(to.peer, "user");
      const open = direct.get(user);
      if (open !== undefined) return open;
      const opened = (await rest
        .call({
          method: "POST",
          route: "/users/@me/channels",
          body: { recipient_id: user },
          signal,
        })
        .catch((error: unknown) => {
          // Opening a chat twice opens it once.
          throw isFault(error, "ambiguous")
            ? new Fault("unavailable", error.message, { cause: error.cause })
            : error;
        })) as { readonly id?: unknown } | undefined;
      if (!isSnowflake(opened?.id))
        throw new Fault("unavailable", "Discord opened a private chat without naming it");
      remember(direct, user, opened.id, mostPlaces);
      return opened.id;
    },
    learnDirect: (user, channel) => remember(direct, user, channel, mostPlaces),
    async rolesOf(guild, user) {
      const key = `${guild}/${user}`;
      const fresh = roles.get(key);
      if (fresh !== undefined && monoMs() - fresh.atMs < rolesFreshMs) return fresh.ids;
      let ids: readonly string[] = [];
      try {
        const member = (await rest.call({ method: "GET", route: `/guilds/${guild}/members/${user}` })) as
          | { readonly roles?: unknown }
          | undefined;
        ids = Array.isArray(member?.roles) ? member.roles.filter(isSnowflake) : [];
      } catch (error) {
        if (!isRefusedForGood(error)) throw error;
      }
      remember(roles, key, { ids, atMs: monoMs() }, mostMembers);
      return ids;
    },
    async boostTier(guild) {
      try {
        const answer = (await rest.call({ method: "GET", route: `/guilds/${guild}` })) as
          | { readonly premium_tier?: unknown }
          | undefined;
        return typeof answer?.premium_tier === "number" ? answer.premium_tier : null;
      } catch (error) {
        if (!isRefusedForGood(error)) throw error;
        return null;
      }
    },
  };
}

function isRefusedForGood(error: unknown): boolean {
  return (
    isFault(error) &&
    (error.code === "missing" ||
      error.code === "denied" ||
      (error.code === "invalid" && refusalCode(error) !== 0))
  );
}

/** Removes the entry that was set longest ago. */
function remember<V>(map: Map<string, V>, key: string, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
