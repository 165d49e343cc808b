// Corrects token counts that servers write as text, as negative numbers, not at all, or as impossible sums.
// Spend limits need plausible counts, so missing and impossible ones are estimated from the bytes on the
// wire.
import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Json, JsonObject, Usage } from "@parley/protocol";
import { isObject } from "./json.ts";

/**
 * Where the APIs put their counts: beside the answer, or in the message or response that an event carries.
 */
const usageFields = ["usage", "usageMetadata"] as const;
const carriers = ["message", "response"] as const;

/** The event with only non-negative numbers as counts; other counts are removed. */
export function withPlainCounts(event: JsonObject): JsonObject {
  const changed: { [field: string]: Json } = {};
  for (const field of usageFields) if (field in event) changed[field] = plainUsage(event[field]);
  for (const field of carriers) {
    const inner = event[field];
    if (isObject(inner) && usageFields.some((each) => each in inner)) changed[field] = withPlainCounts(inner);
  }
  return Object.keys(changed).length === 0 ? event : { ...event, ...changed };
}

function plainUsage(usage: Json | undefined): Json {
  return isObject(usage) ? plainFields(usage) : null;
}

function plainFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]): [string, Json][] => {
      if (isObject(value)) return [[name, plainFields(value)]];
      if (!isCount(name)) return [[name, value]];
      const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      return typeof count === "number" && Number.isFinite(count) && count >= 0
        ? [[name, Math.round(count)]]
        : [];
    }),
  );
}

function isCount(field: string): boolean {
  return /tokens?$|count$/i.test(field);
}

/** Bounds for the counts of one call. */
export interface Size {
  /** UTF-8 bytes of the request as sent, without pictures. */
  readonly requestBytes: number;
  /** UTF-8 bytes of the answer, thoughts included. */
  readonly answerBytes: number;
  readonly contextWindow: number;
}

const bytesPerToken = 4;
/**
 * Hidden thoughts, pictures and a vendor's own tools make counts larger than what is visible, but not by more
 * than this many context windows.
 */
const mostWindows = 8;

/** The counts where they are plausible, otherwise our estimate, marked `estimated`. */
export function soundUsage(usage: LanguageModelV4Usage, size: Size): Usage {
  const { total = 0, noCache, cacheRead = 0, cacheWrite = 0 } = usage.inputTokens;
  const input = {
    inputTokens:
      noCache !== undefined && noCache >= 0 ? noCache : Math.max(0, total - cacheRead - cacheWrite),
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  };
  const most = mostWindows * Math.max(size.contextWindow, size.requestBytes, size.answerBytes);
  const asked = input.inputTokens + input.cacheReadTokens + input.cacheWriteTokens;
  const answered = usage.outputTokens.total ?? 0;
  const isAskedTrue = asked > 0 && asked <= most && Object.values(input).every((count) => count >= 0);
  const isAnsweredTrue = answered >= 0 && answered <= most && (answered > 0 || size.answerBytes === 0);
  const guess = estimatedUsage(size);
  if (isAskedTrue && isAnsweredTrue) return { ...input, outputTokens: answered };
  return {
    ...(isAskedTrue
      ? input
      : { ...input, inputTokens: guess.inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0 }),
    outputTokens: isAnsweredTrue ? answered : guess.outputTokens,
    estimated: true,
  };
}

/** For a call whose counts never came; it was paid for nevertheless. */
export function estimatedUsage({ requestBytes, answerBytes }: Size): Usage {
  return {
    inputTokens: Math.ceil(requestBytes / bytesPerToken),
    outputTokens: Math.ceil(answerBytes / bytesPerToken),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    estimated: true,
  };
}
