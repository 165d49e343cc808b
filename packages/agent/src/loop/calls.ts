// Settles the tool calls of one answer: each gets exactly one result, in the order of the calls (I11). Reads
// run together; writes and sends run one at a time and only after their intent is durable, so that they start
// at most once (I7).
import {
  type Clock,
  type Entry,
  isFault,
  type Log,
  type ToolCall,
  type ToolResultEntry,
} from "@parley/protocol";
import type { Tool, ToolResult, ToolScope } from "@parley/tools";
import { orAbandon } from "./abandon.ts";
import type { LoopEvent } from "./event.ts";
import type { BadCall, Journal, JournalStep, UsedRecord } from "./journal.ts";
import { blockedText, repeatLimits, repeatNote, repeatsBefore } from "./repeats.ts";
import { heardBefore, type HeardBefore } from "./heard.ts";
import { fencedResult, sourceOf } from "./fenced-result.ts";
import { capped, type Spill, withoutSecrets } from "./result-cap.ts";

/**
 * Decides about a call before it starts: policy, approvals, hooks. `begun`: it waits for its answer already.
 */
export type Gate = (call: ToolCall, tool: Tool, heard: HeardBefore, begun: boolean) => Promise<GateDecision>;
export type GateDecision =
  /** `uses`: the record that the call uses up, its approval; written in one step with its intent (I7). */
  | { readonly kind: "go"; readonly uses?: UsedRecord | undefined }
  /** The model is told the reason and goes on. */
  | { readonly kind: "refuse"; readonly reason: string }
  /** The turn releases its slot until one of the tickets is answered, or until then. */
  | { readonly kind: "park"; readonly tickets: readonly string[]; readonly untilMs: number };

