// The control plane's methods for operators: sessions, agents, logs, devices, restart.
import { z } from "zod";
import { deviceGrants } from "./device.ts";
import { scopes } from "../frames.ts";
import { sessionKinds } from "../session-key.ts";
import { reasoningLevels, thinkingLevels } from "../thinking.ts";

const sessionKey = z.string().min(1).max(1024);
const idempotencyKey = z.string().min(1).max(128);

const session = z.object({
  key: z.string(),
  agent: z.string(),
  kind: z.enum(sessionKinds),
  /** Grows with every reset. */
  epoch: z.number().int(),
  createdAtMs: z.number(),
  updatedAtMs: z.number(),
  /** Set for this session; null means the agent's own setting applies. */
  model: z.string().nullable(),
  thinking: z.enum(thinkingLevels).nullable(),
  reasoning: z.enum(reasoningLevels).nullable(),
  /** The name that a person gave it by /name. */
  name: z.string().nullable(),
  /** True while one of its turns runs, waits or is parked. */
  working: z.boolean(),
  inputTokens: z.number().int(),
  outputTokens: z.number().int(),
});

const entry = z.object({
  seq: z.number().int(),
  epoch: z.number().int(),
  turn: z.string(),
  type: z.enum(["user", "assistant", "toolResult", "summary", "notice"]),
  /** A message, or a tool's call or result; long ones are cut. */
  text: z.string(),
  atMs: z.number(),
});

const device = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(scopes)),
  /** Web peer whose conversations this device sees. */
  peer: z.string(),
  createdAtMs: z.number(),
  /** Open connections of this device to this node. */
  connections: z.number().int(),
  /** What an agent may do on it; absent: it is no paired device. */
  grants: z.array(z.enum(deviceGrants)).optional(),
  /** What its person may switch on there. */
  most: z.array(z.enum(deviceGrants)).optional(),
  /** When it last asked for calls. */
  lastSeenAtMs: z.number().optional(),
});

