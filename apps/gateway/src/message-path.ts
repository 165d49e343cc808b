// Composes the message path of one config as one list, from access to delivery. The daemon runs it over real
// channels, the simulator over simulated ones. A message enters through a channel's poll or socket.
// Next: packages/channels/src/telegram/poll.ts.
import {
  programSinks,
  speakersAt,
  type MayReach,
  type Owners,
  type PairingDecisions,
  type RouteInbound,
} from "@parley/access";
import type { Channel } from "@parley/channels";
import { dropAnswers, type UnreachableChats } from "@parley/delivery";
import type { Pools } from "@parley/queue";
import {
  agentIn,
  createSideQuestions,
  effectiveTools,
  emergencyStop,
  killAll,
  keepUpkeepJobs,
  killChild,
  leaveIdleThreads,
  modelCatalog,
  promptHistory,
  quarantine,
  runSession,
  spendLimits,
  toolPorts,
  usageLog,
  type EmergencyStop,
  type ModelCatalog,
  type PromptHistory,
  type Quarantine,
  type RunningTurns,
  type Schedules,
  type SpendLimits,
  type ToolPortNeeds,
  type TurnPreparer,
  type UsageLog,
} from "@parley/runner";
import { boundCommands, type BoundCommands } from "./commands/bound-commands.ts";
import type { Stoppable } from "./commands/chat-command.ts";
import { chatSkills } from "./commands/skill-commands.ts";
import { startWork, turnsAtOnce, type LaneWork, type Share } from "./message-path/lane-work.ts";
import type { MessagePathParts } from "./message-path/parts.ts";
import { pathAccess } from "./message-path/path-access.ts";
import { pathAsks, type PathAsks } from "./message-path/path-asks.ts";
import { pathDelivery } from "./message-path/path-delivery.ts";
import type { PathHooks } from "./hooks/heard.ts";
import { pathHooks } from "./message-path/path-hooks.ts";
import { pathReach } from "./message-path/path-reach.ts";
import { pathSchedules } from "./message-path/path-schedules.ts";
import { pathStop } from "./message-path/path-stop.ts";
import { pathStore } from "./message-path/path-store.ts";
import { intake } from "./receive/intake.ts";
import type { ReceiveEvents } from "./receive/receive.ts";

export interface MessagePath extends Pick<
  PathAsks,
  "approvals" | "questions" | "forgetting" | "talk" | "upkeep"
> {
  readonly receive: ReceiveEvents;
  readonly route: RouteInbound;
  readonly pairing: PairingDecisions;
  readonly owners: Owners;
  /** The unreachable chats: an operator's retry opens one. */
  readonly closed: Pick<UnreachableChats, "open">;
  readonly turnPreparer: TurnPreparer;
  readonly prompts: PromptHistory;
  readonly usage: UsageLog;
  readonly ledger: SpendLimits;
  readonly hold: EmergencyStop;
  readonly mcp: MessagePathParts["mcp"];
  readonly schedules: Schedules;
  readonly dropDeliveries: MessagePathParts["store"]["outbox"]["drop"];
  /** What hooks are told. */
  readonly heard: PathHooks;
  /** Why the agent may not write to a place by itself. */
  readonly reach: MayReach;
  /** Ends turns for /stop and the page's button. */
  readonly stop: Stoppable;
  readonly running: RunningTurns;
  /** Reasons why turns fail, in plain words for the status. */
  readonly quarantine: Pick<Quarantine, "reasons">;
  /** The models that people may choose. */
  readonly models: ModelCatalog;
  /** An account's menu of commands, and what may stand after them. */
  readonly commands: Pick<BoundCommands, "menu" | "suggest">;
  readonly work: LaneWork;
  /** Makes and removes the jobs that this config wants by itself; repeating it changes nothing. */
  keepOwnJobs(): Promise<void>;
  /** Starts to work on waiting rows. `now`: the current config's handlers; absent: this path's own. */
  start(now?: () => LaneWork, share?: Share): Pools;
}

