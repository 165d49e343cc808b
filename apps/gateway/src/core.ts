// The message path without sockets: receive, lanes, turns, delivery, put together from ports. The daemon runs it over real channels, the
// simulator over simulated ones; nothing in here knows which.
import { channelRender } from "./outbound/render.ts";
import type { BootstrapHook, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config, Streaming } from "@parley/config";
import { cooldowns, type Cooldowns, type Models } from "@parley/models";
import { accountKey, isFault, type Address, type Clock, type Ids, type Log, type SessionKey } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { Tool } from "@parley/tools";
import { approvalDesk, type ApprovalDesk } from "./approvals/approval-desk.ts";
import { isApproved } from "./approvals/gate.ts";
import { approveCommands } from "./commands/approve.ts";
import { activationCommand } from "./commands/activation.ts";
import { commandMenu, pastLaneCommands, type PastLaneCommand } from "./commands/commands.ts";
import { compactCommand } from "./commands/compact.ts";
import { modelCommand } from "./commands/model.ts";
import { newCommand, resetCommand } from "./commands/new.ts";
import { contextCommand } from "./commands/context.ts";
import { pairCommand } from "./commands/pair.ts";
import { queueCommand } from "./commands/queue.ts";
import { injectCommand } from "./commands/inject.ts";
import { skillDesk } from "./commands/skill.ts";
import { reasoningCommand } from "./commands/reasoning.ts";
import { thinkCommand, type DirectiveOptions } from "./commands/think.ts";
import { stopCommand } from "./commands/stop.ts";
import { usageCommand } from "./commands/usage.ts";
import { whoamiCommand } from "./commands/whoami.ts";
import { authorityOf, speakersAt } from "./inbound/authority.ts";
import { accessPolicy } from "./inbound/access-policy.ts";
import { admission } from "./inbound/admit.ts";
import { botLoops, type BotLoops } from "./inbound/bot-loops.ts";
import { makeRoom } from "./inbound/make-room.ts";
import type { MovedChats } from "./inbound/moved-chats.ts";
import { owners, type Owners } from "./inbound/owners.ts";
import { pairingBook } from "./inbound/pairing.ts";
import { pairingDesk, type PairingDesk } from "./inbound/pairing-desk.ts";
import type { Place, PlaceRules } from "./inbound/place-rules.ts";
import { presses } from "./inbound/presses.ts";
import { reactions, type ReactionNotifications } from "./inbound/reactions.ts";
import { receiver, type ReceiveEvents } from "./inbound/receive.ts";
import { spokenIn } from "./inbound/reset-policy.ts";
import { router, type RouteInbound } from "./inbound/route.ts";
import { causeRows } from "./outbound/cause-rows.ts";
import { closedChats, type ClosedChats } from "./outbound/closed-chats.ts";
import { deliverer } from "./outbound/deliver.ts";
import { ownerNotices } from "./outbound/owner-notices.ts";
import { pacer, unpaced, type Pacer } from "./outbound/pacer.ts";
import { programSinks } from "./programs/sink.ts";
import { startPools, type Pools, type PoolsOptions } from "./pools.ts";
import { live } from "./reload/live.ts";
import { agentTurn } from "./turn/agent-turn.ts";
import { closeTurn } from "./turn/close-turn.ts";
import { laneCommand, type LaneCommand } from "./turn/lane-command.ts";
import { mediaReader, type MediaReaderOptions, type ReadMedia } from "./turn/media-reader.ts";
import type { ShowProgress } from "./turn/progress.ts";
import { spendLedger, type SpendLedger } from "./turn/ledger.ts";
import { usageBook, type UsageBook } from "./turn/usage.ts";
import { modelBook, type ModelBook } from "./turn/model-book.ts";
import { runLane } from "./turn/run-lane.ts";
import { runningTurns, type RunningTurns } from "./turn/running-turns.ts";
import { promptBook, type PromptBook } from "./turn/prompt-book.ts";
import { agentIn, setUp, type SetUp } from "./turn/set-up.ts";
import { noSkills, type SkillBook } from "./turn/skills.ts";
import { sessionPlans, sessionStatus } from "./turn/session-status.ts";
import { solitude, type Solitude } from "./turn/solitude.ts";
import { toolBook, type Hands } from "./turn/tool-book.ts";
import type { House } from "./turn/turn-facts.ts";

