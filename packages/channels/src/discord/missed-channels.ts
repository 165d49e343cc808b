// Finds server channels that were written in during a gap that RESUME cannot fill, although nobody had spoken
// there before. Each server lists its channels when a session begins; until all have, the gap is kept, also
// over a restart.
import type { Dispatch } from "./connection.ts";
import { channelTypes, isForum } from "./places.ts";
import { isSnowflake } from "./snowflake.ts";

export interface Gap {
  /** Id of the session that began after the gap. */
  readonly session: string;
  /** Id of the newest message before the gap, or of that moment. */
  readonly since: string;
  /** Servers that the bot was in already. */
  readonly guilds: readonly string[];
}

/** Far more channels than are used within an outage; each costs one call. */
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

/**
 * The rest of the gap once these events are durable. A server that becomes available again later in the
 * session has already reported.
 */
export function gapAfter(dispatches: readonly Dispatch[], gap: Gap | undefined): Gap | undefined {
  const told = new Set(dispatches.map((dispatch) => writtenIn(dispatch, gap)?.guild));
  return gap === undefined || told.size === 0
    ? gap
    : { ...gap, guilds: gap.guilds.filter((guild) => !told.has(guild)) };
}

/** The channels that hold messages. A forum's last item is a post, which is a thread of its own. */
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
