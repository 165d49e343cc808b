// The control plane's methods: for each its scope, whose sessions it reaches, and the shapes of what goes in and comes out.
// The gateway checks params against this table, the CLI and the web page take their types from it.
import { z } from "zod";
import { chatMethods } from "./chat-methods.ts";
import { configMethods } from "./config-methods.ts";
import type { Scope } from "./frames.ts";
import { operatorMethods } from "./operator-methods.ts";
import { nodeMethods } from "./node-methods.ts";
import { configStatus, reloadMethods } from "./reload-methods.ts";
import { pairingMethods } from "./pairing-methods.ts";
import { promptMethods } from "./prompt-methods.ts";
import { skillMethods } from "./skill-methods.ts";
import { toolMethods } from "./tool-methods.ts";
import { usageMethods } from "./usage-methods.ts";
import { deliverySchema, rowSchema, storySchema } from "./story.ts";

/**
 * Whose sessions a method reads or changes. `none`: it is about the gateway. `own`: the caller's alone, those of its web peer. `key`: the one
 * that the param `key` names, which must be the caller's own unless its token has the scope `admin`. `all`: everybody's.
 */
export type MethodSessions = "none" | "own" | "key" | "all";

export interface MethodSpec {
  readonly scope: Scope;
  readonly sessions: MethodSessions;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

const limit = z.number().int().min(1).max(1000).default(100);

const id = z.string().min(1).max(1024);
const path = z.string().min(1).max(4096);

const lane = z.object({
  lane: z.string(),
  pool: z.string(),
  /** When it is looked at next: due, lease expiry or park deadline; null when only something new can change it. */
  atMs: z.number().nullable(),
  /** The boot that works on it. */
  holder: z.string().nullable(),
  /** Counted up to 1,000. */
  waiting: z.number().int(),
});

const channelStatus = z.object({
  channel: z.string(),
  account: z.string(),
  /** `elsewhere`: another node of this gateway hears it. */
  state: z.enum(["starting", "ok", "degraded", "down", "stopped", "elsewhere"]),
  reason: z.string().optional(),
  lastInboundAtMs: z.number().optional(),
});

export const methods = {
  ...reloadMethods,
  health: {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({ ok: z.boolean(), reasons: z.array(z.string()) }),
  },
  status: {
    scope: "read",
    sessions: "none",
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
      /** Messages that failed for good and that nobody retried or dropped; counted up to 1,000. */
      deadRows: z.number().int(),
      /** Answers that did not arrive, or may not have; counted up to 1,000. */
      deliveriesTroubled: z.number().int(),
      memoryBytes: z.number(),
    }),
  },
  /** The accounts of this node's config and how each is. */
  "channels.list": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({ channels: z.array(channelStatus) }),
  },
  ...chatMethods,
  ...pairingMethods,
  why: {
    scope: "read",
    sessions: "all",
    /** A row, turn or delivery id, a platform's message id (theirs or ours), or words out of the message. The newest match is told. */
    params: z.object({ query: z.string().min(1).max(1024) }),
    result: storySchema,
  },
  "outbox.list": {
    scope: "read",
    sessions: "all",
    /** Newest first: what waits or is in trouble; with `troubled` only the latter. `lane`: one conversation. */
    params: z.object({ troubled: z.boolean().optional(), lane: z.string().optional(), limit }),
    result: z.object({ deliveries: z.array(deliverySchema) }),
  },
  /** Sends what did not arrive again, under a new id; the first one leaves the list. Once for each delivery. */
  "outbox.retry": {
    scope: "admin",
    sessions: "all",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "outbox.drop": {
    scope: "admin",
    sessions: "all",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "dead.list": {
    scope: "read",
    sessions: "all",
    params: z.object({ limit }),
    result: z.object({ rows: z.array(rowSchema) }),
  },
  /** Accepts a copy under a new id, with the same lane, conversation and authority; the first one leaves the list. */
  "dead.retry": {
    scope: "admin",
    sessions: "all",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "dead.drop": {
    scope: "admin",
    sessions: "all",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "lanes.list": {
    scope: "read",
    sessions: "all",
    params: z.object({ limit }),
    result: z.object({ sessions: z.array(lane), conversations: z.array(lane) }),
  },
  ...nodeMethods,
  ...promptMethods,
  ...usageMethods,
  ...toolMethods,
  ...configMethods,
  ...operatorMethods,
  /** Ends safe mode; `resumed` is false when it was not on. */
  resume: {
    scope: "admin",
    sessions: "none",
    params: z.object({}),
    result: z.object({ resumed: z.boolean() }),
  },
  /** Copies the database to a new file on the gateway's machine, as of one instant, checked whole. Absolute path. */
  backup: {
    scope: "admin",
    sessions: "all",
    params: z.object({ path }),
    result: z.object({ path: z.string(), bytes: z.number() }),
  },
  /** Only while no daemon runs (`--once`): puts a backup in the database's place, keeps the old file. Absolute path. */
  restore: {
    scope: "admin",
    sessions: "all",
    params: z.object({ path }),
    result: z.object({ path: z.string(), keptAs: z.string().nullable() }),
  },
  ...skillMethods,
} as const satisfies { readonly [method: string]: MethodSpec };

/** In the state folder: `{ atMs, status }`, the newest result of `status`, for when the gateway takes no connection. */
export const statusFileName = "status.json";

export type MethodName = keyof typeof methods;
export type MethodParams<M extends MethodName> = z.input<(typeof methods)[M]["params"]>;
export type MethodResult<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;
export type ChannelStatus = z.infer<typeof channelStatus>;
