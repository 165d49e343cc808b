// Repairs events of servers that imitate chat completions before the SDK reads them, and gathers OpenRouter's
// `reasoning_details` from a stream so that they can be returned unchanged.
import type { MetadataExtractor } from "@ai-sdk/openai-compatible";
import type { Json, JsonObject } from "@parley/protocol";
import type { MendEvents } from "../sdk/events.ts";
import { isObject } from "../sdk/json.ts";

/** Servers' own words for the reason of an end. Others are passed on. */
const finishWords: { readonly [reason: string]: string | null } = {
  "": null,
  eos: "stop",
  end_turn: "stop",
  stop_sequence: "stop",
  complete: "stop",
  tool_call: "tool_calls",
  tool_use: "tool_calls",
  max_tokens: "length",
  model_length: "length",
  sensitive: "content_filter",
  refusal: "content_filter",
};
/** Words for an answer that the server broke off: DeepSeek, GLM, OpenRouter and Mistral in this order. */
const brokenOff: readonly string[] = ["insufficient_system_resource", "network_error", "error"];

export const mendCompletions: MendEvents = () => {
  let isFinished = false;
  return {
    event(event) {
      if ("error" in event && event["error"] !== null) return event;
      const choices = Array.isArray(event["choices"])
        ? event["choices"].filter(isObject).map(mendChoice)
        : [];
      const first = choices[0];
      if (typeof first?.["finish_reason"] === "string") isFinished = true;
      const cause = first?.["finish_reason"];
      if (typeof cause === "string" && brokenOff.includes(cause)) {
        return { error: { message: `the server ended its answer early (${cause})`, type: cause } };
      }
      // Some servers put the counts beside the choice.
      const usage = event["usage"] ?? first?.["usage"];
      return { ...event, choices, ...(usage === undefined ? {} : { usage }) };
    },
    // The end mark ends the answer, even where the server gave no reason.
    end: () => (isFinished ? [] : [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }]),
  };
};

function mendChoice(choice: JsonObject): JsonObject {
  const message = isObject(choice["message"]) ? mendDelta(choice["message"]) : null;
  const reason = choice["finish_reason"];
  const word = typeof reason === "string" ? reason.toLowerCase() : "";
  return {
    ...choice,
    ...(message === null ? {} : { message }),
    delta: isObject(choice["delta"]) ? mendDelta(choice["delta"]) : (message ?? {}),
    finish_reason: Object.hasOwn(finishWords, word) ? (finishWords[word] ?? null) : word,
  };
}

function mendDelta(delta: JsonObject): JsonObject {
  const calls = delta["tool_calls"];
  // An unusual role name is no reason to refuse the text.
  const { role: _, ...said } = delta;
  return { ...said, tool_calls: Array.isArray(calls) ? calls.filter(isObject).map(mendCall) : null };
}

function mendCall(call: JsonObject): JsonObject {
  const called = isObject(call["function"]) ? call["function"] : {};
  const args = called["arguments"];
  const index = Number(call["index"] ?? Number.NaN);
  return {
    ...call,
    id: typeof call["id"] === "number" ? String(call["id"]) : (call["id"] ?? null),
    ...(Number.isInteger(index) ? { index } : { index: null }),
    function: {
      ...called,
      arguments: typeof args === "string" || args === undefined ? (args ?? null) : written(args),
    },
  };
}

function written(args: Json): string | null {
  return args === null ? null : JSON.stringify(args);
}

/** Joins the pieces of one block: texts are concatenated, and of the rest the last value wins. */
export function reasoningDetails(provider: string): MetadataExtractor {
  const gathered = (): {
    add(body: unknown): void;
    found(): { [provider: string]: JsonObject } | undefined;
  } => {
    const details: JsonObject[] = [];
    return {
      add(body) {
        const choices = isObject(body) ? body["choices"] : undefined;
        const choice = Array.isArray(choices) ? choices[0] : undefined;
        if (!isObject(choice)) return;
        const said = isObject(choice["delta"]) ? choice["delta"] : choice["message"];
        const pieces = isObject(said) ? said["reasoning_details"] : undefined;
        for (const piece of Array.isArray(pieces) ? pieces.filter(isObject) : []) addPiece(details, piece);
      },
      found: () => (details.length === 0 ? undefined : { [provider]: { reasoningDetails: details } }),
    };
  };
  return {
    async extractMetadata({ parsedBody }) {
      const all = gathered();
      all.add(parsedBody);
      return all.found();
    },
    createStreamExtractor() {
      const all = gathered();
      return { processChunk: all.add, buildMetadata: all.found };
    },
  };
}

const growing = ["text", "summary", "data"] as const;

function addPiece(details: JsonObject[], piece: JsonObject): void {
  const last = details.at(-1);
  const isMore =
    last !== undefined &&
    last["type"] === piece["type"] &&
    last["index"] === piece["index"] &&
    piece["type"] !== "reasoning.encrypted";
  if (!isMore) {
    details.push(piece);
    return;
  }
  const known = Object.fromEntries(Object.entries(piece).filter(([, value]) => value !== null));
  const grown = growing.flatMap((field): [string, string][] => {
    const [before, more] = [last[field], piece[field]];
    return typeof before === "string" && typeof more === "string" ? [[field, before + more]] : [];
  });
  details[details.length - 1] = { ...last, ...known, ...Object.fromEntries(grown) };
}
