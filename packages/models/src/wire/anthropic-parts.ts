// Reads the events of Anthropic's Messages API as the SDK's parts: words, thoughts with their signatures, and
// calls. Blocks of Anthropic's own tools are never asked for and say nothing here.
import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { Json, JsonObject } from "@parley/protocol";
import { isObject } from "../sdk/json.ts";
import type { EventParts } from "./wire-reader.ts";

type Hand = (part: LanguageModelV4StreamPart) => void;
type Unified = Extract<LanguageModelV4StreamPart, { type: "finish" }>["finishReason"]["unified"];

type Block =
  | { readonly kind: "text" | "thinking" | "redacted_thinking" }
  | { readonly kind: "tool_use"; readonly id: string; readonly name: string; input: string };

/** Anthropic's kinds of errors inside a stream, as the status that they have outside of one. */
const statuses: { readonly [type: string]: number } = {
  api_error: 500,
  overloaded_error: 529,
  rate_limit_error: 429,
  request_too_large: 413,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  billing_error: 400,
  invalid_request_error: 400,
};

export function anthropicParts(): EventParts {
  const blocks = new Map<number, Block>();
  let usage: JsonObject = {};
  let cause: string | undefined;

  /** Later counts replace earlier ones; a count that is left out stays. */
  function count(given: Json | undefined): void {
    if (!isObject(given)) return;
    const known = Object.entries(given).filter(([, value]) => value !== null);
    usage = { ...usage, ...Object.fromEntries(known) };
  }

  function begin(at: number, block: JsonObject, hand: Hand): void {
    close(at, hand);
    const id = String(at);
    switch (block["type"]) {
      case "text":
      case "compaction":
        blocks.set(at, { kind: "text" });
        return hand({ type: "text-start", id });
      case "thinking":
        blocks.set(at, { kind: "thinking" });
        return hand({ type: "reasoning-start", id });
      case "redacted_thinking":
        blocks.set(at, { kind: "redacted_thinking" });
        return hand({
          type: "reasoning-start",
          id,
          providerMetadata: { anthropic: { redactedData: textIn(block["data"]) } },
        });
      case "tool_use": {
        const input =
          isObject(block["input"]) && Object.keys(block["input"]).length > 0 ? block["input"] : null;
        const call: Block = {
          kind: "tool_use",
          id: textIn(block["id"]),
          name: textIn(block["name"]),
          input: input === null ? "" : JSON.stringify(input),
        };
        blocks.set(at, call);
        return hand({ type: "tool-input-start", id: call.id, toolName: call.name });
      }
      default:
    }
  }

  function add(at: number, delta: JsonObject, hand: Hand): void {
    const id = String(at);
    const block = blocks.get(at);
    switch (delta["type"]) {
      case "text_delta":
        return hand({ type: "text-delta", id, delta: textIn(delta["text"]) });
      case "compaction_delta":
        if (typeof delta["content"] === "string") hand({ type: "text-delta", id, delta: delta["content"] });
        return;
      case "thinking_delta":
        return hand({ type: "reasoning-delta", id, delta: textIn(delta["thinking"]) });
      case "signature_delta":
        if (block?.kind === "thinking")
          hand({
            type: "reasoning-delta",
            id,
            delta: "",
            providerMetadata: { anthropic: { signature: textIn(delta["signature"]) } },
          });
        return;
      case "input_json_delta": {
        const piece = textIn(delta["partial_json"]);
        if (piece === "" || block?.kind !== "tool_use") return;
        block.input += piece;
        return hand({ type: "tool-input-delta", id: block.id, delta: piece });
      }
      default:
    }
  }

  function close(at: number, hand: Hand): void {
    const block = blocks.get(at);
    blocks.delete(at);
    if (block === undefined) return;
    if (block.kind === "text") hand({ type: "text-end", id: String(at) });
    else if (block.kind === "tool_use")
      hand({
        type: "tool-call",
        toolCallId: block.id,
        toolName: block.name,
        input: block.input === "" ? "{}" : block.input,
      });
    else hand({ type: "reasoning-end", id: String(at) });
  }

  return {
    event(event, hand) {
      const at = typeof event["index"] === "number" ? event["index"] : 0;
      switch (event["type"]) {
        case "message_start":
          if (!isObject(event["message"])) return;
          count(event["message"]["usage"]);
          cause = causeIn(event["message"]) ?? cause;
          return;
        case "content_block_start":
          if (isObject(event["content_block"])) begin(at, event["content_block"], hand);
          return;
        case "content_block_delta":
          if (isObject(event["delta"])) add(at, event["delta"], hand);
          return;
        case "content_block_stop":
          return close(at, hand);
        case "message_delta":
          count(event["usage"]);
          cause = isObject(event["delta"]) ? causeIn(event["delta"]) : undefined;
          return;
        case "message_stop":
          // Servers that imitate this API leave blocks open.
          for (const open of blocks.keys()) close(open, hand);
          return hand({
            type: "finish",
            finishReason: { unified: unified(cause), raw: cause },
            usage: usageOf(usage),
          });
        case "error":
          return hand({ type: "error", error: failureOf(event) });
        default:
      }
    },
    // Without its last event the stream broke off.
    end: () => {},
  };
}

function failureOf(event: JsonObject): object {
  const error = isObject(event["error"]) ? event["error"] : {};
  const type = textIn(error["type"]);
  const status = Object.hasOwn(statuses, type) ? statuses[type] : undefined;
  return {
    message: textIn(error["message"]),
    data: error,
    ...(status === undefined ? {} : { statusCode: status }),
  };
}

function causeIn(carrier: JsonObject): string | undefined {
  return typeof carrier["stop_reason"] === "string" ? carrier["stop_reason"] : undefined;
}

function unified(cause: string | undefined): Unified {
  switch (cause) {
    case "pause_turn":
    case "end_turn":
    case "stop_sequence":
      return "stop";
    case "refusal":
      return "content-filter";
    case "tool_use":
      return "tool-calls";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    default:
      return "other";
  }
}

function usageOf(usage: JsonObject): LanguageModelV4Usage {
  const cacheRead = countIn(usage["cache_read_input_tokens"]);
  const cacheWrite = countIn(usage["cache_creation_input_tokens"]);
  const { input, output } = spentIn(usage);
  return {
    inputTokens: { total: input + cacheRead + cacheWrite, noCache: input, cacheRead, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  };
}

/** Where the server compacted on the way, its rounds are counted one by one. */
function spentIn(usage: JsonObject): { readonly input: number; readonly output: number } {
  const whole = { input: countIn(usage["input_tokens"]), output: countIn(usage["output_tokens"]) };
  const rounds = Array.isArray(usage["iterations"]) ? usage["iterations"].filter(isObject) : [];
  if (rounds.some((round) => round["type"] === "fallback_message")) return whole;
  const own = rounds.filter((round) => round["type"] === "compaction" || round["type"] === "message");
  if (own.length === 0) return whole;
  const sum = (field: string): number => own.reduce((total, round) => total + countIn(round[field]), 0);
  return { input: sum("input_tokens"), output: sum("output_tokens") };
}

function countIn(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}

function textIn(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
