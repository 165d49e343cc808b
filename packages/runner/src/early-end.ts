// What a person is told when an answer ended before it was done: never nothing, and never that all is well.
import type { LoopStop } from "@parley/agent";
import type { Outcome } from "@parley/protocol";

type EarlyStop = Extract<LoopStop, "length" | "cut" | "steps" | "loop">;

interface Words {
  /** Below what was said. */
  readonly below: string;
  /** In place of an answer that has no word. */
  readonly alone: string;
}

const words: { readonly [stop in EarlyStop]: Words } = {
  length: {
    below: "⚠️ My answer was cut off here: it reached the longest that the model may write. Ask me to go on.",
    alone:
      "⚠️ The model used up all that it may write before it came to an answer. Please ask for less at once, or let it think less (/think).",
  },
  cut: {
    below: "⚠️ The language model's provider cut my answer off here.",
    alone:
      "⚠️ The language model's provider ended my answer before its first word. Please ask in other words.",
  },
  steps: {
    below: "⚠️ I stopped here: this took all the steps that one request may take. Ask me to go on.",
    alone:
      "⚠️ I used all the steps that one request may take and have no answer yet. Ask me to go on, or for less at once.",
  },
  loop: {
    below: "⚠️ I stopped here: I was repeating the same step and got no further.",
    alone:
      "⚠️ I was repeating the same step and got no further, so I stopped. Please tell me in other words what to do.",
  },
};

function isEarly(stop: LoopStop): stop is EarlyStop {
  return Object.hasOwn(words, stop);
}

/** Null where the answer ended as it should. */
export function nothingSaid(stop: LoopStop): string | null {
  return isEarly(stop) ? words[stop].alone : null;
}

/** The outcome with a plain word at its end. One that the model wanted silent stays silent. */
export function withEarlyEnd(outcome: Outcome, stop: LoopStop): Outcome {
  if (!isEarly(stop) || outcome.kind !== "reply") return outcome;
  const { below } = words[stop];
  const last = outcome.parts.at(-1);
  if (last?.kind !== "text")
    return { ...outcome, parts: [...outcome.parts, { kind: "text", markdown: below }] };
  return {
    ...outcome,
    parts: [...outcome.parts.slice(0, -1), { ...last, markdown: `${closed(last.markdown)}\n\n${below}` }],
  };
}

/** A code block that was cut off would swallow what follows it. */
export function closed(markdown: string): string {
  const fences = markdown.match(/^\s*```/gm) ?? [];
  return fences.length % 2 === 0 ? markdown.trimEnd() : `${markdown.trimEnd()}\n\`\`\``;
}
