// What a durable row carries, written once by `receive` and read by everything after it. Versioned, because a row may outlive an upgrade.
import { z } from "zod";
import { Fault } from "./fault.ts";
import { inboundSchema, type Inbound } from "./inbound.ts";

const payloadSchema = z.object({
  v: z.literal(1),
  inbound: inboundSchema,
  /** The sender may do what owners may. */
  owner: z.boolean(),
  /** The command that this row is, with what stands after it; the row is then no talk for a model. */
  command: z.object({ name: z.string(), args: z.string(), model: z.string().exactOptional() }).optional(),
  /** The skill that the message calls by command. */
  skill: z
    .object({ name: z.string(), input: z.string(), location: z.string(), tool: z.string().optional() })
    .optional(),
  /** Parley wrote it. */
  internal: z
    .object({ kind: z.enum(["approval", "command", "restart"]), id: z.string(), turn: z.string() })
    .optional(),
});

/** What a row is that Parley wrote itself: the decision about an approval, the end of a background command, of a restart. `turn`: the one that asked or began. */
export interface InternalRow {
  readonly kind: "approval" | "command" | "restart";
  readonly id: string;
  readonly turn: string;
}

/** A skill that is called by command. */
export interface SkillCall {
  readonly name: string;
  /** What stood after the name. */
  readonly input: string;
  /** Where its SKILL.md is, as the read tool takes it. */
  readonly location: string;
  /** The tool that its command runs; no model is asked then. */
  readonly tool?: string | undefined;
}

export interface RowPayload {
  readonly v: 1;
  readonly inbound: Inbound;
  readonly owner: boolean;
  readonly command?: { readonly name: string; readonly args: string; readonly model?: string } | undefined;
  readonly skill?: SkillCall | undefined;
  readonly internal?: InternalRow | undefined;
}

export function formatRowPayload(payload: RowPayload): string {
  return JSON.stringify(payload);
}

/** What was read last: a turn asks a dozen times what its few rows say. Bounded (I9). */
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

/** Of what stood after /new in the message with this id. */
export function openingId(id: string): string {
  return `${id}/message`;
}

export function isOpening(id: string): boolean {
  return id.endsWith("/message");
}
