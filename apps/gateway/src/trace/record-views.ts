// Converts rows and deliveries into the protocol's views for operators. It parses stored records with care,
// because one may come from another version or from an event that was unreadable.
import {
  isFault,
  wordsOf,
  type Action,
  type OutboxAction,
  type DeliveryStory,
  type Inbound,
  type InternalRow,
  type Part,
  type Receipt,
  type RowStory,
  parseRowPayload,
  parseContent,
  type Content,
} from "@parley/protocol";
import type { DeliveryView, PartView, RowView } from "@parley/store";

/** Enough text to recognise a message by. */
const excerptChars = 200;

export function shownRow(row: RowView): RowStory {
  const inbound = inboundOf(row);
  return {
    id: row.id,
    session: row.lane,
    conversation: row.conversation,
    messageId: inbound?.messageId ?? null,
    sender: inbound === null ? null : `${inbound.sender.name} (${inbound.channel}:${inbound.sender.id})`,
    text: excerpt(inbound === null ? row.payload : wordsOf(inbound)),
    sentAtMs: inbound?.atMs ?? null,
    receivedAtMs: row.acceptedAtMs,
    state: row.state,
    outcome: row.outcome,
    reason: row.reason,
    endedAtMs: row.endedAtMs,
  };
}

/** Null for a refused row, whose text was not stored, and for one that this version cannot read. */
export function inboundOf(row: Pick<RowView, "payload">): Inbound | null {
  return readable(() => parseRowPayload(row.payload).inbound);
}

/** Null for a message of a person, and for a row that this version cannot read. */
export function internalOf(row: Pick<RowView, "payload">): InternalRow | null {
  return readable(() => parseRowPayload(row.payload).internal) ?? null;
}

export function shownDelivery(delivery: DeliveryView): DeliveryStory {
  return {
    id: delivery.id,
    conversation: delivery.lane,
    cause: delivery.cause,
    createdAtMs: delivery.createdAtMs,
    state: deliveryState(delivery),
    text: excerpt(
      delivery.parts.map(({ content }) => readOf(readable(() => parseContent(content)))).join("\n"),
    ),
    parts: delivery.parts.map(shownPart),
  };
}

function deliveryState({ open, done, parts }: DeliveryView): DeliveryStory["state"] {
  if (open) return "open";
  if (!done) return "waiting";
  if (parts.some((part) => part.state === "failed")) return "failed";
  return parts.some((part) => part.state === "ambiguous") ? "ambiguous" : "sent";
}

function shownPart(part: PartView): DeliveryStory["parts"][number] {
  return {
    state: part.state,
    attempts: part.attempts,
    flagged: part.flagged,
    messageId: part.receipt === null ? null : (JSON.parse(part.receipt) as Receipt).messageId,
    startedAtMs: part.startedAtMs === 0 ? null : part.startedAtMs,
    reason: part.reason,
  };
}

/** As people read it: without the markup of a platform. */
function readOf(content: Content | null): string {
  const plain = content?.kind === "rendered" && content.part.kind === "text" ? content.part.plain : "";
  return plain === "" ? textOf(content) : plain;
}

export function textOf(content: Content | null): string {
  if (content === null) return "[of a form that this version does not know]";
  switch (content.kind) {
    case "reply":
      return content.parts.map(meantText).join("\n");
    case "preview":
      return content.markdown;
    case "rendered":
      return content.part.kind === "text" ? content.part.text : `[${content.part.kind}]`;
    case "action":
    case "act":
      return actionText(content.action);
    case "remove":
      return "[takes a preview away]";
  }
}

function actionText(action: OutboxAction | Action): string {
  switch (action.kind) {
    case "edit":
      return `[edits] ${"markdown" in action ? action.markdown : action.text.plain}`;
    case "remove":
      return "[takes a message away]";
    case "react":
      return action.emoji === null ? "[takes its reaction back]" : `[reacts] ${action.emoji}`;
    case "pin":
      return action.pinned ? "[pins a message]" : "[takes a pin off]";
    case "createThread":
      return `[opens a thread] ${action.title}`;
    case "answerCallback":
    case "setCommands":
      return `[${action.kind}]`;
  }
}

function meantText(part: Part): string {
  return part.kind === "text" || part.kind === "card" ? part.markdown : `[${part.kind}]`;
}

function excerpt(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length <= excerptChars ? line : `${line.slice(0, excerptChars).toWellFormed()}...`;
}

function readable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    // An unreadable record shows as such, so that the rest of the story is still there.
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