export interface CoreOptions {
  readonly config: Config;
  readonly store: Store;
  /** Hints of work, also from other processes; default: those of the store. */
  readonly onReady?: PoolsOptions["onReady"];
  /** By `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Loaded. */
  readonly moved: MovedChats;
  readonly models: Models;
  /** Beside those of the catalogue. */
  readonly tools: readonly Tool[];
  /** What the tools of the catalogue work with; absent: there are only the other ones. */
  readonly hands?: Hands;
  readonly hooks: readonly BootstrapHook[];
  readonly commands: readonly PastLaneCommand[];
  readonly showProgress: ShowProgress;
  /** How files of messages are read; absent: they are told in words. */
  readonly media?: Pick<MediaReaderOptions, "folder" | "transcribe">;
  /** What no answer may show. */
  readonly redaction: Redaction;
  /** What is the same in every prompt; absent: nothing of it is told. */
  readonly house?: House;
  /** Absent: there are none. */
  readonly skills?: SkillBook;
  /** What a turn runs with; by default it is gathered anew from config, files and models. */
  readonly forTurn?: SetUp["forTurn"];
  /** Ends the edits of a message of ours that other processes asked for. */
  readonly settleEdits?: (account: string, messageId: string) => Promise<void>;
  /** What a core before this one, of another config, remembered; absent: nothing. */
  readonly kept?: CoreMemory;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** What is known in memory only and outlives a change of the config. */
export interface CoreMemory {
  readonly running: RunningTurns;
  readonly cooldowns: Cooldowns;
  readonly solitude: Solitude;
  readonly botLoops: BotLoops;
  /** See `SetUp.stableMoves`. */
  readonly stableMoves: Map<string, number>;
  /** By account; what a platform counted does not begin anew. */
  readonly pacers: Map<string, Pacer>;
  readonly bootAtMs: number;
}

export function coreMemory(clock: Clock): CoreMemory {
  return {
    running: runningTurns(),
    cooldowns: cooldowns(clock),
    solitude: solitude(),
    botLoops: botLoops(clock),
    stableMoves: new Map(),
    pacers: new Map(),
    bootAtMs: clock.now(),
  };
}

/** What the pools do with what they take. */
export interface CoreWork extends Pick<PoolsOptions, "runTurn" | "buryTurn" | "deliver"> {
  readonly concurrency: PoolsOptions["concurrency"];
}

export interface Core {
  readonly receive: ReceiveEvents;
  readonly route: RouteInbound;
  readonly pairing: PairingDesk;
  readonly owners: Owners;
  /** Chats that take nothing: an operator's retry opens one. */
  readonly closed: Pick<ClosedChats, "open">;
  readonly setUp: SetUp;
  readonly prompts: PromptBook;
  readonly usage: UsageBook;
  readonly ledger: SpendLedger;
  readonly approvals: ApprovalDesk;
  readonly running: RunningTurns;
  /** Which models people may choose. */
  readonly models: ModelBook;
  /** What the menu of commands of an account shows. */
  menu(account: Pick<Address, "channel" | "account">): Promise<ReturnType<typeof commandMenu>>;
  readonly work: CoreWork;
  /** Begins to work on what waits. `now`: whose work it is from then on; this core's when absent. */
  start(now?: () => CoreWork, share?: Share): Pools;
}

/** What one process of several does: others do the rest. All of it when absent. */
export interface Share {
  readonly turns: boolean;
  /** Those that need no leader. */
  readonly accounts: readonly string[];
}

/** Turns of background classes that may run at once; people have their own number in the config. */
const backgroundConcurrency = { cron: 4, subagent: 8, heartbeat: 2 } as const;

export function gatewayCore(options: CoreOptions): Core {
  const { config, store, channels, moved, clock, ids, log } = options;
  const kept = options.kept ?? coreMemory(clock);
  const { running, bootAtMs } = kept;
  const channel = (account: string): Channel | null => channels.get(account) ?? programSinks.get(account) ?? null;
  const book = pairingBook(store.cells, clock, ids);
  const ownersBook = owners(config.commands.ownerAllowFrom, store.cells);
  const pairing = pairingDesk(book, ownersBook);
  const policy = accessPolicy(config.channels, moved);
  const rules = (place: Place): PlaceRules | null => policy(place.address)?.rules(place) ?? null;
  const { bindings, session } = config;
  const { dmScope, identityLinks } = session;
  const route = router({ agents: config.agents.list.map((agent) => agent.id), bindings, dmScope, identityLinks, rules, moved });
  const queue = config.messages.queue;
  const prompts = promptBook(store.cells, clock);
  const usage = usageBook(store.cells, config.agents.defaults.userTimezone, clock);
  const ledger = spendLedger({ config, book: usage, clock, log });
  const skills = options.skills ?? noSkills;
  const skillsDesk = skillDesk({ config, book: skills, rules });
  const models = modelBook({ config, declared: options.models.list, callable: options.models.get });
  const { approvers, target, timeoutMinutes } = config.approvals.exec;
  const approvals = approvalDesk({
    cells: store.cells,
    inbox: store.inbox,
    outbox: store.outbox,
    sessions: store.sessions,
    approvers: approvers ?? null,
    target,
    owners: ownersBook.all,
    accounts: () => [...channels.values()].map(({ name, account }) => ({ channel: name, account })),
    clock,
    log,
  });
  const tools = toolBook({
    config,
    grants: approvals.book.grants,
    approved: isApproved(approvals.book),
    hands: options.hands,
    more: options.tools,
    readRoots: skills.readRoots(),
    status: sessionStatus({ sessions: store.sessions, models, agentOf: agentIn(config) }),
    plans: sessionPlans(store.sessions),
    clock,
    ids,
  });
  const ready = setUp({
    ...options,
    tools,
    speakers: speakersAt(ownersBook),
    house: options.house ?? {},
    prompts,
    skills,
    channel,
    rules,
    cooldowns: kept.cooldowns,
    moves: kept.stableMoves,
  });
  const endBeside = async (session: SessionKey): Promise<number> => {
    const running = (await options.hands?.exec?.commands.list(session))?.filter(({ state }) => state === "running") ?? [];
    await options.hands?.exec?.commands.end(session);
    return running.length + (await approvals.stop({ session }));
  };
  const commands: readonly PastLaneCommand[] = [
    stopCommand(store.inbox, { turn: running.stop, beside: endBeside }),
    ...approveCommands(approvals),
    queueCommand(store.sessions, queue),
    whoamiCommand,
    usageCommand({ usage, ledger, clock }),
    contextCommand({ sessions: store.sessions, setUp: ready, prompts }),
    pairCommand(pairing),
    skillsDesk.command,
    ...options.commands,
  ];
  const talk: DirectiveOptions = { config, sessions: store.sessions, models: options.models, book: models };
  const inLane: readonly LaneCommand[] = [
    newCommand(store.sessions, clock),
    resetCommand(store.sessions, clock),
    activationCommand(store.sessions),
    thinkCommand(talk),
    reasoningCommand(talk),
    modelCommand(talk),
    compactCommand({ sessions: store.sessions, setUp: options.forTurn ?? ready.forTurn, channel, running, ledger, clock }),
  ];

  const closed = closedChats(store.cells);

  const accept = receiver({
    inbox: store.inbox,
    outbox: store.outbox,
    sessions: store.sessions,
    admit: admission({
      policy,
      isOwner: ownersBook.isOwner,
      pairing: book,
      botLoops: kept.botLoops,
      authority: (inbound, owner) => authorityOf(config.tools, inbound, owner),
    }),
    route,
    runPastLane: pastLaneCommands(commands, inLane),
    skillCalled: skillsDesk.called,
    presses: presses({ cells: store.cells, channel, clock, log }),
    readReaction: reactions({ outbox: store.outbox, wanted: (inbound) => reactionsWanted(config, accountKey(inbound)) }),
    makeRoom: makeRoom(store.inbox, running.stop),
    bootAtMs,
    spokenIn: spokenIn({
      config: session,
      timeZone: config.agents.defaults.userTimezone,
      sessions: store.sessions,
      inbox: store.inbox,
      clock,
    }),
    queue,
    contextRows: config.messages.groupChat.historyLimit,
    log,
  });

  const lane = runLane({
    turns: store.turns,
    cells: store.cells,
    solitude: kept.solitude,
    close: closeTurn({
      turns: store.turns,
      tools: options.tools,
      bootAtMs,
      ledger,
      withdraw: async (turn) => void (await approvals.stop({ turn })),
      clock,
      log,
    }),
    command: laneCommand({ turns: store.turns, commands: [...inLane, injectCommand(clock)], log }),
    agent: agentTurn({
      turns: store.turns,
      sessions: store.sessions,
      setUp: options.forTurn ?? ready.forTurn,
      channel,
      outbox: store.outbox,
      streams: (account) => streamingOf(config, account),
      readMedia: options.media === undefined ? describeOnly : mediaReader({ ...options.media, cells: store.cells, clock, log }),
      redaction: options.redaction,
      running,
      ledger,
      approvals: { desk: approvals, timeoutMs: timeoutMinutes * 60_000 },
      showProgress: options.showProgress,
      queue,
      bootAtMs,
      clock,
      log,
    }),
    log,
  });

  const receive: ReceiveEvents = async (events) => {
    const received = await accept(events);
    await closed.open(events.flatMap((event) => ("address" in event && event.channel === event.address.channel ? [event.address] : [])));
    return received;
  };

  const pacerFor = (account: string): Pacer => {
    const isPaced = isPacedIn(config, account);
    if (!isPaced) return unpaced;
    const known = kept.pacers.get(account) ?? pacerOf(account, clock);
    kept.pacers.set(account, known);
    return known;
  };

  const work: CoreWork = {
    concurrency: { main: config.agents.defaults.maxConcurrent, ...backgroundConcurrency },
    runTurn: lane.run,
    buryTurn: lane.bury,
    deliver: (account) =>
      deliverer({
        outbox: store.outbox,
        channel: () => channel(account),
        moved,
        closed,
        render: channelRender,
        pacer: pacerFor(account),
        beforeEdit: async (messageId) => options.settleEdits?.(account, messageId),
        clock,
        log,
        rowsOf: causeRows(store.inbox, log),
        onTrouble: ownerNotices({ outbox: store.outbox, owners: ownersBook.all, clock, log }),
        onSent: () => {},
      }),
  };

  return {
    work,
    receive,
    route,
    pairing,
    owners: ownersBook,
    closed,
    models,
    setUp: ready,
    prompts,
    usage,
    ledger,
    running,
    approvals,
    async menu({ channel, account }) {
      // The menu is the account's, so it shows the skills of whoever answers there in private.
      const agent = agentFor(route, { channel, account, kind: "dm", peer: "0" });
      const own = agent === null ? [] : await skillsDesk.menu(agent);
      return [...commandMenu(commands, inLane), ...own].slice(0, mostMenuCommands);
    },
    start(now = () => work, share = { turns: true, accounts: [...channels.keys()] }) {
      approvals.heal().catch((error: unknown) => log.warn({ error }, "decisions of before the start could not be looked through"));
      return startPools({
        store,
        onReady: options.onReady ?? store.onReady,
        holder: options.bootId,
        concurrency: live(() => now().concurrency),
        runTurn: (turn, held) => now().runTurn(turn, held),
        buryTurn: (turn, error) => now().buryTurn(turn, error),
        runsTurns: share.turns,
        accounts: share.accounts,
        always: [...programSinks.keys()],
        deliver: deliverNow(now),
        clock,
        ids,
        log,
      });
    },
  };
}

/** The deliverer of an account, made once for each core. */
function deliverNow(now: () => CoreWork): PoolsOptions["deliver"] {
  return (account) => {
    let madeBy = now();
    let deliver = madeBy.deliver(account);
    return (parcel, held) => {
      if (madeBy !== now()) {
        madeBy = now();
        deliver = madeBy.deliver(account);
      }
      return deliver(parcel, held);
    };
  };
}

/** Of Telegram and of Discord alike; what comes last gives way. */
const mostMenuCommands = 100;

function agentFor(route: RouteInbound, address: Address): string | null {
  try {
    return route({ address }).agent;
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

const describeOnly: ReadMedia = async () => ({ kind: "described" });

function streamingOf(config: Config, account: string): Streaming {
  const [channel, id = ""] = account.split(":");
  if (channel === "telegram") return config.channels.telegram[id]?.streaming ?? "off";
  return channel === "discord" ? (config.channels.discord[id]?.streaming ?? "off") : "off";
}

function reactionsWanted(config: Config, account: string): ReactionNotifications {
  const [channel, id = ""] = account.split(":");
  const settings = channel === "telegram" || channel === "discord" ? config.channels[channel][id] : undefined;
  return settings?.reactionNotifications ?? "own";
}

/** What Telegram's own documentation asks for: about one message a second in a chat, twenty a minute in a group, thirty a second in all. */
const telegramRates = {
  chat: { burst: 3, everyMs: 1_000 },
  group: { burst: 3, everyMs: 3_000 },
  account: { burst: 30, everyMs: 34 },
} as const;

/** Five messages in five seconds in a channel, as its buckets say by default, and fifty requests a second in all (Discord's rate limits). */
const discordRates = {
  chat: { burst: 5, everyMs: 1_000 },
  group: { burst: 5, everyMs: 1_000 },
  account: { burst: 50, everyMs: 20 },
} as const;

function isPacedIn(config: Config, account: string): boolean {
  const [channel, id = ""] = account.split(":");
  return (channel === "telegram" || channel === "discord") && config.channels[channel][id]?.pacing === "on";
}

function pacerOf(account: string, clock: Clock): Pacer {
  return pacer({ ...(account.startsWith("telegram:") ? telegramRates : discordRates), clock });
}
