// Opens channels: all at the start, single ones while the daemon runs, and only the web chat in safe mode. A
// channel that cannot start shows in the state and does not stop any other from starting (I10). Among several
// nodes each account is started by its leader.
import type { Channel, Receive } from "@parley/channels";
import { accountKey, type Clock, type Log } from "@parley/protocol";
import type { TakeUpOptions } from "../reload/take-up.ts";
import { safeMode, type SafeMode } from "./safe-mode.ts";
import type { Parts } from "./parts.ts";

/** The daemon's parts that opening needs. */
export type ChannelParts = Pick<
  Parts,
  "path" | "wired" | "workNotifier" | "state" | "setMenu" | "cluster" | "isLed" | "running" | "nodeRegistry"
>;

/**
 * `loopReason`: why this start is in safe mode, where only the web chat opens so that an operator can get in;
 * null when it is not.
 */
export async function openChannels(
  parts: ChannelParts,
  loopReason: string | null,
  clock: Clock,
  log: Log,
): Promise<SafeMode | null> {
  const { wired, state } = parts;
  if (loopReason === null) {
    await startChannels(parts, [...wired.channels.values()], log);
    state.enter("running");
    return null;
  }
  log.error({ reason: loopReason }, "safe mode");
  await startChannels(parts, [wired.web], log);
  state.enter("safe-mode", loopReason);
  return safeMode(clock, async () => {
    log.info({}, "safe mode ends");
    await startChannels(
      parts,
      [...wired.channels.values()].filter((channel) => channel !== wired.web),
      log,
    );
    state.enter("running");
  });
}

/**
 * Starts and stops single channels while the daemon runs; in safe mode only the web chat starts receiving.
 */
export function channelHand(parts: ChannelParts, log: Log): Pick<TakeUpOptions, "start" | "stop"> {
  const { wired, state } = parts;
  return {
    start: async (channel) => {
      if (state.phase() !== "safe-mode" || channel === wired.web) await startChannels(parts, [channel], log);
    },
    stop: (channel) => channel.stop(),
  };
}

async function startChannels(parts: ChannelParts, channels: readonly Channel[], log: Log): Promise<void> {
  const { path, state, setMenu, cluster, workNotifier, running, nodeRegistry } = parts;
  const start = async (
    channel: Channel,
    signal?: AbortSignal,
    receive: Receive = path.receive,
  ): Promise<void> => {
    try {
      channel.suggestsWith?.(path.commands.suggest);
      await channel.start(receive);
      // Set in the background: the channel receives messages without its menu.
      setMenu(channel, signal).catch((error: unknown) =>
        log.warn({ channel: channel.name, account: channel.account, error }, "the menu is no longer kept"),
      );
    } catch (error) {
      log.error({ channel: channel.name, account: channel.account, error }, "a channel cannot start");
      state.channelFailed(channel, error);
    }
  };
  const led = channels.filter((channel) =>
    parts.isLed(accountKey({ channel: channel.name, account: channel.account })),
  );
  await Promise.all(channels.filter((channel) => !led.includes(channel)).map((channel) => start(channel)));
  if (running.pools === null) return;
  await cluster?.open(led, {
    pools: running.pools,
    workNotifier,
    receive: path.receive,
    startChannel: start,
    nodeRegistry,
  });
}
