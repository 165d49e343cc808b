// Says what a decision is called, and writes the row that wakes the session which waits for it.
import { parseConversationKey, parseSessionKey, formatRowPayload } from "@parley/protocol";
import type { NewRow } from "@parley/store";
import { type Approval, isGiven } from "./approval.ts";

export function lastBy({ log }: Approval): string {
  return log.at(-1)?.by ?? "";
}

export function outcomeOf(approval: Approval): string {
  const by = lastBy(approval);
  if (approval.state === "denied") return `⛔ Denied by ${by}: not run.`;
  return approval.state === "always" ? `♾ Allowed for good by ${by}.` : `✅ Allowed once by ${by}.`;
}

export function settledWords(approval: Approval): string {
  const words: { readonly [state in Approval["state"]]: string } = {
    open: "it is being decided by somebody else just now",
    once: `it was allowed before, by ${lastBy(approval)}`,
    always: `it was allowed before, by ${lastBy(approval)}`,
    denied: `it was denied before, by ${lastBy(approval)}`,
    expired: "its time is over",
    stopped: "what asked for it was stopped",
    used: "it was allowed and used before",
  };
  return `Approval ${approval.id}: ${words[approval.state]}.`;
}

/**
 * Builds the row that wakes the session in Parley's name: a parked turn only resumes by it, a new one is told
 * the decision.
 */
export function ticketRow(approval: Approval, nowMs: number): NewRow {
  const { id, session, conversation, authority, owner, askedBy, turn, guild, parent } = approval;
  const address = parseConversationKey(conversation);
  const asker = askedBy[0] ?? "parley:parley";
  const who = lastBy(approval);
  const what = approval.tool === "exec" ? "The command" : `The call of ${approval.tool}`;
  const text = isGiven(approval)
    ? `Approval ${id} was given by ${who}. ${what} is run now; its result follows.`
    : `Approval ${id} was denied by ${who}. ${what} was not run and may not be tried again in another form.`;
  const inbound = {
    id: `approval:${id}`,
    channel: address.channel,
    account: address.account,
    address,
    // The row carries the asker's id, so that the asker's tool rules apply.
    sender: { id: asker.slice(asker.indexOf(":") + 1), name: "Parley", isBot: false },
    messageId: `approval:${id}`,
    kind: "message" as const,
    text,
    attachments: [],
    mentions: [],
    addressed: true,
    ...(guild === undefined ? {} : { guild }),
    ...(parent === undefined ? {} : { parent }),
    atMs: nowMs,
  };
  return {
    id: inbound.id,
    subject: `ticket:${id}`,
    pool: parseSessionKey(session).kind === "subagent" ? "subagent" : "main",
    lane: session,
    conversation,
    authority,
    as: { kind: "work", ticket: id },
    payload: formatRowPayload({ v: 1, inbound, owner, internal: { kind: "approval", id, turn } }),
  };
}
