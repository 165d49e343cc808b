// Tells a person that an answer ended early, so that they never get nothing and never believe it whole.
import type { LoopStop } from "@parley/agent";
import type { Outcome } from "@parley/protocol";

type EarlyStop = Extract<LoopStop, "length" | "cut" | "steps" | "loop">;

interface Words {
  /** Words placed below what was said. */
  readonly below: string;
  /** Words in place of an answer without any text. */
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

/** Returns null when the answer ended normally. */
export function nothingSaid(stop: LoopStop): string | null {
  return isEarly(stop) ? words[stop].alone : null;
}

/** Appends a plain notice to the outcome. An outcome that the model wanted silent stays silent. */
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

/** Closes a code block that was cut off, or it would swallow the text that follows. */
export function closed(markdown: string): string {
  const fences = markdown.match(/^\s*```/gm) ?? [];
  return fences.length % 2 === 0 ? markdown.trimEnd() : `${markdown.trimEnd()}\n\`\`\``;
}
