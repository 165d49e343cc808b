// What the person hears when a message could not be answered for good.
import { parseConversationKey } from "@parley/protocol";
import type { NewDelivery, Turn } from "@parley/store";
import { textDelivery } from "../outbound/notice.ts";

export function buriedNotice(turn: Turn): NewDelivery {
  return textDelivery(
    `${turn.id}/buried`,
    parseConversationKey(turn.conversation),
    "Sorry, I failed on your last message for good and put it aside. The operator can see why. Please try it in other words.",
    turn.id,
  );
}
