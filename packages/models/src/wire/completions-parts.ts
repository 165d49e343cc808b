// Reads the events of a chat completions stream as the SDKs' parts. The events are repaired already
// (providers/completions-events.ts); a field of another type than it should have says nothing.
import type { MetadataExtractor } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Json, JsonObject } from "@parley/protocol";
import { isObject } from "../sdk/json.ts";
import { toolCalls } from "./tool-calls.ts";
import type { EventParts } from "./wire-reader.ts";

type Hand = (part: LanguageModelV4StreamPart) => void;

const textId = "txt-0";
const thoughtId = "reasoning-0";

export function completionsParts(
  provider: string,
  makeId: () => string,
  extractor: ReturnType<MetadataExtractor["createStreamExtractor"]> | undefined,
): EventParts {
  const calls = toolCalls(makeId);
  let open: "text" | "reasoning" | null = null;
  let cause: string | undefined;
  let usage: JsonObject | undefined;
  let hasRefusal = false;

  const close = (hand: Hand): void => {
    if (open === "text") hand({ type: "text-end", id: textId });
    if (open === "reasoning") hand({ type: "reasoning-end", id: thoughtId });
    open = null;
  };
  const say = (delta: string, hand: Hand): void => {
    if (open !== "text") {
      close(hand);
      hand({ type: "text-start", id: textId });
      open = "text";
    }
    hand({ type: "text-delta", id: textId, delta });
  };
  const think = (delta: string, hand: Hand): void => {
    if (open !== "reasoning") {
      close(hand);
      hand({ type: "reasoning-start", id: thoughtId });
      open = "reasoning";
    }
    hand({ type: "reasoning-delta", id: thoughtId, delta });
  };

  function read(delta: JsonObject, hand: Hand): void {
    const thought = textIn(delta["reasoning_content"]) || textIn(delta["reasoning"]);
    if (thought !== "") think(thought, hand);
    const { content } = delta;
    if (typeof content === "string") {
      if (content !== "") say(content, hand);
    } else if (Array.isArray(content)) {
      for (const part of content.filter(isObject)) {
        if (part["type"] === "text" && textIn(part["text"]) !== "") say(textIn(part["text"]), hand);
        const words = part["type"] === "thinking" ? thoughtIn(part["thinking"]) : "";
        if (words !== "") think(words, hand);
      }
    }
    const refusal = textIn(delta["refusal"]);
    if (refusal !== "") {
      hasRefusal = true;
      say(refusal, hand);
    }
    const pieces = delta["tool_calls"];
    if (!Array.isArray(pieces) || pieces.length === 0) return;
    if (open === "reasoning") close(hand);
    for (const piece of pieces.filter(isObject)) {
      const called = isObject(piece["function"]) ? piece["function"] : {};
      calls.add(
        {
          index: typeof piece["index"] === "number" ? piece["index"] : undefined,
          id: textIn(piece["id"]).trim() === "" ? undefined : textIn(piece["id"]),
          name: typeof called["name"] === "string" ? called["name"] : undefined,
          args: typeof called["arguments"] === "string" ? called["arguments"] : undefined,
          metadata: signatureIn(piece),
        },
        hand,
      );
    }
  }

  function signatureIn(piece: JsonObject): { readonly [provider: string]: JsonObject } | undefined {
    const extra = isObject(piece["extra_content"]) ? piece["extra_content"]["google"] : undefined;
    const signature = isObject(extra) ? textIn(extra["thought_signature"]) : "";
    return signature === "" ? undefined : { [provider]: { thoughtSignature: signature } };
  }

  return {
    event(event, hand) {
      extractor?.processChunk(event);
      const { error } = event;
      if (error !== undefined && error !== null) {
        cause = undefined;
        return hand({ type: "error", error });
      }
      if (isObject(event["usage"])) usage = event["usage"];
      const choice = Array.isArray(event["choices"]) ? event["choices"][0] : undefined;
      if (!isObject(choice)) return;
      if (typeof choice["finish_reason"] === "string") cause = choice["finish_reason"];
      if (isObject(choice["delta"])) read(choice["delta"], hand);
    },
    end(hand) {
      close(hand);
      calls.end(hand);
      // Without one the stream broke off.
      if (cause === undefined) return;
      const metadata = extractor?.buildMetadata();
      hand({
        type: "finish",
        finishReason: { unified: unified(cause, hasRefusal), raw: cause },
        usage: usageOf(usage ?? {}),
        ...(metadata === undefined ? {} : { providerMetadata: metadata }),
      });
    },
  };
}

function unified(
  cause: string,
  hasRefusal: boolean,
): "stop" | "length" | "content-filter" | "tool-calls" | "other" {
  switch (cause) {
    case "stop":
      return hasRefusal ? "content-filter" : "stop";
    case "length":
      return "length";
    case "content_filter":
      return "content-filter";
    case "function_call":
    case "tool_calls":
      return "tool-calls";
    default:
      return "other";
  }
}

function usageOf(usage: JsonObject): LanguageModelV4Usage {
  const total = countIn(usage["prompt_tokens"]);
  const details = usage["prompt_tokens_details"];
  const cacheRead = isObject(details) ? countIn(details["cached_tokens"]) : 0;
  return {
    inputTokens: { total, noCache: total - cacheRead, cacheRead, cacheWrite: undefined },
    outputTokens: { total: countIn(usage["completion_tokens"]), text: undefined, reasoning: undefined },
  };
}

function countIn(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

function textIn(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Mistral's thoughts are lists of texts. */
function thoughtIn(value: Json | undefined): string {
  if (!Array.isArray(value)) return "";
  return value
    .map((part) => (isObject(part) && part["type"] === "text" ? textIn(part["text"]) : ""))
    .join("");
}
