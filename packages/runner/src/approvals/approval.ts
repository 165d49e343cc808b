// One request for a person's decision, as the store keeps it: bound to one call of one turn, to the exact action by its hash, and to those who
// may decide. It is also the log of itself: who asked, who decided what, when it was used.
import { createHash } from "node:crypto";
import { z } from "zod";
import { Fault, type ConversationKey, type JsonObject, type SessionKey } from "@parley/protocol";

const event = z.object({ atMs: z.number(), what: z.string(), by: z.string() });
export type ApprovalEvent = z.infer<typeof event>;

const approvalStates = ["open", "once", "always", "denied", "expired", "stopped", "used"] as const;

const schema = z.object({
  v: z.literal(1),
  id: z.string(),
  session: z.string(),
  /** Of the session, when it was asked: a conversation that began anew has forgotten it. */
  epoch: z.number(),
  agent: z.string(),
  turn: z.string(),
  callId: z.string(),
  conversation: z.string(),
  guild: z.string().optional(),
  parent: z.string().optional(),
  authority: z.string(),
  owner: z.boolean(),
  /** `<channel>:<id>` of those whose words led to it; the first one stands for all. */
  askedBy: z.array(z.string()),
  /** What they call themselves, by the same. Absent in those of earlier versions. */
  names: z.record(z.string(), z.string()).optional(),
  tool: z.string(),
  args: z.record(z.string(), z.json()),
  hash: z.string(),
  /** The whole action, as people are shown it. */
  shown: z.string(),
  reason: z.string(),
  /** What "always" would allow; null where it may not be chosen. */
  grant: z
    .object({
      argv: z.array(z.string()),
      cwd: z.string(),
      sandbox: z.string(),
      files: z.array(z.object({ path: z.string(), sha256: z.string() })).default([]),
      outside: z.array(z.string()).default([]),
    })
    .nullable(),
  /** `<channel>:<id>`; the operator, with a client of the gateway, may always decide. */
  approvers: z.array(z.string()),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  state: z.enum(approvalStates),
  /** Which call of which turn it was used for. */
  used: z.object({ turn: z.string(), callId: z.string() }).optional(),
  log: z.array(event),
});

export interface Approval extends Omit<z.infer<typeof schema>, "session" | "conversation" | "args"> {
  readonly session: SessionKey;
  readonly conversation: ConversationKey;
  readonly args: JsonObject;
}

export type Verdict = "once" | "always" | "deny";

const alphabet = "abcdefghjkmnpqrstuvwxyz23456789";
const idChars = 10;

/** The same for the same action of the same call, so that asking again finds what was asked before. */
export function approvalId(turn: string, callId: string, hash: string): string {
  const bytes = createHash("sha256")
    .update(JSON.stringify([turn, callId, hash]))
    .digest();
  return [...bytes.subarray(0, idChars)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

export function formatApproval(approval: Approval): string {
  return JSON.stringify(approval);
}

/** Throws Fault("invalid") for one that this build cannot read. */
export function parseApproval(text: string): Approval {
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Fault("invalid", "an approval is of a form that this version does not know", {
      cause: parsed.error,
    });
  return parsed.data as unknown as Approval;
}

/** What is to be run and is decided: the turn that asked may be over. */
export function isGiven({ state }: Approval): boolean {
  return state === "once" || state === "always";
}
