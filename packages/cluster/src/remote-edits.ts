// Edits previews of turns that run on other nodes. A worker sends the text so far, the newest wins; the
// account's leader edits the message within the account's rate limit. These edits end before the final text
// is written, so that none can undo it.
import {
  accountKey,
  isFault,
  sleep,
  type Action,
  type Address,
  type Clock,
  type Log,
  deadline,
} from "@parley/protocol";
import type { Channel } from "@parley/channels";
import type { Bus } from "@parley/queue";

export type Edit = Extract<Action, { kind: "edit" }>;

export interface LeaderEdits {
  /** Resolves when no edit of this message is under way and none will follow. */
  settle(account: string, messageId: string): Promise<void>;
  close(): void;
}

export interface LeaderEditsOptions {
  readonly bus: Bus;
  /** Returns the channel of an account that this node leads; null for any other. */
  readonly leads: (account: string) => Channel | null;
  readonly clock: Clock;
  readonly log: Log;
}

const editTimeoutMs = 15_000;
const paceMs = 1_000;
/** An edit of unknown outcome may still arrive for this long. */
const doubtMs = 2_000;
const mostSettled = 10_000;
const mostUnderWay = 10_000;

const topic = "edit";

/** Runs on a node that does not lead: sends the newest text to the leader. */
export function tellEdit(bus: Bus, to: Address, edit: Edit): void {
  bus.tell(topic, JSON.stringify([to, edit]));
}

export function leaderEdits({ bus, leads, clock, log }: LeaderEditsOptions): LeaderEdits {
  interface UnderWay {
    latest: Edit | null;
    readonly ending: AbortController;
    readonly work: Promise<void>;
  }
  const underWay = new Map<string, UnderWay>();
  const settled = new Set<string>();
  const keyOf = (account: string, messageId: string): string => JSON.stringify([account, messageId]);

  const stop = bus.hear(topic, (text) => {
    const [to, edit] = JSON.parse(text) as [Address, Edit];
    const account = accountKey(to);
    const key = keyOf(account, edit.messageId);
    if (leads(account) === null || settled.has(key)) return;
    const known = underWay.get(key);
    if (known !== undefined) {
      known.latest = edit;
      return;
    }
    if (underWay.size >= mostUnderWay) return;
    const ending = new AbortController();
    const begun: UnderWay = {
      latest: edit,
      ending,
      work: Promise.resolve().then(() => run(key, account, to, begun)),
    };
    underWay.set(key, begun);
  });

  async function run(key: string, account: string, to: Address, mine: UnderWay): Promise<void> {
    try {
      while (mine.latest !== null && !mine.ending.signal.aborted) {
        const channel = leads(account);
        if (channel?.act === undefined) return;
        const edit = mine.latest;
        mine.latest = null;
        const waitMs = await editOnce(channel, to, edit, mine);
        if (waitMs === null) return;
        await sleep(clock, waitMs, mine.ending.signal);
      }
    } finally {
      underWay.delete(key);
    }
  }

  /** Returns the wait before the next edit in milliseconds; null when going on is pointless. */
  async function editOnce(channel: Channel, to: Address, edit: Edit, mine: UnderWay): Promise<number | null> {
    const timeout = deadline(clock, editTimeoutMs, "an edit");
    try {
      await channel.act?.(to, edit, { idempotencyKey: `edit/${edit.messageId}`, signal: timeout.signal });
      return paceMs;
    } catch (error) {
      log.debug(
        { error, messageId: edit.messageId },
        "preview edit failed; the final answer will be written all the same",
      );
      if (isFault(error, "rate_limited")) {
        mine.latest ??= edit;
        return error.retryAfterMs ?? paceMs;
      }
      if (!isFault(error, "ambiguous")) return isFault(error, "unavailable") ? paceMs : null;
      await sleep(clock, doubtMs);
      return 0;
    } finally {
      timeout.cancel();
    }
  }

  return {
    async settle(account, messageId) {
      const key = keyOf(account, messageId);
      settled.add(key);
      if (settled.size > mostSettled) settled.delete(settled.values().next().value ?? "");
      const mine = underWay.get(key);
      if (mine === undefined) return;
      mine.latest = null;
      mine.ending.abort();
      await mine.work;
    },
    close() {
      stop();
      for (const { ending } of underWay.values()) ending.abort();
    },
  };
}
