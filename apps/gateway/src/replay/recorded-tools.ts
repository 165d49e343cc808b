// Answers tool calls from the record of a turn in the place of the tools: nothing runs, nothing is changed.
import { isDeepStrictEqual } from "node:util";
import type { Entry, JsonObject, ToolResultEntry } from "@parley/protocol";
import type { Tool, ToolResult } from "@parley/tools";

export interface RecordedCall {
  readonly name: string;
  readonly args: JsonObject;
}

/** `another`: the result of another call of the same tool. `none`: the record has nothing to answer with. */
export interface Unanswered extends RecordedCall {
  readonly given: "another" | "none";
}

export interface RecordedTools {
  readonly tools: readonly Tool[];
  /** Calls so far, in order. */
  readonly calls: readonly RecordedCall[];
  readonly unanswered: readonly Unanswered[];
}

export function callsIn(entries: readonly Entry[]): readonly RecordedCall[] {
  return entries.flatMap((entry) =>
    entry.type === "assistant"
      ? entry.content.flatMap((part) =>
          part.type === "toolCall" ? [{ name: part.name, args: part.args }] : [],
        )
      : [],
  );
}

export function recordedTools(tools: readonly Tool[], entries: readonly Entry[]): RecordedTools {
  const record = resultsIn(entries);
  const used = new Set<ToolResultEntry>();
  const calls: RecordedCall[] = [];
  const unanswered: Unanswered[] = [];

  function answer(name: string, args: JsonObject): ToolResult {
    calls.push({ name, args });
    const ofTool = record.filter((each) => each.call.name === name);
    const same = ofTool.filter((each) => isDeepStrictEqual(each.call.args, args));
    const fresh = same.find(({ result }) => !used.has(result)) ?? same.at(-1);
    const found = fresh ?? ofTool.find(({ result }) => !used.has(result));
    if (found === undefined) {
      unanswered.push({ name, args, given: "none" });
      const text = "This is a replay: its record has no result of this call. Go on without it.";
      return { content: [{ type: "text", text }], isError: true };
    }
    if (fresh === undefined) unanswered.push({ name, args, given: "another" });
    used.add(found.result);
    const { content, isError } = found.result;
    return { content, isError };
  }

  return {
    calls,
    unanswered,
    tools: tools.map((tool) => {
      const { name, summary, description, parameters, effect, deferred } = tool;
      return {
        name,
        summary,
        description,
        parameters,
        effect,
        ...(deferred === undefined ? {} : { deferred }),
        parse(args) {
          const parsed = tool.parse(args);
          return parsed.ok ? { ok: true, args } : parsed;
        },
        run: async (args) => answer(name, args as JsonObject),
      };
    }),
  };
}

function resultsIn(
  entries: readonly Entry[],
): readonly { readonly call: RecordedCall; readonly result: ToolResultEntry }[] {
  const calls = new Map<string, RecordedCall>();
  return entries.flatMap((entry) => {
    if (entry.type === "assistant")
      for (const part of entry.content)
        if (part.type === "toolCall") calls.set(part.id, { name: part.name, args: part.args });
    const call = entry.type === "toolResult" ? calls.get(entry.callId) : undefined;
    return entry.type === "toolResult" && call !== undefined ? [{ call, result: entry }] : [];
  });
}
