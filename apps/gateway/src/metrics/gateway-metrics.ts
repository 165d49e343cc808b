// Counts what the gateway does, from outside: a view over the store counts commits and deliveries, one over
// the models counts calls. No label names a person or a conversation.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Model, ModelEvent, Models } from "@parley/models";
import type { Clock, Usage } from "@parley/protocol";
import type { Store } from "@parley/store";
import type { RefusalReason } from "@parley/access";
import { metricRegistry } from "@parley/control";
import { registerGauges, registerProcessMetrics, type WatchedParts } from "./gauges.ts";

export interface GatewayMetrics {
  /** Returns the same store, counted. */
  store<S extends Store>(store: S): S;
  /** Returns the same models, counted. */
  models(models: Models): Models;
  /** Counts one refusal by its reason. */
  refused(reason: RefusalReason): void;
  /** Counts one address that egress did not dial, by its reason. */
  egressRefused(reason: string): void;
  /** Counts one call of a webhook by its name in the config. */
  webhookCalled(webhook: string, result: string): void;
  /** Counts spans of traces by what became of them. */
  spans(result: "sent" | "dropped", count: number): void;
  /** Counts one call of a hook by its name and what became of it. */
  hookRan(hook: string, result: string): void;
  /** Sets the parts that are read at a scrape; call it once. */
  watch(parts: WatchedParts): void;
  text(): Promise<string>;
  stop(): void;
}

const triedCredentials = [
  "wrong_token",
  "wrong_code",
  "wrong_signature",
  "too_many_wrong",
] as const satisfies readonly RefusalReason[];

const waitBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const turnBuckets = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];
const callBuckets = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

export function gatewayMetrics(clock: Clock): GatewayMetrics {
  const registry = metricRegistry();
  const startedAtMs = clock.now();
  const lag = monitorEventLoopDelay({ resolution: 20 });

  const received = registry.counter(
    "parley_events_received_total",
    "Events of platforms that were stored, by what was made of them.",
  );
  const turns = registry.counter("parley_turns_total", "Turns that ended, by outcome.");
  const waits = registry.histogram(
    "parley_turn_wait_seconds",
    "From a message's arrival to the first begin of its turn.",
    waitBuckets,
  );
  const durations = registry.histogram(
    "parley_turn_duration_seconds",
    "From a turn's first begin to its end, by outcome.",
    turnBuckets,
  );
  const deliveries = registry.counter(
    "parley_delivery_parts_total",
    "Messages to platforms, by what became of them.",
  );
  const calls = registry.counter("parley_model_calls_total", "Calls of models, by how they ended.");
  const latency = registry.histogram(
    "parley_model_call_duration_seconds",
    "Whole calls of models.",
    callBuckets,
  );
  const firstWord = registry.histogram(
    "parley_model_first_token_seconds",
    "Until the first token of a call.",
    callBuckets,
  );
  const tokens = registry.counter(
    "parley_model_tokens_total",
    "Tokens, by kind: input, output, cache_read and cache_write.",
  );
  const refused = registry.counter(
    "parley_refusals_total",
    "Requests and messages that were refused, by reason.",
  );
  const egress = registry.counter(
    "parley_egress_refusals_total",
    "Addresses that agents, pages or servers named and that were not dialled, by reason.",
  );
  const webhookCalls = registry.counter(
    "parley_webhook_calls_total",
    "Calls of webhooks, by webhook and by what became of them: taken, repeated, refused and failed.",
  );
  const hookRuns = registry.counter(
    "parley_hook_runs_total",
    "Events that hooks were told, by hook and by what became of it: ok, failed, timed_out and dropped.",
  );
  const spans = registry.counter(
    "parley_trace_spans_total",
    "Spans of traces, by what became of them: sent and dropped.",
  );
  const cost = registry.counter(
    "parley_model_cost_dollars_total",
    "What calls cost, where the price is known, in US dollars.",
  );
  registerProcessMetrics(registry, startedAtMs, lag);
  // What an alert waits for begins at zero: Prometheus sees no increase in a series that just appeared.
  turns.add({ outcome: "dead" }, 0);
  for (const reason of triedCredentials) refused.add({ reason }, 0);

  function countUsage(model: string, usage: Usage): void {
    tokens.add({ model, kind: "input" }, usage.inputTokens);
    tokens.add({ model, kind: "output" }, usage.outputTokens);
    tokens.add({ model, kind: "cache_read" }, usage.cacheReadTokens);
    tokens.add({ model, kind: "cache_write" }, usage.cacheWriteTokens);
    if (usage.costUsd !== undefined) cost.add({ model }, usage.costUsd);
  }

  function counted(model: Model): Model {
    async function* stream(...args: Parameters<Model["stream"]>): AsyncGenerator<ModelEvent> {
      calls.add({ model: model.id, result: "ok" }, 0);
      const begunAt = clock.mono();
      let spoke = false;
      for await (const event of model.stream(...args)) {
        if (!spoke && event.type !== "end" && event.type !== "discard") {
          spoke = true;
          firstWord.observe({ model: model.id }, (clock.mono() - begunAt) / 1000);
        }
        if (event.type === "end") {
          calls.add({ model: model.id, result: event.error?.kind ?? "ok" });
          latency.observe({ model: model.id }, (clock.mono() - begunAt) / 1000);
          countUsage(model.id, event.usage);
        }
        yield event;
      }
    }
    return { ...model, stream };
  }

  return {
    store: (store) => ({
      ...store,
      inbox: {
        ...store.inbox,
        async accept(rows) {
          const accepted = await store.inbox.accept(rows);
          accepted.forEach(({ verdict }, index) => {
            const as = rows[index]?.as;
            received.add({ verdict: verdict === "closed" && as?.kind === "closed" ? as.outcome : verdict });
          });
          return accepted;
        },
      },
      turns: {
        ...store.turns,
        async take(want) {
          const taken = await store.turns.take(want);
          const [first] = "idle" in taken ? [] : taken.rows;
          if (!("idle" in taken) && first !== undefined && taken.attempt === 1 && taken.log.length === 0)
            waits.observe({ pool: taken.pool }, Math.max(0, clock.now() - first.acceptedAtMs) / 1000);
          return taken;
        },
        async commit(lease, turn, what) {
          const done = await store.turns.commit(lease, turn, what);
          turns.add({ outcome: what.outcome });
          const { openedAtMs } = lease as { readonly openedAtMs?: number };
          if (openedAtMs !== undefined)
            durations.observe({ outcome: what.outcome }, Math.max(0, clock.now() - openedAtMs) / 1000);
          return done;
        },
      },
      outbox: {
        ...store.outbox,
        async record(lease, changes, release) {
          const released = await store.outbox.record(lease, changes, release);
          const pool =
            (lease as { readonly deliveries?: readonly { readonly pool: string }[] }).deliveries?.[0]?.pool ??
            "unknown";
          for (const { to } of changes)
            if (to !== "sending") deliveries.add({ account: pool, state: to === "queued" ? "retried" : to });
          return released;
        },
      },
    }),
    refused: (reason) => refused.add({ reason }),
    egressRefused: (reason) => egress.add({ reason }),
    hookRan: (hook, result) => hookRuns.add({ hook, result }),
    spans: (result, count) => spans.add({ result }, count),
    webhookCalled: (webhook, result) => webhookCalls.add({ webhook, result }),
    models: (models) => ({ ...models, get: async (id) => counted(await models.get(id)) }),
    watch: (parts) => registerGauges(registry, parts),
    text: registry.text,
    stop: () => lag.disable(),
  };
}
