// Stands in for an account whose channel could not even be made, so that one wrong token keeps no other account from starting: it shows
// as down, with the reason, and what is to be sent through it waits until the config is right.
import type { Channel } from "@parley/channels";
import { Fault, type Capabilities } from "@parley/protocol";

export function unopenedChannel(
  name: string,
  account: string,
  capabilities: Capabilities,
  cause: Fault,
): Channel {
  return {
    name,
    account,
    capabilities,
    start: () => Promise.reject(cause),
    stop: () => Promise.resolve(),
    health: () => ({ state: "down", reason: cause.message }),
    send: () =>
      Promise.reject(new Fault("unavailable", `the account is not open: ${cause.message}`, { cause })),
  };
}
