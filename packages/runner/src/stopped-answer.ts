// What is kept of an answer that was stopped: how far people saw it, and that it was stopped, as an entry of its own. Without it the next
// message would be joined to the one that was stopped, and the model would answer both (I11).
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

/** The reason of a turn that a newer message took the place of. */
export const interrupted = "interrupted by a newer message";

/** What the model reads, and the page shows. Null where a newer message took the turn's place: the two belong together. */
export function stoppedMark(reason: string): string | null {
  if (reason === interrupted) return null;
  return reason === "/stop" || reason.startsWith("stopped")
    ? "[stopped by the user]"
    : `[stopped: ${reason}]`;
}

/** How far the answer had been shown, as whoever shows it noted: the process that ran it is gone. */
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

/** On the page the answer grew without a message of its own: what was shown of it stays, with the mark. `sent`: what has a message already. */
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
