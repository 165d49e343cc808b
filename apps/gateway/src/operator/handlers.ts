// Every method of the control plane with what answers it; the table in protocol says who may call it and with what.
import type { Config, ConfigEditor } from "@parley/config";
import type { Ids } from "@parley/protocol";
import type { Models } from "@parley/models";
import type { Handlers, Clients, Devices } from "@parley/control";
import type { MessagePath } from "../message-path.ts";
import type { DatabaseJobs } from "../maintenance/database-jobs.ts";
import type { NodeRegistry } from "@parley/cluster";
import { perConfig } from "../reload/live.ts";
import type { Reloader } from "../reload/reloader.ts";
import type { SkillRegistry } from "@parley/runner";
import type { RecentLog } from "../log/recent-log.ts";
import { agentMethods } from "./agents.ts";
import { backupMethods } from "./backup.ts";
import { chatMethods } from "./chat.ts";
import { configMethods, type ConfigMethodsOptions } from "./config.ts";
import { deviceMethods, type DeviceMethodsOptions } from "./devices.ts";
import { logMethods } from "./logs.ts";
import { modelMethods } from "./models.ts";
import { operateMethods } from "./operate.ts";
import { pairingMethods } from "./pairing.ts";
import { promptMethods } from "./prompt.ts";
import { sessionMethods } from "./sessions.ts";
import { skillMethods } from "./skills.ts";
import { toolMethods } from "./tools.ts";
import { usageMethods } from "./usage.ts";
import { statusMethods, type StatusOptions } from "./status.ts";

/** `config`: of the moment in which it is read. */
export interface HandlerOptions extends StatusOptions {
  readonly core: MessagePath;
  /** Null where another server keeps the data. */
  readonly databasePath: string | null;
  readonly listNodes: NodeRegistry["list"];
  readonly skills: SkillRegistry;
  readonly models: Models;
  readonly desk: ConfigEditor;
  readonly restartNeeded: ConfigMethodsOptions["restartNeeded"];
  readonly reload: Reloader["reload"];
  readonly devices: Devices;
  readonly clients: Clients;
  readonly loginUrl: DeviceMethodsOptions["loginUrl"];
  readonly unlock: DeviceMethodsOptions["unlock"];
  readonly recentLog: Pick<RecentLog, "last">;
  /** Drains and starts again, once the answer had time to go out. Throws Fault when it would not come up. */
  readonly restart: (reason: string) => Promise<void>;
  readonly ids: Ids;
  readonly jobs: Pick<DatabaseJobs, "backup">;
  /** Ends safe mode; false when it was not on. */
  readonly resume: () => Promise<boolean>;
}

export function handlers(options: HandlerOptions): Handlers {
  const { store, core, wired } = options;
  const configNow = (): Config => options.config;
  const status = statusMethods(options);
  const chat = chatMethods({
    web: () => wired.web,
    route: core.route,
    inbox: store.inbox,
    events: store.events,
    turns: store.turns,
    clock: options.clock,
    stop: core.stop,
  });
  const pairing = pairingMethods(core.pairing);
  const copies = backupMethods(options.databasePath, options.jobs);
  return {
    ...operateMethods({ store, closed: core.closed, listNodes: options.listNodes, clock: options.clock }),
    ...perConfig(configNow, (config) =>
      promptMethods({
        sessions: store.sessions,
        prompts: core.prompts,
        turnPreparer: core.turnPreparer,
        defaultAgent: config.agents.list[0]?.id ?? "main",
      }),
    ),
    ...toolMethods({
      desk: core.approvals,
      hold: core.hold,
      sessions: store.sessions,
      prompts: core.prompts,
      turnPreparer: core.turnPreparer,
      defaultAgent: options.config.agents.list[0]?.id ?? "main",
    }),
    ...usageMethods({ book: core.usage, ledger: core.ledger, clock: options.clock }),
    ...perConfig(configNow, (config) =>
      modelMethods({ config, models: options.models, clock: options.clock }),
    ),
    ...perConfig(configNow, (config) =>
      skillMethods({ config, book: options.skills, clock: options.clock, ids: options.ids }),
    ),
    ...configMethods({ desk: options.desk, restartNeeded: options.restartNeeded, clock: options.clock }),
    ...perConfig(configNow, (config) =>
      sessionMethods({
        config,
        sessions: store.sessions,
        turns: store.turns,
        models: core.models,
        clock: options.clock,
      }),
    ),
    ...perConfig(configNow, (config) => agentMethods(config)),
    ...deviceMethods(options),
    ...logMethods(options.recentLog),
    async restart({ reason = "asked for over the control plane" }) {
      const { pid, turnsRunning, deliveriesWaiting } = await status.status();
      await options.restart(reason);
      return { pid, turnsRunning, deliveriesWaiting };
    },
    async reload() {
      const { outcome, changed, restarted, restartNeeded, problems } = await options.reload(
        "asked for over the control plane",
      );
      const lists = {
        changed: [...changed],
        restarted: [...restarted],
        restartNeeded: [...restartNeeded],
        problems: [...problems],
      };
      return { outcome, ...lists };
    },
    resume: async () => ({ resumed: await options.resume() }),
    backup: copies.backup,
    restore: copies.restore,
    health: status.health,
    status: status.status,
    "channels.list": async () => ({ channels: (await status.status()).channels }),
    "chat.send": chat.send,
    "chat.history": chat.history,
    "chat.abort": chat.abort,
    "chat.inject": chat.inject,
    "pairing.list": pairing.list,
    "pairing.approve": pairing.approve,
    "pairing.revoke": pairing.revoke,
  };
}
