// Keeps what people saw of a stopped answer, with an entry that marks it as stopped. Without the mark the
// next message would join the stopped one, and the model would answer both (I11).
import {
  accountKey,
  noUsage,
  parseConversationKey,
  type AssistantEntry,
  formatContent,
  parseContent,
} from "@parley/protocol";
import type { NewDelivery, Outbox, Turn } from "@parley/store";
import { closed } from "./early-end.ts";
import type { TurnJournal } from "./turn-journal.ts";

/** The stop reason of a turn that a newer message replaced. */
export const interrupted = "interrupted by a newer message";

/**
 * Returns the text that the model reads and the page shows, or null when a newer message replaced the turn:
 * the two belong together.
 */
export function stoppedMark(reason: string): string | null {
  if (reason === interrupted) return null;
  return reason === "/stop" || reason.startsWith("stopped")
    ? "[stopped by the user]"
    : `[stopped: ${reason}]`;
}

/** Reads from the journal how much of the answer people saw, because the process that ran it may be gone. */
export async function shownBefore(
  journal: Pick<TurnJournal, "blocks" | "previews">,
  outbox: Pick<Outbox, "find">,
): Promise<string> {
  const said = journal.blocks.at(-1)?.said;
  const preview = journal.previews.at(-1)?.delivery;
  if (said !== undefined || preview === undefined) return said ?? "";
  const [delivery] = await outbox.find({ id: preview, limit: 1 });
  const first = delivery?.parts[0];
  const content = first === undefined ? null : parseContent(first.content);
  if (content?.kind === "preview") return content.markdown;
  return content?.kind === "rendered" && content.part.kind === "text" ? content.part.plain : "";
}

export function stoppedEntry(said: string, mark: string, model: string, atMs: number): AssistantEntry {
  const text = said.trim() === "" ? mark : `${said.trimEnd()}\n\n${mark}`;
  return {
    type: "assistant",
    content: [{ type: "text", text }],
    model,
    stop: "aborted",
    usage: noUsage,
    atMs,
  };
}

/**
 * On the page the answer grew without a message of its own, so the shown part becomes one, with the mark.
 * `sent`: the part that already has a message.
 */
export function stoppedMessage(
  { id, conversation }: Turn,
  said: string,
  sent: string,
  mark: string,
): NewDelivery | null {
  const address = parseConversationKey(conversation);
  if (address.channel !== "web") return null;
  const rest = (said.startsWith(sent) ? said.slice(sent.length) : said).trim();
  const markdown = rest === "" ? `*${mark}*` : `${closed(rest)}\n\n*${mark}*`;
  const parts = [{ content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }) }];
  return { id: `${id}/stopped`, pool: accountKey(address), lane: conversation, cause: id, parts };
}
