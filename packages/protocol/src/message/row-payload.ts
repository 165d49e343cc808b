// The payload of a durable row: `receive` writes it once and every later step reads it. It has a version,
// because a row may outlive an upgrade.
import { z } from "zod";
import { Fault } from "../fault.ts";
import { inboundSchema, type Inbound } from "./inbound.ts";

/** The form of `Asker`. */
export const askerSchema = z.object({
  session: z.string(),
  pool: z.string(),
  epoch: z.number(),
  reply: z.enum(["wait", "push", "none"]),
  hops: z.number(),
  unseen: z.boolean().optional(),
});

const internalKinds = [
  "approval",
  "command",
  "restart",
  "task",
  "child",
  "message",
  "answer",
  "question",
  "schedule",
  "heartbeat",
  "watch",
  "hook",
  "device",
] as const;

/** The form of `SlotRun`. */
const slotSchema = z.object({
  version: z.number(),
  instantMs: z.number(),
  own: z.boolean(),
  tools: z.array(z.string()).optional(),
  light: z.boolean().optional(),
});

const payloadSchema = z.object({
  v: z.literal(1),
  inbound: inboundSchema,
  /** True when the sender has an owner's rights. */
  owner: z.boolean(),
  /** The command that this row is, with its arguments. Such a row never goes to a model as talk. */
  command: z.object({ name: z.string(), args: z.string(), model: z.string().exactOptional() }).optional(),
  /** The skill that the message calls as a command. */
  skill: z
    .object({ name: z.string(), input: z.string(), location: z.string(), tool: z.string().optional() })
    .optional(),
  /** A person wants it to join the running turn (/steer), whatever the queue mode. */
  steer: z.boolean().optional(),
  /** Set when Parley wrote the row itself. */
  internal: z
    .object({
      kind: z.enum(internalKinds),
      id: z.string(),
      turn: z.string(),
      asker: askerSchema.optional(),
      hops: z.number().optional(),
      unseen: z.boolean().optional(),
      untrusted: z.string().optional(),
      run: z
        .object({
          label: z.string(),
          model: z.string().optional(),
          fallbacks: z.array(z.string()).optional(),
          thinking: z.string().optional(),
          timeoutSeconds: z.number().optional(),
        })
        .optional(),
      slot: slotSchema.optional(),
    })
    .optional(),
});

/**
 * A row that Parley wrote: the decision on an approval, the end of a background command or of a restart, a
 * sub-agent's task, the end of a sub-agent, another session's message, the answer to one, a person's answer
 * to a question of `ask_user`, a schedule that is due, a heartbeat, a change that a schedule watches for,
 * what another program asks for by a webhook, or the answer of a paired device. `turn` is the turn that asked
 * for it or began it; empty where no turn did.
 */
export interface InternalRow {
  readonly kind: (typeof internalKinds)[number];
  readonly id: string;
  readonly turn: string;
  /** The session that the turn's answer goes to, instead of the conversation. */
  readonly asker?: Asker | undefined;
  /** Messages between sessions, one caused by the other, that led here. Absent: none, or the asker's. */
  readonly hops?: number | undefined;
  /** No conversation sees the turn that this row begins, because none saw the one that caused it. */
  readonly unseen?: boolean | undefined;
  /** The turn that wrote it had read text of strangers, from there: so has whoever reads it. */
  readonly untrusted?: string | undefined;
  /** How a sub-agent or a schedule's turn runs. */
  readonly run?:
    | {
        readonly label: string;
        readonly model?: string | undefined;
        /** Models that are asked when it fails. */
        readonly fallbacks?: readonly string[] | undefined;
        readonly thinking?: string | undefined;
        /** Longest time of each of its turns. */
        readonly timeoutSeconds?: number | undefined;
      }
    | undefined;
  /** Of a row that a schedule's job or a webhook wrote; `id` is the job's or the webhook's. */
  readonly slot?: SlotRun | undefined;
}

/** One instant of a job that is to run. */
export interface SlotRun {
  /** The job's, when the row was written. */
  readonly version: number;
  readonly instantMs: number;
  /** The job has a session of its own, and no run reads of the one before. */
  readonly own: boolean;
  /** The only tools that the run may use; absent: all that its people may. */
  readonly tools?: readonly string[] | undefined;
  /** Without the workspace's files in the prompt. */
  readonly light?: boolean | undefined;
}

/** The session whose turn asked another one, and how it wants to be answered. */
export interface Asker {
  readonly session: string;
  readonly pool: string;
  /** Its epoch when it asked: after a reset it is told that it asked before. */
  readonly epoch: number;
  /** `wait`: its turn waits for the row as its ticket. `none`: no answer is handed back. */
  readonly reply: "wait" | "push" | "none";
  /** How many sessions asked one another in a row, this time included. */
  readonly hops: number;
  /** No conversation sees the turn that asked, nor what it does with the answer. */
  readonly unseen?: boolean | undefined;
}

/** A skill that a person called as a command. */
export interface SkillCall {
  readonly name: string;
  /** The text after the command's name. */
  readonly input: string;
  /** Path of its SKILL.md as the read tool takes it. */
  readonly location: string;
  /** A tool to run directly; then no model is asked. */
  readonly tool?: string | undefined;
}

export interface RowPayload {
  readonly v: 1;
  readonly inbound: Inbound;
  readonly owner: boolean;
  readonly command?: { readonly name: string; readonly args: string; readonly model?: string } | undefined;
  readonly skill?: SkillCall | undefined;
  readonly steer?: boolean | undefined;
  readonly internal?: InternalRow | undefined;
}

export function formatRowPayload(payload: RowPayload): string {
  return JSON.stringify(payload);
}

/** Cache of parsed payloads, because one turn reads its few rows a dozen times. Bounded (I9). */
const remembered = new Map<string, RowPayload>();
const mostRemembered = { payloads: 100, chars: 20_000 };

/** Throws Fault("invalid") for a payload that this build cannot read. */
export function parseRowPayload(text: string): RowPayload {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const payload = readPayload(text);
  if (text.length > mostRemembered.chars) return payload;
  remembered.set(text, payload);
  const [oldest] = remembered.keys();
  if (remembered.size > mostRemembered.payloads && oldest !== undefined) remembered.delete(oldest);
  return payload;
}

function readPayload(text: string): RowPayload {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new Fault("invalid", "a row's payload is not JSON", { cause });
  }
  const parsed = payloadSchema.safeParse(json);
  if (!parsed.success)
    throw new Fault("invalid", "a row's payload is of a form that this version does not know", {
      cause: parsed.error,
    });
  return parsed.data;
}

/** Id of the row for the text that followed /new in the message with this id. */
export function openingId(id: string): string {
  return `${id}/message`;
}

export function isOpening(id: string): boolean {
  return id.endsWith("/message");
}
