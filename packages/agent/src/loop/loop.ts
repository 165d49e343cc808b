// The agent loop: ask the model, settle its tool calls, ask again, until it answers in words. A function of context, model, tools and
// signal; what must survive a crash goes through the journal, and a resumed turn is the same function over the logged steps (I7, I11).
import type { Model, ModelMessage, ModelRequest, ToolSchema } from "@parley/models";
import {
  type AssistantEntry,
  type Entry,
  type ThinkingLevel,
  type ToolCall,
  type Usage,
  type UserEntry,
  addUsage,
  noUsage,
} from "@parley/protocol";
import { ask } from "./answer.ts";
import type { LoopContext, Prepared } from "./context-port.ts";
import { type CallGroup, type CallPorts, settleCalls } from "./calls.ts";
import type { LoopEnd, LoopEvent, LoopStop } from "./event.ts";
import type { BadCall } from "./journal.ts";
import { stuck } from "./repeats.ts";
import { viewOf } from "./view.ts";

export interface LoopInput {
  readonly system: ModelRequest["system"];
  /** The session before this turn, oldest first. */
  readonly history: readonly Entry[];
  /** What this turn answers. */
  readonly incoming: readonly UserEntry[];
  readonly thinking: ThinkingLevel;
  readonly maxTokens?: number;
  readonly cacheKey: string;
  /** Model calls in this turn; the last one is made without tools, so that it closes in words. Default 50. */
  readonly maxSteps?: number;
  /** A reply is owed: when the model ends without a word it is asked once more, without tools. */
  readonly finalPass?: boolean;
  /** Why an answer says nothing to anybody, for the model: only thoughts, or silence where somebody asked. Default: it is blank. */
  readonly saysNothing?: (text: string) => string | null;
}

/** Says before each call whether the turn may spend more: token and money caps. */
export interface Ledger {
  /** `usage`: what this turn has used so far. */
  mayCall(usage: Usage): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>;
}

export interface LoopDeps extends CallPorts {
  readonly model: Model;
  readonly ledger?: Ledger;
  /** Makes what the model is shown fit. Default: it is shown everything. */
  readonly context?: LoopContext;
  /** Stop, deadline, drain, lost lease. */
  readonly signal: AbortSignal;
}

const defaultMaxSteps = 50;

/** Not kept: the transcript only holds what was said. A request must not end with the model's own words, some providers go on with those. */
function askAgain(why: string): ModelMessage {
  return {
    role: "user",
    content: [{ type: "text", text: `[Parley: ${why}. Answer now, in words, without tools.]` }],
  };
}

const unshown = "nothing of your last message can be shown";

/** Ends with exactly one `end` event. Throws only what the journal, the gate or the ledger throws; models and tools fail as values. */
export async function* runLoop(input: LoopInput, deps: LoopDeps): AsyncGenerator<LoopEvent, void> {
  // A consumer that stops listening stops the model too.
  const listening = new AbortController();
  const signal = AbortSignal.any([deps.signal, listening.signal]);
  try {
    yield* turn(input, { ...deps, signal });
  } finally {
    listening.abort();
  }
}

