// Counts what people write to the agent, by person and by shared place, and says when it is more than the
// config lets in. It lives in memory: a restart begins anew. Bounded however many people come (I9).
import { conversationKey, type Clock, type Inbound } from "@parley/protocol";

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
  /** Counts this message; null when it is let in. */
  over(
    message: Pick<Inbound, "channel" | "address" | "sender" | "groupId">,
    limits: { readonly person: MessageLimit; readonly place: MessageLimit },
  ): OverLimit | null;
}

const minuteMs = 60_000;
const hourMs = 3_600_000;
/** Most remembered people and places; a flood evicts whoever was silent longest. */
const mostSources = 5_000;

interface Source {
  /** Times of what was let in within the last hour. */
  readonly atMs: readonly number[];
  readonly wasTold: boolean;
  /** Messages that belong together, as an album, count once. */
  readonly group: string | undefined;
}

export function messageLimits(clock: Pick<Clock, "mono">): MessageLimits {
  const sources = new Map<string, Source>();

  const keep = (key: string, source: Source): void => {
    sources.delete(key);
    sources.set(key, source);
    const [oldest] = sources.keys();
    if (sources.size > mostSources && oldest !== undefined) sources.delete(oldest);
  };

  return {
    over({ channel, address, sender, groupId }, limits) {
      const now = clock.mono();
      const asked = [
        { of: "person" as const, key: `person ${channel}:${sender.id}`, limit: limits.person },
        ...(address.kind === "dm"
          ? []
          : [{ of: "place" as const, key: `place ${conversationKey(address)}`, limit: limits.place }]),
      ].filter(({ limit }) => limit.messagesPerMinute !== undefined || limit.messagesPerHour !== undefined);
      const known = asked.map((one) => {
        const source = sources.get(one.key) ?? { atMs: [], wasTold: false, group: undefined };
        return { ...one, source, atMs: source.atMs.filter((each) => each > now - hourMs) };
      });
      for (const { of, key, limit, source, atMs } of known) {
        if (groupId !== undefined && source.group === groupId) continue;
        const full = fullOf(limit, atMs, now);
        if (full === null) continue;
        keep(key, { atMs, wasTold: true, group: source.group });
        return { of, ...full, isFirst: !source.wasTold };
      }
      for (const { key, source, atMs } of known) {
        const isSame = groupId !== undefined && source.group === groupId;
        keep(key, { atMs: isSame ? atMs : [...atMs, now], wasTold: false, group: groupId });
      }
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
  const wait = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  const whose = of === "person" ? "from one person" : "in this chat";
  return `⏳ I read at most ${most} message${most === 1 ? "" : "s"} ${whose} in one ${per}, and this was one more: I have not read it. Please write it again in ${wait}.`;
}
