// Counts what people write to the agent, by person and by shared place, and says when it is more than the
// config lets in. The counts are stored before a message is answered for, so that neither a kill nor another
// process of the same store begins anew; they go by themselves an hour after the last message (I9).
import { conversationKey, type Clock, type Inbound } from "@parley/protocol";
import type { Cells } from "@parley/store";

interface MessageLimit {
  readonly messagesPerMinute?: number | undefined;
  readonly messagesPerHour?: number | undefined;
}

export interface OverLimit {
  readonly of: "person" | "place";
  readonly per: "minute" | "hour";
  readonly most: number;
  readonly freeInMs: number;
  /** The first one too many since there was room: whoever wrote it is told. */
  readonly isFirst: boolean;
}

export interface MessageLimits {
  /** Counts this message, once however often it comes; null when it is let in. */
  over(
    message: Pick<Inbound, "id" | "channel" | "address" | "sender" | "groupId">,
    limits: { readonly person: MessageLimit; readonly place: MessageLimit },
  ): Promise<OverLimit | null>;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
const prefix = "message-limit:";
/** A message comes again at once, or never. */
const mostIds = 20;
/** Another process that counts the same person is done long before. */
const mostTries = 10;

interface Source {
  /** Times of what was let in within the last hour, or minute where no limit asks for more. */
  readonly atMs: readonly number[];
  /** The newest of them. */
  readonly ids: readonly string[];
  /** The refused message that was told; null once there is room again. */
  readonly told: string | null;
  /** Messages that belong together, as an album, count once. */
  readonly group?: string;
}

const nothing: Source = { atMs: [], ids: [], told: null };

export interface MessageLimitsOptions {
  readonly cells: Pick<Cells, "get" | "put">;
  readonly clock: Pick<Clock, "now">;
}

export function messageLimits({ cells, clock }: MessageLimitsOptions): MessageLimits {
  /** Null: another process was faster. */
  const keep = (key: string, source: Source, expect: number): Promise<unknown> =>
    cells.put(key, JSON.stringify(source), { expect, ttlMs: hourMs });

  type Over = MessageLimits["over"];
  async function once(
    { id, channel, address, sender, groupId }: Parameters<Over>[0],
    limits: Parameters<Over>[1],
  ): Promise<OverLimit | null | "raced"> {
    const now = clock.now();
    const asked = [
      { of: "person" as const, key: `${prefix}person:${channel}:${sender.id}`, limit: limits.person },
      ...(address.kind === "dm"
        ? []
        : [{ of: "place" as const, key: `${prefix}place:${conversationKey(address)}`, limit: limits.place }]),
    ].filter(({ limit }) => limit.messagesPerMinute !== undefined || limit.messagesPerHour !== undefined);
    const known = await Promise.all(
      asked.map(async (one) => {
        const cell = await cells.get(one.key);
        const source = cell === null ? nothing : (JSON.parse(cell.value) as Source);
        const isIn = source.ids.includes(id) || (groupId !== undefined && source.group === groupId);
        // A clock that was set back would hold somebody up for long.
        const windowMs = one.limit.messagesPerHour === undefined ? minuteMs : hourMs;
        const atMs = source.atMs.filter((each) => each > now - windowMs && each <= now);
        return { ...one, source, atMs, isIn, version: cell?.version ?? 0 };
      }),
    );
    for (const { of, key, limit, source, atMs, isIn, version } of known) {
      if (isIn) continue;
      const full = fullOf(limit, atMs, now);
      if (full === null) continue;
      const isFirst = source.told === null || source.told === id;
      if (isFirst && (await keep(key, { ...source, atMs, told: id }, version)) === null) return "raced";
      return { of, ...full, isFirst };
    }
    for (const { key, source, atMs, isIn, version } of known) {
      if (isIn) continue;
      const ids = [...source.ids, id].slice(-mostIds);
      const group = groupId === undefined ? {} : { group: groupId };
      if ((await keep(key, { atMs: [...atMs, now], ids, told: null, ...group }, version)) === null)
        return "raced";
    }
    return null;
  }

  return {
    async over(message, limits) {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const over = await once(message, limits);
        if (over !== "raced") return over;
      }
      // Not counting one message is better than not taking it.
      return null;
    },
  };
}

function fullOf(
  { messagesPerMinute = Infinity, messagesPerHour = Infinity }: MessageLimit,
  atMs: readonly number[],
  now: number,
): Pick<OverLimit, "per" | "most" | "freeInMs"> | null {
  const recent = atMs.filter((each) => each > now - minuteMs);
  if (atMs.length >= messagesPerHour)
    return { per: "hour", most: messagesPerHour, freeInMs: freeIn(atMs, messagesPerHour, hourMs, now) };
  if (recent.length >= messagesPerMinute)
    return {
      per: "minute",
      most: messagesPerMinute,
      freeInMs: freeIn(recent, messagesPerMinute, minuteMs, now),
    };
  return null;
}

const freeIn = (atMs: readonly number[], most: number, windowMs: number, now: number): number =>
  Math.max(0, (atMs.at(-most) ?? now) + windowMs - now);

/** For the person who wrote it: why nobody reads it, and when to go on. */
export function overLimitWords({ of, per, most, freeInMs }: OverLimit): string {
  const seconds = Math.max(1, Math.ceil(freeInMs / 1_000));
  const minutes = Math.ceil(seconds / 60);
  const wait = seconds < 120 ? `${seconds} second${seconds === 1 ? "" : "s"}` : `${minutes} minutes`;
  const whose = of === "person" ? "from one person" : "in this chat";
  return `⏳ I read at most ${most} message${most === 1 ? "" : "s"} ${whose} in one ${per}, and this was one more: I have not read it. Please write it again in ${wait}.`;
}
