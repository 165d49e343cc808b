// Turns updates into events and hands them over as one batch; Telegram may be told only when this resolves.
// One unreadable update never holds up the others.
import type { Update } from "grammy/types";
import type { Clock, Inbound, Log, Unreadable } from "@parley/protocol";
import type { Receive } from "../channel.ts";
import type { BotIdentity } from "./addressing.ts";
import { type ChatMigration, eventId, normalize, type NormalizeContext, placeOf } from "./normalize.ts";

export interface AcceptOptions {
  readonly channel: string;
  readonly account: string;
  /** Id of the present bot, where the account was another bot before. */
  readonly bot?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly receive: Receive;
  /**
   * Awaited before the batch is handed over, so that the new chat's first message meets the rewritten routes.
   */
  readonly onMigration: (migration: ChatMigration) => Promise<void>;
  /**
   * Called once the batch is durable, for a pressed button that is not ours, so that its spinner ends. Must
   * not throw.
   */
  readonly onForeignPress: (query: string) => void;
}

/** Characters of a raw update that are kept, enough to see what was wrong. */
const rawChars = 16_384;
const mostNamed = 20;

export async function acceptUpdates(
  updates: readonly Update[],
  me: BotIdentity,
  options: AcceptOptions,
): Promise<void> {
  const { channel, account, bot, clock, log, receive, onMigration, onForeignPress } = options;
  const context: NormalizeContext = {
    channel,
    account,
    me,
    bot,
    nowMs: clock.now(),
  };
  const events: (Inbound | Unreadable)[] = [];
  const foreign: string[] = [];
  for (const update of updates) {
    const onLeftOut = (left: readonly string[]): void =>
      log.warn(
        { updateId: update.update_id, count: left.length, left: left.slice(0, mostNamed) },
        "parts of a message could not be read",
      );
    const event = read(update, { ...context, onLeftOut });
    if (event === null || event.kind === "unreadable") foreign.push(...queryOf(update));
    if (event === null)
      log.debug({ updateId: update.update_id, kinds: Object.keys(update) }, "update carries nothing for us");
    else if (event.kind === "migration") await onMigration(event);
    else events.push(event);
  }
  if (events.length > 0) await receive(events);
  for (const query of foreign) onForeignPress(query);
}

function queryOf({ callback_query: query }: Update): string[] {
  const id: unknown = query?.id;
  return typeof id === "string" ? [id] : [];
}

function read(update: Update, context: NormalizeContext): Inbound | Unreadable | ChatMigration | null {
  try {
    return normalize(update, context);
  } catch (error) {
    // The operator gets the update with the reason, and the other updates go on.
    const reason = error instanceof Error ? error.message.slice(0, 500) : String(error);
    const raw = JSON.stringify(update).slice(0, rawChars);
    const { channel, account } = context;
    const from = placeOf(update, context);
    const id = eventId(context, update.update_id);
    return { kind: "unreadable", id, channel, account, raw, reason, ...(from === null ? {} : { from }) };
  }
}
