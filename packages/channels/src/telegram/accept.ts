// Updates become events and are handed over as one batch; only when this resolves may Telegram be told. One unreadable update never holds up the rest.
import type { Update } from "grammy/types";
import type { Clock, Inbound, Log, Unreadable } from "@parley/protocol";
import type { Receive } from "../channel.ts";
import type { BotIdentity } from "./addressing.ts";
import { type ChatMigration, eventId, normalize, type NormalizeContext } from "./normalize.ts";

export interface AcceptOptions {
  readonly channel: string;
  readonly account: string;
  /** The account was another bot before. */
  readonly bot?: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly receive: Receive;
  /** Awaited before the batch is handed over, so that the new chat's first message meets the rewritten routes. */
  readonly onMigration: (migration: ChatMigration) => Promise<void>;
}

/** A raw update is kept up to this length: enough to see what was wrong with it. */
const rawChars = 16_384;

export async function acceptUpdates(updates: readonly Update[], me: BotIdentity, options: AcceptOptions): Promise<void> {
  const { channel, account, bot, clock, log, receive, onMigration } = options;
  const context: NormalizeContext = { channel, account, me, ...(bot === undefined ? {} : { bot }), nowMs: clock.now() };
  const events: (Inbound | Unreadable)[] = [];
  for (const update of updates) {
    const event = read(update, context);
    if (event === null) log.debug({ updateId: update.update_id, kinds: Object.keys(update) }, "update carries nothing for us");
    else if (event.kind === "migration") await onMigration(event);
    else events.push(event);
  }
  if (events.length > 0) await receive(events);
}

function read(update: Update, context: NormalizeContext): Inbound | Unreadable | ChatMigration | null {
  try {
    return normalize(update, context);
  } catch (error) {
    // Whatever was wrong with it, the operator gets the update and the reason, and its neighbours go on.
    const reason = error instanceof Error ? error.message.slice(0, 500) : String(error);
    const raw = JSON.stringify(update).slice(0, rawChars);
    const { channel, account } = context;
    return { kind: "unreadable", id: eventId(context, update.update_id), channel, account, raw, reason };
  }
}