export const operatorMethods = {
  /**
   * Puts words of the agent into a conversation, in lane order and without asking a model. They join the
   * history and people see them.
   */
  "chat.inject": {
    scope: "write",
    sessions: "own",
    needs: "daemon",
    params: z.object({
      text: z.string().min(1).max(200_000),
      thread: z.string().max(128).optional(),
      idempotencyKey,
    }),
    result: z.object({ id: z.string(), sessionKey: z.string(), duplicate: z.boolean() }),
  },
  /** The most recently changed session first. */
  "sessions.list": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({
      agent: z.string().max(64).optional(),
      /** Prefix of the session key. */
      prefix: z.string().max(1024).optional(),
      /** Only those that have these words in their key or their name. */
      find: z.string().max(200).optional(),
      sinceMs: z.number().optional(),
      limit: z.number().int().min(1).max(1000).default(100),
    }),
    result: z.object({ sessions: z.array(session) }),
  },
  /**
   * Returns the session with its newest transcript entries, oldest first, from the current epoch unless
   * another is named.
   */
  "sessions.show": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({
      key: sessionKey,
      epoch: z.number().int().positive().optional(),
      limit: z.number().int().min(1).max(1000).default(50),
    }),
    result: session.extend({ entries: z.array(entry) }),
  },
  /**
   * Returns the sessions that have sub-agents, each followed by them and theirs; with `key` one session's
   * alone.
   */
  "sessions.tree": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({ key: sessionKey.optional() }),
    result: z.object({
      sessions: z.array(
        z.object({
          key: z.string(),
          /** Null for a session that no other one spawned. */
          parent: z.string().nullable(),
          /** 0 for a session that no other one spawned. */
          depth: z.number().int(),
          label: z.string().nullable(),
          /** The beginning of what a sub-agent was told to do; null for any other session. */
          task: z.string().nullable(),
          /** How a sub-agent's run stands; `working` or `idle` for any other session. */
          state: z.enum(["idle", "working", "running", "answered", "silent", "failed", "stopped", "lost"]),
          reason: z.string().nullable(),
          startedAtMs: z.number(),
          endedAtMs: z.number().nullable(),
          tokens: z.number().int(),
        }),
      ),
    }),
  },
  /** Begins a new epoch, as /new does. Deletes nothing. */
  "sessions.reset": {
    scope: "write",
    sessions: "key",
    needs: "config and store",
    params: z.object({ key: sessionKey, idempotencyKey: idempotencyKey.optional() }),
    result: session,
  },
  /**
   * Has the beginning of the conversation replaced by a summary, in its lane's order and as /compact does:
   * the conversation is told what came of it. `focus`: what the summary must keep.
   */
  "sessions.compact": {
    scope: "write",
    sessions: "key",
    needs: "daemon",
    params: z.object({
      key: sessionKey,
      focus: z.string().max(800).optional(),
      idempotencyKey: idempotencyKey.optional(),
    }),
    /** Of the row, for `why`. */
    result: z.object({ id: z.string() }),
  },
  /**
   * Deletes the transcript of all epochs for good and begins a new epoch. Refused while the session works.
   */
  "sessions.forget": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({ key: sessionKey, idempotencyKey: idempotencyKey.optional() }),
    /** `entries` counts the deleted transcript entries. */
    result: session.extend({ entries: z.number().int() }),
  },
  /** A null clears the session's own setting. */
  "sessions.patch": {
    scope: "write",
    sessions: "key",
    needs: "config and store",
    params: z.object({
      key: sessionKey,
      /** A name from the model list. */
      model: z.string().min(1).max(256).nullable().optional(),
      thinking: z.enum(thinkingLevels).nullable().optional(),
      reasoning: z.enum(reasoningLevels).nullable().optional(),
    }),
    result: session,
  },
  "agents.list": {
    scope: "read",
    sessions: "none",
    needs: "config",
    params: z.object({}),
    result: z.object({
      agents: z.array(
        z.object({
          id: z.string(),
          /** True for the agent that answers where no routing rule applies. */
          isDefault: z.boolean(),
          workspace: z.string(),
          model: z.string(),
          fallbacks: z.array(z.string()),
        }),
      ),
    }),
  },
  /**
   * Returns this process's newest log lines, oldest first, each a JSON object. With `follow` later lines come
   * as `log.line` events.
   */
  "logs.tail": {
    scope: "admin",
    sessions: "all",
    needs: "daemon",
    params: z.object({
      lines: z.number().int().min(0).max(1000).default(100),
      follow: z.boolean().default(false),
    }),
    result: z.object({ lines: z.array(z.string()), following: z.boolean() }),
  },
  /** Drains and restarts the gateway. The answer comes before the drain begins. */
  restart: {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ reason: z.string().max(256).optional() }),
    /** The work that is drained first. */
    result: z.object({
      pid: z.number().int(),
      turnsRunning: z.number().int(),
      deliveriesWaiting: z.number().int(),
    }),
  },
  "devices.list": {
    scope: "admin",
    sessions: "none",
    needs: "store",
    params: z.object({}),
    result: z.object({ devices: z.array(device) }),
  },
  /** Returns the new token this one time. The caller can only pass on scopes that it has. */
  "devices.mint": {
    scope: "admin",
    sessions: "none",
    needs: "config and store",
    params: z.object({ name: z.string().min(1).max(64), scopes: z.array(z.enum(scopes)).min(1).max(4) }),
    result: z.object({ id: z.string(), token: z.string(), peer: z.string() }),
  },
  /**
   * Makes the device's token invalid and closes its connections; with `grants` it only loses those, for good.
   */
  "devices.revoke": {
    scope: "admin",
    sessions: "none",
    needs: "store",
    params: z.object({
      id: z.string().min(1).max(64),
      grants: z.array(z.enum(deviceGrants)).min(1).max(deviceGrants.length).optional(),
    }),
    result: z.object({
      id: z.string(),
      name: z.string(),
      closed: z.number().int(),
      /** Of a device that only lost some: what it has now. */
      grants: z.array(z.enum(deviceGrants)).optional(),
    }),
  },
  /** Removes the delays of clients that showed wrong tokens, codes or signatures. */
  "devices.unlock": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({}),
    /** Counts the addresses and sites that were delayed. */
    result: z.object({ lifted: z.number().int() }),
  },
  /** Returns an address for a browser with a login code that works once, within ten minutes. */
  "devices.link": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ scopes: z.array(z.enum(scopes)).min(1).max(4).optional() }),
    result: z.object({ url: z.string() }),
  },
} as const;
