// `models.list` and `models.test`: which models there are, and whether one really answers and calls tools. Needs the config alone, so it works
// the same with a stopped daemon. A test's call is the operator's own: no cap holds it back, and it is in no usage.
import type { Config } from "@parley/config";
import { thinkingLevelsOf, type Model, type ModelEvent, type ModelRequest, type Models } from "@parley/models";
import { isFault, type Clock, type MethodParams, type MethodResult } from "@parley/protocol";
import { deadline } from "../deadline.ts";
import { uncappedModels } from "../turn/uncapped-models.ts";

export interface ModelMethodsOptions {
  readonly config: Config;
  readonly models: Models;
  readonly clock: Clock;
}

type Listed = MethodResult<"models.list">["models"][number];

const testTimeoutMs = 120_000;
const shownChars = 200;

export function modelMethods({ config, models, clock }: ModelMethodsOptions) {
  const { defaults, list: agents } = config.agents;

  function usedBy(id: string): string[] {
    return agents.flatMap(({ id: agent, model }) => [
      ...(model.primary === id ? [`${agent}: primary`] : []),
      ...model.fallbacks.flatMap((fallback, at) => (fallback === id ? [`${agent}: fallback ${at + 1}`] : [])),
    ]);
  }

  async function callable(id: string): Promise<Model | string> {
    try {
      return await models.get(id);
    } catch (error) {
      if (isFault(error, "invalid")) return error.message;
      throw error;
    }
  }

  async function list(): Promise<MethodResult<"models.list">> {
    const named = [...agents.flatMap(({ model }) => [model.primary, ...model.fallbacks]), ...Object.keys(defaults.models)];
    const cards = models.list(named);
    const uncapped = uncappedModels(config, models);
    const listed = await Promise.all(
      cards.map(async ({ id, api, contextWindow, maxTokens, input, reasoning, thinking, cost }): Promise<Listed> => {
        const found = await callable(id);
        return {
          id,
          alias: defaults.models[id]?.alias ?? null,
          api,
          trouble: typeof found === "string" ? found : null,
          contextWindow: typeof found === "string" ? contextWindow : found.contextWindow,
          maxTokens: typeof found === "string" ? maxTokens : found.maxTokens,
          vision: input.includes("image"),
          reasoning,
          thinking: [...thinkingLevelsOf({ thinking })],
          price: cost === undefined ? null : { ...cost },
          usedBy: usedBy(id),
          uncappedFor: uncapped.filter(({ model }) => model === id).map(({ agent }) => agent),
        };
      }),
    );
    return { models: listed.toSorted((a, b) => b.usedBy.length - a.usedBy.length) };
  }

  async function test({ id = agents[0]?.model.primary ?? "" }: MethodParams<"models.test">): Promise<MethodResult<"models.test">> {
    const ref = Object.entries(defaults.models).find(([, { alias }]) => alias?.toLowerCase() === id.toLowerCase())?.[0] ?? id;
    const model = await models.get(ref);
    const startMs = clock.mono();
    const since = (): number => Math.round(clock.mono() - startMs);
    const timeout = deadline(clock, testTimeoutMs, "the test");
    let firstTokenMs: number | null = null;
    let text = "";
    let toolCalling = false;
    try {
      for await (const event of model.stream(question(model), timeout.signal)) {
        if (event.type !== "end") firstTokenMs ??= since();
        if (event.type === "text") text += event.delta;
        if (event.type === "toolCall") toolCalling ||= event.name === toolName && event.args["word"] === word;
        if (event.type === "end") return ended(model.id, event, { firstTokenMs, totalMs: since(), toolCalling, text });
      }
    } finally {
      timeout.cancel();
    }
    throw new Error(`${model.id} ended its stream without an end event`);
  }

  return { "models.list": list, "models.test": test };
}

type End = Extract<ModelEvent, { type: "end" }>;

function ended(
  id: string,
  { error, usage }: End,
  found: Pick<MethodResult<"models.test">, "firstTokenMs" | "totalMs" | "toolCalling" | "text">,
): MethodResult<"models.test"> {
  const { kind, message, status } = error ?? { kind: "", message: "" };
  return {
    id,
    ok: error === undefined,
    error: error === undefined ? null : { kind, message, ...(status === undefined ? {} : { status }) },
    ...found,
    text: found.text.slice(0, shownChars).toWellFormed(),
    toolCalling: error === undefined && found.toolCalling,
    inputTokens: usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens,
    outputTokens: usage.outputTokens,
    costUsd: usage.costUsd ?? null,
  };
}

const toolName = "answer";
const word = "parley";
const answerTokens = 512;

/** The script line is for the rehearsal; other models are told the same in words. */
function question({ id, maxTokens }: Model): ModelRequest {
  const order = `Call the tool "${toolName}" once with {"word":"${word}"}. Say nothing else.`;
  const script = id.startsWith("rehearsal/") ? `!tool ${toolName} {"word":"${word}"}` : order;
  return {
    system: { stable: "You are being tested. Do exactly what you are asked.", volatile: "" },
    messages: [{ role: "user", content: [{ type: "text", text: script }] }],
    tools: [
      {
        name: toolName,
        description: "Takes the word that you were told.",
        parameters: { type: "object", properties: { word: { type: "string" } }, required: ["word"], additionalProperties: false },
      },
    ],
    thinking: "off",
    maxTokens: Math.min(answerTokens, maxTokens),
    cacheKey: "parley-models-test",
  };
}
