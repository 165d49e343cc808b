// Says what a turn is prepared for, and the data that it then runs with: model, prompt, tools and limits.
// Each turn has its own, because files and the config may have changed since the one before.
import type { Place, Speakers } from "@parley/access";
import type { Model, ModelRequest } from "@parley/models";
import type { Log, ReasoningLevel, SkillCall, ThinkingLevel } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { ExecPolicy, Tool } from "@parley/tools";
import type { ContextSettings } from "./context/context-settings.ts";
import type { NotesPlace } from "./memory/notes-place.ts";
import type { StartupNotes } from "./memory/startup-memory.ts";
import type { Wanted } from "./models/directives.ts";
import type { PromptNote } from "./prompt/prompt-history.ts";

/** The data that one turn runs with, computed for each because files and config may have changed. */
export interface PreparedTurn {
  readonly model: Model;
  readonly system: ModelRequest["system"];
  readonly tools: readonly Tool[];
  /** Which commands may run. */
  readonly execPolicy: ExecPolicy;
  readonly workspace: string;
  readonly thinking: ThinkingLevel;
  /** Decides who sees the thoughts. */
  readonly reasoning: ReasoningLevel;
  /** Returns the thinking level once these messages have joined. */
  readonly thinkingFor: (wanted: Wanted) => ThinkingLevel;
  /** Returns why a call may not start, whatever the approvals say; null when it may. */
  readonly refuses: (tool: string) => string | null;
  /** Replaces the answer when the messages ask for what this model cannot do; null when they do not. */
  readonly refusal: string | null;
  readonly timeoutMs: number;
  /** Stores a tool's long output under its own name and returns the path. */
  readonly spill: (name: string, text: string) => Promise<string>;
  readonly context: ContextSettings;
  /** True when the memory flush before a compaction may write its notes. */
  readonly keepsNotes: boolean;
  readonly notesPlace: NotesPlace;
  /** For the first message of a new conversation; null when there are none. */
  readonly startupNotes: () => Promise<StartupNotes | null>;
  /** Variables that the skills add to the environment of the turn's processes. */
  readonly env: { readonly [name: string]: string };
  /** The texts of called skills, where the agent cannot read them itself. */
  readonly skillBodies: ReadonlyMap<string, string>;
  /** True when no message may join, because no model would read it. */
  readonly alone: boolean;
  /** Parley's own words for this turn's user message. */
  readonly notes: readonly string[];
  /** True when the model that was called last was told to answer inside `<final>`. */
  readonly finalOnly: () => boolean;
  /** True when the person in a group is told that an answer came out empty, as in private. */
  readonly tellsEmptyInGroups: boolean;
  /** Returns the cells that the commit writes, so that the last called model's prompt can be shown later. */
  readonly promptNote: (turn: string) => PromptNote;
}

/** Names the place, session and messages to prepare a turn for. */
interface PrepareRequest extends Place {
  readonly agent: string;
  readonly session: Session;
  /** Skills that the turn's messages call by command. */
  readonly called?: readonly SkillCall[];
  /** The turn's own log, so that lines about its model calls name its rows. */
  readonly log?: Log;
  /** Directives of the turn's messages. */
  readonly wanted?: Wanted;
  /** No conversation sees the turn's answer. */
  readonly unseen?: boolean;
  /** The only tools that it may use; absent: all that its people may. */
  readonly within?: readonly string[] | undefined;
  /** Without the workspace's files in the prompt, or with HEARTBEAT.md alone. */
  readonly light?: boolean | "heartbeat" | undefined;
  /** In place of the session's model, for this turn. A name that may not be chosen changes nothing. */
  readonly model?: string | undefined;
  /** In place of the models that the config asks when the first one fails. */
  readonly fallbacks?: readonly string[] | undefined;
  /** In place of the config's time for a turn. */
  readonly timeoutMs?: number | undefined;
  /** The messages' authors; absent means everyone who writes there. */
  readonly by?: Speakers;
}

export type PrepareTurn = (request: PrepareRequest) => Promise<PreparedTurn>;
