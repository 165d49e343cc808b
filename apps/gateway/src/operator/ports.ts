// Defines the ports of the control methods' handlers, grouped by what the methods need. `--once` supplies all
// but the daemon's, from the same parts.
import type { Config, ConfigEditor } from "@parley/config";
import type { DeviceCalls, PushCalls } from "@parley/devices";
import type { Clients, Devices, Handlers } from "@parley/control";
import type { NodeRegistry } from "@parley/cluster";
import type { MemoryEngine } from "@parley/memory";
import type { Models } from "@parley/models";
import type { Clock, Ids, Log, MethodsNeeding, Scope } from "@parley/protocol";
import type { SkillRegistry } from "@parley/runner";
import type { Job } from "@parley/schedules";
import type { Store } from "@parley/store";
import type { GatewayState } from "../gateway-state.ts";
import type { HookRegistry } from "../hooks/hook-registry.ts";
import type { HookCounts } from "../hooks/hook-runner.ts";
import type { RecentLog } from "../log/recent-log.ts";
import type { MessagePath } from "../message-path.ts";
import type { ReplayWorld } from "../replay/replay-turn.ts";
import type { ConfigState, Reloader } from "../reload/reloader.ts";
import type { SelfUpdate } from "../update/self-update.ts";
import type { Wired } from "../wiring/channels.ts";

export interface ConfigPorts {
  /** Returns the current config. */
  readonly configNow: () => Config;
  readonly models: Models;
  readonly skills: SkillRegistry;
  readonly hooks: HookRegistry;
  /** What became of each hook's calls; null where no daemon runs. */
  readonly hookCounts: (() => ReadonlyMap<string, HookCounts>) | null;
  readonly memory: MemoryEngine;
  /** The state folder. */
  readonly home: string;
  readonly editor: ConfigEditor;
  /** Returns those changed paths that need a restart. */
  readonly restartNeeded: (changed: readonly string[]) => readonly string[];
  /** A job that is kept. Throws Fault where there is none of this name, or no database. */
  readonly jobNamed: (id: string) => Promise<Job>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Copies the database's file, and restores a copy in its place. */
export type DatabaseHandlers = Pick<Handlers, MethodsNeeding<"database">>;

type PathParts = Pick<
  MessagePath,
  | "closed"
  | "pairing"
  | "usage"
  | "ledger"
  | "prompts"
  | "turnPreparer"
  | "approvals"
  | "questions"
  | "forgetting"
  | "upkeep"
  | "talk"
  | "hold"
  | "mcp"
  | "schedules"
  | "dropDeliveries"
  | "work"
  | "heard"
>;

export interface StorePorts extends PathParts {
  readonly configNow: () => Config;
  readonly store: Pick<Store, "inbox" | "turns" | "outbox" | "cells" | "sessions" | "scrub" | "sweep">;
  readonly log: Log;
  /** What a turn would run with by this config file. Throws ConfigFault. */
  readonly worldOf: (configFile: string) => Promise<ReplayWorld>;
  readonly memory: MemoryEngine;
  /** The state folder. */
  readonly home: string;
  readonly modelCatalog: MessagePath["models"];
  readonly ids: Ids;
  readonly listNodes: NodeRegistry["list"];
  readonly devices: Devices;
  readonly clients: Clients;
  readonly deviceCalls: DeviceCalls;
  readonly clock: Clock;
}

export interface DaemonPorts extends Pick<
  MessagePath,
  "route" | "stop" | "running" | "hold" | "mcp" | "work"
> {
  readonly configNow: () => Config;
  readonly configPath: string;
  readonly configState: () => ConfigState;
  readonly store: Store;
  readonly wired: Wired;
  readonly listNodes: NodeRegistry["list"];
  readonly state: GatewayState;
  readonly recentLog: Pick<RecentLog, "last">;
  readonly reload: Reloader["reload"];
  /**
   * Drains and starts again, once the answer had time to go out. Throws Fault when a new start would fail.
   */
  readonly restart: (reason: string) => Promise<void>;
  readonly selfUpdate: Pick<SelfUpdate, "check" | "begin">;
  readonly ids: Ids;
  /** Ends safe mode; false when it was not on. */
  readonly resume: () => Promise<boolean>;
  readonly devicePush: PushCalls;
  /** Where the control plane listens, as programs of this machine reach it. */
  readonly controlUrl: () => string;
  readonly loginUrl: (granted: readonly Scope[]) => Promise<string>;
  /** Ends the pause of all sources with wrong credentials. Returns their number. */
  readonly unlock: () => number;
  readonly bootId: string;
  readonly clock: Clock;
}
