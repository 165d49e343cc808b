// Drops the queued answers of a session when somebody says /stop. Answers of commands, notices and removals
// of previews still go out, and whoever sends the current message also settles it (I4, I5).
import { type ConversationKey, type SessionKey, parseContent } from "@parley/protocol";
import type { DeliveryView, Inbox, Outbox } from "@parley/store";

export type DropAnswers = (session: SessionKey, conversation: ConversationKey) => Promise<number>;

/** One chat never has more deliveries waiting. */
const most = 100;

/** Resolves with the number of dropped messages; an answer that was not split yet counts as one. */
export function dropAnswers(inbox: Pick<Inbox, "find">, outbox: Pick<Outbox, "find" | "drop">): DropAnswers {
  async function isAnswerOf(session: SessionKey, { id, cause, parts }: DeliveryView): Promise<boolean> {
    const [first] = parts;
    if (!id.startsWith(`${cause}/`) || first === undefined || parseContent(first.content).kind === "remove")
      return false;
    const [row] = await inbox.find({ turn: cause, dismissed: true, limit: 1 });
    return row?.lane === session && row.outcome !== "commanded" && row.outcome !== "stopped";
  }

  return async (session, conversation) => {
    const waiting = await outbox.find({ lane: conversation, state: "queued", limit: most });
    let dropped = 0;
    for (const delivery of waiting) {
      if (delivery.open || !(await isAnswerOf(session, delivery))) continue;
      const messages = delivery.parts.filter((part) => part.state === "queued").length;
      if ((await outbox.drop([delivery.id], "/stop")) > 0) dropped += messages;
    }
    return dropped;
  };
}
