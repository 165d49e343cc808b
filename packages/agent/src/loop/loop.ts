// Runs one turn of the agent: asks the model, settles its tool calls and asks again until it answers in
// words. It is a function of context, model, tools and signal. What must survive a crash goes through the
// journal, and a resumed turn runs the same function over the logged steps (I7, I11).
// Next: packages/runner/src/commit-turn.ts.
import type { Model, ModelMessage, ModelRequest } from "@parley/models";
import { type Entry, type ThinkingLevel, type Usage, addUsage, noUsage } from "@parley/protocol";
import { ask } from "./answer.ts";
import type { LoopContext, Prepared } from "./context-port.ts";
import { type CallPorts, settleCalls } from "./calls.ts";
import type { LoopEnd, LoopEvent, LoopStop } from "./event.ts";
import { offeredSchemas, toolSchema } from "./offered.ts";
import {
  finalText,
  nextCall,
  openCalls,
  replay,
  saidNothing,
  type TurnRules,
  type TurnState,
} from "./turn-state.ts";
import { viewOf } from "./view.ts";

export interface LoopInput extends TurnRules {
  readonly system: ModelRequest["system"];
  /** The session before this turn, oldest first. */
  readonly history: readonly Entry[];
  readonly thinking: ThinkingLevel;
  readonly maxTokens?: number;
  readonly cacheKey: string;
}

/** Checks before each call whether the turn may spend more tokens and money. */
export interface Ledger {
  /** `usage`: what this turn has used so far. */
  mayCall(usage: Usage): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>;
}

export interface LoopDeps extends CallPorts {
  readonly model: Model;
  readonly ledger?: Ledger;
  /** Makes the request fit the window. Default: the model is shown everything. */
  readonly context?: LoopContext;
  /** Names of deferred tools whose schemas the model is told now, in the order in which it looked them up. */
  readonly loaded?: () => Promise<readonly string[]>;
  /** Aborted by a stop, a deadline, a drain, or a lost lease. */
  readonly signal: AbortSignal;
}

/**
 * Not stored: the transcript only holds what was said. A request must not end with the model's own words,
 * because some providers continue those.
 */
function askAgain(why: string): ModelMessage {
  return {
    role: "user",
    content: [{ type: "text", text: `[Parley: ${why}. Answer now, in words, without tools.]` }],
  };
}

/**
 * Ends with exactly one `end` event. Throws only what the journal, the gate or the ledger throws; failures of
 * models and tools are values.
 */
export async function* runLoop(input: LoopInput, deps: LoopDeps): AsyncGenerator<LoopEvent, void> {
  // A consumer that stops listening stops the model too.
  const listening = new AbortController();
  const signal = AbortSignal.any([deps.signal, listening.signal]);
  try {
    yield* turn(input, { ...deps, signal });
  } finally {
    listening.abort(over);
  }
}

/** Made once, because an exception with its stack for every turn costs more than what it says. */
const over = new Error("the turn is over");

async function* turn(input: LoopInput, deps: LoopDeps): AsyncGenerator<LoopEvent, void> {
  const { signal } = deps;
  const state = replay(input, deps.journal.steps);
  const { entries } = state;
  const deferred = deps.tools.filter((tool) => tool.deferred === true);
  const schemas = offeredSchemas(deps.tools);
  const taken = callIds([...input.history, ...entries]);
  const done = (stop: LoopStop, more: Partial<LoopEnd> = {}): LoopEnd => ending(stop, state, input, more);

  for (;;) {
    const open = openCalls(state);
    if (open.calls.length > 0) {
      const before = entries.length;
      const settled = yield* settleCalls(open, input.history, entries, deps, signal);
      for (const entry of entries.slice(before))
        if (entry.type === "toolResult") state.usage = addUsage(state.usage, entry.usage ?? noUsage);
      if (settled.kind === "parked") {
        const { tickets, untilMs } = settled;
        return yield done("parked", { finalText: "", tickets, untilMs });
      }
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
    const loaded = deferred.length === 0 ? [] : ((await deps.loaded?.()) ?? []);
    const step = state.calls + 1;
    yield { type: "modelStart", step };
    const shown = [...input.history, ...entries];
    const fitted = deps.context?.fit(shown) ?? { entries: shown };
    const maxTokens = Math.min(input.maxTokens ?? Infinity, fitted.maxTokens ?? Infinity);
    const view = viewOf(fitted.entries);
    const request: ModelRequest = {
      system: input.system,
      messages: next.closing === "empty" ? [...view, askAgain(saidNothing(entries, input))] : view,
      // At the end, so that what stands before stays as it was for the provider's cache.
      tools: [
        ...schemas,
        ...loaded.flatMap((name) => deferred.filter((tool) => tool.name === name).map(toolSchema)),
      ],
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
      // Not logged, so a resumed turn asks again. Kept as an entry, so that a turn that ends here has a true
      // history.
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
    await deps.journal.checkpoint([{ kind: "model", entry, bad, closing }], { isLast });
  }
}

/**
 * Logs a summary before anything from it is shown, so that a resumed turn shows the same. True when it cost
 * something.
 */
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

function callIds(entries: readonly Entry[]): Set<string> {
  return new Set(
    entries.flatMap((entry) =>
      entry.type === "assistant"
        ? entry.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
        : [],
    ),
  );
}
