// Stands in for a channel that is not opened: it receives and sends nothing. So a wrong token stops only its
// own account, which shows as down with the reason, and its messages wait until the config is right. Without
// a daemon it reports the known facts of each account's platform.
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
