// A stage for the loop's tests: a model that plays given answers, tools that count their starts, a journal
// that can die at any step. The model is a function of what it reads (which answer it owes follows from the
// answers it sees), as a real one is after a restart.
import type { Model, ModelEvent, ModelRequest } from "@parley/models";
import {
  type AssistantContent,
  type Clock,
  type ConversationKey,
  type JsonObject,
  noUsage,
  formatSessionKey,
  silentLog,
  type UserEntry,
} from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import type { CallEffects, Tool, ToolEffect, ToolResult } from "@parley/tools";
import {
  type Journal,
  type JournalStep,
  type LoopDeps,
  type LoopEnd,
  type LoopEvent,
  type LoopInput,
  runLoop,
} from "../../src/index.ts";

export interface Line {
  /** `asked`: how many requests there were, this one with them; so no two answers need be alike. */
  readonly text?: string | ((asked: number) => string);
  readonly calls?: readonly { readonly name: string; readonly args?: JsonObject; readonly id?: string }[];
  readonly bad?: readonly { readonly name: string; readonly raw: string }[];
  readonly end?: Partial<Extract<ModelEvent, { type: "end" }>>;
}

export interface ScriptedModel extends Model {
  readonly requests: ModelRequest[];
}

/** Each answer is chosen by how many answers stand in the request; after the last line it says "done". */
export function scripted(lines: readonly Line[]): ScriptedModel {
  const requests: ModelRequest[] = [];
  return {
    id: "test/scripted",
    contextWindow: 100_000,
    maxTokens: 1000,
    vision: false,
    reasoning: false,
    requests,
    async *stream(request) {
      requests.push(request);
      const nth = request.messages.filter((message) => message.role === "assistant").length;
      const line = lines[nth] ?? { text: "done" };
      const text = typeof line.text === "function" ? line.text(requests.length) : line.text;
      const calls = (line.calls ?? []).map(({ name, args = {}, id }, at) => ({
        type: "toolCall" as const,
        id: id ?? `c${nth}_${at}`,
        name,
        args,
      }));
      if (text !== undefined) yield { type: "text", delta: text };
      for (const call of calls) yield call;
      for (const [at, bad] of (line.bad ?? []).entries())
        yield {
          type: "badToolCall",
          id: `b${nth}_${at}`,
          reason: "the arguments are not valid JSON",
          ...bad,
        };
      const content: AssistantContent[] = [
        ...(text === undefined ? [] : [{ type: "text" as const, text }]),
        ...calls,
      ];
      const busy = calls.length > 0 || line.bad !== undefined;
      yield {
        type: "end",
        stop: busy ? "toolUse" : "stop",
        usage: { ...noUsage, inputTokens: 1 },
        content,
        ...line.end,
      };
    },
  };
}

export interface CountedTool extends Tool {
  readonly starts: string[];
}

export function tool(
  name: string,
  effect: ToolEffect,
  run: (args: JsonObject, callId: string) => Promise<ToolResult> | ToolResult = () => said(`${name} ok`),
): CountedTool {
  const starts: string[] = [];
  return {
    name,
    summary: name,
    description: name,
    parameters: { type: "object" },
    effect,
    starts,
    parse: (args) =>
      args["wrong"] === undefined ? { ok: true, args } : { ok: false, reason: '"wrong" is not allowed' },
    async run(args, scope) {
      starts.push(scope.callId);
      return run(args as JsonObject, scope.callId);
    },
  };
}

/** A tool whose run changes nothing: what it does is what its answer says. */
export function keyed(name: string, run: (callId: string) => ToolResult): CountedTool {
  return { ...tool(name, "sends", (_args, callId) => run(callId)), keyed: true };
}

/** The effect of a keyed call: one cell that must not stand yet. */
export function cell(callId: string): CallEffects {
  return { cells: [{ key: `did:${callId}`, value: "", expect: 0 }] };
}

export function said(text: string, isError = false): ToolResult {
  return { content: [{ type: "text", text }], isError };
}

/** The process died: what no part of the loop may survive. */
export class Crash extends Error {}

export interface CrashPoint {
  /** Which journal write dies, from 0. */
  readonly write: number;
  /** Whether it was durable before the process died. */
  readonly durable: boolean;
}

/**
 * A journal in memory: its steps and the effects of keyed calls (`done`) outlive the crash, as the store's
 * do. `arrivals[n]` comes while the nth answer is awaited.
 */
export function journal(
  steps: JournalStep[],
  crash?: CrashPoint,
  arrivals: UserEntry[][] = [],
  done: CallEffects[] = [],
): Journal {
  let writes = 0;
  return {
    steps: [...steps],
    async checkpoint(more, { effects = [] } = {}) {
      const dies = crash?.write === writes;
      writes += 1;
      if (dies && !crash.durable) throw new Crash();
      steps.push(...more);
      done.push(...effects);
      if (dies) throw new Crash();
    },
    async absorb() {
      const answers = steps.filter((step) => step.kind === "model").length;
      const entries = arrivals[answers]?.splice(0) ?? [];
      if (entries.length > 0) steps.push({ kind: "absorbed", entries });
      return entries;
    },
  };
}

export function user(text: string, row = text): UserEntry {
  return { type: "user", content: [{ type: "text", text }], rows: [row], atMs: 0 };
}

const scope: LoopDeps["scope"] = {
  session: formatSessionKey({ agent: "main", kind: "main" }),
  agent: "main",
  turn: "t1",
  conversation: "telegram:default:dm:42" as ConversationKey,
  by: { owner: true, senders: ["telegram:42"] },
  authority: "owner",
  workspace: "workspace",
  env: {},
};

export interface Ran {
  readonly events: readonly LoopEvent[];
  readonly end: LoopEnd;
}

type More = Partial<LoopDeps> & { readonly input?: Partial<LoopInput>; readonly clock?: Clock };

/** What the loop is called with. */
export function given(model: Model, more: More = {}): { readonly input: LoopInput; readonly deps: LoopDeps } {
  const { input: own, ...others } = more;
  const input: LoopInput = {
    system: { stable: "s", volatile: "v" },
    history: [],
    incoming: [user("go")],
    thinking: "off",
    cacheKey: "k",
    ...own,
  };
  const deps: LoopDeps = {
    model,
    tools: [],
    scope,
    journal: journal([]),
    somebodyWrote: async () => false,
    spill: async (callId) => `.parley/results/${callId}.txt`,
    clock: virtualClock(),
    log: silentLog,
    signal: new AbortController().signal,
    ...others,
  };
  return { input, deps };
}

export async function run(model: Model, more: More = {}): Promise<Ran> {
  const events: LoopEvent[] = [];
  const { input, deps } = given(model, more);
  for await (const event of runLoop(input, deps)) events.push(event);
  const end = events.at(-1);
  if (end?.type !== "end") throw new Error("the loop ended without an end event");
  return { events, end };
}
