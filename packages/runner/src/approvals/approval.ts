// Defines one stored request for a person's decision: bound to one call of one turn, to the exact action by
// its hash, and to the people who may decide. It carries its own log of who asked, who decided what, and when
// it was used.
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
  /** The session's epoch when it asked: after /new the conversation has forgotten the request. */
  epoch: z.number(),
  agent: z.string(),
  turn: z.string(),
  callId: z.string(),
  conversation: z.string(),
  guild: z.string().optional(),
  parent: z.string().optional(),
  authority: z.string(),
  owner: z.boolean(),
  /** `<channel>:<id>` of the people whose words led to it; rows are written in the name of the first one. */
  askedBy: z.array(z.string()),
  /** Their display names under the same keys; versions before this field stored none. */
  names: z.record(z.string(), z.string()).optional(),
  tool: z.string(),
  args: z.record(z.string(), z.json()),
  hash: z.string(),
  /** The whole action, as the approvers see it. */
  shown: z.string(),
  reason: z.string(),
  /** The grant that "always" would create; null where nobody may choose it. */
  grant: z
    .object({
      argv: z.array(z.string()),
      cwd: z.string(),
      sandbox: z.string(),
      files: z.array(z.object({ path: z.string(), sha256: z.string() })).default([]),
      outside: z.array(z.string()).default([]),
    })
    .nullable(),
  /** `<channel>:<id>`; the operator may always decide through a client of the gateway. */
  approvers: z.array(z.string()),
  /** Conversations where it was shown later, because its person went on there. */
  followed: z.array(z.string()).optional(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  state: z.enum(approvalStates),
  /** The call that consumed it. */
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

/** Returns the same id for the same action of the same call, so that asking again finds the first request. */
export function approvalId(turn: string, callId: string, hash: string): string {
  const bytes = createHash("sha256")
    .update(JSON.stringify([turn, callId, hash]))
    .digest();
  return [...bytes.subarray(0, idChars)].map((byte) => alphabet[byte % alphabet.length]).join("");
}

export function formatApproval(approval: Approval): string {
  return JSON.stringify(approval);
}

/** Throws Fault("invalid") for an approval that this build cannot read. */
export function parseApproval(text: string): Approval {
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Fault("invalid", "an approval is of a form that this version does not know", {
      cause: parsed.error,
    });
  return parsed.data as unknown as Approval;
}

/** True when an approver allowed it and no call has consumed it, also when the turn that asked is over. */
export function isGiven({ state }: Approval): boolean {
  return state === "once" || state === "always";
}
