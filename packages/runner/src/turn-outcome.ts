// Computes a turn's outcome from how its loop ended and what the model's last words say. Where somebody waits
// it is never empty: an empty answer, a failure and a limit are told in plain words.
import type { LoopEnd } from "@parley/agent";
import { isBlank } from "@parley/channels";
import type { Outcome } from "@parley/protocol";
import { nothingSaid, withEarlyEnd } from "./early-end.ts";
import { modelFailureText } from "./models/model-failure.ts";

export interface HeardEnd {
  readonly end: LoopEnd;
  readonly timedOut: boolean;
  /** A person waits for an answer, so an empty one is told. */
  readonly replyOwed: boolean;
  /** True when silence is no answer to that person either. */
  readonly refusesSilence: boolean;
  /** The model's last words as parsed. */
  readonly said: Outcome;
}

export function turnOutcome({ end, timedOut, replyOwed, refusesSilence, said }: HeardEnd): Outcome {
  // An answer that was complete in time stands, however long it took to show.
  if (timedOut && end.stop === "aborted")
    return failed(
      "the turn took too long",
      "⚠️ That took too long, so I stopped. Please try something smaller.",
    );
  if (end.error !== undefined)
    return failed(`${end.error.kind}: ${end.error.message}`, modelFailureText(end.error));
  if (end.stop === "capped")
    return failed(end.reason ?? "a cap", `⚠️ ${end.reason ?? "A spending limit was reached."}`);
  const isSilent = refusesSilence && said.kind === "silent";
  if (isSilent || (replyOwed && saysNothing(said))) {
    return failed(
      "the model gave no answer",
      nothingSaid(end.stop) ?? "⚠️ I have no answer to that. Please ask again in other words.",
    );
  }
  return withEarlyEnd(said, end.stop);
}

/** Treats invisible characters alone as no answer, because no platform would show them. */
function saysNothing(outcome: Outcome): boolean {
  if (outcome.kind === "reply")
    return outcome.parts.every((part) => part.kind === "text" && isBlank(part.markdown));
  return outcome.kind === "silent" && outcome.reason === "empty";
}

function failed(reason: string, userMessage: string): Outcome {
  return { kind: "failed", reason, userMessage };
}

/** Removes the beginning that people were already sent. */
export function unsaid(outcome: Outcome, said: string): Outcome {
  if (outcome.kind !== "reply" || said === "") return outcome;
  const [first, ...others] = outcome.parts;
  if (first?.kind !== "text" || !first.markdown.startsWith(said.trimEnd())) return outcome;
  const markdown = first.markdown.slice(said.length).trim();
  // The beginning already carried the quote.
  return { kind: "reply", parts: [...(markdown === "" ? [] : [{ ...first, markdown }]), ...others] };
}
