// Reads what a program asks by POST /hooks/wake, /hooks/agent or a mapping, and turns it into one row. What a
// call may name is narrow: a session with an allowed prefix, and a place that the agent knows.
import { jsonDepth, jsonOf, valueAt } from "./hook-body.ts";
import { disarmedLine } from "@parley/agent";
import { encodeKeyPart, Fault, parseSessionKey, parseThinkingLevel, thinkingLevels } from "@parley/protocol";
import { hookFence, hookRow } from "@parley/runner";
import type { NewRow } from "@parley/store";
import { z } from "zod";
import { type HookWorld, type HookMapping, agentOf, ownSession, sessionOf, placeOf } from "./hook-place.ts";

type Mode = "now" | "next-heartbeat";

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
  const to = plain(mapping.to);
  // Whatever a value is, it is one part of the key: it names another session, and never another kind of one.
  const sessionKey =
    mapping.sessionKey === undefined
      ? undefined
      : filled(mapping.sessionKey, body, (value) =>
          value === "" ? "" : encodeKeyPart(disarmedLine(value, 200)),
        );
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