export function messagePath(parts: MessagePathParts): MessagePath {
  const { config, channels, moved, kept, clock, ids, log, bootId } = parts;
  const { running, bootAtMs } = kept;
  const channel = (account: string): Channel | null =>
    channels.get(account) ?? programSinks.get(account) ?? null;
  const shows = (account: string): boolean => channel(account)?.settle !== undefined;

  // Access: admission and routes to agents.
  const access = pathAccess(parts);
  const { placeOf, rules, route } = access;
  const { store, children, heal } = pathStore(parts, shows, placeOf, access.ownersAt);
  const { cells, inbox, outbox } = store;
  const owners = access.owners.all;
  const { closed, reach, closedAt } = pathReach(cells, moved, access.reach, (at) => schedules.reopened(at));
  const { ownersAt } = access;
  const { schedules, ...due } = pathSchedules(parts, store, { owners, reach, closedAt, ownersAt });

  const heard = pathHooks(parts, store, { homeOf: schedules.homeOf, route });
  // Prompts, spending, skills and models.
  const prompts = promptHistory(cells, clock);
  const usage = usageLog(cells, config.agents.defaults.userTimezone, clock);
  const ledger = spendLimits({ config, book: usage, clock, log });
  const skills = chatSkills({ config, book: parts.skills, rules });
  const catalog = modelCatalog(config, parts.models);

  // Tools, and what they ask people.
  const { approvals, questions, forgetting, talk, upkeep, ...asks } = pathAsks(parts, store, access, channel);
  const commandsOfTools = parts.machinePorts?.exec?.commands;
  const ending = { ...store, children, threads: parts.handOvers, running, placeOf, clock, log };
  const hold = emergencyStop({
    ...store,
    stopTurn: running.stop,
    endChildren: () => killAll(ending, "/estop"),
    endCommands: async () => commandsOfTools?.end(),
    clock,
  });
  const { stop, begunBy } = pathStop(ending, commandsOfTools, asks.endAsks, dropAnswers(inbox, outbox));

  const suspects = quarantine(store, kept.quarantine, { bootId, bootAtMs }, clock, log);
  const services: ToolPortNeeds = {
    ...store,
    children,
    threads: parts.handOvers,
    schedules,
    placeOf,
    config,
    channel,
    rules,
    reach,
    speakers: speakersAt(access.owners),
    owners,
    models: parts.models,
    cooldowns: kept.cooldowns,
    moreTools: parts.tools,
    toolHooks: parts.toolHooks,
    skills: parts.skills,
    origins: parts.machinePorts?.origins,
    hooks: [...parts.hooks, ...heard.bootstrap],
    hookPort: heard.port,
    speech: parts.machinePorts?.speech,
    installation: parts.installation,
    prompts,
    stableMoves: kept.stableMoves,
    approvals,
    questions,
    upkeep,
    hold,
    quarantine: suspects,
    running,
    ledger,
    readMedia: parts.readMedia,
    mediaFolder: parts.mediaFolder,
    redaction: parts.redaction,
    showProgress: parts.showProgress,
    bootAtMs,
    clock,
    ids,
    log,
  };
  const tools = effectiveTools(services, parts.machinePorts, toolPorts(services));

  // Preparing turns, and the commands that people give them.
  const turnPreparer = parts.preparer({ ...services, tools });
  const sideQuestions = createSideQuestions({ ...parts, ...store, turnPreparer, ledger });
  const commands = boundCommands(
    {
      config,
      store,
      channel,
      stop,
      hold,
      approvals,
      questions,
      mcp: parts.mcp,
      sideQuestions,
      schedules,
      forgetting,
      upkeep,
      beside: {
        children: children.below,
        commands: begunBy,
        kill: (child, reason) => killChild(ending, child, reason),
      },
      speech: services.speech,
      mediaFolder: parts.mediaFolder,
      redaction: parts.redaction,
      pairing: access.pairing,
      skills,
      turnPreparer,
      prompts,
      usage,
      ledger,
      models: parts.models,
      modelCatalog: catalog,
      running,
      handOvers: parts.handOvers,
      accounts: () => [...channels.values()].map(({ name, account }) => ({ channel: name, account })),
      heard,
      daemon: parts.daemon,
      clock,
      ids,
      log,
    },
    access,
  );

  // Receive: from an event to durable rows.
  const receive = intake({
    config,
    store,
    channel,
    policy: access.policy,
    isOwner: access.owners.isOwner,
    pairing: access.pairingStore,
    botLoops: kept.botLoops,
    route,
    runPastLane: commands.runPastLane,
    skillCalled: skills.called,
    questionHere: questions.numbered,
    modelNamed: (agent, word) => catalog.named(agentIn(config)(agent), word),
    stopTurn: running.stop,
    closed,
    heard,
    refusals: parts.refusals,
    bootAtMs,
    clock,
    log,
  });

  // Lanes: from leased rows to a commit.
  const lane = runSession({ ...services, tools, prepareTurn: turnPreparer.forTurn }, commands.inLane);

  // Delivery: from the outbox to the platforms.
  const work: LaneWork = {
    concurrency: turnsAtOnce(config),
    ...due,
    leaveIdleThreads: () => leaveIdleThreads(ending, config.session.threadBindings),
    jobsOn: config.cron.enabled,
    runTurn: lane.run,
    buryTurn: lane.bury,
    deliver: pathDelivery(parts, store, { channel, closed, owners, heard }),
  };
  const keepOwnJobs = (): Promise<void> => keepUpkeepJobs({ config, schedules, log });

  return {
    work,
    receive,
    route,
    pairing: access.pairing,
    owners: access.owners,
    closed,
    models: catalog,
    turnPreparer,
    prompts,
    usage,
    ledger,
    running,
    quarantine: suspects,
    approvals,
    questions,
    forgetting,
    talk,
    upkeep,
    hold,
    mcp: parts.mcp,
    schedules,
    dropDeliveries: store.outbox.drop,
    heard,
    reach,
    stop,
    commands,
    keepOwnJobs,
    start(now = () => work, share = { turns: true, accounts: [...channels.keys()] }) {
      const own = share.turns ? keepOwnJobs() : undefined;
      Promise.all([asks.healAsks(), sideQuestions.heal(), heal(), own]).catch((error: unknown) =>
        log.warn({ error }, "what waited before the start could not be looked through"),
      );
      const { onReady, dial, busy } = parts;
      const jobs = { dial, busy, jobChanges: kept.jobChanges, isShared: config.store.driver === "redis" };
      return startWork({ store, onReady, holder: bootId, ...jobs, clock, ids, log }, now, share);
    },
  };
}
