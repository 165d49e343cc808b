// The control plane's methods: for each its scope, whether it takes an idempotency key, and the shapes of what goes in and comes out.
// The gateway checks params against this table, the CLI and the web page take their types from it.
import { z } from "zod";
import type { Scope } from "./frames.ts";

export interface MethodSpec {
  readonly scope: Scope;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

const key = z.string().min(1).max(128);
const limit = z.number().int().min(1).max(1000).default(100);

const pairingRequest = z.object({
  code: z.string(),
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  senderName: z.string(),
  expiresAtMs: z.number(),
});

const chatMessage = z.object({
  seq: z.number().int(),
  role: z.enum(["user", "assistant", "notice"]),
  text: z.string(),
  /** Sanitised HTML of `text`, for pages. */
  html: z.string(),
  atMs: z.number(),
});

const channelStatus = z.object({
  channel: z.string(),
  account: z.string(),
  state: z.enum(["starting", "ok", "degraded", "down", "stopped"]),
  reason: z.string().optional(),
  lastInboundAtMs: z.number().optional(),
});

export const methods = {
  health: {
    scope: "read",
    params: z.object({}),
    result: z.object({ ok: z.boolean(), reasons: z.array(z.string()) }),
  },
  status: {
    scope: "read",
    params: z.object({}),
    result: z.object({
      version: z.string(),
      pid: z.number().int(),
      bootId: z.string(),
      startedAtMs: z.number(),
      state: z.enum(["starting", "ok", "degraded", "draining", "safe-mode"]),
      reasons: z.array(z.string()),
      configPath: z.string(),
      model: z.string(),
      channels: z.array(channelStatus),
      turnsRunning: z.number().int(),
      rowsWaiting: z.number().int(),
      deliveriesWaiting: z.number().int(),
      memoryBytes: z.number(),
    }),
  },
  "chat.send": {
    scope: "write",
    params: z.object({ text: z.string().min(1).max(200_000), thread: z.string().max(128).optional(), idempotencyKey: key }),
    /** Durable once answered. `duplicate`: the key was known, nothing new was stored. */
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  "chat.history": {
    scope: "read",
    params: z.object({ thread: z.string().max(128).optional(), limit }),
    result: z.object({ sessionKey: z.string(), messages: z.array(chatMessage), working: z.boolean() }),
  },
  "chat.abort": {
    scope: "write",
    params: z.object({ thread: z.string().max(128).optional() }),
    result: z.object({ stopped: z.boolean(), cancelled: z.number().int() }),
  },
  "pairing.list": {
    scope: "read",
    params: z.object({}),
    result: z.object({
      pending: z.array(pairingRequest),
      paired: z.array(
        z.object({ channel: z.string(), account: z.string(), senderId: z.string(), senderName: z.string(), atMs: z.number() }),
      ),
    }),
  },
  "pairing.approve": {
    scope: "approve",
    params: z.object({ code: z.string().min(1).max(64) }),
    result: z.object({ channel: z.string(), account: z.string(), senderId: z.string(), senderName: z.string() }),
  },
} as const satisfies { readonly [method: string]: MethodSpec };

export type MethodName = keyof typeof methods;
export type MethodParams<M extends MethodName> = z.input<(typeof methods)[M]["params"]>;
export type MethodResult<M extends MethodName> = z.output<(typeof methods)[M]["result"]>;
export type ChatMessage = z.infer<typeof chatMessage>;
export type ChannelStatus = z.infer<typeof channelStatus>;

/** What each event carries. Only `chat.message` has a seq and is replayed; the others are shown now or never. */
export interface EventPayloads {
  /** A message of the conversation that the client follows. */
  readonly "chat.message": ChatMessage;
  /** The visible text of a running turn so far, whole; empty takes it away again. `html`: the same, sanitised. */
  readonly "chat.delta": { readonly turn: string; readonly text: string; readonly html?: string };
  /** Whether the agent works on something of this conversation. */
  readonly "chat.typing": { readonly working: boolean };
  /** The client lagged so far behind that events are gone: ask for the history again. */
  readonly resync: { readonly [key: string]: never };
  /** The gateway goes away; connect again soon. */
  readonly shutdown: { readonly [key: string]: never };
}
export type EventName = keyof EventPayloads;
