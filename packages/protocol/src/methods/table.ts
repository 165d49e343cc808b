// The table of control plane methods: each with its scope, the sessions it reaches, and the shapes of
// parameters and result. The gateway checks parameters against it; the CLI and the web page take their types
// from it.
import { z } from "zod";
import { canvasMethods } from "./canvas.ts";
import { auditMethods } from "./audit.ts";
import { backupMethods } from "./backup.ts";
import { channelMethods } from "./channel.ts";
import { chatMethods } from "./chat.ts";
import { configMethods } from "./config.ts";
import { deviceMethodTable } from "./device.ts";
import type { Scope } from "../frames.ts";
import { hookMethods } from "./hook.ts";
import { memoryMethods } from "./memory.ts";
import { mcpMethods } from "./mcp.ts";
import { operatorMethods } from "./operator.ts";
import { nodeMethods } from "./node.ts";
import { configStatus, reloadMethods } from "./reload.ts";
import { deadMethods, outboxMethods } from "./outbox.ts";
import { pairingMethods } from "./pairing.ts";
import { peopleMethods } from "./people.ts";
import { promptMethods } from "./prompt.ts";
import { replayMethods } from "./replay.ts";
import { retentionMethods } from "./retention.ts";
import { scheduleMethods } from "./schedule.ts";
import { skillMethods } from "./skill.ts";
import { toolMethods } from "./tool.ts";
import { updateMethods } from "./update.ts";
import { usageMethods } from "./usage.ts";
import { storySchema } from "../story.ts";

/**
 * Which sessions a method reads or changes. `none`: it is about the gateway. `own`: only those of the
 * caller's web peer. `key`: the session that the parameter `key` names, which must be the caller's own unless
 * its token has the scope `admin`. `all`: everybody's.
 */
export type MethodSessions = "none" | "own" | "key" | "all";

/**
 * What has to be there for a method to be answered. `daemon`: a running one; without it the method is
 * refused. The others are answered by `--once` as well. `database`: the database's file, opened or not.
 * `store`: the opened store, whatever is wrong with the config. `config`: a config without mistakes, and no
 * store. `config and store`: both.
 */
export type MethodNeeds = "daemon" | "database" | "store" | "config" | "config and store";

export interface MethodSpec {
  /** `device`: only paired devices, whatever other scopes a token has. */
  readonly scope: Scope | "device";
  readonly sessions: MethodSessions;
  readonly needs: MethodNeeds;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

const limit = z.number().int().min(1).max(1000).default(100);

const lane = z.object({
  lane: z.string(),
  pool: z.string(),
  /**
   * When a node next looks at the lane: due time, lease expiry or park deadline. Null when only new work can
   * change it.
   */
  atMs: z.number().nullable(),
  /** Id of the boot that holds the lane. */
  holder: z.string().nullable(),
  /** Counted up to 1,000. */
  waiting: z.number().int(),
});

const channelStatus = z.object({
  channel: z.string(),
  account: z.string(),
  /** `elsewhere`: another node of this gateway receives for this account. */
  state: z.enum(["starting", "ok", "degraded", "down", "stopped", "elsewhere"]),
  reason: z.string().optional(),
  lastInboundAtMs: z.number().optional(),
});

export const methods = {
  ...reloadMethods,
  health: {
    scope: "read",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({ ok: z.boolean(), reasons: z.array(z.string()) }),
  },
  status: {
    scope: "read",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({
      version: z.string(),
      pid: z.number().int(),
      bootId: z.string(),
      startedAtMs: z.number(),
      state: z.enum(["starting", "ok", "degraded", "draining", "safe-mode"]),
      reasons: z.array(z.string()),
      configPath: z.string(),
      config: configStatus,
      model: z.string(),
      channels: z.array(channelStatus),
      turnsRunning: z.number().int(),
      rowsWaiting: z.number().int(),
      deliveriesWaiting: z.number().int(),
      /** Rows that failed for good and that nobody retried or dismissed; counted up to 1,000. */
      deadRows: z.number().int(),
      /** Deliveries that failed or are ambiguous; counted up to 1,000. */
      deliveriesTroubled: z.number().int(),
      memoryBytes: z.number(),
      /** Heartbeats since the process started: sent, failed, or by the reason why they were skipped. */
      heartbeats: z.record(z.string(), z.number().int()).optional(),
      /**
       * Sub-agents that work now, that wait for a slot, a decision or their own, and those of the last seven
       * days by how they ended. Absent while the store fails.
       */
      subagents: z
        .object({
          running: z.number().int(),
          waiting: z.number().int(),
          ended: z.record(z.string(), z.number().int()),
        })
        .optional(),
    }),
  },
  /** Lists the accounts in this node's config with their health. */
  "channels.list": {
    scope: "read",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({ channels: z.array(channelStatus) }),
  },
  ...channelMethods,
  ...chatMethods,
  ...pairingMethods,
  ...peopleMethods,
  ...replayMethods,
  ...retentionMethods,
  ...auditMethods,
  why: {
    scope: "read",
    sessions: "all",
    needs: "store",
    /**
     * A row, turn or delivery id, a platform's message id (of a message in or out), or words from the
     * message. The newest match wins.
     */
    params: z.object({ query: z.string().min(1).max(1024) }),
    result: storySchema,
  },
  ...outboxMethods,
  ...deadMethods,
  "lanes.list": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({ limit }),
    result: z.object({ sessions: z.array(lane), conversations: z.array(lane) }),
  },
  ...nodeMethods,
  ...promptMethods,
  ...usageMethods,
  ...toolMethods,
  ...memoryMethods,
  ...configMethods,
  ...operatorMethods,
  /** Ends safe mode. `resumed` is false when it was not on. */
  resume: {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    result: z.object({ resumed: z.boolean() }),
  },
  ...backupMethods,
  ...scheduleMethods,
  ...skillMethods,
  ...hookMethods,
  ...mcpMethods,
  ...canvasMethods,
  ...deviceMethodTable,
  ...updateMethods,
} as const satisfies { readonly [method: string]: MethodSpec };

/**
 * File in the state folder with the newest result of `status`, as `{ atMs, status }`; read when the gateway
 * takes no connection.
 */
export const statusFileName = "status.json";

export type MethodName = keyof typeof methods;
export type MethodsNeeding<Needs extends MethodNeeds> = {
  [M in MethodName]: (typeof methods)[M]["needs"] extends Needs ? M : never;
}[MethodName];
export type MethodParams<M extends MethodName> = z.input<(typeof methods)[M]["params"]>;
export type MethodResult<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;
export type ChannelStatus = z.infer<typeof channelStatus>;
