// The part of a node in a gateway of several: which accounts it leads, what it hears for others, what it tells them, and how it leaves.
import { accountKey, sleep, type Clock, type Log } from "@parley/protocol";
import type { Channel } from "@parley/channels";
import type { Bus, Waker } from "@parley/queue";
import type { Pools } from "../pools.ts";
import type { Wired } from "../wiring.ts";
import type { WiredStore } from "../wiring-store.ts";
import { distantChannel, hearTyping } from "./distant-channel.ts";
import { leaderEdits } from "./leader-edits.ts";
import { leadership, type Leadership } from "./leadership.ts";
import type { Role } from "./node-place.ts";

export interface ClusterOptions {
  readonly role: Role;
  readonly node: string;
  readonly bootId: string;
  readonly store: WiredStore;
  readonly bus: Bus;
  readonly wired: Wired;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the running daemon lends. */
export interface ClusterWork {
  readonly pools: Pick<Pools, "lead">;
  readonly waker: Pick<Waker, "serve">;
  /** Begins to receive; trouble shows in the state. */
  readonly startChannel: (channel: Channel, signal: AbortSignal) => Promise<void>;
}

export interface Cluster {
  /** Every account's channel as the message path sees it: edits and typing of accounts led elsewhere go there. */
  readonly channels: ReadonlyMap<string, Channel>;
  settleEdits(account: string, messageId: string): Promise<void>;
  /** Whether this channel should hear now: a stand-by, or a worker, has nothing to hear. */
  hears(channel: Channel): boolean;
  /** Accounts led now. */
  leads(): readonly string[];
  /** Stands for the accounts of these channels; where the platform calls us, every edge takes the calls. */
  open(channels: readonly Channel[], work: ClusterWork): Promise<void>;
  /** Ends leading, so that others begin. Idempotent. */
  handOver(): Promise<void>;
  close(): void;
}

/** A channel waits for what it is just receiving; more than this is no waiting any more. */
const channelStopMs = 10_000;

export function cluster({ role, node, bootId, store, bus, wired, clock, log }: ClusterOptions): Cluster {
  const led = new Map<string, Leadership>();
  const isWeb = (account: string): boolean => wired.channels.get(account) === wired.web;
  const term = (account: string): number | undefined => led.get(account)?.term() ?? undefined;
  const ledChannel = (account: string): Channel | null => (term(account) === undefined ? null : (wired.channels.get(account) ?? null));

  const channels = new Map(
    [...wired.channels].map(([account, made]) => [
      account,
      made === wired.web
        ? made
        : distantChannel({ bus, channel: () => wired.channels.get(account) ?? made, leads: () => term(account) !== undefined }),
    ]),
  );
  const edits = leaderEdits({ bus, leads: ledChannel, clock, log });
  const stopTyping = hearTyping(bus, ledChannel);
  const isCalled = (account: string): boolean =>
    wired.webhooks.has(account.slice(account.indexOf(":") + 1)) && account.startsWith("telegram:");

  function stand(account: string, work: ClusterWork): void {
    let begun: { readonly end: () => Promise<void> } | null = null;
    led.set(
      account,
      leadership({
        account,
        node,
        bootId,
        cells: store.cells,
        clock,
        log,
        async lead() {
          // The old leader's term is over: what it was sending is ours to settle.
          await store.freeLeases({ outboxOf: account, besides: bootId });
          const ending = new AbortController();
          const stopServing = work.waker.serve(account);
          const delivering = work.pools.lead(account, () => term(account) ?? 0);
          const channel = wired.channels.get(account);
          begun = {
            async end() {
              ending.abort();
              stopServing();
              const stopped = Promise.allSettled([
                delivering.end(),
                ...(channel === undefined || isCalled(account) ? [] : [channel.stop()]),
              ]);
              await Promise.race([stopped, sleep(clock, channelStopMs)]);
              if (!isCalled(account)) await wired.renew(account);
            },
          };
          if (channel !== undefined && !isCalled(account)) await work.startChannel(channel, ending.signal);
        },
        async lost() {
          await begun?.end();
          begun = null;
        },
      }),
    );
  }

  return {
    channels,
    settleEdits: edits.settle,
    hears(channel) {
      const account = accountKey({ channel: channel.name, account: channel.account });
      return isWeb(account) || term(account) !== undefined || (role !== "worker" && isCalled(account));
    },
    leads: () => [...led.keys()].filter((account) => term(account) !== undefined),
    async open(opened, work) {
      if (role === "worker") return;
      const accounts = opened.map(({ name, account }) => accountKey({ channel: name, account })).filter((account) => !isWeb(account));
      for (const account of accounts) if (!led.has(account)) stand(account, work);
      const never = new AbortController().signal;
      const called = accounts.filter(isCalled).flatMap((account) => wired.channels.get(account) ?? []);
      await Promise.all(called.map((channel) => work.startChannel(channel, never)));
    },
    async handOver() {
      await Promise.all([...led.values()].map((each) => each.resign()));
    },
    close() {
      edits.close();
      stopTyping();
    },
  };
}
