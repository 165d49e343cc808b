// What the person hears when a message could not be answered for good. It takes the place of the turn's preview, which would hold the
// conversation for ever; where none was opened it is an ordinary message.
import { parseConversationKey } from "@parley/protocol";
import type { NewDelivery, Turn } from "@parley/store";
import { textDelivery } from "../outbound/notice.ts";
import { previewOf } from "./preview.ts";

export function buriedNotice(turn: Turn): NewDelivery {
  const notice = textDelivery(
    `${turn.id}/buried`,
    parseConversationKey(turn.conversation),
    "Sorry, I failed on your last message for good and put it aside. The operator can see why. Please try it in other words.",
    turn.id,
  );
  const preview = previewOf(turn.id);
  return { ...notice, closes: preview, parts: notice.parts.map((part) => ({ ...part, into: `${preview}/0` })) };
}
