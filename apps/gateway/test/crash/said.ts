// Numbered messages, and the model that answers them: what a crash test needs to tell lost from doubled. A
// person says "say m3.", the model answers "re m3", and what people see is judged by the numbers in it.
import type { ModelCall } from "@parley/testkit";

export function said(n: number): string {
  return `say m${n}.`;
}

export interface Verdict {
  readonly lost: readonly number[];
  readonly doubled: readonly number[];
  /** The answers that came after a later one. */
  readonly late: readonly number[];
  /** Messages without any number: notices, and previews that nobody finished. */
  readonly others: readonly string[];
}

export const flawless: Verdict = { lost: [], doubled: [], late: [], others: [] };

/** What people saw of the answers to m1 … m<count>. */
export function judge(texts: readonly string[], count: number): Verdict {
  const numbers = texts.flatMap(answeredIn);
  const first = numbers.filter((n, at) => numbers.indexOf(n) === at);
  return {
    lost: Array.from({ length: count }, (_, at) => at + 1).filter((n) => !numbers.includes(n)),
    doubled: numbers.filter((n, at) => numbers.indexOf(n) !== at),
    late: first.filter((n, at) => first.slice(0, at).some((earlier) => earlier > n)),
    others: texts.filter((text) => answeredIn(text).length === 0),
  };
}

export function answeredIn(text: string): readonly number[] {
  return [...text.matchAll(/\bre m(\d+)\b/g)].map((match) => Number(match[1]));
}

/** The numbers that this request asks about: those of every message since the last answer. */
export function askedIn(call: ModelCall): readonly number[] {
  const messages = call.body["messages"] as readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: unknown;
  }[];
  const answered = messages.findLastIndex(
    (message) => message.role === "assistant" && message.tool_calls === undefined,
  );
  const people = messages.slice(answered + 1).filter((message) => message.role === "user");
  return [...JSON.stringify(people).matchAll(/say m(\d+)\./g)].map((match) => Number(match[1]));
}

export function answerTo(call: ModelCall): string {
  return askedIn(call)
    .map((n) => `re m${n}`)
    .join(", ");
}
