// What the units of the runner work with: `Services` is what the process has under one config, `TurnScope` what is known of one turn. A unit
// names the members it uses, as in `Pick<Services, "outbox" | "clock">`, so its signature tells what it depends on.
import type { Place, PlaceRules, Speakers } from "@parley/access";
import type { BootstrapHook, Placed, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import type { Cooldowns, Model, ModelRequest, Models } from "@parley/models";
import {
  accountKey,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type Clock,
  type Ids,
  type Log,
  type ReasoningLevel,
  type SessionKey,
  type SkillCall,
  type ThinkingLevel,
} from "@parley/protocol";
import { turnNames, type LeaseHandle, type WorkEnd } from "@parley/queue";
import type { Cells, Outbox, Row, Session, Sessions, Turn, Turns } from "@parley/store";
import type { ExecPolicy, Tool, ToolScope } from "@parley/tools";
import type { Approvals } from "./approvals/approvals.ts";
import type { ContextSettings } from "./context-settings.ts";
import type { MediaFolder } from "./media/media-store.ts";
import type { ReadMedia } from "./media/read-attachment.ts";
import type { NotesPlace } from "./memory/notes-place.ts";
import type { Wanted } from "./models/directives.ts";
import type { FileOrigins } from "./prompt/file-origins.ts";
import type { InstallationFacts } from "./prompt/prompt-facts.ts";
import type { PromptHistory, PromptNote } from "./prompt/prompt-history.ts";
import type { Quarantine } from "./quarantine.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { SkillRegistry } from "./skills/skill-registry.ts";
import type { ShowProgress } from "./streaming/progress.ts";
import type { EffectiveTools } from "./tools/effective-tools.ts";
import type { EmergencyStop } from "./tools/emergency-stop.ts";
import type { ToolHooks } from "./tools/tool-hooks.ts";
import { isAddressed, isAsked, openingRows, placeOf, speakersOf } from "./turn-rows.ts";
import type { SpendLimits, TurnSpendLimits } from "./usage/spend-limits.ts";

/** What the process has under one config. A change of the config makes the next ones; turns that began with these end with them. */
export interface Services {
  readonly config: Config;
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly cells: Cells;
  readonly outbox: Outbox;
  /** By `<channel>:<account>`; null for accounts that this process does not have. */
  readonly channel: (account: string) => Channel | null;
  /** What the config says of a shared place; null for accounts that it does not have. */
  readonly rules: (place: Place) => PlaceRules | null;
  /** Of a place whose next message nobody has written yet. */
  readonly speakers: (place: Place) => Promise<Speakers>;
  /** Configured or paired, as `<channel>:<sender>`. */
  readonly owners: () => Promise<readonly string[]>;
  readonly models: Models;
  readonly cooldowns: Cooldowns;
  readonly tools: EffectiveTools;
  /** Tools beside those of the catalogue: the rehearsal's. */
  readonly moreTools: readonly Tool[];
  readonly toolHooks: ToolHooks;
  readonly skills: SkillRegistry;
  /** The authors of what enters prompts; absent where nobody keeps them. */
  readonly origins?: FileOrigins | undefined;
  readonly hooks: readonly BootstrapHook[];
  /** What is the same in every prompt of this installation. */
  readonly house: InstallationFacts;
  readonly prompts: PromptHistory;
  /** Turns that found the stable zone of their session moved, by the section that moved. */
  readonly stableMoves: Map<string, number>;
  readonly prepareTurn: PrepareTurn;
  readonly approvals: Approvals;
  readonly hold: Pick<EmergencyStop, "now">;
  readonly quarantine: Pick<Quarantine, "rule">;
  readonly running: RunningTurns;
  readonly ledger: SpendLimits;
  readonly readMedia: ReadMedia;
  /** Where an answer that is too long for messages becomes a file. */
  readonly mediaFolder: MediaFolder;
  /** What no answer may show: secrets, and paths of the state folder outside the workspaces (I8). */
  readonly redaction: Redaction;
  readonly showProgress: ShowProgress;
  /** Rows accepted before this boot and older than two hours are told as "while I was away". */
  readonly bootAtMs: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Works on one leased turn and says how its lease ends. */
export type TurnWork = (turn: Turn, lease: LeaseHandle) => Promise<WorkEnd>;

/** What a turn's rows, its lane and its session tell before anything is prepared for it. */
export interface OpenTurn {
  readonly turn: Turn;
  readonly lease: LeaseHandle;
  readonly session: Session;
  readonly agent: string;
  readonly address: Address;
  readonly place: Place;
  readonly speakers: Speakers;
  /** `<channel>:<account>`. */
  readonly account: string;
  readonly channel: Channel | null;
  /** The rows that the turn was opened with: what it absorbed later is not among them. */
  readonly opening: readonly Row[];
  readonly log: Log;
}

/** One turn, from when it is prepared to its commit. */
export interface TurnScope extends OpenTurn {
  /** The session before this turn, oldest first. */
  readonly history: readonly Placed[];
  readonly prepared: PreparedTurn;
  readonly queue: QueueSettings;
  readonly spending: TurnSpendLimits;
  /** Aborts when the turn is stopped, took too long, or may be another holder's. */
  readonly signal: AbortSignal;
  readonly timedOut: () => boolean;
}

/** What one turn runs with; computed anew for each, because files and config may have changed. */
export interface PreparedTurn {
  readonly model: Model;
  readonly system: ModelRequest["system"];
  readonly tools: readonly Tool[];
  /** Which commands may run. */
  readonly execPolicy: ExecPolicy;
  readonly workspace: string;
  readonly thinking: ThinkingLevel;
  /** Who sees the thoughts. */
  readonly reasoning: ReasoningLevel;
  /** How much is thought once these messages have joined. */
  readonly thinkingFor: (wanted: Wanted) => ThinkingLevel;
  /** Why a call may not start, whatever the approvals say; null when it may. */
  readonly refuses: (tool: string) => string | null;
  /** Said in place of an answer when the messages ask for what this model cannot do; null when they do not. */
  readonly refusal: string | null;
  readonly timeoutMs: number;
  /** Keeps a tool's long output under a name of its own; returns its path. */
  readonly spill: (name: string, text: string) => Promise<string>;
  readonly context: ContextSettings;
  /** Whether the silent turn before a compaction may write its notes. */
  readonly keepsNotes: boolean;
  readonly notesPlace: NotesPlace;
  /** For the first message of a new conversation; null when there are none. */
  readonly startupNotes: () => Promise<string | null>;
  /** What the skills add to the environment of the turn's processes. */
  readonly env: { readonly [name: string]: string };
  /** What skills that were called say, where the agent cannot read them itself. */
  readonly skillBodies: ReadonlyMap<string, string>;
  /** Nothing joins this turn: no model reads along. */
  readonly alone: boolean;
  /** Parley's own words for this turn's user message. */
  readonly notes: readonly string[];
  /** The model that was asked last was told to answer inside `<final>`. */
  readonly finalOnly: () => boolean;
  /** A request in a group that comes out empty is told so, as in private. */
  readonly tellsEmptyInGroups: boolean;
  /** What the commit writes, so that the prompt of the model that was asked last can be shown later. */
  readonly promptNote: (turn: string) => PromptNote;
}

/** Whose turn is to be prepared, and for which words. */
interface PrepareRequest extends Place {
  readonly agent: string;
  readonly session: Session;
  /** Skills that the turn's messages call by command. */
  readonly called?: readonly SkillCall[];
  /** The turn's own, so that lines about its model calls name its rows. */
  readonly log?: Log;
  /** What the messages of the turn ask for. */
  readonly wanted?: Wanted;
  /** Who wrote them; absent: whoever writes there. */
  readonly by?: Speakers;
}

export type PrepareTurn = (request: PrepareRequest) => Promise<PreparedTurn>;

/** Reads what the turn's rows, lane and session tell of it. */
export async function openTurn(
  services: Pick<Services, "sessions" | "channel" | "log">,
  turn: Turn,
  lease: LeaseHandle,
): Promise<OpenTurn> {
  const log = services.log.child(turnNames(turn));
  log.info({ attempt: turn.attempt }, "turn begins");
  const session = await services.sessions.open(turn.lane as SessionKey);
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
    channel: services.channel(account),
    opening: openingRows(turn),
    log,
  };
}

/** What the tools of the turn are told of it. */
export function toolScope({
  turn,
  agent,
  prepared,
}: Pick<TurnScope, "turn" | "agent" | "prepared">): Omit<ToolScope, "callId" | "signal"> {
  const { workspace, env } = prepared;
  return { session: turn.lane as SessionKey, agent, turn: turn.id, workspace, env };
}

/** Somebody waits for the turn's answer: one that comes out empty is told. */
export function isOwed({ address, prepared, opening }: TurnScope): boolean {
  return address.kind === "dm" || (prepared.tellsEmptyInGroups && opening.some(isAddressed));
}

/** Whoever waits in private, or called us in a group that wants answers, is not met with silence. */
export function refusesSilence({ address, prepared }: TurnScope, rows: readonly Row[]): boolean {
  return (address.kind === "dm" || prepared.tellsEmptyInGroups) && rows.some(isAsked);
}
