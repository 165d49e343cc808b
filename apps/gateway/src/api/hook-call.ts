// Reads what a program asks by POST /hooks/wake, /hooks/agent or a mapping, and turns it into one row. What a
// call may name is narrow: a session with an allowed prefix, and a place that the agent knows.
import { jsonDepth, jsonOf, valueAt } from "./hook-body.ts";
import { disarmedLine } from "@parley/agent";
import type { Config } from "@parley/config";
import {
  Fault,
  formatSessionKey,
  isFault,
  parseConversationKey,
  parseSessionKey,
  parseThinkingLevel,
  thinkingLevels,
  type Address,
  type SessionKey,
} from "@parley/protocol";
import { hookFence, hookRow } from "@parley/runner";
import type { NewRow } from "@parley/store";
import { z } from "zod";

export type HooksConfig = Omit<Config["hooks"], "internal">;
export type HookMapping = HooksConfig["mappings"][number];
type Mode = "now" | "next-heartbeat";

/** What a call can reach at the moment. */
export interface HookWorld {
  readonly hooks: HooksConfig;
  readonly agents: readonly string[];
  /** The agent's main conversation, and its first owner's private chat. */
  homeOf(agent: string): Promise<{ readonly session: SessionKey; readonly place: Address | null }>;
  /** Why nothing may be sent there; null when it may. `fixed`: the config names the place. */
  unreachable(agent: string, place: Address, fixed: boolean): Promise<string | null>;
  /** The full name of a model that can be called; null for any other word. */
  model(agent: string, word: string): Promise<string | null>;
}

export interface HookCall {
  readonly row: NewRow;
  readonly agent: string;
  readonly mode: Mode;
  /** Its session reads nothing of the call before. */
  readonly own: boolean;
  /** The caller wants to hear how it ends. */
  readonly wait: boolean;
}

const words = (max: number) => z.string().trim().min(1).max(max);
const mode = z.enum(["now", "next-heartbeat"]);

/** For callers that can set no header. */
const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,200}$/, "must be 1 to 200 printable characters without spaces")
  .optional();

const wakeSchema = z.strictObject({
  text: words(100_000),
  mode: mode.default("now"),
  agentId: words(64).optional(),
  idempotencyKey,
});

const agentSchema = z.strictObject({
  message: words(100_000),
  name: words(200).optional(),
  agentId: words(64).optional(),
  sessionKey: words(500).optional(),
  wakeMode: mode.default("now"),
  deliver: z.boolean().optional(),
  channel: words(64).optional(),
  to: words(300).optional(),
  model: words(200).optional(),
  thinking: words(40).optional(),
  timeoutSeconds: z.number().int().min(1).max(86_400).optional(),
  sessionMode: z.enum(["isolated", "persistent"]).optional(),
  waitForCompletion: z.boolean().default(false),
  idempotencyKey,
});

type Asked = Omit<z.infer<typeof agentSchema>, "wakeMode" | "waitForCompletion" | "idempotencyKey">;

/** Deeper JSON is no message of a program that means well, and costs a stack to write. */
const mostDepth = 100;
const inlineChars = 200;

/** `idOf`: the row's id, made from the webhook and the delivery, which the body may name. */
export async function hookCall(
  world: HookWorld,
  door: "wake" | "agent" | HookMapping,
  idOf: (key?: string) => string,
  body: Buffer,
  nowMs: number,
): Promise<HookCall> {
  const text = body.toString("utf8");
  const json = jsonDepth(text) > mostDepth ? undefined : jsonOf(text);
  if (typeof door === "object") return mapped(world, door, idOf(), { json, text }, nowMs);
  if (json === undefined)
    throw new Fault(
      "invalid",
      jsonDepth(text) > mostDepth
        ? `the body is nested deeper than ${mostDepth} levels`
        : "the body is not JSON: send an object with content-type: application/json",
    );
  if (door === "wake") {
    const { text: said, mode: when, agentId, idempotencyKey: key } = read(wakeSchema, json);
    const id = idOf(key);
    const agent = agentOf(world, agentId);
    const told = `The webhook "wake" tells of an event:\n${hookFence(id, 0, said)}`;
    return woken(world, { id, name: "wake", agent, told, mode: when }, nowMs);
  }
  const {
    message,
    wakeMode,
    waitForCompletion: wait,
    idempotencyKey: key,
    ...asked
  } = read(agentSchema, json);
  if (wait && wakeMode !== "now")
    throw new Fault("invalid", "waitForCompletion: nobody can wait for a heartbeat: leave wakeMode out");
  const id = idOf(key);
  const agent = agentOf(world, asked.agentId);
  const told = `A webhook asks for work:\n${hookFence(id, 0, message)}`;
  const call = { id, door: "agent", agent, told, mode: wakeMode, asked, fixed: false };
  return { ...(await working(world, call, nowMs)), wait };
}

