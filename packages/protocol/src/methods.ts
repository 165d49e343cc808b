// The control plane's methods: for each its scope, whether it takes an idempotency key, and the shapes of what goes in and comes out.
// The gateway checks params against this table, the CLI and the web page take their types from it.
import { z } from "zod";
import { configMethods } from "./config-methods.ts";
import type { Scope } from "./frames.ts";
import { operatorMethods } from "./operator-methods.ts";
import { nodeMethods } from "./node-methods.ts";
import { configStatus, reloadMethods } from "./reload-methods.ts";
import { promptExplanation, promptIdentity, promptMoves } from "./prompt-report.ts";
import { toolMethods } from "./tool-methods.ts";
import { usageMethods } from "./usage-methods.ts";
import { deliverySchema, rowSchema, storySchema } from "./story.ts";

export interface MethodSpec {
  readonly scope: Scope;
  readonly params: z.ZodType;
  readonly result: z.ZodType;
}

const key = z.string().min(1).max(128);
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
  /** Rows of them. A press says `value` in the chat, a link opens `url`. */
  buttons: z
    .array(
      z.array(
        z.object({
          label: z.string(),
          value: z.string().optional(),
          url: z.string().optional(),
          style: z.enum(["primary", "success", "danger"]).optional(),
        }),
      ),
    )
    .optional(),
  atMs: z.number(),
});

const whichPrompt = z.object({
  /** A session key; the session that last changed when absent. */
  session: id.optional(),
  /** A turn of that session by its number; below zero from the end, -1 the last. Absent: the prompt that a turn would get now. */
  turn: z.number().int().optional(),
});

const channelStatus = z.object({
  channel: z.string(),
  account: z.string(),
  state: z.enum(["starting", "ok", "degraded", "down", "stopped"]),
  reason: z.string().optional(),
  lastInboundAtMs: z.number().optional(),
});

const agentId = z.string().min(1).max(64);

const skillSource = z.enum(["workspace", "managed", "bundled", "extra"]);

const skill = z.object({
  name: z.string(),
  description: z.string(),
  source: skillSource,
  /** Its SKILL.md. */
  file: z.string(),
  status: z.enum(["ready", "disabled", "unmet", "not allowed"]),
  /** Why it is not ready. */
  reason: z.string().nullable(),
  /** Its own chat command; null when people may not call it, or not now. */
  command: z.string().nullable(),
  userInvocable: z.boolean(),
  modelInvocable: z.boolean(),
  /** The tool that its command runs. */
  tool: z.string().nullable(),
  emoji: z.string().nullable(),
});

