// Tells which parts may be done again after an unknown outcome (I5): what sets a state changes nothing more,
// what makes a message or a thread may show twice.
import { parseContent } from "@parley/protocol";
import type { PartView } from "@parley/store";

/** True for an edit, a removal, a reaction or a pin. */
export function setsState({ intoReceipt, content }: PartView): boolean {
  if (intoReceipt !== null) return true;
  const known = parseContent(content);
  return known.kind === "act" && known.action.kind !== "createThread";
}

/** True for a part that opens a thread. No platform takes a key with it, so only a look can find it again. */
export function opensThread(content: string): boolean {
  const known = parseContent(content);
  return known.kind === "act" && known.action.kind === "createThread";
}