/** The operator's words stay the operator's; each value of the body stands in them as data. */
async function mapped(
  world: HookWorld,
  mapping: HookMapping,
  id: string,
  body: { readonly json: unknown; readonly text: string },
  nowMs: number,
): Promise<HookCall> {
  const { match, action, wakeMode, messageTemplate, textTemplate } = mapping;
  const agent = agentOf(world, mapping.agentId);
  const plain = (template: string | undefined): string | undefined =>
    template === undefined ? undefined : filled(template, body, (value) => disarmedLine(value, 500)).trim();
  const name = plain(mapping.name) || match.path;
  let nth = 0;
  const data = (value: string): string =>
    value.includes("\n") || value.length > inlineChars
      ? `\n${hookFence(id, (nth += 1), value)}\n`
      : disarmedLine(value, inlineChars);
  const template = (action === "wake" ? (textTemplate ?? messageTemplate) : messageTemplate) ?? textTemplate;
  const told =
    template === undefined
      ? `The webhook ${JSON.stringify(match.path)} was called with:\n${hookFence(id, 0, body.text)}`
      : `The webhook ${JSON.stringify(match.path)} was called; what it sent stands in these words as data:\n${filled(template, body, data)}`;
  if (action === "wake") return woken(world, { id, name, agent, told, mode: wakeMode }, nowMs);
  const { deliver, channel, model, thinking, timeoutSeconds } = mapping;
  const [sessionKey, to] = [plain(mapping.sessionKey), plain(mapping.to)];
  const asked: Omit<Asked, "message"> = {
    name,
    ...(sessionKey === undefined ? {} : { sessionKey }),
    ...(deliver === undefined ? {} : { deliver }),
    ...(channel === undefined ? {} : { channel }),
    ...(to === undefined || to === "" ? {} : { to }),
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
  };
  const fixed = mapping.to?.includes("{{") !== true;
  return working(world, { id, door: match.path, agent, told, mode: wakeMode, asked, fixed }, nowMs);
}

function filled(
  template: string,
  { json, text }: { readonly json: unknown; readonly text: string },
  as: (value: string) => string,
): string {
  return template.replace(/\{\{\s*([^{}\s]{1,200})\s*\}\}/g, (_all, path: string) =>
    as(path === "body" ? text : (valueAt(json, path.replace(/^(?:body|payload)\./, "")) ?? "")),
  );
}

async function woken(
  world: HookWorld,
  asked: {
    readonly id: string;
    readonly name: string;
    readonly agent: string;
    readonly told: string;
    readonly mode: Mode;
  },
  nowMs: number,
): Promise<HookCall> {
  const { id, name, agent, told, mode: when } = asked;
  const { session, place } = await world.homeOf(agent);
  const row = hookRow({ id, name, agent, lane: session, place, text: told, own: false }, nowMs);
  return { row, agent, mode: when, own: false, wait: false };
}

async function working(
  world: HookWorld,
  call: {
    readonly id: string;
    readonly door: string;
    readonly agent: string;
    readonly told: string;
    readonly mode: Mode;
    readonly asked: Omit<Asked, "message">;
    readonly fixed: boolean;
  },
  nowMs: number,
): Promise<HookCall> {
  const { id, agent, told, mode: when, asked } = call;
  const { timeoutSeconds, thinking: level } = asked;
  const { sessionMode } = asked;
  if (sessionMode === "isolated" && asked.sessionKey !== undefined)
    throw new Fault("invalid", "sessionMode isolated and sessionKey exclude each other: leave one out");
  const named = asked.sessionKey ?? (sessionMode === "isolated" ? undefined : world.hooks.defaultSessionKey);
  const isOwn = named === undefined && sessionMode !== "persistent";
  const lane =
    named === undefined ? ownSession(call) : sessionOf(world, agent, named, named !== asked.sessionKey);
  const place = await placeOf(world, call);
  const isOfHooks = parseSessionKey(lane).kind === "hook";
  if (!isOfHooks && (asked.model !== undefined || level !== undefined))
    throw new Fault("invalid", "model and thinking are for sessions of webhooks (hook:…): leave them out");
  const thinking = level === undefined ? undefined : (parseThinkingLevel(level) ?? undefined);
  if (level !== undefined && thinking === undefined)
    throw new Fault("invalid", `thinking ${JSON.stringify(level)} is none of ${thinkingLevels.join(", ")}`);
  const model = asked.model === undefined ? undefined : await world.model(agent, asked.model);
  if (model === null)
    throw new Fault("invalid", `model ${JSON.stringify(asked.model)} is none that this agent can call`);
  const row = hookRow(
    {
      id,
      name: asked.name ?? call.door,
      agent,
      lane,
      place,
      text: told,
      own: isOwn,
      model,
      thinking,
      timeoutSeconds,
    },
    nowMs,
  );
  return { row, agent, mode: when, own: isOwn, wait: false };
}

