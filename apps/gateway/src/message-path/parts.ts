// What the message path is made of that differs between the daemon, the simulator and a test on a stage.
import type { MigratedChats, Refusals } from "@parley/access";
import type { BootstrapHook, Redaction } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config } from "@parley/config";
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
  ToolPorts,
  TurnPreparer,
} from "@parley/runner";
import type { Store } from "@parley/store";
import type { Tool } from "@parley/tools";
import type { DaemonForChats } from "../commands/chat-command.ts";
import type { ProcessMemory } from "./process-memory.ts";

export interface MessagePathParts {
  readonly config: Config;
  readonly store: Store;
  /** Hints of work, also from other processes. */
  readonly onReady: PoolsOptions["onReady"];
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
  readonly toolHooks: ToolHooks;
  readonly daemon: DaemonForChats;
  readonly showProgress: ShowProgress;
  /** How files of messages are read. */
  readonly readMedia: ReadMedia;
  /** Where an answer that is too long for messages becomes a file. */
  readonly mediaFolder: MediaHandling["folder"];
  /** What no answer may show. */
  readonly redaction: Redaction;
  /** What is the same in every prompt. */
  readonly house: InstallationFacts;
  readonly skills: SkillRegistry;
  /** Who gathers what a turn runs with. */
  readonly preparer: (services: PreparerNeeds) => TurnPreparer;
  /** Ends the edits of a message of ours that other processes asked for; absent where this process is alone. */
  readonly settleEdits?: (account: string, messageId: string) => Promise<void>;
  /** Told of messages that admission refuses. */
  readonly refusals: Refusals;
  /** What only memory knows: it goes from one config's path to the next. */
  readonly kept: ProcessMemory;
  readonly bootId: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}
