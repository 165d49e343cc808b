// Listens to the loop: the visible text as it grows, and whether an answer says anything at all (I8).
import { replyParser, type LoopEnd, type LoopEvent, type Redaction, type ReplyParser } from "@parley/agent";
import type { AssistantEntry, Outcome } from "@parley/protocol";
import type { Row } from "@parley/store";
import type { TurnMessages } from "../user-messages.ts";

/** What the words of a model say. */
export interface ReadAnswer {
  readonly outcome: Outcome;
  /** What it thought in tags. */
  readonly thinking: string;
}

/** Reads a text that was not heard as it grew. */
export function readAnswer(parser: ReplyParser, text: string): ReadAnswer {
  parser.push(text);
  return { outcome: parser.end(), thinking: parser.thinking() };
}

export interface Listening {
  readonly show: (text: string, replyTo?: string) => void;
  readonly parser: () => ReplyParser;
  readonly thoughts: { readonly parser: () => ReplyParser; readonly show: (visible: string) => void } | null;
  /** Told of each whole text of the model with what it says: reading a long one again would hold up everything else. */
  readonly heard: (text: string, answer: ReadAnswer) => void;
}

/** Read at once; a model, or what stands before it, may hand over more in one piece. */
const pieceChars = 32_768;

/** Follows the loop to its end, telling the visible text as it grows. */
export async function listen(
  events: AsyncIterable<LoopEvent>,
  { show, thoughts, heard, ...on }: Listening,
): Promise<LoopEnd> {
  /** Made with the first word: only then it is known which model answers, and how it was told to. */
  let parser: ReplyParser | null = null;
  let thinking = thoughts?.parser();
  let visible = "";
  let text = "";
  for await (const event of events) {
    if (event.type === "end") return event;
    if (event.type === "modelStart" || event.type === "discard") {
      parser = null;
      thinking = thoughts?.parser();
      visible = "";
      text = "";
    } else if (event.type === "thinking") {
      const shown = thinking?.push(event.delta).visible ?? "";
      // Once the answer has begun to be seen it is not covered again.
      if (visible === "" && shown !== "") thoughts?.show(shown);
    } else if (event.type === "text") {
      parser ??= on.parser();
      text += event.delta;
      for (let at = 0; at < event.delta.length; at += pieceChars) {
        if (at > 0) await breath();
        visible = parser.push(event.delta.slice(at, at + pieceChars)).visible;
      }
      if (visible !== "") show(visible, parser.replyTo());
    } else if (event.type === "modelEnd" && parser !== null) {
      heard(text, { outcome: parser.end(), thinking: parser.thinking() });
    }
  }
  throw new Error("the loop ended without saying so");
}

/** Lets everything else that is due have its turn. */
function breath(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What people could see of an answer that was not finished. */
export function visibleOf(parser: ReplyParser, { content }: AssistantEntry): string {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return parser.push(text).visible;
}

/** Why an answer is none, for the model; null for one that may stand. `isAsked`: somebody waits for words, so silence is none. */
export function saysNothing({ outcome }: ReadAnswer, isAsked: boolean): string | null {
  if (outcome.kind !== "silent") return null;
  if (outcome.reason === "empty") return "nothing of your last message can be shown";
  return isAsked ? "somebody wrote to you here and waits for an answer, so you cannot stay silent" : null;
}

/** `quotesCurrent`: whether an answer quotes the newest of the rows where the model names none. */
export function newParser(
  rows: readonly Row[],
  messages: TurnMessages,
  {
    redaction,
    finalOnly,
    quotesCurrent,
  }: { readonly redaction: Redaction; readonly finalOnly: boolean; readonly quotesCurrent: boolean },
): ReplyParser {
  const current = rows.at(-1);
  const messageId = current === undefined ? null : messages.messageIdOf(current);
  return replyParser({
    redaction,
    finalOnly,
    quotesCurrent,
    ...(messageId === null ? {} : { currentMessageId: messageId }),
  });
}