/** Calls of one name share a session, and none reads what the one before said. */
function ownSession({
  door,
  agent,
  asked: { name },
}: {
  readonly door: string;
  readonly agent: string;
  readonly asked: Pick<Asked, "name">;
}): SessionKey {
  const slug = (name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return formatSessionKey({
    kind: "hook",
    agent,
    name: slug === "" || slug === door ? door : `${door}-${slug}`,
  });
}

/** `hook:ci` or `agent:main:hook:ci`. */
function sessionOf({ hooks }: HookWorld, agent: string, key: string, byConfig: boolean): SessionKey {
  const head = `agent:${agent}:`;
  const tail = key.startsWith(head) ? key.slice(head.length) : key;
  const prefixes = hooks.allowedSessionKeyPrefixes;
  const isAllowed = prefixes.some(
    (prefix) => tail.length > prefix.length && (tail.startsWith(prefix) || key.startsWith(prefix)),
  );
  if (!byConfig && !isAllowed) {
    const allowed =
      prefixes.length === 0 ? "none may be named" : `it must begin with ${prefixes.join(" or ")}`;
    throw new Fault(
      "invalid",
      `sessionKey ${JSON.stringify(key)}: ${allowed} (hooks.allowedSessionKeyPrefixes)`,
    );
  }
  const parts = parseSessionKey(`${head}${tail}`);
  if (parts.kind === "subagent" || parts.kind === "cron" || parts.kind === "api")
    throw new Fault("invalid", `sessionKey ${JSON.stringify(key)}: no webhook works in such a session`);
  if (parts.kind === "hook" && parts.name.trim() === "")
    throw new Fault("invalid", `sessionKey ${JSON.stringify(key)} names no session`);
  return formatSessionKey(parts);
}

async function placeOf(
  world: HookWorld,
  {
    agent,
    asked: { deliver, channel, to },
    fixed,
  }: { readonly agent: string; readonly asked: Omit<Asked, "message">; readonly fixed: boolean },
): Promise<Address | null> {
  if (deliver === false || (deliver === undefined && to === undefined)) return null;
  if (to === undefined) {
    if (channel !== undefined && channel !== "last")
      throw new Fault(
        "invalid",
        `to is missing: say to whom on ${channel}, or leave channel out for the owner`,
      );
    const { place } = await world.homeOf(agent);
    if (place === null)
      throw new Fault("invalid", "there is no owner to deliver to: set to, or commands.ownerAllowFrom");
    return place;
  }
  const place = addressOf(channel === "last" ? undefined : channel, to);
  const refused = await world.unreachable(agent, place, fixed);
  if (refused !== null)
    throw new Fault("invalid", `nothing can be sent to ${JSON.stringify(to)}: ${refused}`);
  return place;
}

/** A conversation key, `telegram:123`, `discord:channel:5`, or a bare id beside its channel. */
function addressOf(channel: string | undefined, to: string): Address {
  const whole = channel === undefined || to.startsWith(`${channel}:`) ? to : `${channel}:${to}`;
  const [, chat, topic] = /^telegram:(-?\d+)(?::(?:topic:)?(\d+))?$/.exec(whole) ?? [];
  if (chat !== undefined)
    return {
      channel: "telegram",
      account: "default",
      kind: chat.startsWith("-") ? "group" : "dm",
      peer: chat,
      ...(topic === undefined ? {} : { thread: topic }),
    };
  const [, kind, id] = /^discord:(?:(user|channel|thread):)?(\d+)$/.exec(whole) ?? [];
  if (id !== undefined)
    return { channel: "discord", account: "default", kind: kind === "user" ? "dm" : "channel", peer: id };
  try {
    return parseConversationKey(whole);
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    throw new Fault(
      "invalid",
      `to ${JSON.stringify(to)} is no conversation: write it as "telegram:123", "discord:channel:456", "discord:user:789" or "telegram:default:dm:123"`,
    );
  }
}

/** The agent that is told. Throws Fault("invalid") for one that does not exist or may not be named. */
function agentOf({ hooks, agents }: Pick<HookWorld, "hooks" | "agents">, named: string | undefined): string {
  const agent = named ?? agents.find((id) => id === "main") ?? agents[0];
  if (agent === undefined) throw new Fault("unavailable", "no agent is configured");
  const allowed = agents.filter((id) => hooks.allowedAgentIds?.includes(id) ?? true);
  if (!allowed.includes(agent))
    throw new Fault("invalid", `agentId: ${JSON.stringify(agent)} is none of ${allowed.join(", ")}`);
  return agent;
}

function read<T>(schema: z.ZodType<T>, json: unknown): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape).join(", ") : "";
  const lines = parsed.error.issues
    .slice(0, 5)
    .map((issue) =>
      issue.code === "unrecognized_keys"
        ? `${issue.keys.slice(0, 5).join(", ")}: no such field here; there are ${known}`
        : `${issue.path.join(".") || "the body"}: ${issue.message}`,
    );
  throw new Fault("invalid", lines.join("; "));
}
