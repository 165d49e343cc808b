// What the tests of this package have in common: a request, a way to read a stream to its end, and the three
// wires of our own fake.
import { silentLog, type Clock, systemClock } from "@parley/protocol";
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "../src/index.ts";
import {
  anthropicMessages,
  openAiCompletions,
  openAiResponses,
  type ModelTimers,
  type ProviderOptions,
} from "../src/index.ts";

export const weatherTool = {
  name: "weather",
  description: "Tells the weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

export function asking(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  const messages: readonly ModelMessage[] = [{ role: "user", content: [{ type: "text", text }] }];
  return {
    system: { stable: "You are Parley.", volatile: "Channel: test." },
    messages,
    tools: [],
    thinking: "off",
    cacheKey: "agent:main:test:dm:1",
    ...more,
  };
}

export interface Collected {
  readonly events: readonly ModelEvent[];
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly Extract<ModelEvent, { type: "toolCall" }>[];
  readonly end: Extract<ModelEvent, { type: "end" }>;
}

export async function collect(stream: AsyncIterable<ModelEvent>): Promise<Collected> {
  const events: ModelEvent[] = [];
  for await (const event of stream) events.push(event);
  const ends = events.filter((event) => event.type === "end");
  const end = events.at(-1);
  if (end?.type !== "end" || ends.length !== 1)
    throw new Error(`not exactly one end, or not last: ${JSON.stringify(events)}`);
  return {
    events,
    text: events.map((event) => (event.type === "text" ? event.delta : "")).join(""),
    thinking: events.map((event) => (event.type === "thinking" ? event.delta : "")).join(""),
    calls: events.filter((event) => event.type === "toolCall"),
    end,
  };
}

export function ask(
  model: Model,
  request: ModelRequest = asking("hello"),
  signal = new AbortController().signal,
): Promise<Collected> {
  return collect(model.stream(request, signal));
}

export interface WireOptions {
  readonly clock?: Clock;
  readonly timers?: Partial<ModelTimers>;
  readonly modelId?: string;
  readonly more?: Partial<ProviderOptions>;
}

function options(
  provider: string,
  url: string,
  { clock = systemClock(), timers = {}, modelId = "fake", more = {} }: WireOptions,
): ProviderOptions {
  return {
    id: `${provider}/${modelId}`,
    modelId,
    baseUrl: `${url}/v1`,
    apiKey: "key-of-the-test",
    facts: {
      contextWindow: 100_000,
      maxTokens: 8000,
      input: ["text", "image"],
      reasoning: false,
      cost: { input: 1, output: 2 },
    },
    clock,
    log: silentLog,
    timers,
    ...more,
  };
}

export const wires = [
  {
    name: "OpenAI chat completions",
    wire: "chat",
    model: (url: string, how: WireOptions = {}): Model => openAiCompletions(options("local", url, how)),
  },
  {
    name: "OpenAI Responses",
    wire: "responses",
    model: (url: string, how: WireOptions = {}): Model => openAiResponses(options("openai", url, how)),
  },
  {
    name: "Anthropic Messages",
    wire: "anthropic",
    model: (url: string, how: WireOptions = {}): Model => anthropicMessages(options("anthropic", url, how)),
  },
] as const;
