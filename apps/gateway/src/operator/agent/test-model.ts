// Tests whether a model works as configured: it thinks at its level, calls a tool, and continues with the
// result. The operator makes these calls, so no spending limit stops them and no usage counts them.
import type { AgentConfig, Config } from "@parley/config";
import { type Model, type ModelEvent, type ModelMessage, type ModelRequest } from "@parley/models";
import {
  addUsage,
  noUsage,
  type Clock,
  type MethodResult,
  type ThinkingLevel,
  type ToolCall,
  deadline,
} from "@parley/protocol";
import { applyPolicy, catalogue, policySteps } from "@parley/tools";
import { thinkingOf } from "@parley/runner";

type Tested = MethodResult<"models.test">;
type End = Extract<ModelEvent, { type: "end" }>;

const testTimeoutMs = 120_000;
const shownChars = 200;
const toolName = "answer";
const word = "parley";
const secondWord = "harbour";
const answerTokens = 512;
/** Thinking uses part of the answer's tokens. */
const thinkingTokens = 4_096;

export async function testModel(model: Model, config: Config, clock: Clock): Promise<Tested> {
  const agent = agentOf(model, config);
  const level = agent === undefined ? "off" : thinkingOf({ config, agent, session: { fields: {} }, model });
  const startMs = clock.mono();
  const since = (): number => Math.round(clock.mono() - startMs);
  const timeout = deadline(clock, testTimeoutMs, "the test");
  try {
    const ask = (request: ModelRequest): Promise<Answer> => answerOf(model, request, timeout.signal, since);
    let first = await ask(question(model, level));
    // A model that fails with thinking and works without it has a wrong thinking level.
    const refused = level !== "off" && first.end.error?.kind === "invalid" ? first : null;
    if (refused !== null) first = await ask(question(model, "off"));
    const { call, end } = first;
    const second =
      call === undefined ? null : await ask(goingOn(model, refused === null ? level : "off", end, call));
    const failed = first.end.error ?? second?.end.error;
    const told = failed ?? (refused === null ? undefined : refused.end.error);
    const usage = addUsage(addUsage(end.usage, second?.end.usage ?? noUsage), refused?.end.usage ?? noUsage);
    return {
      id: model.id,
      ok: failed === undefined,
      error:
        told === undefined
          ? null
          : {
              kind: told.kind,
              message: told.message,
              ...(told.status === undefined ? {} : { status: told.status }),
            },
      firstTokenMs: first.firstTokenMs,
      totalMs: since(),
      toolCalling: first.end.error === undefined && call !== undefined,
      roundTrip: second === null ? null : second.end.error === undefined && second.text.trim() !== "",
      usesTools: agent === undefined || mayUseTools(agent, model, config),
      thinking: { level, works: refused === null && first.end.error === undefined, shown: first.thought },
      text: first.text.slice(0, shownChars).toWellFormed(),
      inputTokens: usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
      outputTokens: usage.outputTokens,
      costUsd: usage.costUsd ?? null,
    };
  } finally {
    timeout.cancel();
  }
}

interface Answer {
  readonly end: End;
  readonly text: string;
  /** The call that the question asks for. */
  readonly call: ToolCall | undefined;
  readonly thought: boolean;
  readonly firstTokenMs: number | null;
}

async function answerOf(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal,
  since: () => number,
): Promise<Answer> {
  let firstTokenMs: number | null = null;
  let text = "";
  let thought = false;
  for await (const event of model.stream(request, signal)) {
    if (event.type !== "end") firstTokenMs ??= since();
    if (event.type === "text") text += event.delta;
    if (event.type === "thinking") thought = true;
    if (event.type !== "end") continue;
    const calls = event.content.filter((part) => part.type === "toolCall");
    const call = calls.find(({ name, args }) => name === toolName && args["word"] === word);
    return { end: event, text, call, thought, firstTokenMs };
  }
  throw new Error(`${model.id} ended its stream without an end event`);
}

/** Returns an agent that lists the model among its own; else the first agent. */
function agentOf({ id }: Model, { agents: { list } }: Config): AgentConfig | undefined {
  return list.find(({ model }) => model.primary === id || model.fallbacks.includes(id)) ?? list[0];
}

function mayUseTools(agent: AgentConfig, { id }: Model, { tools }: Config): boolean {
  const names = catalogue.map((entry) => entry.id);
  return (
    applyPolicy(names, policySteps({ global: tools, agent: agent.tools, model: id, places: [] })).tools
      .length > 0
  );
}

/** The script line is for the rehearsal model; other models read the same request in words. */
function question({ id, maxTokens }: Model, thinking: ThinkingLevel): ModelRequest {
  const order = `Call the tool "${toolName}" once with {"word":"${word}"}. When it has answered, say the word of its answer and nothing else.`;
  const script = id.startsWith("rehearsal/") ? `!tool ${toolName} {"word":"${word}"}` : order;
  return {
    system: { stable: "You are being tested. Do exactly what you are asked.", volatile: "" },
    messages: [{ role: "user", content: [{ type: "text", text: script }] }],
    tools: [
      {
        name: toolName,
        description: "Takes the word that you were told.",
        parameters: {
          type: "object",
          properties: { word: { type: "string" } },
          required: ["word"],
          additionalProperties: false,
        },
      },
    ],
    thinking,
    showThoughts: true,
    maxTokens: Math.min(thinking === "off" ? answerTokens : thinkingTokens, maxTokens),
    cacheKey: "parley-models-test",
  };
}

function goingOn(
  model: Model,
  thinking: ThinkingLevel,
  { content }: End,
  { id, name }: ToolCall,
): ModelRequest {
  const asked = question(model, thinking);
  const calls = content.filter((part) => part.type === "toolCall");
  const results = calls.map((call): ModelMessage => ({
    role: "tool",
    callId: call.id,
    name: call.name,
    content: [
      { type: "text", text: call.id === id && call.name === name ? secondWord : "one call is enough" },
    ],
    isError: false,
  }));
  return { ...asked, messages: [...asked.messages, { role: "assistant", content }, ...results] };
}
