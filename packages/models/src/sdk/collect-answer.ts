// Collects one answer from the SDK's stream parts: texts and thoughts as they arrive, tool calls only when
// the answer is whole.
import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import {
  type AssistantContent,
  type JsonObject,
  type StopReason,
  type ToolCall,
  type Usage,
  addUsage,
  noUsage,
} from "@parley/protocol";
import type { ModelError, ModelEvent } from "../model.ts";
import { type ModelPrice, priced } from "../price.ts";
import { estimatedUsage, soundUsage, type Size } from "./counts.ts";
import { isObject, jsonIn, mostLevels, nestsTooDeep } from "./json.ts";
import { closeSeal } from "./prompt.ts";

type Part<Type extends string> = Extract<LanguageModelV4StreamPart, { type: Type }>;

export interface Gathering {
  /**
   * `started`: the model is working on something that is not shown yet. Undefined: this part shows no
   * progress.
   */
  add(
    part: LanguageModelV4StreamPart,
  ): Extract<ModelEvent, { type: "text" | "thinking" }> | { readonly type: "started" } | undefined;
  finished(part: Part<"finish">): readonly ModelEvent[];
  failed(error: ModelError): ModelEvent;
  /**
   * The provider paused and wants to be asked to go on from its words so far; later parts are added to them.
   */
  paused(part: Part<"finish">): readonly AssistantContent[];
}

export interface CollectAnswerOptions {
  /** The name under which the SDK keeps this provider's options and metadata. */
  readonly provider: string;
  /** The provider that may get back what it signed. */
  readonly signer: string;
  readonly price: ModelPrice | undefined;
  readonly contextWindow: number;
  readonly requestBytes: () => number;
  /** True when the provider ended an answer for a reason of its own that is neither its end nor a limit. */
  readonly wasCut?: ((raw: string) => boolean) | undefined;
}

interface Thought {
  readonly type: "thought";
  text: string;
  meta: JsonObject;
}

type Item = { readonly type: "text"; text: string } | Thought | Part<"tool-call">;

export function collectAnswer({
  provider,
  signer,
  price,
  contextWindow,
  requestBytes,
  wasCut,
}: CollectAnswerOptions): Gathering {
  let spent = noUsage;
  const items: Item[] = [];
  const thoughts = new Map<string, Thought>();
  const metaOf = (metadata: SharedV4ProviderMetadata | undefined): JsonObject =>
    (metadata?.[provider] ?? {}) as JsonObject;

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

  /** Keyed by the part itself, because some servers give two calls one id. */
  const contentOf = (calls: ReadonlyMap<Item, ToolCall>): readonly AssistantContent[] =>
    items.flatMap((item): readonly AssistantContent[] => {
      // A copy: after a pause the item grows.
      if (item.type === "text") return item.text === "" ? [] : [{ ...item }];
      if (item.type === "thought") {
        const signed = Object.keys(item.meta).length > 0 || item.text !== "";
        return signed
          ? [
              {
                type: "thinking",
                text: item.text,
                signature: closeSeal({ by: signer, of: "thought", meta: item.meta }),
              },
            ]
          : [];
      }
      const call = calls.get(item);
      if (call === undefined) return [];
      const { thoughtSignature } = metaOf(item.providerMetadata);
      if (thoughtSignature === undefined) return [call];
      const seal = closeSeal({ by: signer, of: "call", meta: { thoughtSignature } });
      return [{ type: "thinking", text: "", signature: seal }, call];
    });

  /** Metadata that a provider wants back with the whole answer and not with one part of it. */
  const keep = (metadata: SharedV4ProviderMetadata | undefined): void => {
    const { reasoningDetails } = metaOf(metadata);
    if (reasoningDetails === undefined) return;
    const held = items.find((item) => item.type === "thought");
    if (held === undefined) items.unshift({ type: "thought", text: "", meta: { reasoningDetails } });
    else held.meta = { ...held.meta, reasoningDetails };
  };

  const size = (): Size => {
    const texts = items.map((item) => (item.type === "tool-call" ? item.toolName + item.input : item.text));
    return { requestBytes: requestBytes(), answerBytes: Buffer.byteLength(texts.join("")), contextWindow };
  };
  const total = (usage: Usage): Usage => addUsage(spent, priced(usage, price));
  const usedBy = (part: Part<"finish">): Usage => total(soundUsage(part.usage, size()));

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
        // Some SDKs number their blocks anew, so the next thought is another one.
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
      const usage = usedBy(part);
      const { unified, raw } = part.finishReason;
      if (unified === "content-filter") {
        const error: ModelError = {
          kind: "refused",
          message: `the provider withheld the answer (${raw ?? unified})`,
        };
        return [{ type: "end", stop: "error", usage, content: contentOf(new Map()), error }];
      }
      const events: ModelEvent[] = [];
      const calls = new Map<Item, ToolCall>();
      for (const item of items) {
        if (item.type !== "tool-call") continue;
        const read = unified === "length" ? { reason: cutOff } : argumentsOf(item.input);
        if ("reason" in read) {
          events.push({
            type: "badToolCall",
            id: item.toolCallId,
            name: item.toolName,
            raw: item.input,
            reason: read.reason,
          });
        } else {
          const call: ToolCall = {
            type: "toolCall",
            id: item.toolCallId,
            name: item.toolName,
            args: read.args,
          };
          calls.set(item, call);
          events.push(call);
        }
      }
      keep(part.providerMetadata);
      const isCut = unified === "other" && raw !== undefined && wasCut?.(raw) === true;
      // Some servers say "stop" beside their tool calls.
      const stop: StopReason =
        unified === "length" ? "length" : events.length > 0 ? "toolUse" : isCut ? "cut" : "stop";
      return [...events, { type: "end", stop, usage, content: contentOf(calls) }];
    },
    failed(error) {
      // The text written before the break was paid for.
      const usage = items.length === 0 ? spent : total(estimatedUsage(size()));
      return {
        type: "end",
        stop: error.kind === "aborted" ? "aborted" : "error",
        usage,
        content: contentOf(new Map()),
        error,
      };
    },
    paused(part) {
      spent = usedBy(part);
      return contentOf(new Map());
    },
  };
}

const cutOff =
  "the answer was cut off by its length limit, so no call in it can be trusted. Make the call again with shorter arguments, or in smaller steps";
const noObject = "Send the arguments as one JSON object";

/** Strict JSON only: a call that only a tolerant parser can close was never finished by the model. */
function argumentsOf(input: string): { readonly args: JsonObject } | { readonly reason: string } {
  // Some models write nothing for a call without arguments.
  if (input.trim() === "") return { args: {} };
  const value = jsonIn(input);
  if (value === undefined) return { reason: `the arguments are not valid JSON. ${noObject}` };
  if (!isObject(value)) return { reason: `the arguments are not a JSON object. ${noObject}` };
  return nestsTooDeep(value)
    ? { reason: `the arguments are nested more than ${mostLevels} levels deep` }
    : { args: value };
}
