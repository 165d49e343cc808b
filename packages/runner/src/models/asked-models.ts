// Prepares the models of one turn, primary and fallbacks, with a request for each: its own prompt, the tools
// that its rules allow, its thinking level, and as much of the conversation as its context window holds. A
// fallback's request is made only when it is called.
import { narrowed, tokensOfText } from "@parley/agent";
import {
  withFallbacks,
  type FallbackOptions,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from "@parley/models";
import { noUsage, type ThinkingLevel } from "@parley/protocol";

export interface OwnRequest {
  readonly model: Model;
  readonly system: ModelRequest["system"];
  readonly tools: readonly { readonly name: string }[];
  /** Follows the messages that have joined the turn so far. */
  readonly thinking: () => ThinkingLevel;
}

export interface AskedModels<Own extends OwnRequest> {
  /** One model that stands for all of them, with the primary's name and sizes. */
  readonly model: Model;
  /** The request data of the model that the turn called last. */
  last(): Own;
}

/** Side calls, for a summary or for notes, have their own system prompt and reach every model unchanged. */
export function askedModels<Own extends OwnRequest>(
  primary: Own,
  fallbacks: readonly Model[],
  make: (model: Model) => Promise<Own>,
  options: FallbackOptions,
): AskedModels<Own> {
  let last = primary;
  const asOwn = (model: Model, made: () => Promise<Own>): Model => ({
    ...model,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      if (request.system !== primary.system) return yield* model.stream(request, signal);
      let own: Own;
      try {
        own = await made();
      } catch (error) {
        options.log.error({ err: error, model: model.id }, "no prompt could be made for a fallback");
        const message = "no prompt could be made for it";
        return yield {
          type: "end",
          stop: "error",
          usage: noUsage,
          content: [],
          error: { kind: "unavailable", message },
        };
      }
      last = own;
      yield* model.stream(own === primary ? request : requestFor(own, primary, request), signal);
    },
  });
  const others = fallbacks.map((model) => {
    let made: Own | null = null;
    // One that could not be made is made anew when the model is tried again.
    return asOwn(model, async () => (made ??= await make(model)));
  });
  return {
    model: withFallbacks([asOwn(primary.model, async () => primary), ...others], options),
    last: () => last,
  };
}

/** A request may fill this share of a model's context window, and the answer share is reserved from it. */
const fullShare = 0.95;
const answerShare = 0.25;

function requestFor(
  { model, system, tools, thinking }: OwnRequest,
  primary: OwnRequest,
  request: ModelRequest,
): ModelRequest {
  const schemas = request.tools.filter(({ name }) => tools.some((tool) => tool.name === name));
  const own = { ...request, system, tools: schemas, thinking: thinking() };
  if (model.contextWindow >= primary.model.contextWindow) return own;
  const overhead = tokensOfText(system.stable + system.volatile + JSON.stringify(schemas));
  const answerTokens = Math.min(model.maxTokens, Math.floor(model.contextWindow * answerShare));
  const left = Math.floor(model.contextWindow * fullShare) - overhead - answerTokens;
  return { ...own, messages: narrowed(request.messages, left) };
}
