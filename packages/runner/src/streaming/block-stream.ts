// The growing answer, message by message: each stretch of whole paragraphs is a delivery of its own, queued in one step with a mark of how
// far the answer has gone out (I5). The final delivery holds only what comes after.
import { accountKey, formatContent } from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import type { Preview } from "./edited-preview.ts";
import type { TurnJournal } from "../turn-journal.ts";
import type { TurnScope } from "../turn-scope.ts";

/** Shorter paragraphs go out together: a message for every line would be noise, and platforms count messages. */
const leastChars = 200;

/** `maxChars`: the longest answer in messages; what comes after it is for the answer's end to settle. */
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
      // So long that it is sent as a file, or cut: and no longer looked through at every word.
      if (latest.length - said.length > maxChars * 2) return;
      // Another call of the model, or another attempt: what went out before is no beginning of this text.
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
      // A block that fails is said with the rest; a lost lease the turn learns by itself.
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
 * Where whole paragraphs end that begin at `from` and have some length; null while there are none. Never inside a code fence, and only
 * before a line that is known to begin a block of its own: an indented one would belong to a list item.
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
