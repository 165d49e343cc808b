// Holds the state of a running turn and derives what comes next from it: which calls are still open, whether
// the model is asked again, and when it must answer without tools. A resumed turn rebuilds it from its logged
// steps (I7).
import {
  type AssistantEntry,
  type Entry,
  type ToolCall,
  type Usage,
  type UserEntry,
  addUsage,
  noUsage,
} from "@parley/protocol";
import type { CallGroup } from "./calls.ts";
import type { LoopStop } from "./event.ts";
import type { BadCall, Journal } from "./journal.ts";
import { stuck } from "./repeats.ts";

export interface TurnRules {
  /** The messages that this turn answers. */
  readonly incoming: readonly UserEntry[];
  /**
   * Most model calls in this turn; the last one is made without tools, so that it ends in words. Default 50.
   */
  readonly maxSteps?: number;
  /** A reply is owed: a model that ends without a word is asked once more, without tools. */
  readonly finalPass?: boolean;
  /**
   * Says, for the model, why an answer shows nothing: only thoughts, or silence where somebody asked.
   * Default: it is blank.
   */
  readonly saysNothing?: (text: string) => string | null;
}

const defaultMaxSteps = 50;

const unshown = "nothing of your last message can be shown";

export type Closing = "steps" | "loop" | "empty" | null;

export interface TurnState {
  readonly entries: Entry[];
  readonly bad: BadCall[];
  readonly begun: Set<string>;
  /** Model calls that answered. */
  calls: number;
  /** Why the last answer had to do without tools; null when it did not. */
  closing: Closing;
  usage: Usage;
}

/** Rebuilds the state from the turn's logged steps. */
export function replay(rules: TurnRules, steps: Journal["steps"]): TurnState {
  const state: TurnState = {
    entries: [...rules.incoming],
    bad: [],
    begun: new Set(),
    calls: 0,
    closing: null,
    usage: noUsage,
  };
  for (const step of steps) {
    if (step.kind === "intent") {
      state.begun.add(step.callId);
    } else if (step.kind === "absorbed") {
      state.entries.push(...step.entries);
    } else if (step.kind === "result") {
      state.entries.push(step.entry);
      state.usage = addUsage(state.usage, step.entry.usage ?? noUsage);
    } else if (step.kind === "summary") {
      state.entries.push(step.entry);
      state.usage = addUsage(state.usage, step.usage);
    } else {
      state.closing = step.closing ? (closingNow(state, rules) ?? "steps") : null;
      state.entries.push(step.entry);
      state.bad.push(...step.bad);
      state.calls += 1;
      state.usage = addUsage(state.usage, step.entry.usage);
    }
  }
  return state;
}

/** Returns the calls of the last answer that have no result yet. */
export function openCalls(state: TurnState): CallGroup {
  const last = state.entries.findLast((entry) => entry.type === "assistant");
  const answered = new Set(
    state.entries.flatMap((entry) => (entry.type === "toolResult" ? [entry.callId] : [])),
  );
  const calls = (last?.content ?? []).filter(
    (part): part is ToolCall => part.type === "toolCall" && !answered.has(part.id),
  );
  return {
    calls,
    bad: [...state.bad, ...tooMany(last)],
    begun: state.begun,
    closing: state.closing !== null,
  };
}

/**
 * Most calls of one answer that run; an answer with hundreds is a model that lost its way, or was talked into
 * it.
 */
export const mostCallsPerAnswer = 32;

function tooMany(answer: AssistantEntry | undefined): BadCall[] {
  const calls = (answer?.content ?? []).filter((part): part is ToolCall => part.type === "toolCall");
  const reason = `one answer may make ${mostCallsPerAnswer} calls, this one made ${calls.length}. Make the rest in your next answer if they are still needed`;
  return calls.slice(mostCallsPerAnswer).map(({ id }) => ({ callId: id, reason }));
}

export function nextCall(
  state: TurnState,
  rules: TurnRules,
): { kind: "end"; stop: LoopStop } | { kind: "call"; closing: Closing } {
  const last = state.entries.findLast((entry) => entry.type === "assistant");
  if (last === undefined) return { kind: "call", closing: closingNow(state, rules) };
  if (state.closing !== null && state.closing !== "empty") return { kind: "end", stop: state.closing };
  const usedTools = last.content.some((part) => part.type === "toolCall");
  if (usedTools && state.closing === null) return { kind: "call", closing: closingNow(state, rules) };
  if (rules.finalPass === true && state.closing === null && isEmpty(last, rules))
    return { kind: "call", closing: "empty" };
  return { kind: "end", stop: last.stop === "length" || last.stop === "cut" ? last.stop : "stop" };
}

/** Returns why the next call must do without tools. */
function closingNow(state: TurnState, rules: TurnRules): Closing {
  if (stuck(state.entries)) return "loop";
  if (state.calls + 1 >= (rules.maxSteps ?? defaultMaxSteps)) return "steps";
  const last = state.entries.findLast((entry) => entry.type === "assistant");
  return last !== undefined && !last.content.some((part) => part.type === "toolCall") ? "empty" : null;
}

/**
 * Returns the model's last words. Some models say everything beside a call and nothing after its result;
 * where a reply is owed, those words count.
 */
export function finalText(stop: LoopStop, { entries }: TurnState, rules: TurnRules): string {
  const last = entries.findLast((entry) => entry.type === "assistant");
  if (last === undefined) return "";
  if (rules.finalPass !== true || stop !== "stop" || !isEmpty(last, rules)) return textOf(last);
  // Words from before somebody joined in answer something else.
  const since = entries.slice(entries.findLastIndex((entry) => entry.type === "user") + 1);
  return textOf(
    since.filter((entry) => entry.type === "assistant").findLast((entry) => !isEmpty(entry, rules)) ?? last,
  );
}

function textOf(entry: Extract<Entry, { type: "assistant" }>): string {
  return entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

export function saidNothing(entries: readonly Entry[], { saysNothing }: TurnRules): string {
  const last = entries.findLast((entry) => entry.type === "assistant");
  return (last === undefined ? null : saysNothing?.(textOf(last))) ?? unshown;
}

function isEmpty(entry: Extract<Entry, { type: "assistant" }>, { saysNothing }: TurnRules): boolean {
  const text = textOf(entry);
  return text.trim() === "" || (saysNothing?.(text) ?? null) !== null;
}
