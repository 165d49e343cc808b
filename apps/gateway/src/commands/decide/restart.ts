// Implements /restart: lets an owner do in a chat what `parley restart` does. The daemon tells the chat
// before and, once it is back, once after. It stores the request in a cell, so that a redelivered command
// restarts nothing more.
import { type Address, type Clock, type Inbound, type Log, version } from "@parley/protocol";
import type { Cells, Outbox } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import type { Restarting } from "@parley/runner";
import type { PastLaneCommand } from "../chat-command.ts";

export interface ChatRestartOptions {
  /** Absent: it can only be stopped. */
  readonly restarting?: Restarting | undefined;
  readonly cells: Pick<Cells, "get" | "put" | "list">;
  readonly outbox: Pick<Outbox, "post">;
  /** Name of this process among those that share a store. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface ChatRestart {
  /** Returns the answer; null when this request was made before and is done. */
  ask(by: Pick<Inbound, "id" | "address">): Promise<string | null>;
  /** Tells the chats that asked, at the daemon's start. */
  restarted(): Promise<void>;
}

interface Asked {
  readonly id: string;
  readonly address: Address;
  readonly isOver: boolean;
}

/** Longer than a platform redelivers a message. */
const lifeMs = 86_400_000;
const most = 1_000;
/** Leaves time to store the answer and the command's row first. */
const restartDelayMs = 200;

export const restart: PastLaneCommand = {
  name: "restart",
  summary: "let what runs end, and start me anew",
  place: "past-lane",
  ownersOnly: true,
  run: async ({ inbound, owner }, { daemon }) => (owner ? daemon.restart(inbound) : null),
};

export function chatRestart({
  restarting,
  cells,
  outbox,
  node,
  clock,
  log,
}: ChatRestartOptions): ChatRestart {
  const prefix = `chat-restart:${node}:`;
  const begins =
    "I restart: what runs may end first, the rest goes on afterwards. I say here when I am back.";

  const keep = async (asked: Asked): Promise<void> =>
    void (await cells.put(prefix + asked.id, JSON.stringify(asked), { ttlMs: lifeMs }));

  return {
    async ask({ id, address }) {
      if (restarting === undefined) return "I can only be stopped, and started again by hand.";
      const before = await cells.get(prefix + id);
      if (before !== null) return readAsked(before.value).isOver ? null : begins;
      const trouble = await restarting.trouble();
      if (trouble !== null) return `I do not restart: I would not come up again (${trouble}).`;
      await keep({ id, address, isOver: false });
      log.info({ rows: [id] }, "an owner asked for a restart in a chat");
      clock.after(restartDelayMs, restarting.begin);
      return begins;
    },
    async restarted() {
      const found = (await cells.list(prefix, most)).map(({ key, value }) => ({
        key,
        asked: readAsked(value),
      }));
      // Another node's name may begin like this one's.
      const own = found.flatMap(({ key, asked }) => (key === prefix + asked.id ? [asked] : []));
      for (const one of own.filter(({ isOver }) => !isOver)) {
        await outbox.post([
          textDelivery(`restarted:${one.id}`, one.address, `I am back: Parley ${version}.`, one.id),
        ]);
        await keep({ ...one, isOver: true });
      }
    },
  };
}

function readAsked(value: string): Asked {
  return JSON.parse(value) as Asked;
}
