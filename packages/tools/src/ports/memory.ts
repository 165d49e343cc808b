// The ports to an agent's notes: found, read, written, and looked after at night.
import type { GetAnswer, MemoryHit, NoteLine } from "@parley/memory";
import type { ToolScope } from "../tool.ts";
import type { Done } from "./done.ts";

export interface UpkeepChange {
  readonly kind: "merge" | "contradiction";
  /** As `look` names them: "MEMORY.md#L3". */
  readonly lines: readonly string[];
  /** Of a merge. */
  readonly text?: string | undefined;
  readonly why: string;
}

/** The agent's notes at night: what is proposed there is written once an owner accepts it. */
export interface MemoryUpkeep {
  /** Groups of lines that may say the same or the opposite; `more`: groups that had no room. */
  look(
    scope: ToolScope,
    roomBytes: number,
  ): Promise<{
    readonly groups: readonly (readonly NoteLine[])[];
    readonly more: number;
    /** Where text of strangers came from that somebody had read who noted some of it. */
    readonly untrusted: readonly string[];
  }>;
  propose(scope: ToolScope, changes: readonly UpkeepChange[], roomBytes: number): Promise<Done>;
}

interface RecallRequest {
  readonly query: string;
  /** Absent: as the config says. */
  readonly maxResults?: number | undefined;
  readonly minScore?: number | undefined;
}

/** `untrusted`: a turn wrote it that had read text of strangers from there. */
type RecalledHit = MemoryHit & { readonly untrusted?: string };

export interface Recalled {
  readonly hits: readonly RecalledHit[];
  /** How it was searched, and what the reader should know of the index. */
  readonly mode: string;
  readonly notes: readonly string[];
  /** Whether answers name their sources here. */
  readonly citations: boolean;
}

/** The notes of the agent that a call's scope names, as far as its people may read them there. */
export interface AgentMemory {
  search(scope: ToolScope, request: RecallRequest): Promise<Recalled>;
  /** Throws Fault for what is no memory of this conversation. */
  get(
    scope: ToolScope,
    request: { readonly path: string; readonly from: number; readonly lines: number },
  ): Promise<GetAnswer & { readonly untrusted?: string }>;
}

/** The agent's notes as files of its workspace. */
export interface NoteFiles {
  /**
   * Why the people of this call may not read what lies there; null when they may. The same places are out of
   * reach as for `AgentMemory`. `path` is relative to the workspace.
   */
  refusal(scope: ToolScope, path: string): Promise<string | null>;
  /**
   * Before a tool writes a note: records who its new lines come from. Throws Fault("denied") when they hold a
   * secret of the config.
   */
  writing(scope: ToolScope, write: NoteWrite): Promise<void>;
  /**
   * Where text of strangers came from that a turn had read before it wrote one of these lines; null when none
   * is known to be of such a turn.
   */
  untrusted(scope: ToolScope, path: string, text: string): Promise<string | null>;
}

interface NoteWrite {
  readonly path: string;
  /** Null: there is no file, or will be none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly tool: string;
}
