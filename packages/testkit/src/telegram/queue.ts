// Keeps one bot's updates for getUpdates and webhooks: offsets confirm, one long poll at a time, an update
// lives for 24 hours.
import type { Clock, Timer } from "@parley/protocol";
import { conflict } from "./refusal.ts";

export interface Update {
  readonly update_id: number;
  readonly [kind: string]: unknown;
}

export interface PollRequest {
  readonly offset?: number;
  readonly limit?: number;
  /** Seconds. */
  readonly timeout?: number;
}

export interface UpdateQueue {
  /** Adds an update unless the bot did not ask for its kind. Returns it with its id, or null. */
  push(kind: string, body: unknown): Update | null;
  /** Adds an update exactly as it is: repeated ids, unknown kinds, missing fields. */
  pushRaw(update: Update): void;
  /** Answers getUpdates; waits up to `timeout` for the first update. */
  poll(request: PollRequest, signal: AbortSignal): Promise<readonly Update[]>;
  /**
   * The id of the next update. Telegram draws a new one after an idle week: it may be lower than the last.
   */
  setNextId(id: number): void;
  /** Update kinds wanted; remembered until changed. An empty list means the default. */
  setAllowed(kinds: readonly string[]): void;
  allowed(): readonly string[];
  /** Removes a delivered update (webhook mode). */
  remove(update: Update): void;
  clear(): void;
  pending(): readonly Update[];
  /** Ids that left the queue because a later offset (or a webhook's 2xx) confirmed them, in order. */
  confirmed(): readonly number[];
  /** Number of long polls that wait now. */
  held(): number;
  onPush(listener: () => void): void;
}

/** Not sent unless asked for (Bot API, getUpdates). */
const notByDefault = new Set(["chat_member", "message_reaction", "message_reaction_count"]);
const lifetimeMs = 24 * 3_600_000;

interface Waiting {
  readonly wake: () => void;
  readonly fail: (error: Error) => void;
}

export function updateQueue(clock: Clock): UpdateQueue {
  let updates: { readonly update: Update; readonly atMs: number }[] = [];
  let nextId = 1;
  let allowed: readonly string[] = [];
  let waiting: Waiting | null = null;
  const confirmed: number[] = [];
  const listeners: (() => void)[] = [];

  const wants = (kind: string): boolean =>
    allowed.length === 0 ? !notByDefault.has(kind) : allowed.includes(kind);
  const add = (update: Update): void => {
    updates.push({ update, atMs: clock.now() });
    waiting?.wake();
    for (const listener of listeners) listener();
  };
  const confirmIf = (isConfirmed: (update: Update, index: number) => boolean): void => {
    const gone = updates.filter((entry, index) => isConfirmed(entry.update, index));
    confirmed.push(...gone.map((entry) => entry.update.update_id));
    updates = updates.filter((entry) => !gone.includes(entry));
  };

  return {
    push(kind, body) {
      if (!wants(kind)) return null;
      const update: Update = { update_id: nextId++, [kind]: body };
      add(update);
      return update;
    },
    pushRaw: add,
    async poll({ offset = 0, limit = 100, timeout = 0 }, signal) {
      waiting?.fail(
        conflict("terminated by other getUpdates request; make sure that only one bot instance is running"),
      );
      updates = updates.filter((entry) => clock.now() - entry.atMs < lifetimeMs);
      if (offset > 0) confirmIf((update) => update.update_id < offset);
      if (offset < 0) confirmIf((_, index) => index < updates.length + offset);
      if (updates.length === 0 && timeout > 0) {
        let timer: Timer | undefined;
        const mine: { waiting?: Waiting } = {};
        try {
          await new Promise<void>((wake, fail) => {
            waiting = mine.waiting = { wake, fail };
            timer = clock.after(timeout * 1000, wake);
            signal.addEventListener("abort", () => wake(), { once: true });
          });
        } finally {
          timer?.cancel();
          if (waiting === mine.waiting) waiting = null;
        }
      }
      return signal.aborted
        ? []
        : updates.slice(0, Math.min(Math.max(limit, 1), 100)).map((entry) => entry.update);
    },
    setNextId(id) {
      nextId = id;
    },
    setAllowed(kinds) {
      allowed = kinds;
    },
    allowed: () => allowed,
    remove: (update) => confirmIf((other) => other === update),
    clear() {
      updates = [];
    },
    pending: () => updates.map((entry) => entry.update),
    confirmed: () => confirmed,
    held: () => (waiting === null ? 0 : 1),
    onPush: (listener) => void listeners.push(listener),
  };
}
