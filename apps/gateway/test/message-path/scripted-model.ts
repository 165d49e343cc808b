// A model whose answers a test writes as a function of what it was asked. It keeps what it read, word for
// word.
import type { Model, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest, Models } from "@parley/models";
import { noUsage, sleep, type AssistantContent, type Clock, type JsonObject } from "@parley/protocol";

export interface Asked {
  /** Text of the last user message, as the model read it. */
  readonly text: string;
  /** Texts of all user messages. */
  readonly users: readonly string[];
  readonly messages: readonly ModelMessage[];
  readonly request: ModelRequest;
  /** 1 for the first call of all. */
  readonly nth: number;
}

export type Answer =
  | string
  | {
      /** Silence before the first word, virtual milliseconds. */
      readonly afterMs?: number;
      /** Words, and a pause after all but the last. */
      readonly says?: readonly string[];
      readonly pauseMs?: number;
      readonly calls?: { readonly name: string; readonly args: JsonObject };
      /** What the provider says that the prompt took; default 1. */
      readonly promptTokens?: number;
      readonly fails?: ModelErrorKind;
      /** Goes on although it was told to stop. */
      readonly deaf?: boolean;
    };

export interface ScriptedModel {
  answers(script: (asked: Asked) => Answer): void;
  readonly asked: readonly Asked[];
  /** Of these calls the ones that nobody has ended. */
  open(): number;
  /** The model as one process has it. */
  models(clock: Clock): Models;
}

export function scriptedModel(contextWindow = 200_000): ScriptedModel {
  /** How often each text was answered whole: a second answer to the same words is another one. */
  const times = new Map<string, number>();
  let script: (asked: Asked) => Answer = ({ text }) => {
    const before = times.get(text) ?? 0;
    return before === 0 ? `re: ${text}` : `re: ${text} (${before + 1})`;
  };
  const asked: Asked[] = [];
  let open = 0;

  async function* stream(
    clock: Clock,
    request: ModelRequest,
    signal: AbortSignal,
  ): AsyncGenerator<ModelEvent> {
    const users = request.messages.flatMap((message) =>
      message.role === "user" ? [textIn(message.content)] : [],
    );
    const one: Asked = {
      text: users.at(-1) ?? "",
      users,
      messages: request.messages,
      request,
      nth: asked.length + 1,
    };
    asked.push(one);
    open += 1;
    try {
      yield* play(script(one), clock, signal, one.nth);
      if (!signal.aborted) times.set(one.text, (times.get(one.text) ?? 0) + 1);
    } finally {
      open -= 1;
    }
  }

  return {
    answers(next) {
      script = next;
    },
    asked,
    open: () => open,
    models: (clock) => {
      const model: Model = {
        id: "scripted/one",
        contextWindow,
        maxTokens: 8_000,
        vision: false,
        reasoning: false,
        stream: (request, signal) => stream(clock, request, signal),
      };
      return { get: async () => model, list: () => [] };
    },
  };
}

async function* play(
  answer: Answer,
  clock: Clock,
  signal: AbortSignal,
  nth: number,
): AsyncGenerator<ModelEvent> {
  const {
    afterMs = 0,
    says = [],
    pauseMs = 0,
    calls,
    promptTokens = 1,
    fails,
    deaf = false,
  } = typeof answer === "string" ? { says: [answer] } : answer;
  const heeds = deaf ? undefined : signal;
  const aborted: ModelEvent = {
    type: "end",
    stop: "aborted",
    usage: noUsage,
    content: [],
    error: { kind: "aborted", message: "told to stop" },
  };
  if (afterMs > 0) await sleep(clock, afterMs, heeds);
  if (isOver(heeds)) return yield aborted;
  if (fails !== undefined) {
    return yield {
      type: "end",
      stop: "error",
      usage: noUsage,
      content: [],
      error: { kind: fails, message: `scripted: ${fails}` },
    };
  }
  for (const [index, delta] of says.entries()) {
    if (index > 0) await sleep(clock, pauseMs, heeds);
    if (isOver(heeds)) return yield aborted;
    yield { type: "text", delta };
  }
  const content: AssistantContent[] = says.length > 0 ? [{ type: "text", text: says.join("") }] : [];
  if (calls !== undefined) content.push({ type: "toolCall", id: `call-${nth}`, ...calls });
  yield {
    type: "end",
    stop: calls === undefined ? "stop" : "toolUse",
    usage: { ...noUsage, inputTokens: promptTokens, outputTokens: 1 },
    content,
  };
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal !== undefined && signal.aborted;
}

function textIn(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.flatMap((part) => (part.text === undefined ? [] : [part.text])).join("\n");
}
