// After a gap that no RESUME can fill: which channels of a server, in which we never heard anybody, were written in meanwhile. A server says so
// by itself when a session begins. Keeps what to look for until the server has said it, also over a restart.
import type { Dispatch } from "./connection.ts";
import { channelTypes, isForum } from "./places.ts";
import { isSnowflake } from "./snowflake.ts";

export interface Gap {
  /** The session that began after it. */
  readonly session: string;
  /** The newest message, or the moment, before it. */
  readonly since: string;
  /** Servers that we were in already. */
  readonly guilds: readonly string[];
}

/** Far more than are talked in within an outage; each costs a call. */
const mostChannels = 50;

export function gapBefore(ready: unknown, since: string | null): Gap | undefined {
  const { session_id: session, guilds } = (ready ?? {}) as {
    readonly session_id?: unknown;
    readonly guilds?: unknown;
  };
  if (since === null || typeof session !== "string" || !Array.isArray(guilds)) return undefined;
  const ids = guilds
    .map((guild: unknown) => (guild as { readonly id?: unknown } | null)?.id)
    .filter(isSnowflake);
  return { session, since, guilds: ids };
}

/** Null for an event that says nothing about the gap. */
export function writtenIn(
  { event, body, session }: Dispatch,
  gap: Gap | undefined,
): { readonly guild: string; readonly channels: readonly string[] } | null {
  if (event !== "GUILD_CREATE" || gap?.session !== session.id) return null;
  const { id: guild, channels, threads } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (!isSnowflake(guild) || !gap.guilds.includes(guild)) return null;
  const found = [...described(channels), ...described(threads)].filter(
    ({ last }) => BigInt(last) > BigInt(gap.since),
  );
  return {
    guild,
    channels: found
      .toSorted((a, b) => (BigInt(a.last) > BigInt(b.last) ? -1 : 1))
      .slice(0, mostChannels)
      .map(({ id }) => id),
  };
}

/** What is left to look for once these are durable: a server that comes back later in the session has told its gap already. */
export function gapAfter(dispatches: readonly Dispatch[], gap: Gap | undefined): Gap | undefined {
  const told = new Set(dispatches.map((dispatch) => writtenIn(dispatch, gap)?.guild));
  return gap === undefined || told.size === 0
    ? gap
    : { ...gap, guilds: gap.guilds.filter((guild) => !told.has(guild)) };
}

/** Those that hold messages. What a forum has last is a post, and that is a thread of its own. */
function described(list: unknown): readonly { readonly id: string; readonly last: string }[] {
  return (Array.isArray(list) ? list : []).flatMap((channel: unknown) => {
    const { id, type, last_message_id: last } = (channel ?? {}) as Readonly<Record<string, unknown>>;
    if (
      !isSnowflake(id) ||
      !isSnowflake(last) ||
      typeof type !== "number" ||
      isForum(type) ||
      type === channelTypes.category
    )
      return [];
    return [{ id, last }];
  });
}
