// The part of a node in a gateway of several: which accounts it leads, what it hears for others, what it tells them, and how it leaves.
import { accountKey, Fault, sleep, type Clock, type Log } from "@parley/protocol";
import type { Channel, Receive } from "@parley/channels";
import type { Config } from "@parley/config";
import type { Bus, WorkNotifier, Pools } from "@parley/queue";
import type { DeadLeases, Store } from "@parley/store";
import { whenSilent } from "./silent-connection.ts";
import { oneTooMany } from "./rebalance.ts";
import { remoteChannel, hearTyping } from "./remote-channel.ts";
import { leaderEdits } from "./remote-edits.ts";
import { leaderElection, type LeaderElection } from "./leader-election.ts";
import type { Role } from "./node-identity.ts";
import type { NodeRegistry } from "./node-registry.ts";

/** Every account's connection, made by the wiring. */
interface AccountChannels {
  /** By `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Of Telegram accounts in webhook mode, by account. */
  readonly webhooks: ReadonlyMap<string, unknown>;
  /** A stopped channel cannot start again: puts a new one in its place, or none where the config has no such account. */
  renew(account: string, config?: Config): Promise<Channel | null>;
}

/** What the nodes share of the store. */
interface ClusterStore {
  readonly cells: Store["cells"];
  /** Frees leases of processes that are gone; resolves with how many. */
  freeLeases(of: DeadLeases): Promise<number>;
}

export interface ClusterOptions {
  readonly role: Role;
  readonly node: string;
  readonly bootId: string;
  readonly store: ClusterStore;
  readonly bus: Bus;
  readonly wired: AccountChannels;
  readonly clock: Clock;
  readonly log: Log;
}

/** What the running daemon lends. */
interface ClusterWork {
  readonly pools: Pick<Pools, "lead">;
  readonly waker: Pick<WorkNotifier, "serve">;
  readonly receive: Receive;
  /** Begins to receive; trouble shows in the state. */
  readonly startChannel: (channel: Channel, signal: AbortSignal, receive: Receive) => Promise<void>;
  readonly roll: Pick<NodeRegistry, "list" | "othersLead">;
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
  /** The account's connection is another one with this config, or it came, or went: what is begun of it is made anew. */
  change(account: string, config: Config): Promise<void>;
  /** Ends leading, so that others begin. Idempotent. */
  handOver(): Promise<void>;
  close(): void;
}

/** A channel waits for what it is just receiving; more than this is no waiting any more. */
const channelStopMs = 10_000;
/** Accounts that nobody hears go round among the nodes no more often than this. */
const leaveAgainMs = 600_000;
/** Longer than others need to take an account and to write so into the roll. */
const balanceEveryMs = 20_000;

/** The page is every node's own: it needs no leader. */
export const isWeb = (account: string): boolean => account.startsWith("web:");