async function* turn(input: LoopInput, deps: LoopDeps): AsyncGenerator<LoopEvent, void> {
  const { signal } = deps;
  const state = replay(input, deps);
  const { entries } = state;
  const schemas = deps.tools.map(toolSchema).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const taken = callIds([...input.history, ...entries]);
  const done = (stop: LoopStop, more: Partial<LoopEnd> = {}): LoopEnd => ending(stop, state, input, more);

  for (;;) {
    const open = openCalls(state);
    if (open.calls.length > 0) {
      const settled = yield* settleCalls(open, entries, deps, signal);
      if (settled.kind === "parked") return yield done("parked", { finalText: "", tickets: settled.tickets });
      if (settled.kind === "aborted") return yield done("aborted", { finalText: "" });
    }
    const next = nextCall(state, input);
    if (next.kind === "end") return yield done(next.stop);
    if (signal.aborted) return yield done("aborted", { finalText: "" });

    const absorbed = await deps.journal.absorb();
    if (absorbed.length > 0) {
      entries.push(...absorbed);
      yield { type: "absorbed", entries: absorbed };
    }
    const verdict = await deps.ledger?.mayCall(state.usage);
    if (verdict?.ok === false) return yield done("capped", { finalText: "", reason: verdict.reason });

    if (await keep(await deps.context?.prepare([...input.history, ...entries], signal), state, deps)) {
      const after = await deps.ledger?.mayCall(state.usage);
      if (after?.ok === false) return yield done("capped", { finalText: "", reason: after.reason });
    }
    if (signal.aborted) return yield done("aborted", { finalText: "" });
    const step = state.calls + 1;
    yield { type: "modelStart", step };
    const shown = [...input.history, ...entries];
    const fitted = deps.context?.fit(shown) ?? { entries: shown };
    const maxTokens = Math.min(input.maxTokens ?? Infinity, fitted.maxTokens ?? Infinity);
    const view = viewOf(fitted.entries);
    const request: ModelRequest = {
      system: input.system,
      messages: next.closing === "empty" ? [...view, askAgain(saidNothing(entries, input))] : view,
      tools: schemas,
      ...(next.closing === null ? {} : { toolChoice: "none" }),
      thinking: input.thinking,
      ...(maxTokens === Infinity ? {} : { maxTokens }),
      cacheKey: input.cacheKey,
    };
    const { entry, bad, error } = yield* ask(deps.model, request, taken, signal, deps.clock);
    const { model, stop, usage } = entry;
    state.usage = addUsage(state.usage, usage);
    yield { type: "modelEnd", step, model, stop, usage, ...(error === undefined ? {} : { error }) };
    if (error?.kind === "context_overflow") {
      const shorter = await deps.context?.overflowed(shown, signal);
      if (shorter !== undefined && shorter !== null) {
        await keep(shorter, state, deps);
        continue;
      }
    }
    if (error !== undefined || stop === "error" || stop === "aborted") {
      // Not logged: a resumed turn asks again. Kept as an entry, so that a turn that is closed here has a true history.
      entries.push(entry);
      const failed = error ?? {
        kind: stop === "aborted" ? "aborted" : "unavailable",
        message: `${model} failed without a reason`,
      };
      return yield done(failed.kind === "aborted" ? "aborted" : "error", { finalText: "", error: failed });
    }
    const closing = next.closing !== null;
    entries.push(entry);
    state.bad.push(...bad);
    state.calls = step;
    state.closing = next.closing;
    const isLast = openCalls(state).calls.length === 0 && nextCall(state, input).kind === "end";
    await deps.journal.checkpoint([{ kind: "model", entry, bad, closing }], isLast);
  }
}

/** A summary is logged before anything is shown from it: whoever resumes the turn shows the same. True when it was paid for. */
async function keep(made: Prepared | undefined, state: TurnState, { journal }: LoopDeps): Promise<boolean> {
  if (made === undefined) return false;
  state.usage = addUsage(state.usage, made.usage);
  if (made.summary !== null) {
    await journal.checkpoint([{ kind: "summary", entry: made.summary, usage: made.usage }]);
    state.entries.push(made.summary);
  }
  return (
    made.usage.inputTokens +
      made.usage.outputTokens +
      made.usage.cacheReadTokens +
      made.usage.cacheWriteTokens >
    0
  );
}

type Closing = "steps" | "loop" | "empty" | null;

interface TurnState {
  readonly entries: Entry[];
  readonly bad: BadCall[];
  readonly begun: Set<string>;
  /** Model calls that answered. */
  calls: number;
  /** Why the last answer had to do without tools; null when it had not. */
  closing: Closing;
  usage: Usage;
}

/** The turn as its logged steps left it. */
function replay(input: LoopInput, deps: LoopDeps): TurnState {
  const state: TurnState = {
    entries: [...input.incoming],
    bad: [],
    begun: new Set(),
    calls: 0,
    closing: null,
    usage: noUsage,
  };
  for (const step of deps.journal.steps) {
    if (step.kind === "intent") {
      state.begun.add(step.callId);
    } else if (step.kind === "absorbed") {
      state.entries.push(...step.entries);
    } else if (step.kind === "result") {
      state.entries.push(step.entry);
    } else if (step.kind === "summary") {
      state.entries.push(step.entry);
      state.usage = addUsage(state.usage, step.usage);
    } else {
      state.closing = step.closing ? (closingNow(state, input) ?? "steps") : null;
      state.entries.push(step.entry);
      state.bad.push(...step.bad);
      state.calls += 1;
      state.usage = addUsage(state.usage, step.entry.usage);
    }
  }
  return state;
}

