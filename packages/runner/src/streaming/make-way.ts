// Takes a growing answer out of the way of what a call of the same turn sends: a preview keeps the head of
// its lane, so the message would wait behind it for the end of the turn. The preview is removed in the
// transaction that queues the message (I4); its words come again with the answer, in a preview of its own.
import type { Journal } from "@parley/agent";
import { accountKey, formatContent, parseConversationKey } from "@parley/protocol";
import type { NewDelivery, Turn } from "@parley/store";
import type { TurnJournal } from "../turn-journal.ts";
import type { LiveAnswer } from "./live-answer.ts";

export function makingWay(
  journal: TurnJournal,
  turn: Pick<Turn, "id" | "conversation">,
  answer: Pick<LiveAnswer, "rest" | "resume">,
): Journal {
  return {
    get steps() {
      return journal.steps;
    },
    absorb: () => journal.absorb(),
    async checkpoint(steps, how = {}) {
      const { effects = [] } = how;
      const sends = effects.some(({ deliveries = [] }) =>
        deliveries.some(({ lane }) => lane === turn.conversation),
      );
      if (!sends) return journal.checkpoint(steps, how);
      const { open } = await answer.rest();
      try {
        const way =
          open === null ? {} : { closes: open, effects: [{ deliveries: [removed(open, turn)] }, ...effects] };
        await journal.checkpoint(steps, { ...how, ...way });
      } finally {
        answer.resume();
      }
    },
  };
}

function removed(preview: string, { id, conversation }: Pick<Turn, "id" | "conversation">): NewDelivery {
  return {
    id: `${preview}/removed`,
    pool: accountKey(parseConversationKey(conversation)),
    lane: conversation,
    cause: id,
    closes: preview,
    parts: [{ content: formatContent({ v: 1, kind: "remove" }), into: `${preview}/0` }],
  };
}
