// Builds the rows of events (I1, I2): their payload, their guards, and how rows end that are no work.
import {
  openingId,
  accountKey,
  conversationKey,
  type Address,
  type ConversationKey,
  type Inbound,
  type SessionKey,
  type Unreadable,
  formatRowPayload,
  type RowPayload,
  type SkillCall,
} from "@parley/protocol";
import type { NewRow } from "@parley/store";
import type { Admitted } from "../commands/chat-command.ts";
import type { Command } from "../commands/parse-command.ts";

/** The lane of rows that no session takes. */
const nowhere = "agent:main:hook:unreadable" as SessionKey;

export function rowOf(
  { inbound, route, owner, authority }: Admitted,
  as: NewRow["as"],
  command: Command | null,
  skill: SkillCall | null = null,
  steer = false,
): NewRow {
  const payload = formatRowPayload({
    v: 1,
    inbound,
    owner,
    ...(command === null ? {} : { command: commandOf(command) }),
    ...(skill === null ? {} : { skill }),
    ...(steer ? { steer } : {}),
  });
  return { ...bareRow(inbound, route.session, authority, as), payload };
}

function commandOf({ name, args, model }: Command): NonNullable<RowPayload["command"]> {
  return { name, args, ...(model === undefined ? {} : { model }) };
}

/**
 * Builds the row of the text behind /new: a message of its own right after the command. It has no subject,
 * because the command's row guards the message.
 */
export function openingRow(by: Admitted, text: string, as: NewRow["as"]): NewRow {
  const { inbound } = by;
  const { subject: _guarded, ...row } = rowOf(
    { ...by, inbound: { ...inbound, id: openingId(inbound.id), kind: "message", text } },
    as,
    null,
  );
  return row;
}

/** Keeps the message's key and reason but not its words: strangers must not be able to fill the database. */
export function refusedRow(inbound: Inbound, session: SessionKey | null, reason: string): NewRow {
  return {
    ...bareRow(inbound, session ?? nowhere, "none", { kind: "closed", outcome: "refused", reason }),
    payload: "",
  };
}

export function unreadableRow(event: Unreadable): NewRow {
  const address: Address = {
    channel: event.channel,
    account: event.account,
    kind: "channel",
    peer: "unreadable",
  };
  return {
    id: event.id,
    pool: "main",
    lane: nowhere,
    conversation: conversationKey(address) as ConversationKey,
    authority: "none",
    as: { kind: "closed", outcome: "dead", reason: event.reason },
    payload: event.raw,
  };
}

function bareRow(
  inbound: Inbound,
  lane: SessionKey,
  authority: string,
  as: NewRow["as"],
): Omit<NewRow, "payload"> {
  const conversation = conversationKey(inbound.address);
  const mailbox = inbound.bot === undefined ? accountKey(inbound) : `${accountKey(inbound)}@${inbound.bot}`;
  const isMessage = inbound.kind === "message" || inbound.kind === "edit" || inbound.kind === "command";
  return {
    id: inbound.id,
    // Presses and reactions share their message's id, so their own id keeps them apart.
    subject: `${mailbox}/${conversation}/${inbound.messageId}${isMessage ? "" : `/${inbound.id}`}`,
    version: inbound.editedAtMs ?? 0,
    pool: "main",
    lane,
    conversation,
    authority,
    as,
  };
}
