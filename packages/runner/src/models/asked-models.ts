// The models of one turn, primary and fallbacks, each asked with what was made for it: its own prompt, the tools that its rules leave it, its level of
// thinking, as much of the conversation as its window holds. A fallback's is made in the moment in which it is asked.
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
  /** As the messages want it that the turn has by now. */
  readonly thinking: () => ThinkingLevel;
}

export interface AskedModels<Own extends OwnRequest> {
  /** All of them as one, with the primary's name and sizes. */
  readonly model: Model;
  /** What was made for the model that the turn asked last. */
  last(): Own;
}

/** Questions beside the turn's own, for a summary or for notes, have a system prompt of theirs and go to every model as they are. */
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
    let made: Promise<Own> | null = null;
    return asOwn(model, () => (made ??= make(model)));
  });
  return {
    model: withFallbacks([asOwn(primary.model, async () => primary), ...others], options),
    last: () => last,
  };
}

/** The part of a window that a request may take, and at most this much of it is kept for the answer. */
const fullShare = 0.95;
const answerShare = 0.25;

function requestFor(
  { model, system, tools, thinking }: OwnRequest,
  primary: OwnRequest,
  request: ModelRequest,
): ModelRequest {
  const schemas = request.tools.filter(({ name }) => tools.some((tool) => tool.name === name));
  const overhead = tokensOfText(system.stable + system.volatile + JSON.stringify(schemas));
  const answerTokens = Math.min(model.maxTokens, Math.floor(model.contextWindow * answerShare));
  const left = Math.floor(model.contextWindow * fullShare) - overhead - answerTokens;
  return {
    ...request,
    system,
    tools: schemas,
    thinking: thinking(),
    messages:
      model.contextWindow < primary.model.contextWindow ? narrowed(request.messages, left) : request.messages,
  };
}
