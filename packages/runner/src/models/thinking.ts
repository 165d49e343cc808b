// Resolves how much one turn thinks and who sees it: message, session, agent, model, then defaults. A stored
// level that the model does not take moves to the nearest; a typed one is refused with those it takes.
import type { AgentConfig, Config } from "@parley/config";
import {
  defaultThinking,
  nearestThinking,
  thinkingLevelsOf,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from "@parley/models";
import { noUsage, parseThinkingLevel, type ReasoningLevel, type ThinkingLevel } from "@parley/protocol";
import type { Session } from "@parley/store";
import { parseReasoningLevel, type Wanted } from "./directives.ts";

export const thinkingField = "thinking";
export const reasoningField = "reasoning";

export interface ThinkingSources {
  readonly config: Config;
  readonly agent: AgentConfig;
  readonly session: Pick<Session, "fields">;
  readonly model: Pick<Model, "id" | "reasoning" | "thinking">;
}

/** Without `wanted`, returns the level for a message without directives. */
export function thinkingOf(
  { config, agent, session, model }: ThinkingSources,
  wanted: Wanted = {},
): ThinkingLevel {
  const { models, thinkingDefault } = config.agents.defaults;
  const level =
    wanted.thinking ??
    ownThinking(session) ??
    agent.thinkingDefault ??
    (Object.hasOwn(models, model.id) ? models[model.id]?.params?.thinking : undefined) ??
    thinkingDefault;
  return level === undefined ? defaultThinking(model) : nearestThinking(model, level);
}

export function reasoningOf(
  { agent, session }: Pick<ThinkingSources, "agent" | "session">,
  wanted: Wanted = {},
): ReasoningLevel {
  return wanted.reasoning ?? ownReasoning(session) ?? agent.reasoningDefault ?? "off";
}

export function ownThinking({ fields }: Pick<Session, "fields">): ThinkingLevel | null {
  const value = fields[thinkingField];
  return typeof value === "string" ? parseThinkingLevel(value) : null;
}

export function ownReasoning({ fields }: Pick<Session, "fields">): ReasoningLevel | null {
  const value = fields[reasoningField];
  return typeof value === "string" ? parseReasoningLevel(value) : null;
}

/**
 * Returns the reply to a level that this model does not take, or null when it does. `off` is always taken: a
 * model that cannot stop thinking does the least it can.
 */
export function unsupportedThinking(
  model: Pick<Model, "id" | "thinking">,
  level: ThinkingLevel | undefined,
): string | null {
  const levels = thinkingLevelsOf(model);
  if (level === undefined || level === "off" || levels.includes(level)) return null;
  return `\`${model.id}\` does not take the thinking level "${level}". Valid levels: ${levels.join(", ")}.`;
}

/** Names the level that is set, and the nearest one when the model uses that instead. */
export function thinkingWords(model: Pick<Model, "id" | "thinking">, level: ThinkingLevel): string {
  const done = nearestThinking(model, level);
  return done === level
    ? `Thinking: ${level}.`
    : `Thinking: ${level}. \`${model.id}\` cannot stop thinking: it thinks as little as it can (${done}).`;
}

/**
 * Applies the thinking level of the turn's messages to every call; a message that joins later changes it from
 * then on.
 */
export function asWanted(
  model: Model,
  now: () => { readonly thinking: ThinkingLevel; readonly showThoughts: boolean },
): Model {
  return {
    ...model,
    stream: (request: ModelRequest, signal) => model.stream({ ...request, ...now() }, signal),
  };
}

/** Replaces a model that cannot do what was typed with one that says so as the answer. */
export function saysInstead(model: Model, text: string): Model {
  return {
    ...model,
    async *stream(): AsyncGenerator<ModelEvent> {
      yield { type: "text", delta: text };
      yield { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text }] };
    },
  };
}