export const methods = {
  ...reloadMethods,
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
    params: z.object({}),
    result: z.object({ channels: z.array(channelStatus) }),
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
  /** `<channel>:<account>:<sender>`, or any end of it that names one person. Ownership that came with the pairing goes along. */
  "pairing.revoke": {
    scope: "approve",
    params: z.object({ id }),
    result: z.object({ channel: z.string(), account: z.string(), senderId: z.string(), senderName: z.string() }),
  },
  why: {
    scope: "read",
    /** A row, turn or delivery id, a platform's message id (theirs or ours), or words out of the message. The newest match is told. */
    params: z.object({ query: z.string().min(1).max(1024) }),
    result: storySchema,
  },
  "outbox.list": {
    scope: "read",
    /** Newest first: what waits or is in trouble; with `troubled` only the latter. `lane`: one conversation. */
    params: z.object({ troubled: z.boolean().optional(), lane: z.string().optional(), limit }),
    result: z.object({ deliveries: z.array(deliverySchema) }),
  },
  /** Sends what did not arrive again, under a new id; the first one leaves the list. Once for each delivery. */
  "outbox.retry": {
    scope: "admin",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "outbox.drop": {
    scope: "admin",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "dead.list": {
    scope: "read",
    params: z.object({ limit }),
    result: z.object({ rows: z.array(rowSchema) }),
  },
  /** Accepts a copy under a new id, with the same lane, conversation and authority; the first one leaves the list. */
  "dead.retry": {
    scope: "admin",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "dead.drop": {
    scope: "admin",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  "lanes.list": {
    scope: "read",
    params: z.object({ limit }),
    result: z.object({ sessions: z.array(lane), conversations: z.array(lane) }),
  },
  ...nodeMethods,
  /** The whole text: it holds the agent's workspace files. */
  "prompt.show": {
    scope: "admin",
    params: whichPrompt,
    result: promptIdentity.extend({ hash: z.string(), boundary: z.number().int(), text: z.string() }),
  },
  /** Every section, in or out, and what moved since the turn before. */
  "prompt.explain": {
    scope: "read",
    params: whichPrompt,
    result: promptIdentity.extend({ explanation: promptExplanation, moved: promptMoves.extend({ since: promptIdentity }).nullable() }),
  },
  /** From the last turn to now; with `turn`, from the one before it to it; with `with`, from this session to that one. */
  "prompt.diff": {
    scope: "read",
    params: whichPrompt.extend({ with: id.optional() }),
    result: promptMoves.extend({ before: promptIdentity, after: promptIdentity }),
  },
  ...usageMethods,
  ...toolMethods,
  ...configMethods,
  ...operatorMethods,
  /** Ends safe mode; `resumed` is false when it was not on. */
  resume: {
    scope: "admin",
    params: z.object({}),
    result: z.object({ resumed: z.boolean() }),
  },
  /** Copies the database to a new file on the gateway's machine, as of one instant, checked whole. Absolute path. */
  backup: {
    scope: "admin",
    params: z.object({ path }),
    result: z.object({ path: z.string(), bytes: z.number() }),
  },
  /** Only while no daemon runs (`--once`): puts a backup in the database's place, keeps the old file. Absolute path. */
  restore: {
    scope: "admin",
    params: z.object({ path }),
    result: z.object({ path: z.string(), keptAs: z.string().nullable() }),
  },
  /** The skills of an agent, the default one when none is named: what is used, what is hidden by it, what is refused and why. */
  "skills.list": {
    scope: "read",
    params: z.object({ agent: agentId.optional() }),
    result: z.object({
      agent: z.string(),
      /** In order of precedence. */
      roots: z.array(z.object({ source: skillSource, path: z.string() })),
      skills: z.array(skill),
      shadowed: z.array(z.object({ name: z.string(), source: skillSource, file: z.string(), by: z.string() })),
      rejected: z.array(z.object({ source: skillSource, file: z.string(), reason: z.string() })),
      /** Roots with more folders than are looked into. */
      cut: z.array(z.string()),
    }),
  },
  "skills.info": {
    scope: "read",
    /** By name or command. */
    params: z.object({ agent: agentId.optional(), name: z.string().min(1).max(256) }),
    result: skill.extend({
      /** Under which `skills.entries` speaks of it. */
      key: z.string(),
      homepage: z.string().nullable(),
      primaryEnv: z.string().nullable(),
      always: z.boolean(),
      requirements: z.array(
        z.object({ kind: z.enum(["os", "bin", "anyBins", "env", "config"]), what: z.string(), satisfied: z.boolean() }),
      ),
      notes: z.array(z.string()),
      /** What in its text a person should look at. */
      warnings: z.array(z.string()),
      /** Files of the same name that it hides. */
      shadows: z.array(z.string()),
    }),
  },
  /** Copies a skill from a folder or an archive on the gateway's machine into the managed root. Runs nothing. Absolute path. */
  "skills.install": {
    scope: "admin",
    params: z.object({ path, force: z.boolean().optional() }),
    result: z.object({
      name: z.string(),
      folder: z.string(),
      files: z.number().int(),
      /** Of all names and contents. */
      sha256: z.string(),
      replaced: z.boolean(),
      notes: z.array(z.string()),
      warnings: z.array(z.string()),
    }),
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
  /** A line of the log, for who follows it with `logs.tail`. */
  readonly "log.line": { readonly line: string };
  /** The client lagged so far behind that events are gone: ask for the history again. */
  readonly resync: { readonly [key: string]: never };
  /** The gateway goes away; connect again soon. */
  readonly shutdown: { readonly [key: string]: never };
}
export type EventName = keyof EventPayloads;
