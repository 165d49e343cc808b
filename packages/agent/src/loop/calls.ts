// Settles the tool calls of one answer: each gets exactly one result, in the order of the calls (I11). Reads
// run together; writes and sends run one at a time and only after their intent is durable, so that they start
// at most once (I7).
import type { Entry, ToolCall } from "@parley/protocol";
import type { Tool, ToolResult } from "@parley/tools";
import type { LoopEvent } from "./event.ts";
import type { BadCall, Journal, JournalStep, UsedRecord } from "./journal.ts";
import { blockedText, repeatLimits, repeatsBefore } from "./repeats.ts";
import { heardBefore, type HeardBefore } from "./heard.ts";
import { answerOf, resultEntry, stopped, type Ready, type RunPorts } from "./run-call.ts";

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

export interface CallPorts extends RunPorts {
  readonly tools: readonly Tool[];
  readonly journal: Journal;
  readonly gate?: Gate;
  /** True when messages that the turn has not read yet wait in its session. */
  readonly somebodyWrote: () => Promise<boolean>;
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
const closingText = "Not run: no more tools in this turn. Answer with what you know.";

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
  if (!begun || tool?.effect === "reads") return stopped.before;
  return tool?.keyed === true ? stopped.waiting : stopped.whileRunning;
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
