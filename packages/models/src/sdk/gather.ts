// Collects one answer from the SDK's stream parts: texts and thoughts as they come, tool calls only when the answer is whole.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import { type AssistantContent, type JsonObject, type ToolCall, type Usage, noUsage } from "@parley/protocol";
import type { ModelError, ModelEvent } from "../model.ts";
import { type ModelPrice, priced } from "../price.ts";
import { closeSeal } from "./prompt.ts";

type Part<Type extends string> = Extract<LanguageModelV4StreamPart, { type: Type }>;

export interface Gathering {
  /** `started`: the model is at work on something that is not shown yet. Undefined: this part says nothing about progress. */
  add(part: LanguageModelV4StreamPart): Extract<ModelEvent, { type: "text" | "thinking" }> | { readonly type: "started" } | undefined;
  finished(part: Part<"finish">): readonly ModelEvent[];
  failed(error: ModelError): ModelEvent;
}

interface Thought {
  readonly type: "thought";
  text: string;
  meta: JsonObject;
}

type Item = { readonly type: "text"; text: string } | Thought | Part<"tool-call">;

export function gather(provider: string, price: ModelPrice | undefined): Gathering {
  const items: Item[] = [];
  const thoughts = new Map<string, Thought>();
  const metaOf = (metadata: SharedV4ProviderMetadata | undefined): JsonObject => (metadata?.[provider] ?? {}) as JsonObject;

  const thoughtOf = (id: string, metadata: SharedV4ProviderMetadata | undefined): Thought => {
    let thought = thoughts.get(id);
    if (thought === undefined) {
      thought = { type: "thought", text: "", meta: {} };
      thoughts.set(id, thought);
      items.push(thought);
    }
    thought.meta = { ...thought.meta, ...metaOf(metadata) };
    return thought;
  };

  const contentOf = (calls: readonly ToolCall[]): readonly AssistantContent[] =>
    items.flatMap((item): readonly AssistantContent[] => {
      if (item.type === "text") return item.text === "" ? [] : [item];
      if (item.type === "thought") {
        const signed = Object.keys(item.meta).length > 0 || item.text !== "";
        return signed
          ? [{ type: "thinking", text: item.text, signature: closeSeal({ by: provider, of: "thought", meta: item.meta }) }]
          : [];
      }
      const call = calls.find((each) => each.id === item.toolCallId);
      if (call === undefined) return [];
      const { thoughtSignature } = metaOf(item.providerMetadata);
      if (thoughtSignature === undefined) return [call];
      const seal = closeSeal({ by: provider, of: "call", meta: { thoughtSignature } });
      return [{ type: "thinking", text: "", signature: seal }, call];
    });

  return {
    add(part) {
      if (part.type === "text-delta") {
        const last = items.at(-1);
        if (last?.type === "text") last.text += part.delta;
        else items.push({ type: "text", text: part.delta });
        return part.delta === "" ? undefined : { type: "text", delta: part.delta };
      }
      if (part.type === "reasoning-start") thoughtOf(part.id, part.providerMetadata);
      if (part.type === "reasoning-end") {
        thoughtOf(part.id, part.providerMetadata);
        // Some SDKs count their blocks anew; the next thought is another one.
        thoughts.delete(part.id);
      }
      if (part.type === "reasoning-delta") {
        thoughtOf(part.id, part.providerMetadata).text += part.delta;
        return part.delta === "" ? { type: "started" } : { type: "thinking", delta: part.delta };
      }
      if (part.type === "tool-call" && part.providerExecuted !== true) items.push(part);
      return part.type === "tool-input-start" || part.type === "tool-input-delta" || part.type === "tool-call"
        ? { type: "started" }
        : undefined;
    },
    finished(part) {
      const usage = priced(usageOf(part.usage), price);
      const { unified } = part.finishReason;
      if (unified === "content-filter") {
        const error: ModelError = { kind: "refused", message: `the provider withheld the answer (${part.finishReason.raw ?? unified})` };
        return [{ type: "end", stop: "error", usage, content: contentOf([]), error }];
      }
      const events: ModelEvent[] = [];
      const calls: ToolCall[] = [];
      for (const item of items) {
        if (item.type !== "tool-call") continue;
        const read = argumentsOf(item.input, unified === "length");
        if ("reason" in read) {
          events.push({ type: "badToolCall", id: item.toolCallId, name: item.toolName, raw: item.input, reason: read.reason });
        } else {
          const call: ToolCall = { type: "toolCall", id: item.toolCallId, name: item.toolName, args: read.args };
          calls.push(call);
          events.push(call);
        }
      }
      // Some servers say "stop" beside their tool calls.
      const stop = unified === "length" ? "length" : events.length > 0 ? "toolUse" : "stop";
      return [...events, { type: "end", stop, usage, content: contentOf(calls) }];
    },
    failed(error) {
      return { type: "end", stop: error.kind === "aborted" ? "aborted" : "error", usage: noUsage, content: contentOf([]), error };
    },
  };
}

/** No tool needs as many. What validates, stores and redacts arguments walks them by recursion. */
const mostLevels = 100;

function nestsTooDeep(value: object): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth < mostLevels; depth += 1) {
    level = level.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : []));
    if (level.length === 0) return false;
  }
  return level.some((each) => typeof each === "object" && each !== null);
}

/** Strict JSON only: what a tolerant parser could close is a call that the model never finished. */
function argumentsOf(input: string, cut: boolean): { readonly args: JsonObject } | { readonly reason: string } {
  const truncated = "the answer was cut off by its length limit inside the arguments";
  // A call without arguments is written as nothing by some models; in a cut answer nothing may also be the rest of something.
  if (input.trim() === "") return cut ? { reason: truncated } : { args: {} };
  try {
    const value: unknown = JSON.parse(input);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return nestsTooDeep(value)
        ? { reason: `the arguments are nested more than ${mostLevels} levels deep` }
        : { args: value as JsonObject };
    }
    return { reason: "the arguments are not a JSON object" };
  } catch {
    // Told to the model as the call's result.
    return { reason: cut ? truncated : "the arguments are not valid JSON" };
  }
}

function usageOf(usage: LanguageModelV4Usage): Usage {
  const { total = 0, noCache, cacheRead = 0, cacheWrite = 0 } = usage.inputTokens;
  return {
    inputTokens: noCache ?? Math.max(0, total - cacheRead - cacheWrite),
    outputTokens: usage.outputTokens.total ?? 0,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  };
}
