// Sends a growing answer message by message: whole paragraphs go out as deliveries, each queued in one step
// with a mark of how much of the answer went out (I5). The final delivery holds only the rest.
import { accountKey, formatContent } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import type { Preview } from "./edited-preview.ts";
import type { TurnJournal } from "../turn-journal.ts";
import type { TurnScope } from "../turn-scope.ts";

/**
 * Shorter paragraphs go out together, because a message for every line would be noise and platforms limit
 * messages.
 */
const leastChars = 200;

/** `maxChars`: the longest answer in messages; the end of the turn handles what exceeds it. */
export function blockStream(
  scope: Pick<TurnScope, "turn" | "address" | "signal" | "log">,
  journal: TurnJournal,
  maxChars: number,
): Preview {
  const { address, log, signal } = scope;
  const { id: turn, conversation } = scope.turn;
  let posted = journal.blocks.length;
  let said = journal.blocks.at(-1)?.said ?? "";
  let latest = "";
  let quoted: string | undefined;
  let closed = false;
  let work: Promise<void> | null = null;

  async function post(): Promise<void> {
    for (;;) {
      // An answer this long becomes a file or is cut, so it is no longer parsed at every word.
      if (latest.length - said.length > maxChars * 2) return;
      // Another model call or attempt began a new text, and what went out before is not its beginning.
      if (!latest.startsWith(said) && !said.startsWith(latest)) said = "";
      if (said.length >= maxChars) return;
      const end = closed || signal.aborted ? null : paragraphsEnd(latest, said.length);
      if (end === null) return;
      const markdown = latest.slice(said.length, end).trim();
      const replyTo = said === "" && quoted !== undefined ? { replyTo: quoted } : {};
      const delivery: NewDelivery = {
        id: `${turn}/block/${posted}`,
        pool: accountKey(address),
        lane: conversation,
        cause: turn,
        parts: [
          {
            content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }], ...replyTo }),
          },
        ],
      };
      const through = latest.slice(0, end);
      await journal.post({ delivery: delivery.id, said: through }, [delivery]);
      said = through;
      posted += 1;
    }
  }

  return {
    show(markdown, replyTo) {
      latest = markdown;
      quoted = replyTo;
      // The final delivery repeats a failed block, and the turn itself notices a lost lease.
      work ??= post()
        .catch((error: unknown) => log.info({ turn, error }, "the answer could not be sent in blocks"))
        .finally(() => (work = null));
    },
    async close() {
      closed = true;
      await work;
      return { open: null, said: journal.blocks.at(-1)?.said ?? "" };
    },
  };
}

/**
 * Returns where whole paragraphs of some length that begin at `from` end, or null while there are none. It
 * never cuts in a code fence, and cuts only before a line that begins a new block: an indented one would
 * belong to a list item.
 */
export function paragraphsEnd(markdown: string, from: number): number | null {
  let fence: string | null = null;
  let isAfterBlank = false;
  let position = from;
  for (const line of markdown.slice(from).split("\n")) {
    if (fence === null && isAfterBlank && position - from >= leastChars && /^\S/.test(line)) return position;
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark !== undefined) {
      if (fence === null) fence = mark;
      else if (mark.startsWith(fence)) fence = null;
    }
    isAfterBlank = line.trim() === "";
    position += line.length + 1;
  }
  return null;
}