export function cluster({ role, node, bootId, store, bus, wired, clock, log }: ClusterOptions): Cluster {
  const led = new Map<string, LeaderElection>();
  /** Null until channels open: a worker leads nothing, and neither does anybody in safe mode. */
  let lent: ClusterWork | null = null;
  const term = (account: string): number | undefined => led.get(account)?.term() ?? undefined;
  const ledChannel = (account: string): Channel | null =>
    term(account) === undefined ? null : (wired.channels.get(account) ?? null);

  const channels = new Map<string, Channel>();
  const show = (account: string): void => {
    const made = wired.channels.get(account);
    if (made === undefined) channels.delete(account);
    else if (isWeb(account)) channels.set(account, made);
    else
      channels.set(
        account,
        remoteChannel({
          bus,
          channel: () => wired.channels.get(account) ?? made,
          leads: () => term(account) !== undefined,
        }),
      );
  };
  for (const account of wired.channels.keys()) show(account);
  const edits = leaderEdits({ bus, leads: ledChannel, clock, log });
  const stopTyping = hearTyping(bus, ledChannel);
  const isCalled = (account: string): boolean =>
    wired.webhooks.has(account.slice(account.indexOf(":") + 1)) && account.startsWith("telegram:");

  const never = new AbortController().signal;

  function stand(account: string, work: ClusterWork): void {
    let begun: { readonly end: () => Promise<void> } | null = null;
    let leftAtMono = -Infinity;
    // Who was paused hears the rest of what it asked for before its timers tell it that another one leads.
    const receive: Receive = async (events) => {
      if (term(account) === undefined) throw new Fault("aborted", `this node leads ${account} no longer`);
      return work.receive(events);
    };
    const leave = async (): Promise<void> => {
      if (clock.mono() - leftAtMono < leaveAgainMs || !(await work.roll.othersLead().catch(() => false)))
        return;
      leftAtMono = clock.mono();
      log.warn(
        { account, reason: wired.channels.get(account)?.health().reason },
        "nothing is heard here: another node may try",
      );
      await led.get(account)?.stepAside();
    };
    led.set(
      account,
      leaderElection({
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
          const stopLooking = whenSilent({
            health: () => wired.channels.get(account)?.health(),
            clock,
            ails: leave,
          });
          begun = {
            async end() {
              ending.abort();
              stopLooking();
              stopServing();
              const stopped = Promise.allSettled([
                delivering.end(),
                ...(channel === undefined || isCalled(account) ? [] : [channel.stop()]),
              ]);
              await Promise.race([stopped, sleep(clock, channelStopMs)]);
              if (!isCalled(account)) await wired.renew(account);
            },
          };
          if (channel !== undefined && !isCalled(account))
            await work.startChannel(channel, ending.signal, receive);
        },
        async lost() {
          await begun?.end();
          begun = null;
        },
      }),
    );
  }

  const leads = (): readonly string[] => [...led.keys()].filter((account) => term(account) !== undefined);
  let balancing = clock.after(balanceEveryMs, balance);
  function balance(): void {
    balancing = clock.after(balanceEveryMs, balance);
    // Where nobody leads there is nothing to leave, and where the roll cannot be read nobody to leave it to.
    if (lent === null || leads().length < 2) return;
    lent.roll.list().then(
      (lines) => led.get(oneTooMany(lines, bootId, leads()) ?? "")?.stepAside(),
      (error: unknown) => log.debug({ error }, "the roll of nodes could not be read"),
    );
  }

  async function openCalled(account: string): Promise<void> {
    const channel = wired.channels.get(account);
    if (lent !== null && channel !== undefined && isCalled(account))
      await lent.startChannel(channel, never, lent.receive);
  }

  async function renew(account: string, config: Config): Promise<void> {
    const old = wired.channels.get(account);
    if (old !== undefined) await Promise.race([old.stop().catch(() => {}), sleep(clock, channelStopMs)]);
    await wired.renew(account, config);
    show(account);
    await openCalled(account);
    log.info(
      { account, gone: !wired.channels.has(account) },
      "the account's connection changed with the config",
    );
  }

  return {
    channels,
    settleEdits: edits.settle,
    hears(channel) {
      const account = accountKey({ channel: channel.name, account: channel.account });
      return isWeb(account) || term(account) !== undefined || (role !== "worker" && isCalled(account));
    },
    leads,
    async open(opened, work) {
      if (role === "worker") return;
      lent = work;
      const accounts = opened
        .map(({ name, account }) => accountKey({ channel: name, account }))
        .filter((account) => !isWeb(account));
      for (const account of accounts) if (!led.has(account)) stand(account, work);
      await Promise.all(accounts.map(openCalled));
    },
    async change(account, config) {
      await (led.get(account)?.anew(() => renew(account, config)) ?? renew(account, config));
      if (lent !== null && wired.channels.has(account) && !led.has(account)) stand(account, lent);
      if (wired.channels.has(account)) return;
      await led.get(account)?.resign();
      led.delete(account);
    },
    async handOver() {
      await Promise.all([...led.values()].map((each) => each.resign()));
    },
    close() {
      balancing.cancel();
      edits.close();
      stopTyping();
    },
  };
}
