// What one turn runs with, as whoever gathers it hands it to the turn.
import type { Model, ModelRequest } from "@parley/models";
import type { Log, ReasoningLevel, ThinkingLevel, SkillCall } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { ExecPolicy, Tool } from "@parley/tools";
import type { Speakers, Place } from "@parley/access";
import type { ContextSettings } from "./context-settings.ts";
import type { Wanted } from "./models/directives.ts";
import type { NotesPlace } from "./memory/notes-place.ts";
import type { PromptNote } from "./prompt/prompt-history.ts";
/** Computed anew for each, because files and config may have changed. */
export interface PreparedTurn {
  readonly model: Model;
  readonly system: ModelRequest["system"];
  readonly tools: readonly Tool[];
  /** Which commands may run; absent: nothing needs to be asked about. */
  readonly execPolicy?: ExecPolicy;
  readonly workspace: string;
  readonly thinking: ThinkingLevel;
  /** Who sees the thoughts. Absent: nobody. */
  readonly reasoning?: ReasoningLevel;
  /** How much is thought once these messages have joined. */
  readonly thinkingFor?: (wanted: Wanted) => ThinkingLevel;
  /** Why a call may not start, whatever the approvals say; null when it may. Absent: none is refused. */
  readonly refuses?: (tool: string) => string | null;
  /** Said in place of an answer: the messages ask for what this model cannot do. */
  readonly refusal?: string | null;
  readonly timeoutMs: number;
  /** Keeps a tool's long output under a name of its own; returns its path. */
  readonly spill: (name: string, text: string) => Promise<string>;
  /** Absent: the defaults. */
  readonly context?: ContextSettings;
  /** Whether the silent turn before a compaction may write its notes; default true. */
  readonly keepsNotes?: boolean;
  /** Where they are written. Absent: nobody keeps any. */
  readonly notesPlace?: NotesPlace;
  /** For the first message of a new conversation; null when there are none. */
  readonly startupNotes?: () => Promise<string | null>;
  /** What the skills add to the environment of the turn's processes. */
  readonly env?: { readonly [name: string]: string };
  /** What skills that were called say, where the agent cannot read them itself. */
  readonly skillBodies?: ReadonlyMap<string, string>;
  /** Nothing joins this turn: no model reads along. */
  readonly alone?: boolean;
  /** Parley's own words for this turn's user message. */
  readonly notes?: readonly string[];
  /** The model that was asked last was told to answer inside `<final>`. */
  readonly finalOnly?: () => boolean;
  /** A request in a group that comes out empty is told so, as in private. */
  readonly tellsEmptyInGroups?: boolean;
  /** What the commit writes, so that the prompt of the model that was asked last can be shown later. */
  readonly promptNote?: (turn: string) => PromptNote;
}

export type PrepareTurn = (
  turn: Place & {
    readonly agent: string;
    readonly session: Session;
    readonly called?: readonly SkillCall[];
    readonly wanted?: Wanted;
    readonly by?: Speakers;
    readonly log: Log;
  },
) => Promise<PreparedTurn>;
