// Parses the model's words into the text for people, silence, and the message to quote. A text that was
// parsed while it grew is not parsed again, because a long one would delay everything else.
import { quotesOf } from "@parley/access";
import { replyParser, type ReplyParser } from "@parley/agent";
import type { AssistantEntry, Outcome } from "@parley/protocol";
import { asksHeartbeat } from "../schedules/slot-row.ts";
import type { TurnJournal } from "../turn-journal.ts";
import { answeredIn, isWake, messageIdOf } from "../turn-rows.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

/** The parsed words of a model. */
export interface ReadAnswer {
  readonly outcome: Outcome;
  /** Thoughts that the model wrote in tags. */
  readonly thinking: string;
  /** The model asks that it is spoken. */
  readonly voice: boolean;
}

export interface AnswerReader {
  /** Creates a parser for an answer as it grows. */
  parser(): ReplyParser;
  /** Creates a parser for thoughts as they grow; null where nobody sees them. */
  readonly thoughts: (() => ReplyParser) | null;
  /** Remembers the result of a text that was parsed while it grew. */
  heard(text: string, answer: ReadAnswer): void;
  /** Parses a whole answer. A model that forgot its tags has still answered. */
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
    const newest = journal
      .rows()
      .findLast((row) => !isWake(row, turn.id) && answeredIn(row, turn.id) === null);
    const currentMessageId = newest === undefined ? null : messageIdOf(newest);
    return replyParser({
      redaction,
      finalOnly,
      quotesCurrent,
      heartbeat: asksHeartbeat(journal.rows()),
      ...(currentMessageId === null ? {} : { currentMessageId }),
    });
  }

  return {
    parser: () => parserOf(prepared.finalOnly()),
    thoughts: prepared.reasoning === "off" ? null : () => replyParser({ redaction }),
    heard(text, answer) {
      // The text of a model that forgot its tags is parsed again as that of one without tags.
      last = prepared.finalOnly() && answer.outcome.kind === "silent" ? null : { text, answer };
    },
    read(text) {
      if (last?.text === text) return last.answer;
      const parser = parserOf(prepared.finalOnly() && /<final\b/i.test(text));
      parser.push(text);
      return { outcome: parser.end(), thinking: parser.thinking(), voice: parser.asksVoice() };
    },
  };
}

/** Returns the text that people could see of an unfinished answer. */
export function visibleOf(parser: ReplyParser, { content }: AssistantEntry): string {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return parser.push(text).visible;
}

/**
 * Tells the model why its answer is no answer; null for one that may stand. `isAsked`: somebody waits for
 * words, so silence is none.
 */
export function saysNothing({ outcome }: ReadAnswer, isAsked: boolean): string | null {
  if (outcome.kind !== "silent") return null;
  if (outcome.reason === "empty") return "nothing of your last message can be shown";
  return isAsked ? "somebody wrote to you here and waits for an answer, so you cannot stay silent" : null;
}
