// Stands in for a channel that is not opened: nothing is received, nothing is sent. One wrong token so keeps
// no other account from starting: its account shows as down, with the reason, and what is to be sent waits
// until the config is right. Without a daemon it says what is known of each account's platform.
import type { Channel } from "@parley/channels";
import { Fault } from "@parley/protocol";

export function unopenedChannel(
  { name, capabilities, actions }: Pick<Channel, "name" | "capabilities" | "actions">,
  account: string,
  cause: Fault,
): Channel {
  const refuse = (): Promise<never> =>
    Promise.reject(new Fault("unavailable", `the account is not open: ${cause.message}`, { cause }));
  return {
    name,
    account,
    capabilities,
    ...(actions === undefined ? {} : { actions, act: refuse }),
    start: () => Promise.reject(cause),
    stop: () => Promise.resolve(),
    health: () => ({ state: "down", reason: cause.message }),
    send: refuse,
  };
}
