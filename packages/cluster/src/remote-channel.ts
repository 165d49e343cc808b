// Stands in for an account's channel on nodes that do not lead it: typing and edits of a growing answer go to
// the leader. What people see once is a delivery anyway. Where this node leads, it is the channel itself.
import { accountKey, type Action, type Address } from "@parley/protocol";
import type { Channel } from "@parley/channels";
import type { Bus } from "@parley/queue";
import { tellEdit } from "./remote-edits.ts";

export interface DistantOptions {
  readonly bus: Bus;
  /** Returns the current channel, which is made anew for each term. */
  readonly channel: () => Channel;
  readonly leads: () => boolean;
}

const topic = "typing";

export function remoteChannel({ bus, channel, leads }: DistantOptions): Channel {
  const first = channel();
  return {
    name: first.name,
    account: first.account,
    capabilities: first.capabilities,
    ...(first.actions === undefined ? {} : { actions: first.actions }),
    suggestsWith: (suggest) => channel().suggestsWith?.(suggest),
    start: (receive) => channel().start(receive),
    stop: () => channel().stop(),
    health: () => channel().health(),
    send: (to, part, options) => channel().send(to, part, options),
    ...(first.sentSince === undefined
      ? {}
      : {
          sentSince: async (...args: Parameters<NonNullable<Channel["sentSince"]>>) =>
            (await channel().sentSince?.(...args)) ?? null,
        }),
    ...(first.act === undefined
      ? {}
      : {
          act: async (to: Address, action: Action, options: Parameters<NonNullable<Channel["act"]>>[2]) => {
            if (leads() || action.kind !== "edit")
              return (await channel().act?.(to, action, options)) ?? null;
            tellEdit(bus, to, action);
            return null;
          },
        }),
    ...(first.typing === undefined
      ? {}
      : {
          async typing(to: Address) {
            if (leads()) return channel().typing?.(to);
            bus.tell(topic, JSON.stringify(to));
          },
        }),
    ...(first.settle === undefined
      ? {}
      : { settle: async (events: readonly string[]) => channel().settle?.(events) }),
    ...(first.download === undefined
      ? {}
      : {
          download: (...args: Parameters<NonNullable<Channel["download"]>>) => {
            const now = channel();
            if (now.download === undefined) throw new Error("a channel of the same account downloads, too");
            return now.download(...args);
          },
        }),
  };
}

/** Runs on the leader: shows typing that another node asks for. */
export function hearTyping(bus: Bus, leads: (account: string) => Channel | null): () => void {
  return bus.hear(topic, (text) => {
    const to = JSON.parse(text) as Address;
    // Nobody waits for typing, so a failure is ignored.
    leads(accountKey(to))
      ?.typing?.(to)
      .catch(() => {});
  });
}
