// Runs one tool call and makes its result: fenced where strangers wrote it, without secrets, and no longer
// than a result may be. A tool that does not end after an abort is abandoned, and its outcome is unknown.
import { type Clock, isFault, type Log, type ToolCall, type ToolResultEntry } from "@parley/protocol";
import type { Tool, ToolResult, ToolScope } from "@parley/tools";
import { orAbandon } from "./abandon.ts";
import { fencedResult, sourceOf } from "./fenced-result.ts";
import type { UsedRecord } from "./journal.ts";
import { repeatLimits, repeatNote } from "./repeats.ts";
import { capped, type Spill, withoutSecrets } from "./result-cap.ts";

export interface RunPorts {
  readonly scope: Omit<ToolScope, "callId" | "signal">;
  readonly spill: Spill;
  /** Most bytes of one result that are kept. Default: 8 KB. */
  readonly resultBytes?: number;
  /** Values that no result may carry into the transcript, to a model or into a spilled file. */
  readonly secrets?: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** The model is told this of calls that a stop met. */
export const stopped = {
  before: "Not run: stopped before it started.",
  waiting: "Stopped while it waited for its answer.",
  whileRunning: "Outcome unknown: stopped while this ran. Check what it did before repeating it.",
} as const;

/** A call that may start. */
export interface Ready {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly args: unknown;
  readonly nth: number;
  readonly uses: UsedRecord | undefined;
  /** An earlier holder of the turn began to wait for its answer. */
  readonly waited: boolean;
  readonly untrusted: string | null;
}

interface Answer extends Pick<ToolResult, "effects" | "waitsFor"> {
  readonly entry: ToolResultEntry;
  /** False when the tool was abandoned, so that its outcome is unknown. */
  readonly known: boolean;
}

export async function answerOf(
  call: ToolCall,
  what: Ready | { readonly answer: ToolResult },
  ports: RunPorts,
  signal: AbortSignal,
): Promise<Answer> {
  const answer = "tool" in what ? await run(what, ports, signal) : what.answer;
  if (answer === null) {
    // Nothing of an abandoned keyed call is written, so it did nothing.
    const text = "tool" in what && what.tool.keyed === true ? stopped.before : stopped.whileRunning;
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
  ports: RunPorts,
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

export function resultEntry(
  call: ToolCall,
  content: ToolResultEntry["content"],
  isError: boolean,
  clock: Clock,
): ToolResultEntry {
  return { type: "toolResult", callId: call.id, name: call.name, content, isError, atMs: clock.now() };
}
