// Reads the history of known conversations after a gap that RESUME cannot fill. Rows have their own guards
// against duplicates, so reading a little too much repeats nothing. Messages older than the fence are
// skipped, because nobody waits for an answer any more.
import { type Clock, type Ids, isFault, type Log, sleep } from "@parley/protocol";
import { waitAfterMs } from "../persist.ts";
import type { Dispatch } from "./connection.ts";
import type { Watched } from "./memory.ts";
import type { DiscordRest } from "./rest.ts";
import { idAt, isSnowflake, madeAtMs, namesTime, newerId } from "./snowflake.ts";

export interface BackfillOptions {
  readonly rest: DiscordRest;
  readonly watched: readonly (Watched & Partial<Pick<Unread, "after">>)[];
  /** The newest message that was accepted before the gap. */
  readonly lastMessageId: string;
  /**
   * How long before that message to begin, because messages of two channels may arrive in another order than
   * their ids. Milliseconds; default a minute.
   */
  readonly overlapMs?: number;
  readonly session: Dispatch["session"];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const fenceMs = 24 * 3_600_000;
export const pageMessages = 100;
/** The rest of a longer history is read later: one conversation neither fills memory nor delays all. */
const mostPages = 5;
/**
 * Histories read at once. One after the other, two hundred conversations would delay everybody by half a
 * minute.
 */
const atOnce = 8;
/** Live events wait for the history, so that each conversation keeps its order, but no longer than this. */
const withinMs = 60_000;

/** A conversation that was not read to its end, and the id behind which it is to be read on. */
export interface Unread extends Watched {
  readonly after: string;
}

export interface Missed {
  /** Oldest first over all conversations. */
  readonly messages: readonly Dispatch[];
  /** Conversations that could not be read to the end but may be later. */
  readonly unread: readonly Unread[];
}

/**
 * Returns the missed messages. Never rejects: a conversation that the bot may not read is left out and
 * logged.
 */
export async function missedMessages(options: BackfillOptions): Promise<Missed> {
  const { watched, lastMessageId, overlapMs = 60_000, clock, log, session } = options;
  const after = namesTime(lastMessageId)
    ? idAt(Math.max(madeAtMs(lastMessageId) - overlapMs, clock.now() - fenceMs))
    : lastMessageId;
  const untilMono = clock.mono() + withinMs;
  const found: (readonly [string, Dispatch])[] = [];
  const unread: Unread[] = [];
  const left = [...watched];
  const readOn = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const { channel, guild } = next;
      const from = next.after ?? after;
      const { messages, readTo, isUnread } = await history(options, channel, from, untilMono);
      if (isUnread) unread.push({ ...next, after: readTo });
      for (const message of messages) {
        const body = guild === undefined ? message : { ...message, guild_id: guild };
        found.push([message.id, { event: "MESSAGE_CREATE", body, sequence: null, session }]);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, readOn));
  log.info({ conversations: watched.length, messages: found.length }, "looked for messages that were missed");
  return {
    messages: found.toSorted(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1)).map(([, dispatch]) => dispatch),
    unread,
  };
}

interface Found {
  readonly id: string;
}

async function history(
  options: BackfillOptions,
  channel: string,
  from: string,
  untilMono: number,
): Promise<{ readonly messages: readonly Found[]; readonly readTo: string; readonly isUnread: boolean }> {
  const { clock, ids, log, signal } = options;
  const found: Found[] = [];
  let after = from;
  let isAtEnd = false;
  let pages = 0;
  for (let failures = 0; pages < mostPages && !isAtEnd && !signal.aborted;) {
    try {
      const page = await messagesOf<Found>(options.rest, channel, { after }, signal);
      pages++;
      found.push(...page);
      after = page.reduce((newest, { id }) => newerId(newest, id), after);
      isAtEnd = page.length < pageMessages;
    } catch (error) {
      failures++;
      const waitMs = waitAfterMs(error, failures, ids);
      const mayPass = isFault(error) && (error.code === "unavailable" || error.code === "rate_limited");
      if (!mayPass || clock.mono() + waitMs > untilMono) {
        log.warn({ conversation: channel, error }, "could not look for missed messages");
        return { messages: found, readTo: after, isUnread: mayPass };
      }
      await sleep(clock, waitMs, signal);
    }
  }
  // A server that tells the same page again and again has no end.
  return { messages: found, readTo: after, isUnread: pages === mostPages && !isAtEnd && after !== from };
}

/**
 * Reads up to a hundred messages next to an id, newest first; the newest of all without one. Throws Fault.
 */
export async function messagesOf<M extends Found>(
  rest: DiscordRest,
  channel: string,
  next: { readonly after: string } | { readonly before: string } | null,
  signal: AbortSignal,
): Promise<readonly M[]> {
  const query = { ...next, limit: String(pageMessages) };
  const answer = await rest.call({ method: "GET", route: `/channels/${channel}/messages`, query, signal });
  if (!Array.isArray(answer)) return [];
  return answer.filter((message: unknown): message is M =>
    isSnowflake((message as Partial<Found> | null)?.id),
  );
}
