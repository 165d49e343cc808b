// Maps each method of the control plane to its handler. The protocol's table
// (packages/protocol/src/methods/table.ts) defines who may call a method, its parameters, and what it needs.
// A group of methods is one file here and one line below; the compiler checks that every method has its
// handler in the right group.
import type { Handlers } from "@parley/control";
import type { MethodsNeeding } from "@parley/protocol";
import { perConfig } from "../message-path/live.ts";
import { agentMethods } from "./agent/agents.ts";
import { channelMethods } from "./channels.ts";
import { backupMethods } from "./backups.ts";
import { canvasMethods } from "./sessions/canvases.ts";
import { auditMethods } from "./audit.ts";
import { chatMethods } from "./sessions/chat.ts";
import { compactMethods } from "./sessions/compact.ts";
import { configMethods } from "./config.ts";
import { deviceMethods } from "./access/devices.ts";
import { explainMethods } from "./explain-schedule.ts";
import { forkMethods } from "./sessions/fork.ts";
import { hookMethods } from "./hooks.ts";
import { lifecycleMethods } from "./lifecycle.ts";
import { logMethods } from "./logs.ts";
import { loginMethods } from "./access/logins.ts";
import { forgetMethods, memoryMethods } from "./agent/memory.ts";
import { mcpDaemonMethods, mcpMethods } from "./agent/mcp.ts";
import { modelMethods } from "./agent/models.ts";
import { operateMethods } from "./operate.ts";
import { pairedDeviceMethods } from "./access/paired-devices.ts";
import { pairingMethods } from "./access/pairing.ts";
import type { ConfigPorts, DaemonPorts, DatabaseHandlers, StorePorts } from "./ports.ts";
import { peopleMethods } from "./access/people.ts";
import { retentionMethods } from "./retention.ts";
import { promptMethods } from "./agent/prompt.ts";
import { replayMethods } from "./replay.ts";
import { scheduleMethods } from "./schedules.ts";
import { sessionMethods } from "./sessions/sessions.ts";
import { skillMethods } from "./agent/skills.ts";
import { statusMethods } from "./status.ts";
import { threadMethods } from "./sessions/threads.ts";
import { toolMethods } from "./agent/tools.ts";
import { updateMethods } from "./updates.ts";
import { usageMethods } from "./agent/usage.ts";

/** Returns the handlers of all methods. */
export function handlers(
  ports: ConfigPorts & StorePorts & DaemonPorts & { readonly database: DatabaseHandlers },
): Handlers {
  return {
    ...configHandlers(ports),
    ...ports.database,
    ...storeHandlers(ports),
    ...daemonHandlers(ports),
  };
}

export function configHandlers(ports: ConfigPorts): Pick<Handlers, MethodsNeeding<"config">> {
  const config = configMethods(ports);
  return {
    ...config,
    ...hookMethods({ ...ports, setConfig: config["config.set"] }),
    ...auditMethods(ports),
    ...backupMethods(ports),
    ...perConfig(ports.configNow, (now) => ({
      ...agentMethods({ config: now }),
      ...modelMethods({ config: now, ...ports }),
      ...skillMethods({ config: now, ...ports }),
      ...memoryMethods({ config: now, ...ports }),
      ...explainMethods({ config: now, ...ports }),
    })),
  };
}

export function storeHandlers(
  ports: StorePorts,
): Pick<Handlers, MethodsNeeding<"store" | "config and store">> {
  return {
    ...operateMethods(ports),
    ...pairingMethods(ports),
    ...deviceMethods(ports),
    ...usageMethods(ports),
    ...mcpMethods(ports),
    ...canvasMethods(ports),
    ...perConfig(ports.configNow, (config) => ({
      ...forgetMethods({ config, ...ports }),
      ...peopleMethods({ config, ...ports }),
      ...retentionMethods({ config, ...ports }),
      ...replayMethods({ config, ...ports }),
      ...sessionMethods({ config, ...ports }),
      ...promptMethods({ config, ...ports }),
      ...toolMethods({ config, ...ports }),
      ...scheduleMethods({ config, ...ports }),
    })),
  };
}

function daemonHandlers(ports: DaemonPorts & StorePorts): Pick<Handlers, MethodsNeeding<"daemon">> {
  const status = statusMethods(ports);
  return {
    ...status,
    ...chatMethods(ports),
    ...threadMethods(ports),
    ...compactMethods(ports),
    ...perConfig(ports.configNow, (config) => ({
      ...forkMethods({ config, ...ports }),
      ...channelMethods({ config, ...ports }),
    })),
    ...lifecycleMethods(ports, status.status),
    ...logMethods(ports),
    ...loginMethods(ports),
    ...pairedDeviceMethods(ports),
    ...mcpDaemonMethods(ports),
    ...updateMethods(ports),
  };
}
