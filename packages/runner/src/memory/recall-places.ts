// Tells private conversations from shared ones, in which private memory is not recalled.
import { parseConversationKey, parseSessionKey } from "@parley/protocol";
import type { ToolScope } from "@parley/tools";

/** In a shared place many read the answer, whoever asks. */
export function answersToMany({
  session,
  conversation,
}: Pick<ToolScope, "session" | "conversation">): boolean {
  const { kind } = parseSessionKey(session);
  return kind === "group" || kind === "channel" || parseConversationKey(conversation).kind !== "dm";
}
