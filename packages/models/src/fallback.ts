// Combines several models into one: the primary, then its fallbacks in order. Only this file repeats a model
// call; the loop never does, and the SDKs' own retries are off. A repeat continues the same request, so
// nothing is asked or run twice (I7).
import { type Clock, type Ids, type Log, addUsage, noUsage, sleep } from "@parley/protocol";
import type { Cooldowns } from "./cooldown.ts";
import type { Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest } from "./model.ts";

export interface FallbackOptions {
  readonly clock: Clock;
  readonly ids: Pick<Ids, "chance">;
  readonly log: Log;
  readonly cooldowns: Cooldowns;
}

/**
 * No attempt is repeated after this time. Every other model still gets one attempt, which the turn's deadline
 * bounds.
 */
const budgetMs = 90_000;
/** The longest wait that a server may ask for; for more, the next model is tried. */
const longestWaitMs = 60_000;
/** The longest wait while another model is available, because a person is waiting. */
const patienceMs = 5000;
const firstBackoffMs = 1000;
const longestBackoffMs = 30_000;
/** Attempts at one model in one call; fewer when another model is available. */
const attempts = { alone: 8, withOthers: 2 } as const;

/** Failures that another model would repeat or must not take over, so they go back unchanged. */
const final: readonly ModelErrorKind[] = ["aborted", "context_overflow", "refused"];
/** Failures that waiting may heal. */
const passing: readonly ModelErrorKind[] = ["rate_limited", "overloaded", "unavailable", "timeout", "torn"];

/**
 * `models[0]` is the primary, whose name and sizes the combined model has. When a model fails after its first
 * words, a `discard` event follows.
 */
export function withFallbacks(models: readonly [Model, ...Model[]], options: FallbackOptions): Model {
  const [primary] = models;
  return {
    id: primary.id,
    contextWindow: primary.contextWindow,
    maxTokens: primary.maxTokens,
    vision: primary.vision,
    reasoning: primary.reasoning,
    thinking: primary.thinking,
    priced: models.every(({ priced }) => priced === true),
    stream: (request, signal) => answer(models, request, signal, options),
  };
}

type End = Extract<ModelEvent, { type: "end" }>;

async function* answer(
  models: readonly Model[],
  request: ModelRequest,
  signal: AbortSignal,
  { clock, ids, log, cooldowns }: FallbackOptions,
): AsyncGenerator<ModelEvent> {
  const untilMs = clock.mono() + budgetMs;
  let spent = noUsage;
  let last: End | undefined;
  let streamed = false;

  for (const [at, model] of inOrder(models, cooldowns).entries()) {
    const others = at < models.length - 1;
    for (let attempt = 1; ; attempt += 1) {
      if (streamed) yield { type: "discard" };
      streamed = false;
      let ended: End | undefined;
      for await (const event of model.stream(request, signal)) {
        if (event.type === "end") {
          ended = event;
          break;
        }
        streamed = true;
        yield event;
      }
      if (ended === undefined) throw new Error(`${model.id} ended its stream without an end event`);
      spent = addUsage(spent, ended.usage);
      last = { ...ended, usage: spent, ...(model.id === models[0]?.id ? {} : { model: model.id }) };
      if (ended.error === undefined) {
        cooldowns.succeeded(model.id);
        return yield last;
      }
      if (final.includes(ended.error.kind) || signal.aborted) return yield last;
      const { kind, status, message } = ended.error;
      log.warn({ model: model.id, attempt, kind, status, reason: message }, "a model call failed");
      const waitMs = waitBefore(ended.error, attempt, others, ids.chance());
      if (waitMs === null || clock.mono() + waitMs > untilMs) {
        // An invalid request says nothing about the model's health.
        if (ended.error.kind !== "invalid")
          cooldowns.failed(model.id, ended.error.kind, ended.error.retryAfterMs);
        break;
      }
      await sleep(clock, waitMs, signal);
      if (signal.aborted)
        return yield {
          ...last,
          stop: "aborted",
          error: { kind: "aborted", message: "stopped while waiting to try again" },
        };
    }
  }
  if (last !== undefined) yield last;
}

/** Working models first, in the given order; then cooling ones, the one due first before the others. */
function inOrder(models: readonly Model[], cooldowns: Cooldowns): readonly Model[] {
  return models
    .map((model) => ({ model, leftMs: cooldowns.leftMs(model.id) }))
    .toSorted((a, b) => a.leftMs - b.leftMs)
    .map(({ model }) => model);
}

/**
 * Milliseconds to wait before asking the same model again, at least as long as its server asked; null to
 * stop.
 */
function waitBefore(error: ModelError, attempt: number, others: boolean, chance: number): number | null {
  // A silent server has cost a person enough time; the next model may answer.
  if (others && error.kind === "timeout") return null;
  if (!passing.includes(error.kind) || attempt >= (others ? attempts.withOthers : attempts.alone))
    return null;
  const backoffMs = Math.min(firstBackoffMs * 2 ** (attempt - 1), longestBackoffMs) * (0.5 + chance / 2);
  const waitMs = Math.max(backoffMs, error.retryAfterMs ?? 0);
  return waitMs > (others ? patienceMs : longestWaitMs) ? null : waitMs;
}