/** The calls of the last answer that have no result yet. */
function openCalls(state: TurnState): CallGroup {
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

/** The calls of one answer that are run; an answer with hundreds is a model that lost its way, or was talked into it. */
export const mostCallsPerAnswer = 32;

function tooMany(answer: AssistantEntry | undefined): BadCall[] {
  const calls = (answer?.content ?? []).filter((part): part is ToolCall => part.type === "toolCall");
  const reason = `one answer may make ${mostCallsPerAnswer} calls, this one made ${calls.length}. Make the rest in your next answer if they are still needed`;
  return calls.slice(mostCallsPerAnswer).map(({ id }) => ({ callId: id, reason }));
}

function nextCall(
  state: TurnState,
  input: LoopInput,
): { kind: "end"; stop: LoopStop } | { kind: "call"; closing: Closing } {
  const last = state.entries.findLast((entry) => entry.type === "assistant");
  if (last === undefined) return { kind: "call", closing: closingNow(state, input) };
  if (state.closing !== null && state.closing !== "empty") return { kind: "end", stop: state.closing };
  const usedTools = last.content.some((part) => part.type === "toolCall");
  if (usedTools && state.closing === null) return { kind: "call", closing: closingNow(state, input) };
  if (input.finalPass === true && state.closing === null && isEmpty(last, input))
    return { kind: "call", closing: "empty" };
  return { kind: "end", stop: last.stop === "length" || last.stop === "cut" ? last.stop : "stop" };
}

/** Why the call after these entries must do without tools. */
function closingNow(state: TurnState, input: LoopInput): Closing {
  if (stuck(state.entries)) return "loop";
  if (state.calls + 1 >= (input.maxSteps ?? defaultMaxSteps)) return "steps";
  const last = state.entries.findLast((entry) => entry.type === "assistant");
  return last !== undefined && !last.content.some((part) => part.type === "toolCall") ? "empty" : null;
}

function ending(stop: LoopStop, state: TurnState, input: LoopInput, more: Partial<LoopEnd>): LoopEnd {
  return {
    type: "end",
    stop,
    entries: state.entries,
    finalText: finalText(stop, state, input),
    usage: state.usage,
    ...more,
  };
}

/** What the model said last. Some say their whole answer beside a call and nothing after its result: where a reply is owed, that is it. */
function finalText(stop: LoopStop, { entries }: TurnState, input: LoopInput): string {
  const last = entries.findLast((entry) => entry.type === "assistant");
  if (last === undefined) return "";
  if (input.finalPass !== true || stop !== "stop" || !isEmpty(last, input)) return textOf(last);
  // What was said before somebody joined in answers something else.
  const since = entries.slice(entries.findLastIndex((entry) => entry.type === "user") + 1);
  return textOf(
    since.filter((entry) => entry.type === "assistant").findLast((entry) => !isEmpty(entry, input)) ?? last,
  );
}

function textOf(entry: Extract<Entry, { type: "assistant" }>): string {
  return entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function saidNothing(entries: readonly Entry[], { saysNothing }: LoopInput): string {
  const last = entries.findLast((entry) => entry.type === "assistant");
  return (last === undefined ? null : saysNothing?.(textOf(last))) ?? unshown;
}

function isEmpty(entry: Extract<Entry, { type: "assistant" }>, { saysNothing }: LoopInput): boolean {
  const text = textOf(entry);
  return text.trim() === "" || (saysNothing?.(text) ?? null) !== null;
}

function toolSchema({ name, description, parameters }: CallPorts["tools"][number]): ToolSchema {
  return { name, description, parameters };
}

function callIds(entries: readonly Entry[]): Set<string> {
  return new Set(
    entries.flatMap((entry) =>
      entry.type === "assistant"
        ? entry.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [],
    ),
  );
}
