// Tells what a turn did, call by call of models and tools, from the entries that it commits and from what
// this process saw of them.
import type { ModelEvent } from "@parley/models";
import type { AssistantEntry, Entry, Usage } from "@parley/protocol";
import type { Turn } from "@parley/store";
import type { Span } from "./span-exporter.ts";
import { spanId } from "./span-ids.ts";

export type Attributes = Span["attributes"];
/** Words of people and models, where spans may have them. */
export type Said = (key: string, text: string | undefined) => Attributes;

/** One call of a model, as this process saw it. */
export interface SeenCall {
  readonly model: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly firstMs: number | null;
  readonly end: Extract<ModelEvent, { type: "end" }> | null;
}

/** The turn's own span, and what of people's and models' words spans may have. */
interface Within {
  readonly turn: Turn;
  readonly traceId: string;
  readonly parentSpanId: string;
  readonly said: Said;
}

/** Calls of this process as it saw them, and before them those that the turn's record has from others. */
export function modelSpans(
  { turn, traceId, parentSpanId, said }: Within,
  entries: readonly Entry[],
  seen: readonly SeenCall[],
): readonly Span[] {
  const firstSeenMs = seen[0]?.startMs ?? Infinity;
  const before: SeenCall[] = [];
  let sinceMs = turn.openedAtMs;
  for (const entry of entries) {
    if (entry.type === "assistant" && entry.atMs < firstSeenMs && entry.model !== "")
      before.push({
        model: entry.model,
        startMs: Math.min(sinceMs, entry.atMs),
        endMs: entry.atMs,
        firstMs: null,
        end: { type: "end", stop: entry.stop, usage: entry.usage, content: entry.content },
      });
    sinceMs = Math.max(sinceMs, entry.atMs);
  }
  return [...before, ...seen].map(({ model, startMs, endMs, firstMs, end }, index) => {
    const slash = model.indexOf("/");
    const bare = model.slice(slash + 1);
    const failed = end === null ? "aborted" : end.error?.kind;
    return {
      traceId,
      spanId: spanId("model", `${turn.id}/${index}`),
      parentSpanId,
      name: `chat ${bare}`,
      kind: "client",
      startMs,
      endMs,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": slash < 0 ? undefined : model.slice(0, slash),
        "gen_ai.request.model": bare,
        "gen_ai.response.model": end?.model?.slice(end.model.indexOf("/") + 1) ?? bare,
        "gen_ai.conversation.id": turn.lane,
        "gen_ai.response.finish_reasons": end === null ? undefined : [end.stop],
        ...(firstMs === null ? {} : { "parley.time_to_first_token_ms": Math.round(firstMs - startMs) }),
        ...(end === null ? {} : usageAttributes(end.usage)),
        "error.type": failed,
        ...said("gen_ai.output.messages", end === null ? undefined : outputOf(end.content, end.stop)),
      },
      ...(failed === undefined ? {} : { error: failed }),
    };
  });
}

/** `begunMs`: when this process began a call; undefined for another process's. */
export function toolSpans(
  { turn, traceId, parentSpanId, said }: Within,
  entries: readonly Entry[],
  begunMs: (callId: string) => number | undefined,
): readonly Span[] {
  const spans: Span[] = [];
  const asked = new Map<string, { readonly atMs: number; readonly args: string }>();
  for (const [index, entry] of entries.entries()) {
    if (entry.type === "assistant")
      for (const part of entry.content)
        if (part.type === "toolCall")
          asked.set(part.id, { atMs: entry.atMs, args: JSON.stringify(part.args) });
    if (entry.type !== "toolResult") continue;
    const call = asked.get(entry.callId);
    const startMs = begunMs(entry.callId) ?? call?.atMs ?? entry.atMs;
    spans.push({
      traceId,
      // Some models count their calls anew, so the place in the turn tells them apart.
      spanId: spanId("tool", `${turn.id}/${index}/${entry.callId}`),
      parentSpanId,
      name: `execute_tool ${entry.name}`,
      kind: "internal",
      startMs: Math.min(startMs, entry.atMs),
      endMs: entry.atMs,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": entry.name,
        "gen_ai.tool.call.id": entry.callId,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": turn.lane,
        "error.type": entry.isError ? "tool_error" : undefined,
        ...said("gen_ai.tool.call.arguments", call?.args),
        ...said(
          "gen_ai.tool.call.result",
          entry.content.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n"),
        ),
      },
      ...(entry.isError ? { error: "the tool failed" } : {}),
    });
  }
  return spans;
}

/** In the conventions the input counts what was read from a cache, too. */
function usageAttributes(usage: Usage): Attributes {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = usage;
  return {
    "gen_ai.usage.input_tokens": inputTokens + cacheReadTokens + cacheWriteTokens,
    "gen_ai.usage.output_tokens": outputTokens,
    "gen_ai.usage.cache_read.input_tokens": cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": cacheWriteTokens,
    "parley.cost_usd": costUsd,
  };
}

/** As opentelemetry.io's GenAI conventions write messages: a JSON list with parts. */
function outputOf(content: AssistantEntry["content"], stop: string): string {
  const parts = content.flatMap((part): object[] => {
    if (part.type === "text") return [{ type: "text", content: part.text }];
    return part.type === "toolCall"
      ? [{ type: "tool_call", id: part.id, name: part.name, arguments: part.args }]
      : [];
  });
  return JSON.stringify([{ role: "assistant", parts, finish_reason: stop }]);
}
