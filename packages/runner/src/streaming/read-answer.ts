// Reads the model's words as what they say: the text for people, silence, what is to be quoted. A text that was heard as it grew is not read
// again: a long one would hold up everything else.
import { quotesOf } from "@parley/access";
import { replyParser, type ReplyParser } from "@parley/agent";
import type { AssistantEntry, Outcome } from "@parley/protocol";
import type { TurnJournal } from "../turn-journal.ts";
import { isWake, messageIdOf } from "../turn-rows.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

/** What the words of a model say. */
export interface ReadAnswer {
  readonly outcome: Outcome;
  /** What it thought in tags. */
  readonly thinking: string;
}

export interface AnswerReader {
  /** For an answer as it grows. */
  parser(): ReplyParser;
  /** For thoughts as they grow; null where nobody sees them. */
  readonly thoughts: (() => ReplyParser) | null;
  /** Remembers what a whole text said that was heard as it grew. */
  heard(text: string, answer: ReadAnswer): void;
  /** Of a whole answer. A model that forgot the tags it was told to use has answered all the same. */
  read(text: string): ReadAnswer;
}

export function answerReader(
  { config, redaction }: Pick<Services, "config" | "redaction">,
  { turn, account, prepared }: Pick<TurnScope, "turn" | "account" | "prepared">,
  journal: Pick<TurnJournal, "rows">,
): AnswerReader {
  const quotesCurrent = quotesOf(config, account);
  let last: { readonly text: string; readonly answer: ReadAnswer } | null = null;

  function parserOf(finalOnly: boolean): ReplyParser {
    // An answer quotes the newest message where the model names none.
    const newest = journal.rows().findLast((row) => !isWake(row, turn.id));
    const currentMessageId = newest === undefined ? null : messageIdOf(newest);
    return replyParser({
      redaction,
      finalOnly,
      quotesCurrent,
      ...(currentMessageId === null ? {} : { currentMessageId }),
    });
  }

  return {
    parser: () => parserOf(prepared.finalOnly()),
    thoughts: prepared.reasoning === "off" ? null : () => replyParser({ redaction }),
    heard(text, answer) {
      // A model that forgot the tags it was told to use is read anew, as one that was not told.
      last = prepared.finalOnly() && answer.outcome.kind === "silent" ? null : { text, answer };
    },
    read(text) {
      if (last?.text === text) return last.answer;
      const parser = parserOf(prepared.finalOnly() && /<final\b/i.test(text));
      parser.push(text);
      return { outcome: parser.end(), thinking: parser.thinking() };
    },
  };
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
