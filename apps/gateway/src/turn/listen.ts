// Listens to the loop: the visible text as it grows, and whether an answer says anything at all (I8).
import { replyParser, type LoopEnd, type LoopEvent, type Redaction, type ReplyParser } from "@parley/agent";
import type { AssistantEntry } from "@parley/protocol";
import type { Row } from "@parley/store";
import type { TurnMessages } from "./turn-messages.ts";

/** Follows the loop to its end, telling the visible text as it grows. */
export async function listen(
  events: AsyncIterable<LoopEvent>,
  show: (text: string, replyTo?: string) => void,
  parserOf: () => ReplyParser,
  thoughts: { readonly parser: () => ReplyParser; readonly show: (visible: string) => void } | null,
): Promise<LoopEnd> {
  /** Made with the first word: only then it is known which model answers, and how it was told to. */
  let parser: ReplyParser | null = null;
  let thinking = thoughts?.parser();
  let visible = "";
  for await (const event of events) {
    if (event.type === "end") return event;
    if (event.type === "modelStart" || event.type === "discard") {
      parser = null;
      thinking = thoughts?.parser();
      visible = "";
    } else if (event.type === "thinking") {
      const shown = thinking?.push(event.delta).visible ?? "";
      // Once the answer has begun to be seen it is not covered again.
      if (visible === "" && shown !== "") thoughts?.show(shown);
    } else if (event.type === "text") {
      parser ??= parserOf();
      visible = parser.push(event.delta).visible;
      if (visible !== "") show(visible, parser.replyTo());
    }
  }
  throw new Error("the loop ended without saying so");
}

/** What people could see of an answer that was not finished. */
export function visibleOf(parser: ReplyParser, { content }: AssistantEntry): string {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return parser.push(text).visible;
}

/** Why an answer is none, for the model; null for one that may stand. `isAsked`: somebody waits for words, so silence is none. */
export function saysNothing(parser: ReplyParser, text: string, isAsked: boolean): string | null {
  parser.push(text);
  const outcome = parser.end();
  if (outcome.kind !== "silent") return null;
  if (outcome.reason === "empty") return "nothing of your last message can be shown";
  return isAsked ? "somebody wrote to you here and waits for an answer, so you cannot stay silent" : null;
}

/** `quotesCurrent`: whether an answer quotes the newest of the rows where the model names none. */
export function newParser(
  rows: readonly Row[],
  messages: TurnMessages,
  { redaction, finalOnly, quotesCurrent }: { readonly redaction: Redaction; readonly finalOnly: boolean; readonly quotesCurrent: boolean },
): ReplyParser {
  const current = rows.at(-1);
  const messageId = current === undefined ? null : messages.messageIdOf(current);
  return replyParser({ redaction, finalOnly, quotesCurrent, ...(messageId === null ? {} : { currentMessageId: messageId }) });
}
