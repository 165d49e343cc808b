// Defines what tool factories receive: stable facts of the agent and its place, and small ports to the rest
// of Parley. Nothing here may change a schema or description from turn to turn (I12): what varies more often
// reaches a tool by the scope of each call, which the tool hands to its ports.
import type { Clock } from "@parley/protocol";
import type { Commands } from "./exec/commands.ts";
import type { CommandEnv } from "./exec/environment.ts";
import type { ExecAction } from "./exec/exec-action.ts";
import type { ExecPolicy } from "./exec/exec-decision.ts";
import type { Origins } from "./files/origins.ts";
import type { WorkspaceFiles } from "./files/workspace-files.ts";
import type { Browser } from "./ports/browser.ts";
import type { Canvases, Renderer } from "./ports/canvases.ts";
import type { PairedDevices } from "./ports/devices.ts";
import type { Unavailable } from "./ports/done.ts";
import type { AgentMemory, MemoryUpkeep, NoteFiles } from "./ports/memory.ts";
import type { Messages } from "./ports/messages.ts";
import type { Children, OtherSessions } from "./ports/other-sessions.ts";
import type { Drawing, Pictures, SeenPictures } from "./ports/pictures.ts";
import type { ScheduledJobs } from "./ports/schedules.ts";
import type { AskUser, LoadedTools, Plans, SessionStatus } from "./ports/session.ts";
import type { Settings } from "./ports/settings.ts";
import type { Speech } from "./ports/speech.ts";
import type { Spending } from "./ports/spending.ts";
import type { Web } from "./ports/web.ts";
import type { Sandbox } from "./sandbox/sandbox.ts";
import type { WayOut } from "./sandbox/way-out.ts";
import type { Tool, ToolScope } from "./tool.ts";

export interface ToolContext extends MachinePorts, SessionPorts {
  /** True when all who may speak in this turn are owners. */
  readonly owner: boolean;
  /** Everybody whose messages the turn follows: `telegram:42`. */
  readonly speakers?: readonly string[];
  /** Paths below the workspace that enter prompts because the config says so. */
  readonly promptPaths?: readonly string[];
  /** True when the model sees pictures. */
  readonly vision: boolean;
  /** IANA name of the user's zone. */
  readonly timeZone: string;
  /** "2:05 pm" instead of "14:05"; absent: no. */
  readonly halfDays?: boolean;
  readonly files: WorkspaceFiles;
  readonly sandbox: Sandbox;
  readonly clock: Clock;
  /** Limits one result, in UTF-8 bytes: pages and excerpts fit into it. Default 8,192. */
  readonly resultBytes?: number;
  /** Tools that the model has to look up; absent: it is told all of them. */
  readonly deferred?: readonly Tool[];
  /** Absent: the agent has no commands here. */
  readonly exec?: ExecPorts;
}

/** Ports to this machine that a tool gets as they are; made once for the process. */
export interface MachinePorts {
  /** Stores who wrote the files that enter prompts. Absent: nothing is stored. */
  readonly origins?: Origins;
  readonly pictures?: Pictures;
  /** Absent: no pictures are made here. */
  readonly drawing?: Drawing;
  /** Absent: nothing is spoken here. */
  readonly speech?: Speech;
  readonly settings?: Settings;
  /** Absent: there is no way to the open web here. */
  readonly web?: Web;
  /** Absent: there is no browser here. */
  readonly browser?: Browser;
  /** To the proxy for sandboxes whose network is `egress`; it listens from the first call on. */
  readonly wayOut?: () => Promise<WayOut>;
  /** Absent: pages of the agent's own are not looked at here. */
  readonly renderer?: Renderer;
  /** Absent: the agent's memory is not searched here. */
  readonly memory?: AgentMemory;
  /** Absent: no file of a workspace is private by its place. */
  readonly notes?: NoteFiles;
  /** Absent: no device can be reached from here. */
  readonly devices?: PairedDevices;
}

/** Ports to the session and the chat, made once for a config: the scope of each call says which session. */
export interface SessionPorts {
  readonly status: SessionStatus;
  readonly plans: Plans;
  readonly children: Children;
  readonly questions: AskUser;
  readonly messages: Messages;
  readonly sessions: OtherSessions;
  readonly schedules: ScheduledJobs;
  readonly loadedTools: LoadedTools;
  readonly seenPictures: SeenPictures;
  readonly spending: Spending;
  readonly canvases: Canvases;
  /** Only in the session in which an agent looks after its notes at night. */
  readonly upkeep?: MemoryUpkeep;
}

export interface ExecPorts {
  readonly commands: Commands;
  readonly policy: ExecPolicy;
  /** The gateway's own environment, of which only harmless names reach a command. */
  readonly host: CommandEnv;
  /**
   * Checks one last time, right before the start: true when a person approved exactly this action for this
   * call. Absent: nobody can approve, so only what the policy lets run without asking runs.
   */
  readonly approved?: (action: ExecAction, hash: string, scope: ToolScope) => Promise<boolean>;
  readonly timeoutSeconds: number;
}

export type ToolFactory = (context: ToolContext) => Tool | Unavailable;
