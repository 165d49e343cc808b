// Lists what the runner's units work with: `Services` holds what the process has under one config,
// `TurnScope` what is known of one turn. A unit names the members it uses, as in `Pick<Services, "outbox" |
// "clock">`, so that its signature shows what it depends on.
import type { ConversationBindings, MayReach, Place, PlaceRules, Speakers } from "@parley/access";
import type { BootstrapHook, Placed, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import type { Cooldowns, Models } from "@parley/models";
import {
  accountKey,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type Clock,
  type HookPort,
  type Ids,
  type Log,
  type SessionKey,
} from "@parley/protocol";
import { turnNames, type TurnLease, type WorkEnd } from "@parley/queue";
import type { Cells, Inbox, Outbox, Row, Session, Sessions, Turn, Turns } from "@parley/store";
import type { MemoryUpkeep, Speech, Tool, ToolScope } from "@parley/tools";
import type { Approvals } from "./approvals/approvals.ts";
import type { MediaFolder } from "./media/media-store.ts";
import type { ReadMedia } from "./media/read-attachment.ts";
import { modelField } from "./models/model-catalog.ts";
import { thinkingField } from "./models/thinking.ts";
import type { FileOrigins } from "./file-origins.ts";
import type { InstallationFacts } from "./installation-facts.ts";
import type { Questions } from "./questions/questions.ts";
import type { PromptHistory } from "./prompt/prompt-history.ts";
import type { PreparedTurn, PrepareTurn } from "./prepared-turn.ts";
import type { Quarantine } from "./quarantine.ts";
import type { QueueSettings } from "./queue/queue-settings.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { ChildRegistry } from "./sessions/child-registry.ts";
import type { Schedules } from "./schedules/schedules.ts";
import { isUnasked, ownRun } from "./schedules/slot-row.ts";
import { webhookRun } from "./hooks/hook-row.ts";
import { askedRow, isUnseen } from "./sessions/asked-rows.ts";
import type { SkillRegistry } from "./skills/skill-registry.ts";
import type { ShowProgress } from "./streaming/progress.ts";
import type { EffectiveTools } from "./tools/tools-here.ts";
import type { EmergencyStop } from "./emergency-stop.ts";
import type { ToolHooks } from "./tools/tool-hooks.ts";
import { isAddressed, isAsked, openingRows, placeOf, speakersOf } from "./turn-rows.ts";
import type { SpendLimits, TurnSpendLimits } from "./usage/spend-limits.ts";

/**
 * The process's services under one config. A changed config makes new ones, and running turns keep theirs to
 * their end.
 */
export interface Services {
  readonly config: Config;
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly cells: Cells;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  /** Sub-agents: who spawned them, and how they ended. */
  readonly children: ChildRegistry;
  /** Threads in which sub-agents work. */
  readonly threads: Pick<ConversationBindings, "worker" | "threads" | "threadsOf" | "bind" | "unbind">;
  /** Jobs that are due at their times. */
  readonly schedules: Schedules;
  /** Returns where what a session began in `from` goes on; null where its rows say. */
  readonly placeOf: (session: string, from: Address) => Address | null;
  /** Finds a channel by `<channel>:<account>`; null for accounts that this process does not have. */
  readonly channel: (account: string) => Channel | null;
  /** Returns the config's rules for a shared place; null for accounts that it does not have. */
  readonly rules: (place: Place) => PlaceRules | null;
  /** Says why a tool may not write to a place, by access rules or because the chat is closed. */
  readonly reach: MayReach;
  /** Returns the speakers of a place before its next message is written. */
  readonly speakers: (place: Place) => Promise<Speakers>;
  /** Owners that the config names or that paired, as `<channel>:<sender>`. */
  readonly owners: () => Promise<readonly string[]>;
  readonly models: Models;
  readonly cooldowns: Cooldowns;
  readonly tools: EffectiveTools;
  /** Tools beside the catalogue's, for the rehearsal. */
  readonly moreTools: readonly Tool[];
  readonly toolHooks: ToolHooks;
  readonly skills: SkillRegistry;
  /** The authors of what enters prompts; absent where nobody records them. */
  readonly origins?: FileOrigins | undefined;
  readonly hooks: readonly BootstrapHook[];
  /** Hears what happens in turns. */
  readonly hookPort: HookPort;
  /** Facts that every prompt of this installation shares. */
  readonly installation: InstallationFacts;
  readonly prompts: PromptHistory;
  /** Counts turns whose session's stable zone changed, by the section that changed. */
  readonly stableMoves: Map<string, number>;
  readonly prepareTurn: PrepareTurn;
  readonly approvals: Approvals;
  readonly questions: Questions;
  /** Absent where no notes are looked after. */
  readonly upkeep?: MemoryUpkeep;
  readonly hold: Pick<EmergencyStop, "now">;
  readonly quarantine: Pick<Quarantine, "rule">;
  readonly running: RunningTurns;
  readonly ledger: SpendLimits;
  readonly readMedia: ReadMedia;
  /** Absent: nothing is spoken. */
  readonly speech?: Speech | undefined;
  /** An answer that is too long for messages becomes a file here. */
  readonly mediaFolder: MediaFolder;
  /** Secrets, and paths of the state folder outside the workspaces, which no answer may show (I8). */
  readonly redaction: Redaction;
  readonly showProgress: ShowProgress;
  /** Rows accepted before this boot and older than two hours are told as "while I was away". */
  readonly bootAtMs: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Works on one leased turn and returns how its lease ends. */
export type TurnWork = (turn: Turn, lease: TurnLease) => Promise<WorkEnd>;

/** Facts from a turn's rows, lane and session, before anything is prepared for it. */
export interface OpenTurn {
  readonly turn: Turn;
  readonly lease: TurnLease;
  readonly session: Session;
  readonly agent: string;
  readonly address: Address;
  readonly place: Place;
  readonly speakers: Speakers;
  /** `<channel>:<account>`. */
  readonly account: string;
  /** The rows that the turn was opened with, without those absorbed later. */
  readonly opening: readonly Row[];
  /** Other sessions asked for this turn: its answer goes to them, and no conversation sees it. */
  readonly unseen: boolean;
  readonly log: Log;
}

/** One turn, from its preparation to its commit. */
export interface TurnScope extends OpenTurn {
  /** Looked up after the preparation, during which a reload may have replaced it. */
  readonly channel: Channel | null;
  /** The session before this turn, oldest first. */
  readonly history: readonly Placed[];
  readonly prepared: PreparedTurn;
  readonly queue: QueueSettings;
  readonly spending: TurnSpendLimits;
  /** Aborts when the turn is stopped, takes too long, or may have another holder. */
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
}

/** Sets the model and the thinking that a sub-agent was spawned with, or that a job's own session has. */
async function asAsked(
  sessions: Pick<Sessions, "patch">,
  session: Session,
  { rows }: Turn,
): Promise<Session> {
  const run =
    rows.map((row) => askedRow(row)?.internal.run).find((each) => each !== undefined) ?? webhookRun(rows);
  const own = ownRun(rows);
  const { model, thinking } = own?.settings ?? run ?? {};
  const fields = {
    ...(model === undefined && own === null ? {} : { [modelField]: model ?? null }),
    ...(thinking === undefined && own === null ? {} : { [thinkingField]: thinking ?? null }),
  };
  const differs = Object.entries(fields).some(([field, value]) => (session.fields[field] ?? null) !== value);
  return differs ? sessions.patch(session.key as SessionKey, fields) : session;
}

/** Reads the turn's facts from its rows, lane and session. */
export async function openTurn(
  services: Pick<Services, "sessions" | "log">,
  turn: Turn,
  lease: TurnLease,
): Promise<OpenTurn> {
  const log = services.log.child(turnNames(turn));
  log.info({ attempt: turn.attempt }, "turn begins");
  const session = await asAsked(
    services.sessions,
    await services.sessions.open(turn.lane as SessionKey),
    turn,
  );
  const address = parseConversationKey(turn.conversation);
  const account = accountKey(address);
  return {
    turn,
    lease,
    session,
    agent: parseSessionKey(turn.lane).agent,
    address,
    place: placeOf(turn),
    speakers: speakersOf(turn.rows),
    account,
    opening: openingRows(turn),
    unseen: isUnseen(turn.lane, turn.rows),
    log,
  };
}

/** What each call of the turn is told of it, beside its own id and signal. */
export function toolScope(
  { lane, id, rows, conversation, authority }: Turn,
  {
    workspace,
    env,
    tools: seen,
    refuses = () => null,
  }: Pick<ToolScope, "workspace" | "env"> & Partial<Pick<PreparedTurn, "tools" | "refuses">>,
): Omit<ToolScope, "callId" | "signal"> {
  const { agent } = parseSessionKey(lane);
  const session = lane as SessionKey;
  const tools = seen?.map(({ name }) => name).filter((name) => refuses(name) === null);
  const by = speakersOf(rows);
  const known = { session, agent, turn: id, conversation, by, authority, workspace, env };
  return tools === undefined ? known : { ...known, tools };
}

/** True when somebody waits for the turn's answer, so that an empty one is told. */
export function isOwed({ address, prepared, opening }: TurnScope): boolean {
  if (isUnasked(opening)) return false;
  return address.kind === "dm" || (prepared.tellsEmptyInGroups && opening.some(isAddressed));
}

/**
 * True when silence is no answer: a person waits in private, or addressed the agent in a group that wants
 * answers.
 */
export function refusesSilence({ address, prepared }: TurnScope, rows: readonly Row[]): boolean {
  return (address.kind === "dm" || prepared.tellsEmptyInGroups) && rows.some(isAsked);
}
