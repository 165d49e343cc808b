// Runs one node among several: which accounts it leads, what it receives and says for others, and how it
// leaves.
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

/** The connections of all accounts, made by the wiring. */
interface AccountChannels {
  /** By `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Telegram accounts in webhook mode. */
  readonly webhooks: ReadonlyMap<string, unknown>;
  /** Replaces a stopped channel, which cannot start again; null where the config has no such account. */
  renew(account: string, config?: Config): Promise<Channel | null>;
}

/** The part of the store that nodes share. */
interface ClusterStore {
  readonly cells: Store["cells"];
  /** Frees leases of dead processes; resolves with how many. */
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

/** What the running daemon gives to the cluster. */
interface ClusterWork {
  readonly pools: Pick<Pools, "lead">;
  readonly workNotifier: Pick<WorkNotifier, "serve">;
  readonly receive: Receive;
  /** Starts receiving; trouble shows in the state. */
  readonly startChannel: (channel: Channel, signal: AbortSignal, receive: Receive) => Promise<void>;
  readonly nodeRegistry: Pick<NodeRegistry, "list" | "othersLead">;
}

export interface Cluster {
  /**
   * Every account's channel as the message path sees it: edits and typing of accounts led elsewhere go to
   * their leaders.
   */
  readonly channels: ReadonlyMap<string, Channel>;
  settleEdits(account: string, messageId: string): Promise<void>;
  /** True when this process should receive on the channel; a stand-by or a worker should not. */
  hears(channel: Channel): boolean;
  /** Accounts that this node leads now. */
  leads(): readonly string[];
  /**
   * Starts to stand for the accounts of these channels; where the platform calls us, every edge node answers.
   */
  open(channels: readonly Channel[], work: ClusterWork): Promise<void>;
  /** The config changed this account's connection: whatever runs of it is made anew. */
  change(account: string, config: Config): Promise<void>;
  /** Stops leading, so that others begin. Idempotent. */
  handOver(): Promise<void>;
  close(): void;
}

/** Most time for a stopping channel to finish what it is receiving. */
const channelStopMs = 10_000;
/** An account that nobody hears moves between nodes at most this often. */
const leaveAgainMs = 600_000;
/** Longer than others need to take an account and to say so in the registry. */
const balanceEveryMs = 20_000;

/** Every node serves its own web page, which needs no leader. */
export const isWeb = (account: string): boolean => account.startsWith("web:");

export function cluster({ role, node, bootId, store, bus, wired, clock, log }: ClusterOptions): Cluster {
  const led = new Map<string, LeaderElection>();
  /** Null until channels open: a worker leads nothing, and neither does a node in safe mode. */
  let currentWork: ClusterWork | null = null;
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
    // A node that was paused gets the rest of its answers before its timers say that another one leads.
    const receive: Receive = async (events) => {
      if (term(account) === undefined) throw new Fault("aborted", `this node leads ${account} no longer`);
      return work.receive(events);
    };
    const leave = async (): Promise<void> => {
      if (
        clock.mono() - leftAtMono < leaveAgainMs ||
        !(await work.nodeRegistry.othersLead().catch(() => false))
      )
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
          // The old leader's term is over, so its open sends are ours to settle.
          await store.freeLeases({ outboxOf: account, besides: bootId });
          const ending = new AbortController();
          const stopServing = work.workNotifier.serve(account);
          const delivering = work.pools.lead(account, () => term(account) ?? 0);
          const channel = wired.channels.get(account);
          const stopLooking = whenSilent({
            health: () => wired.channels.get(account)?.health(),
            clock,
            onSilent: leave,
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
    // With one account there is nothing to leave, and without the registry nobody is known to leave it to.
    if (currentWork === null || leads().length < 2) return;
    currentWork.nodeRegistry.list().then(
      (lines) => led.get(oneTooMany(lines, bootId, leads()) ?? "")?.stepAside(),
      (error: unknown) => log.debug({ error }, "the roll of nodes could not be read"),
    );
  }

  async function openCalled(account: string): Promise<void> {
    const channel = wired.channels.get(account);
    if (currentWork !== null && channel !== undefined && isCalled(account))
      await currentWork.startChannel(channel, never, currentWork.receive);
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
      currentWork = work;
      const accounts = opened
        .map(({ name, account }) => accountKey({ channel: name, account }))
        .filter((account) => !isWeb(account));
      for (const account of accounts) if (!led.has(account)) stand(account, work);
      await Promise.all(accounts.map(openCalled));
    },
    async change(account, config) {
      await (led.get(account)?.anew(() => renew(account, config)) ?? renew(account, config));
      if (currentWork !== null && wired.channels.has(account) && !led.has(account))
        stand(account, currentWork);
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
