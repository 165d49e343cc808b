// What the person hears when a message could not be answered for good, and which one it was. It takes the place of the turn's preview, which
// would hold the conversation for ever; where none was opened it is an ordinary message.
import { isFault, parseConversationKey, formatContent } from "@parley/protocol";
import type { NewDelivery, Turn } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import { previewOf } from "./streaming/edited-preview.ts";
import { messageIdOf } from "./turn-rows.ts";

export function buriedNotice(turn: Turn): NewDelivery {
  const notice = textDelivery(`${turn.id}/buried`, parseConversationKey(turn.conversation), "", turn.id);
  const preview = previewOf(turn.id);
  const content = formatContent({
    v: 1,
    kind: "reply",
    parts: [{ kind: "text", markdown: wordsFor(turn) }],
    ...quoted(turn),
  });
  return { ...notice, closes: preview, parts: [{ content, into: `${preview}/0` }] };
}

function wordsFor({ rows }: Turn): string {
  const them = rows.length === 1 ? "your message" : `your last ${rows.length} messages`;
  const itself = rows.length === 1 ? "it" : "them";
  return `Sorry, I failed on ${them} for good and put ${itself} aside. The operator can see why. Please try in other words.`;
}

/** One message is quoted, so that nobody has to guess which of several it was. */
function quoted({ rows }: Turn): { readonly replyTo?: string } {
  const [row] = rows;
  if (row === undefined || rows.length > 1) return {};
  try {
    const messageId = messageIdOf(row);
    return messageId === null ? {} : { replyTo: messageId };
  } catch (error) {
    // That nobody can read it may be why it is buried.
    if (isFault(error, "invalid")) return {};
    throw error;
  }
}
