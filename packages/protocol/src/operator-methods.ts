// The control plane's methods for whoever runs the gateway: sessions, agents, logs, devices, restart.
import { z } from "zod";
import { scopes } from "./frames.ts";
import { reasoningLevels, thinkingLevels } from "./thinking.ts";

const sessionKey = z.string().min(1).max(1024);
const idempotencyKey = z.string().min(1).max(128);

const session = z.object({
  key: z.string(),
  agent: z.string(),
  kind: z.enum(["main", "dm", "group", "channel", "subagent", "cron", "hook", "api"]),
  /** Grows with every reset. */
  epoch: z.number().int(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
  /** Set in this session; null takes the agent's. */
  model: z.string().nullable(),
  thinking: z.enum(thinkingLevels).nullable(),
  reasoning: z.enum(reasoningLevels).nullable(),
  /** A turn of it runs, waits or is parked. */
  working: z.boolean(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
});

const entry = z.object({
  seq: z.number().int(),
  epoch: z.number().int(),
  turn: z.string(),
  type: z.enum(["user", "assistant", "toolResult", "summary", "notice"]),
  /** What was said, a tool's call or result; cut where it is long. */
  text: z.string(),
  atMs: z.number(),
});

const device = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  /** The web peer whose conversations it has. */
  peer: z.string(),
  createdAtMs: z.number(),
  /** Connections that it has now, to this node. */
  connections: z.number().int(),
});

export const operatorMethods = {
  /** Puts words of the agent's into a conversation without asking a model, in lane order: they stand in its history and are shown. */
  "chat.inject": {
    scope: "write",
    sessions: "own",
    params: z.object({
      text: z.string().min(1).max(200_000),
      thread: z.string().max(128).optional(),
      idempotencyKey,
    }),
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  /** The last changed first. */
  "sessions.list": {
    scope: "read",
    sessions: "all",
    params: z.object({
      agent: z.string().max(64).optional(),
      /** Beginning of the key. */
      prefix: z.string().max(1024).optional(),
      sinceMs: z.number().optional(),
      limit: z.number().int().min(1).max(1000).default(100),
    }),
    result: z.object({ sessions: z.array(session) }),
  },
  /** With the newest entries of its transcript, oldest first; of the present epoch unless another is named. */
  "sessions.show": {
    scope: "read",
    sessions: "all",
    params: z.object({
      key: sessionKey,
      epoch: z.number().int().positive().optional(),
      limit: z.number().int().min(1).max(1000).default(50),
    }),
    result: session.extend({ entries: z.array(entry) }),
  },
  /** What /new does: a new epoch. Nothing is deleted. */
  "sessions.reset": {
    scope: "write",
    sessions: "key",
    params: z.object({ key: sessionKey, idempotencyKey: idempotencyKey.optional() }),
    result: session,
  },
  /** Removes what was said in it for good, in every epoch, and begins it anew. Refused while it works. */
  "sessions.forget": {
    scope: "admin",
    sessions: "all",
    params: z.object({ key: sessionKey, idempotencyKey: idempotencyKey.optional() }),
    /** `entries`: how many left its transcript. */
    result: session.extend({ entries: z.number().int() }),
  },
  /** Null takes back what was set. */
  "sessions.patch": {
    scope: "write",
    sessions: "key",
    params: z.object({
      key: sessionKey,
      /** A name out of the model list. */
      model: z.string().min(1).max(256).nullable().optional(),
      thinking: z.enum(thinkingLevels).nullable().optional(),
      reasoning: z.enum(reasoningLevels).nullable().optional(),
    }),
    result: session,
  },
  "agents.list": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({
      agents: z.array(
        z.object({
          id: z.string(),
          /** Answers where nothing else is said. */
          isDefault: z.boolean(),
          workspace: z.string(),
          model: z.string(),
          fallbacks: z.array(z.string()),
        }),
      ),
    }),
  },
  /** The newest lines of this process, oldest first, each a JSON object; with `follow` later ones come as events `log.line`. */
  "logs.tail": {
    scope: "admin",
    sessions: "all",
    params: z.object({
      lines: z.number().int().min(0).max(1000).default(100),
      follow: z.boolean().default(false),
    }),
    result: z.object({ lines: z.array(z.string()), following: z.boolean() }),
  },
  /** Drains and starts again. Answered before it begins. */
  restart: {
    scope: "admin",
    sessions: "none",
    params: z.object({ reason: z.string().max(256).optional() }),
    /** What is drained first. */
    result: z.object({
      pid: z.number().int(),
      turnsRunning: z.number().int(),
      deliveriesWaiting: z.number().int(),
    }),
  },
  "devices.list": {
    scope: "admin",
    sessions: "none",
    params: z.object({}),
    result: z.object({ devices: z.array(device) }),
  },
  /** The token is shown this once. No more scopes than the caller has. */
  "devices.mint": {
    scope: "admin",
    sessions: "none",
    params: z.object({ name: z.string().min(1).max(64), scopes: z.array(z.enum(scopes)).min(1).max(4) }),
    result: z.object({ id: z.string(), token: z.string(), peer: z.string() }),
  },
  /** Its token is worth nothing from now on, and its connections are closed. */
  "devices.revoke": {
    scope: "admin",
    sessions: "none",
    params: z.object({ id: z.string().min(1).max(64) }),
    result: z.object({ id: z.string(), name: z.string(), closed: z.number().int() }),
  },
  /** Whoever showed wrong tokens, codes or signatures before is slowed no more. */
  "devices.unlock": {
    scope: "admin",
    sessions: "none",
    params: z.object({}),
    /** Addresses and sites that were slowed. */
    result: z.object({ lifted: z.number().int() }),
  },
  /** An address for a browser, with a code that works once, for ten minutes. */
  "devices.link": {
    scope: "admin",
    sessions: "none",
    params: z.object({ scopes: z.array(z.enum(scopes)).min(1).max(4).optional() }),
    result: z.object({ url: z.string() }),
  },
} as const;
