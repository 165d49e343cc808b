// Defines the parts of the message path that differ between the daemon, the simulator and a test fixture.
import type { ConversationBindings, MigratedChats, Refusals } from "@parley/access";
import type { BootstrapHook, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
import type { McpServers } from "@parley/mcp";
import type { Models } from "@parley/models";
import type { Clock, Ids, Log } from "@parley/protocol";
import type { PoolsOptions } from "@parley/queue";
import type {
  InstallationFacts,
  MediaHandling,
  PreparerNeeds,
  ReadMedia,
  ShowProgress,
  SkillRegistry,
  ToolHooks,
  MachinePorts,
  TurnPreparer,
} from "@parley/runner";
import type { Store } from "@parley/store";
import type { Tool } from "@parley/tools";
import type { Dial } from "../schedules/call-webhooks.ts";
import type { DaemonForChats } from "../commands/chat-command.ts";
import type { HookParts } from "../hooks/heard.ts";
import type { ProcessMemory } from "./process-memory.ts";

export interface MessagePathParts {
  readonly config: Config;
  readonly store: Store;
  /** Notifies of new work, also from other processes. */
  readonly onReady: PoolsOptions["onReady"];
  /** Keyed by `<channel>:<account>`. */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Already loaded from the store. */
  readonly moved: MigratedChats;
  /** Sessions that people handed over to another channel. */
  readonly handOvers: ConversationBindings;
  readonly models: Models;
  /** Tools outside the catalogue. */
  readonly tools: readonly Tool[];
  /** The ports of the catalogue's tools; absent: the agent has only the other tools. */
  readonly machinePorts?: MachinePorts;
  /** Servers of the Model Context Protocol. */
  readonly mcp: McpServers;
  readonly hooks: readonly BootstrapHook[];
  readonly toolHooks: ToolHooks;
  /** Absent: nothing is told to hooks but what `hooks` and `toolHooks` are. */
  readonly hookParts?: HookParts;
  readonly daemon: DaemonForChats;
  readonly showProgress: ShowProgress;
  /** Reads the files of messages. */
  readonly readMedia: ReadMedia;
  /** The folder for answers that are too long for messages. */
  readonly mediaFolder: MediaHandling["folder"];
  /** The guarded way out; absent: the webhooks of jobs wait. */
  readonly dial?: Dial;
  /** Removes secrets from answers. */
  readonly redaction: Redaction;
  /** Facts that are the same in every prompt. */
  readonly installation: InstallationFacts;
  readonly skills: SkillRegistry;
  /** Makes the preparer, which collects the model, tools and prompt of a turn. */
  readonly preparer: (services: PreparerNeeds) => TurnPreparer;
  /** Finishes edits of a message that other processes asked for; absent in a single process. */
  readonly settleEdits?: (account: string, messageId: string) => Promise<void>;
  /** Reports the messages that admission refuses. */
  readonly refusals: Refusals;
  /** How busy this process is, for background turns to make way; absent: it counts as calm. */
  readonly busy?: PoolsOptions["busy"];
  /** State in memory that passes from one config's path to the next. */
  readonly kept: ProcessMemory;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}
