// The message path without sockets: receive, lanes, turns, delivery, put together from ports. The daemon runs it over real channels, the
// simulator over simulated ones; nothing in here knows which.
import type { BootstrapHook, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import type { Models } from "@parley/models";
import type { Clock, Ids, Log, SessionKey } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { Tool } from "@parley/tools";
import {
  createApprovals,
  type Approvals,
  isApproved,
  type ToolHooks,
  emergencyStop,
  type EmergencyStop,
  type MediaReaderOptions,
  type ShowProgress,
  spendLimits,
  type SpendLimits,
  usageLog,
  type UsageLog,
  modelCatalog,
  type ModelCatalog,
  type RunningTurns,
  promptHistory,
  type PromptHistory,
  agentIn,
  turnPreparer,
  type TurnPreparer,
  noSkills,
  type SkillRegistry,
  runSession,
  quarantine,
  type Quarantine,
  sessionPlans,
  sessionStatus,
  effectiveTools,
  type ToolPorts,
  docsRoots,
  type InstallationFacts,
} from "@parley/runner";
import { boundCommands, type BoundCommands } from "./commands/bound-commands.ts";
import type { CommandPorts, DaemonForChats, Stoppable } from "./commands/chat-command.ts";
import { chatSkills } from "./commands/skill-commands.ts";
import { processMemory, type ProcessMemory } from "./message-path/process-memory.ts";
import { startWork, type LaneWork, type Share } from "./message-path/lane-work.ts";
import {
  speakersAt,
  accessPolicy,
  type MigratedChats,
  owners,
  type Owners,
  pairingStore,
  pairingDecisions,
  type PairingDecisions,
  type Place,
  type PlaceRules,
  router,
  type RouteInbound,
  programSinks,
  noRefusals,
  type Refusals,
} from "@parley/access";
import { intake } from "./receive/intake.ts";
import { beginAnew } from "./receive/reset-policy.ts";
import {
  dropAnswers,
  accountRateLimits,
  causeRows,
  unreachableChats,
  type UnreachableChats,
  deliverer,
  ownerNotices,
  personNotices,
  channelRender,
} from "@parley/delivery";
import { endsWaiting } from "./receive/end-waiting.ts";
import type { ReceiveEvents } from "./receive/receive.ts";
import type { Pools, PoolsOptions } from "@parley/queue";

export interface MessagePathParts {
  readonly config: Config;
  readonly store: Store;
  /** Hints of work, also from other processes; default: those of the store. */
  readonly onReady?: PoolsOptions["onReady"];
  /** By `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Loaded. */
  readonly moved: MigratedChats;
  readonly models: Models;
  /** Beside those of the catalogue. */
  readonly tools: readonly Tool[];
  /** What the tools of the catalogue work with; absent: there are only the other ones. */
  readonly hands?: ToolPorts;
  readonly hooks: readonly BootstrapHook[];
  /** Absent: there are none. */
  readonly toolHooks?: ToolHooks;
  readonly daemon: DaemonForChats;
  readonly showProgress: ShowProgress;
  /** How files of messages are read; absent: they are told in words. */
  readonly media?: Pick<MediaReaderOptions, "folder" | "transcribe">;
  /** What no answer may show. */
  readonly redaction: Redaction;
  /** What is the same in every prompt; absent: nothing of it is told. */
  readonly house?: InstallationFacts;
  /** Absent: there are none. */
  readonly skills?: SkillRegistry;
  /** What a turn runs with; by default it is gathered anew from config, files and models. */
  readonly forTurn?: TurnPreparer["forTurn"];
  /** Ends the edits of a message of ours that other processes asked for. */
  readonly settleEdits?: (account: string, messageId: string) => Promise<void>;
  /** Told of messages that admission refuses; absent: nobody is. */
  readonly refusals?: Refusals;
  /** What a core before this one, of another config, remembered; absent: nothing. */
  readonly kept?: ProcessMemory;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface MessagePath {
  readonly receive: ReceiveEvents;
  readonly route: RouteInbound;
  readonly pairing: PairingDecisions;
  readonly owners: Owners;
  /** Chats that take nothing: an operator's retry opens one. */
  readonly closed: Pick<UnreachableChats, "open">;
  readonly turnPreparer: TurnPreparer;
  readonly prompts: PromptHistory;
  readonly usage: UsageLog;
  readonly ledger: SpendLimits;
  readonly approvals: Approvals;
  readonly hold: EmergencyStop;
  /** What /stop and the page's button end. */
  readonly stop: Stoppable;
  readonly running: RunningTurns;
  /** Why not all is well with turns, in words for the status. */
  readonly quarantine: Pick<Quarantine, "reasons">;
  /** Which models people may choose. */
  readonly models: ModelCatalog;
  /** What the menu of commands of an account shows. */
  readonly menu: BoundCommands["menu"];
  readonly work: LaneWork;
  /** Begins to work on what waits. `now`: whose work it is from then on; this core's when absent. */
  start(now?: () => LaneWork, share?: Share): Pools;
}

/** Turns of background classes that may run at once; people have their own number in the config. */
const backgroundConcurrency = { cron: 4, subagent: 8, heartbeat: 2 } as const;

export function messagePath(options: MessagePathParts): MessagePath {
  const { config, channels, moved, clock, ids, log } = options;
  const kept = options.kept ?? processMemory(clock);
  const { running, bootAtMs } = kept;
  const channel = (account: string): Channel | null =>
    channels.get(account) ?? programSinks.get(account) ?? null;
  const inbox = endsWaiting({
    ...options.store,
    shows: (account) => channel(account)?.settle !== undefined,
    log,
  });
  const store = { ...options.store, inbox };
  const book = pairingStore(store.cells, clock, ids);
  const ownersBook = owners(config.commands.ownerAllowFrom, store.cells);
  const pairing = pairingDecisions(book, ownersBook);
  const policy = accessPolicy(config.channels, moved);
  const rules = (place: Place): PlaceRules | null => policy(place.address)?.rules(place) ?? null;
  const { bindings, session } = config;
  const { dmScope, identityLinks } = session;
  const route = router({
    agents: config.agents.list.map((agent) => agent.id),
    bindings,
    dmScope,
    identityLinks,
    rules,
    moved,
  });
  const prompts = promptHistory(store.cells, clock);
  const usage = usageLog(store.cells, config.agents.defaults.userTimezone, clock);
  const ledger = spendLimits({ config, book: usage, clock, log });
  const skills = options.skills ?? noSkills;
  const house = options.house ?? {};
  const skillsOfChats = chatSkills({ config, book: skills, rules });
  const models = modelCatalog({ config, declared: options.models.list, callable: options.models.get });
  const { approvers, target } = config.approvals.exec;
  const approvals = createApprovals({
    cells: store.cells,
    inbox: store.inbox,
    outbox: store.outbox,
    sessions: store.sessions,
    approvers: approvers ?? null,
    target,
    owners: ownersBook.all,
    accounts: () => [...channels.values()].map(({ name, account }) => ({ channel: name, account })),
    ...(options.refusals === undefined ? {} : { refusals: options.refusals }),
    clock,
    log,
  });
  const tools = effectiveTools({
    config,
    grants: approvals.book.grants,
    approved: isApproved(approvals.book),
    ...(options.toolHooks === undefined ? {} : { watched: options.toolHooks.watched }),
    hands: options.hands,
    more: options.tools,
    readRoots: [...skills.readRoots(), ...docsRoots(house)],
    status: sessionStatus({ sessions: store.sessions, models, agentOf: agentIn(config) }),
    plans: sessionPlans(store.sessions),
    clock,
    ids,
  });
  const ready = turnPreparer({
    ...options,
    tools,
    speakers: speakersAt(ownersBook),
    owners: ownersBook.all,
    house,
    prompts,
    skills,
    origins: options.hands?.origins,
    channel,
    rules,
    cooldowns: kept.cooldowns,
    moves: kept.stableMoves,
  });
  const endBeside = async (session: SessionKey): Promise<number> => {
    const running =
      (await options.hands?.exec?.commands.list(session))?.filter(({ state }) => state === "running") ?? [];
    await options.hands?.exec?.commands.end(session);
    return running.length + (await approvals.stop({ session }));
  };
  const stop: Stoppable = {
    turn: running.stop,
    beside: endBeside,
    answers: dropAnswers(store.inbox, store.outbox),
  };
  const hold = emergencyStop({
    ...store,
    stopTurn: running.stop,
    endCommands: async () => options.hands?.exec?.commands.end(),
    clock,
  });
  const forTurn = options.forTurn ?? ready.forTurn;
  const commandPorts: CommandPorts = {
    config,
    store,
    channel,
    stop,
    hold,
    approvals,
    pairing,
    skills: skillsOfChats,
    turnPreparer: { prompt: ready.prompt, forTurn },
    prompts,
    usage,
    ledger,
    models: options.models,
    modelCatalog: models,
    running,
    beginAnew: (key) => beginAnew(store.sessions, key, clock.now()),
    daemon: options.daemon,
    clock,
  };
  const commands = boundCommands(commandPorts, route);

  const closed = unreachableChats(store.cells);

  const receive = intake({
    config,
    store,
    channel,
    policy,
    isOwner: ownersBook.isOwner,
    pairing: book,
    botLoops: kept.botLoops,
    route,
    runPastLane: commands.runPastLane,
    skillCalled: skillsOfChats.called,
    modelNamed: (agent, word) => models.named(agentIn(config)(agent), word),
    stopTurn: running.stop,
    closed,
    refusals: options.refusals ?? noRefusals,
    bootAtMs,
    clock,
    log,
  });

  const suspected = quarantine({
    ...store,
    here: kept.quarantine,
    bootId: options.bootId,
    bootAtMs,
    clock,
    log,
  });
  const lane = runSession({
    config,
    store,
    prepareTurn: forTurn,
    channel,
    quarantine: suspected,
    tools: options.tools,
    commands: commands.inLane,
    approvals,
    hold,
    toolHooks: options.toolHooks,
    media: options.media,
    redaction: options.redaction,
    running,
    ledger,
    showProgress: options.showProgress,
    bootAtMs,
    clock,
    log,
  });

  const pacerFor = accountRateLimits({ config, kept: kept.pacers, clock });

  const work: LaneWork = {
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
        rateLimit: pacerFor(account),
        beforeEdit: async (messageId) => options.settleEdits?.(account, messageId),
        clock,
        log,
        rowsOf: causeRows(store.inbox, log),
        onTrouble: ownerNotices({ outbox: store.outbox, owners: ownersBook.all, clock, log }),
        onFailed: personNotices({ outbox: store.outbox, closed, log }),
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
    turnPreparer: ready,
    prompts,
    usage,
    ledger,
    running,
    quarantine: suspected,
    approvals,
    hold,
    stop,
    menu: commands.menu,
    start(now = () => work, share = { turns: true, accounts: [...channels.keys()] }) {
      approvals
        .heal()
        .catch((error: unknown) =>
          log.warn({ error }, "decisions of before the start could not be looked through"),
        );
      const onReady = options.onReady ?? store.onReady;
      return startWork({ store, onReady, holder: options.bootId, clock, ids, log }, now, share);
    },
  };
}