export interface CallPorts {
  readonly tools: readonly Tool[];
  readonly scope: Omit<ToolScope, "callId" | "signal">;
  readonly journal: Journal;
  readonly spill: Spill;
  /** Most bytes of one result that are kept. Default: 8 KB. */
  readonly resultBytes?: number;
  /** Values that no result may carry into the transcript, to a model or into a spilled file. */
  readonly secrets?: readonly string[];
  readonly gate?: Gate;
  /** True when messages that the turn has not read yet wait in its session. */
  readonly somebodyWrote: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface CallGroup {
  readonly calls: readonly ToolCall[];
  readonly bad: readonly BadCall[];
  /** Calls whose start earlier holders of the turn logged. */
  readonly begun: ReadonlySet<string>;
  /** The answer was asked to do without tools, so none of these calls runs. */
  readonly closing: boolean;
}

export type Settled = { readonly kind: "settled" } | { readonly kind: "aborted" } | Parked;

interface Parked {
  readonly kind: "parked";
  readonly tickets: readonly string[];
  readonly untilMs: number;
}

const unknownOutcome =
  "Outcome unknown: the process stopped while this ran. Check what it did before repeating it.";
const stoppedWhileRunning = "Outcome unknown: stopped while this ran. Check what it did before repeating it.";
const stoppedWaiting = "Stopped while it waited for its answer.";
const stoppedBefore = "Not run: stopped before it started.";
const closingText = "Not run: no more tools in this turn. Answer with what you know.";

interface Ready {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly args: unknown;
  readonly nth: number;
  readonly uses: UsedRecord | undefined;
  /** An earlier holder of the turn began to wait for its answer. */
  readonly waited: boolean;
  readonly untrusted: string | null;
}

type Prepared = Ready | { readonly answer: ToolResult } | Parked;

/**
 * Appends a result for every call to `entries`, those of this turn; after `parked`, the waiting call and
 * those behind it have none yet.
 */
export async function* settleCalls(
  group: CallGroup,
  history: readonly Entry[],
  entries: Entry[],
  ports: CallPorts,
  signal: AbortSignal,
): AsyncGenerator<LoopEvent, Settled> {
  const waiting = [...group.calls];
  while (waiting.length > 0) {
    const batch: { readonly call: ToolCall; readonly what: Ready | { readonly answer: ToolResult } }[] = [];
    let parked: Parked | undefined;
    // A batch is a run of reads, or one call of any other kind.
    while (waiting[0] !== undefined && parked === undefined && !signal.aborted) {
      const [call] = waiting;
      const alone = named(ports.tools, call.name)?.effect !== "reads";
      if (alone && batch.length > 0) break;
      const what = await prepare(call, group, history, entries, ports);
      if ("tickets" in what) {
        parked = what;
        break;
      }
      batch.push({ call, what });
      waiting.shift();
      if (alone) break;
    }
    parked = (yield* runBatch(batch, entries, ports, signal)) ?? parked;
    if (signal.aborted) {
      // A call that began to wait just now has no result yet either.
      const open = batch.flatMap(({ call }) => (hasResult(entries, call) ? [] : [call]));
      for (const call of [...open, ...waiting]) {
        const begun = open.includes(call) || group.begun.has(call.id);
        const text = stoppedText(named(ports.tools, call.name), begun);
        entries.push(resultEntry(call, [{ type: "text", text }], true, ports.clock));
      }
      return { kind: "aborted" };
    }
    if (parked !== undefined) return parked;
  }
  return { kind: "settled" };
}

function hasResult(entries: readonly Entry[], { id }: ToolCall): boolean {
  return entries.some((entry) => entry.type === "toolResult" && entry.callId === id);
}

/** `begun`: an earlier holder began this call, so it may have had its effect. */
function stoppedText(tool: Tool | undefined, begun: boolean): string {
  if (!begun || tool?.effect === "reads") return stoppedBefore;
  return tool?.keyed === true ? stoppedWaiting : stoppedWhileRunning;
}

async function prepare(
  call: ToolCall,
  group: CallGroup,
  history: readonly Entry[],
  entries: readonly Entry[],
  ports: CallPorts,
): Promise<Prepared> {
  const refuse = (text: string): Prepared => ({
    answer: { content: [{ type: "text", text }], isError: true },
  });
  const bad = group.bad.find((each) => each.callId === call.id);
  if (bad !== undefined) return refuse(`Not run: ${bad.reason}.`);
  const tool = named(ports.tools, call.name);
  const begun = group.begun.has(call.id);
  if (begun && tool?.effect !== "reads" && tool?.keyed !== true) return refuse(unknownOutcome);
  if (group.closing) return refuse(closingText);
  if (tool === undefined)
    return refuse(
      `There is no tool "${call.name}". The tools are: ${ports.tools.map((each) => each.name).join(", ") || "none"}.`,
    );
  const nth = repeatsBefore(entries, call) + 1;
  if (nth >= repeatLimits.block) return refuse(blockedText(nth));
  const parsed = tool.parse(call.args);
  if (!parsed.ok) return refuse(`Not run, wrong arguments: ${parsed.reason}`);
  const heard = heardBefore(history, entries, call.id);
  const decision = await ports.gate?.(call, tool, heard, begun);
  if (decision?.kind === "refuse") return refuse(decision.reason);
  if (decision?.kind === "park")
    return { kind: "parked", tickets: decision.tickets, untilMs: decision.untilMs };
  const { untrusted } = heard;
  return { call, tool, args: parsed.args, nth, uses: decision?.uses, waited: begun, untrusted };
}

/** Prefers the exact name, then any casing, because models vary it. */
function named(tools: readonly Tool[], name: string): Tool | undefined {
  return (
    tools.find((tool) => tool.name === name) ??
    tools.find((tool) => tool.name.toLowerCase() === name.toLowerCase())
  );
}

/** Returns what the batch's last call waits for, when that call has no result yet. */
async function* runBatch(
  batch: readonly { readonly call: ToolCall; readonly what: Ready | { readonly answer: ToolResult } }[],
  entries: Entry[],
  ports: CallPorts,
  signal: AbortSignal,
): AsyncGenerator<LoopEvent, Parked | null> {
  const starts = batch.flatMap(({ what }) => ("tool" in what ? [what] : []));
  // The run of a keyed tool changes nothing, so what it uses up is written with its result.
  const intents = starts.filter(({ tool }) => tool.effect !== "reads" && tool.keyed !== true);
  if (intents.length > 0) {
    await ports.journal.checkpoint(intents.map(intentStep), {
      uses: intents.flatMap(({ uses }) => uses ?? []),
    });
  }
  for (const { call, tool } of starts)
    yield { type: "toolStart", callId: call.id, name: tool.name, effect: tool.effect };
  const answers = await Promise.all(batch.map(({ call, what }) => answerOf(call, what, ports, signal)));
  const [only] = starts;
  const waits = answers.at(-1)?.waitsFor;
  if (only?.tool.keyed === true && waits !== undefined && !(only.waited && (await ports.somebodyWrote()))) {
    // The waiting begins once; a resumed turn finds it begun.
    if (!only.waited)
      await ports.journal.checkpoint([intentStep(only)], {
        uses: only.uses === undefined ? [] : [only.uses],
        effects: answers.flatMap(({ effects }) => effects ?? []),
      });
    return { kind: "parked", tickets: [waits.ticket], untilMs: waits.untilMs };
  }
  // An unknown outcome is not logged: a resumed turn decides by the intent.
  const known = answers.filter((answer) => answer.known);
  if (known.length > 0) {
    const keyed = starts.filter(({ tool, waited }) => tool.keyed === true && !waited);
    await ports.journal.checkpoint(
      known.map(({ entry }) => ({ kind: "result", entry })),
      {
        uses: keyed.flatMap(({ uses }) => uses ?? []),
        effects: known.flatMap(({ effects }) => effects ?? []),
      },
    );
  }
  for (const { entry } of answers) {
    entries.push(entry);
    yield { type: "toolEnd", callId: entry.callId, name: entry.name, result: entry };
  }
  return null;
}

function intentStep({ call }: Ready): JournalStep {
  return { kind: "intent", callId: call.id, name: call.name };
}

interface Answer extends Pick<ToolResult, "effects" | "waitsFor"> {
  readonly entry: ToolResultEntry;
  /** False when the tool was abandoned, so that its outcome is unknown. */
  readonly known: boolean;
}

async function answerOf(
  call: ToolCall,
  what: Ready | { readonly answer: ToolResult },
  ports: CallPorts,
  signal: AbortSignal,
): Promise<Answer> {
  const answer = "tool" in what ? await run(what, ports, signal) : what.answer;
  if (answer === null) {
    // Nothing of an abandoned keyed call is written, so it did nothing.
    const text = "tool" in what && what.tool.keyed === true ? stoppedBefore : stoppedWhileRunning;
    return { entry: resultEntry(call, [{ type: "text", text }], true, ports.clock), known: false };
  }
  const content = await capped(
    fencedResult(withoutSecrets(answer, ports.secrets ?? []), ports.scope.turn),
    call.id,
    ports.spill,
    ports.resultBytes,
  );
  const note =
    "tool" in what && what.nth >= repeatLimits.warn
      ? [{ type: "text" as const, text: repeatNote(what.nth) }]
      : [];
  const isError = answer.isError === true;
  const { usage } = answer;
  const entry: ToolResultEntry = {
    ...resultEntry(call, [...content, ...note], isError, ports.clock),
    ...(usage === undefined ? {} : { usage }),
  };
  return {
    entry: answer.untrusted === undefined ? entry : { ...entry, untrusted: sourceOf(answer.untrusted) },
    known: true,
    ...(isError || answer.effects === undefined ? {} : { effects: answer.effects }),
    ...(answer.waitsFor === undefined ? {} : { waitsFor: answer.waitsFor }),
  };
}

/** Null when the tool was abandoned after an abort, so its outcome is unknown. */
async function run(
  { call, tool, args, untrusted }: Ready,
  ports: CallPorts,
  signal: AbortSignal,
): Promise<ToolResult | null> {
  const mark = untrusted === null ? {} : { untrusted };
  try {
    const waited = await orAbandon(
      tool.run(args, { ...ports.scope, ...mark, callId: call.id, signal }),
      signal,
      ports.clock,
    );
    return waited.done ? waited.value : null;
  } catch (error) {
    // A tool's Fault is its answer; only other errors are worth a stack in the log.
    if (!isFault(error)) ports.log.error({ err: error, tool: tool.name, callId: call.id }, "a tool threw");
    return {
      content: [{ type: "text", text: error instanceof Error ? error.message : String(error) }],
      isError: true,
    };
  }
}

function resultEntry(
  call: ToolCall,
  content: ToolResultEntry["content"],
  isError: boolean,
  clock: Clock,
): ToolResultEntry {
  return { type: "toolResult", callId: call.id, name: call.name, content, isError, atMs: clock.now() };
}
