// Builds the notes that go beside a turn's answer. The agent is told once which of its earlier answers here
// never arrived; they are read from the outbox, so that no crash can lose them, and the session remembers the
// last one told. A person is told which message could not be answered for good.
import { textDelivery } from "@parley/delivery";
import {
  formatContent,
  isFault,
  parseContent,
  parseConversationKey,
  parseRowPayload,
  type OutboxAction,
} from "@parley/protocol";
import type { DeliveryView, NewDelivery, Turn } from "@parley/store";
import { internalOf } from "./internal-row.ts";
import { isUnasked } from "./schedules/slot-row.ts";
import { openPreview } from "./turn-journal.ts";
import { messageIdOf } from "./turn-rows.ts";
import type { OpenTurn, Services } from "./turn-scope.ts";

export interface TroubleNotes {
  readonly notes: readonly string[];
  /** Session fields to write when the turn commits. */
  readonly patch: { readonly [field: string]: number };
}

const field = "troubleToldAtMs";
const most = 5;

export async function troubleNotes(
  { outbox }: Pick<Services, "outbox">,
  { session, turn }: Pick<OpenTurn, "session" | "turn">,
): Promise<TroubleNotes> {
  const told = session.fields[field];
  const toldAtMs = typeof told === "number" ? told : 0;
  const found = (await outbox.find({ lane: turn.conversation, troubled: true, limit: most })).filter(
    (delivery) => delivery.createdAtMs > toldAtMs,
  );
  if (found.length === 0) return { notes: [], patch: {} };
  return {
    notes: found.toReversed().map(noteOf),
    patch: { [field]: Math.max(...found.map((delivery) => delivery.createdAtMs)) },
  };
}

function noteOf(delivery: DeliveryView): string {
  const lost = delivery.parts.filter((part) => part.state !== "sent");
  const reason = lost.find((part) => part.reason !== null)?.reason ?? "unknown reason";
  const all = lost.length === delivery.parts.length;
  const action = actionOf(delivery);
  if (action !== null && all)
    return lost.some((part) => part.state === "ambiguous")
      ? `it is not known whether your ${action} was carried out (${reason})`
      : `your ${action} was not carried out: ${reason}`;
  return lost.some((part) => part.state === "ambiguous")
    ? `it is not known whether an earlier answer of yours arrived (${reason})`
    : `${all ? "an earlier answer of yours" : `${lost.length} of ${delivery.parts.length} messages of an earlier answer`} did not arrive: ${reason}`;
}

const actionWords: Readonly<Record<OutboxAction["kind"], string>> = {
  edit: "edit",
  remove: "removal of a message",
  react: "reaction",
  pin: "pin",
  createThread: "new thread",
};

/** Null for a delivery that says something. */
function actionOf({ parts: [first] }: DeliveryView): string | null {
  const content = first === undefined ? null : parseContent(first.content);
  if (content?.kind !== "action" && content?.kind !== "act") return null;
  const { kind } = content.action;
  return kind in actionWords ? actionWords[kind as OutboxAction["kind"]] : kind;
}

/**
 * Replaces the turn's preview, which would block the conversation for ever; without one it is an ordinary
 * message.
 */
export function buriedNotice(turn: Turn): NewDelivery {
  const notice = textDelivery(`${turn.id}/buried`, parseConversationKey(turn.conversation), "", turn.id);
  const preview = openPreview(turn.log);
  const content = formatContent({
    v: 1,
    kind: "reply",
    parts: [{ kind: "text", markdown: wordsFor(turn) }],
    ...quoted(turn),
  });
  return preview === null
    ? { ...notice, parts: [{ content }] }
    : { ...notice, closes: preview, parts: [{ content, into: `${preview}/0` }] };
}

function wordsFor({ rows }: Turn): string {
  // Nobody wrote, so nobody can say it in other words; what a program sent is not repeated to people.
  if (isUnasked(rows)) {
    const told = rows.flatMap((row) => {
      const internal = internalOf(row);
      if (internal?.kind === "hook") return [`a call of the webhook ${JSON.stringify(internal.id)}`];
      return internal?.kind === "heartbeat" ? [] : [parseRowPayload(row.payload).inbound.text];
    });
    return `⚠️ I failed on this for good and put it aside; the operator can see why:\n\n${told.join("\n\n")}`;
  }
  const them = rows.length === 1 ? "your message" : `your last ${rows.length} messages`;
  const itself = rows.length === 1 ? "it" : "them";
  return `Sorry, I failed on ${them} for good and put ${itself} aside. The operator can see why. Please try in other words.`;
}

/** Quotes a single message, so that its sender need not guess which of several it was. */
function quoted({ rows }: Turn): { readonly replyTo?: string } {
  const [row] = rows;
  if (row === undefined || rows.length > 1 || isUnasked(rows)) return {};
  try {
    const messageId = messageIdOf(row);
    return messageId === null ? {} : { replyTo: messageId };
  } catch (error) {
    // A row that nobody can read may be why the turn is buried.
    if (isFault(error, "invalid")) return {};
    throw error;
  }
}
