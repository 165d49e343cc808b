// Follows chats whose id changed, such as a Telegram group that became a supergroup. Replies queued for the
// old id go to the new one, and the session, rules and bindings of the old id stay in force. Cells hold a
// move before a message of the new chat is accepted; memory answers, because every message asks.
import { accountKey, encodeKeyPart, type Address } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface MigratedChats {
  /** Reads what earlier runs learned. Await it before anything is received or delivered. */
  load(): Promise<void>;
  /** Durable once resolved; calling it twice changes nothing. */
  learn(account: Pick<Address, "channel" | "account">, fromPeer: string, toPeer: string): Promise<void>;
  /** Returns the chat's current address. */
  current(address: Address): Address;
  /** Returns the address that session keys use: the chat's first one. */
  first(address: Address): Address;
  /** Returns the chat's id and its earlier ones, newest first. */
  ids(address: Address): readonly string[];
}

const prefix = "moved:";
/** A chat moves about once in its life; more than this on one gateway would be noise. */
const mostMoves = 10_000;
/** Only damaged cells can make a circle; the walk ends all the same. */
const mostSteps = 8;

export function migratedChats(cells: Pick<Cells, "list" | "put">): MigratedChats {
  const next = new Map<string, string>();
  const before = new Map<string, string>();
  const place = (account: Pick<Address, "channel" | "account">, peer: string): string =>
    `${accountKey(account)}:${encodeKeyPart(peer)}`;

  const remember = (account: Pick<Address, "channel" | "account">, from: string, to: string): void => {
    next.set(place(account, from), to);
    before.set(place(account, to), from);
  };

  function walk(steps: ReadonlyMap<string, string>, address: Address): string[] {
    const ids = [address.peer];
    for (
      let id = steps.get(place(address, address.peer));
      id !== undefined && ids.length < mostSteps;
      id = steps.get(place(address, id))
    ) {
      if (ids.includes(id)) break;
      ids.push(id);
    }
    return ids;
  }

  const at = (address: Address, peer: string | undefined): Address =>
    peer === undefined || peer === address.peer ? address : { ...address, peer };

  return {
    async load() {
      for (const cell of await cells.list(prefix, mostMoves)) {
        const { channel, account, from, to } = JSON.parse(cell.value) as {
          channel: string;
          account: string;
          from: string;
          to: string;
        };
        remember({ channel, account }, from, to);
      }
    },
    async learn({ channel, account }, from, to) {
      if (from === to || next.get(place({ channel, account }, from)) === to) return;
      await cells.put(
        `${prefix}${place({ channel, account }, from)}`,
        JSON.stringify({ channel, account, from, to }),
        {},
      );
      remember({ channel, account }, from, to);
    },
    current: (address) => at(address, walk(next, address).at(-1)),
    first: (address) => at(address, walk(before, address).at(-1)),
    ids: (address) => [...walk(next, address).toReversed(), ...walk(before, address).slice(1)],
  };
}

/**
 * Remembers which bot an account was first. Telegram counts messages and updates per bot, so after another
 * bot took the account over, its first messages would look like repeats of old ones and be lost (I1): the ids
 * of later bots carry the bot.
 */
export function firstBot(
  cells: Pick<Cells, "get" | "put">,
  account: string,
): (bot: string) => Promise<string> {
  const cell = `telegram:${account}:first-bot`;
  return async (bot) => {
    const known = await cells.get(cell);
    if (known !== null) return known.value;
    await cells.put(cell, bot, {});
    return bot;
  };
}
