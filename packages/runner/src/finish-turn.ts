// How the hold of a turn ends once its loop did: parked with its tickets, given back to the next holder, or committed - outcome, entries,
// deliveries, spending and the session's fields in the one commit that ends the turn (I2, I6). What is told after it is told only then.
import type { LoopEnd, Redaction } from "@parley/agent";
import type { Model } from "@parley/models";
import { Fault, isFault, type Address, type Clock, type Json, type Log } from "@parley/protocol";
import { type LeaseHandle, type WorkEnd, untilStored } from "@parley/queue";
import type { Session, Turn, Turns } from "@parley/store";
import type { TurnSpendLimits } from "./usage/spend-limits.ts";
import type { ReadAnswer } from "./streaming/listen.ts";
import { withinLimit, type LongAnswerOptions } from "./streaming/long-answer.ts";
import type { Previewed } from "./streaming/edited-preview.ts";
import type { PromptNote } from "./prompt/prompt-history.ts";
import { thoughtsOf } from "./streaming/thoughts.ts";
import { turnCommit, turnOutcome, unsaid } from "./commit-turn.ts";
import type { TurnJournal } from "./turn-journal.ts";

export interface CommitTurnOptions {
  readonly turns: Pick<Turns, "park" | "commit">;
  /** What no answer may show. */
  readonly redaction: Redaction;
  readonly clock: Clock;
}

export interface EndedTurn {
  readonly turn: Turn;
  readonly previewed: Previewed;
  readonly waits: boolean;
  readonly held: LeaseHandle;
  readonly session: Session;
  readonly address: Address;
  readonly journal: TurnJournal;
  readonly isOwed: boolean;
  /** A person waits for words: silence is no answer. */
  readonly refusesSilence: boolean;
  /** What the model's last words say, and what it thought in tags. */
  readonly answer: ReadAnswer;
  readonly limit: LongAnswerOptions;
  readonly showsThoughts: boolean;
  readonly promptNote: PromptNote | undefined;
  readonly spending: TurnSpendLimits;
  readonly parkedUntilMs: () => number;
  readonly model: Model;
  readonly patch: { readonly [field: string]: Json };
  readonly timedOut: boolean;
  readonly log: Log;
}

/** Parks the turn or commits it. Throws Fault for one that was interrupted: it stays as its journal has it. */
export async function commitTurn(
  { turns, redaction, clock }: CommitTurnOptions,
  at: EndedTurn,
  end: LoopEnd,
): Promise<WorkEnd> {
  const { turn, held, journal, log } = at;
  if (end.stop === "parked") {
    await turns.park(turn, { tickets: end.tickets ?? [], wake: "any", untilMs: at.parkedUntilMs() });
    log.info({ tickets: end.tickets ?? [] }, "turn parked");
    return { settled: true };
  }
  if (end.stop === "aborted" && !at.timedOut) {
    // Drained, stopped or lost: the next holder goes on from the journal.
    const reason: unknown = held.signal.reason;
    throw isFault(reason) ? reason : new Fault("conflict", "the turn was told to stop");
  }
  const whole = turnOutcome({
    end,
    timedOut: at.timedOut,
    replyOwed: at.isOwed,
    refusesSilence: at.refusesSilence,
    said: at.answer.outcome,
  });
  const outcome = await withinLimit(unsaid(whole, at.previewed.said), at.limit);
  const thoughts = at.showsThoughts ? thoughtsOf(end.entries, at.answer.thinking, redaction) : null;
  // Nothing but this process has the last answer: a store that is away for a moment must not cost another one.
  const spent = await untilStored(held, clock, () => at.spending.note(end, at.model));
  const what = turnCommit({
    ...at,
    end,
    outcome,
    thoughts,
    cells: [...(at.promptNote?.cells ?? []), ...spent],
  });
  await untilStored(held, clock, () => turns.commit(turn, turn.id, what));
  at.promptNote?.committed();
  at.spending.committed();
  log.info(
    {
      joined: journal
        .rows()
        .slice(turn.rows.length)
        .map((row) => row.id),
      outcome: outcome.kind,
      stop: end.stop,
      steps: journal.steps.length,
      usage: end.usage,
    },
    "turn committed",
  );
  return { settled: true };
}
