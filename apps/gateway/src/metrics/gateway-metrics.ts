// What the gateway counts of itself. It looks on from outside: a view over the store counts commits and deliveries, one over the models
// counts calls; everything else is read when somebody asks. No label names a person or a conversation.
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Channel } from "@parley/channels";
import type { Model, ModelEvent, Models } from "@parley/models";
import { accountKey, type Clock, type Usage } from "@parley/protocol";
import type { LaneView, Store } from "@parley/store";
import type { RefusalReason } from "@parley/access";
import type { Reloader } from "../reload/reloader.ts";
import type { GatewayState } from "../gateway-state.ts";
import { metricRegistry, type MetricRegistry, type Sample } from "@parley/control";

export interface GatewayMetrics {
  /** The same store, counted. */
  store<S extends Store>(store: S): S;
  /** The same models, counted. */
  models(models: Models): Models;
  /** One more refusal, by its reason. */
  refused(reason: RefusalReason): void;
  /** What is read when somebody asks; to be told once. */
  watch(parts: WatchedParts): void;
  text(): Promise<string>;
  stop(): void;
}

interface WatchedParts {
  readonly store: Pick<Store, "turns" | "outbox" | "troubled">;
  readonly channels: () => readonly Channel[];
  readonly state: Pick<GatewayState, "phase" | "ready" | "store">;
  readonly turnsRunning: () => number;
  readonly deliveriesRunning: () => number;
  readonly stableMoves: () => ReadonlyMap<string, number>;
  readonly connections: () => number;
  readonly reloads: () => ReturnType<Reloader["counts"]>;
  readonly configTrouble: () => boolean;
  readonly version: string;
}

const waitBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800];
const turnBuckets = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800];
const callBuckets = [0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** More lanes than this are counted as this many. */
const laneLimit = 1_000;

export function gatewayMetrics(clock: Clock): GatewayMetrics {
  const book = metricRegistry();
  const startedAtMs = clock.now();
  const lag = monitorEventLoopDelay({ resolution: 20 });

  const received = book.counter(
    "parley_events_received_total",
    "Events of platforms that were stored, by what was made of them.",
  );
  const turns = book.counter("parley_turns_total", "Turns that ended, by outcome.");
  const waits = book.histogram(
    "parley_turn_wait_seconds",
    "From a message's arrival to the first begin of its turn.",
    waitBuckets,
  );
  const durations = book.histogram(
    "parley_turn_duration_seconds",
    "From a turn's first begin to its end, by outcome.",
    turnBuckets,
  );
  const deliveries = book.counter(
    "parley_delivery_parts_total",
    "Messages to platforms, by what became of them.",
  );
  const calls = book.counter("parley_model_calls_total", "Calls of models, by how they ended.");
  const latency = book.histogram("parley_model_call_duration_seconds", "Whole calls of models.", callBuckets);
  const firstWord = book.histogram(
    "parley_model_first_token_seconds",
    "Until the first token of a call.",
    callBuckets,
  );
  const tokens = book.counter(
    "parley_model_tokens_total",
    "Tokens, by kind: input, output, cache_read and cache_write.",
  );
  const refused = book.counter(
    "parley_refusals_total",
    "Requests and messages that were refused, by reason.",
  );
  const cost = book.counter(
    "parley_model_cost_dollars_total",
    "What calls cost, where the price is known, in US dollars.",
  );
  processNumbers(book, startedAtMs, lag);

  function countUsage(model: string, usage: Usage): void {
    tokens.add({ model, kind: "input" }, usage.inputTokens);
    tokens.add({ model, kind: "output" }, usage.outputTokens);
    tokens.add({ model, kind: "cache_read" }, usage.cacheReadTokens);
    tokens.add({ model, kind: "cache_write" }, usage.cacheWriteTokens);
    if (usage.costUsd !== undefined) cost.add({ model }, usage.costUsd);
  }

  function counted(model: Model): Model {
    async function* stream(...args: Parameters<Model["stream"]>): AsyncGenerator<ModelEvent> {
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
        async record(lease, changes) {
          await store.outbox.record(lease, changes);
          const pool =
            (lease as { readonly deliveries?: readonly { readonly pool: string }[] }).deliveries?.[0]?.pool ??
            "unknown";
          for (const { to } of changes)
            if (to !== "sending") deliveries.add({ account: pool, state: to === "queued" ? "retried" : to });
        },
      },
    }),
    refused: (reason) => refused.add({ reason }),
    models: (models) => ({ ...models, get: async (id) => counted(await models.get(id)) }),
    watch: (parts) => watched(book, parts),
    text: book.text,
    stop: () => lag.disable(),
  };
}

function watched(book: MetricRegistry, parts: WatchedParts): void {
  const { store, state } = parts;
  const lanes = async (
    list: (limit: number) => Promise<readonly LaneView[]>,
    per: (lane: LaneView) => number,
  ): Promise<readonly Sample[]> => {
    const pools = new Map<string, number>();
    for (const lane of await list(laneLimit)) pools.set(lane.pool, (pools.get(lane.pool) ?? 0) + per(lane));
    return [...pools].map(([pool, value]) => [{ pool }, value]);
  };
  const sessions = (limit: number): Promise<readonly LaneView[]> => store.turns.list(undefined, limit);
  const conversations = (limit: number): Promise<readonly LaneView[]> => store.outbox.list(undefined, limit);

  book.look("gauge", "parley_build_info", "Which Parley this is.", () => [[{ version: parts.version }, 1]]);
  book.look("gauge", "parley_ready", "1 while /readyz says so.", () => [[{}, state.ready().ok ? 1 : 0]]);
  book.look("gauge", "parley_phase", "1 at the phase that the daemon is in.", () =>
    (["starting", "running", "draining", "safe-mode"] as const).map((phase) => [
      { phase },
      state.phase() === phase ? 1 : 0,
    ]),
  );
  book.look("gauge", "parley_store_up", "1 while the store takes writes.", () => [
    [{}, state.store() ? 1 : 0],
  ]);
  book.look("gauge", "parley_channel_up", "1 while the account's channel hears and speaks.", () =>
    parts
      .channels()
      .map((channel) => [
        { account: accountKey({ channel: channel.name, account: channel.account }) },
        channel.health().state === "ok" ? 1 : 0,
      ]),
  );
  book.look(
    "gauge",
    "parley_channel_last_inbound_timestamp_seconds",
    "When the account last heard something.",
    () =>
      parts.channels().flatMap((channel) => {
        const { lastInboundAtMs } = channel.health();
        const account = accountKey({ channel: channel.name, account: channel.account });
        return lastInboundAtMs === undefined ? [] : [[{ account }, lastInboundAtMs / 1000] as const];
      }),
  );
  book.look("gauge", "parley_lanes", "Sessions with work, by pool; counted up to 1000.", () =>
    lanes(sessions, () => 1),
  );
  book.look("gauge", "parley_messages_waiting", "Messages that wait for their turn, by pool.", () =>
    lanes(sessions, ({ waiting }) => waiting),
  );
  book.look("gauge", "parley_deliveries_waiting", "Answers that wait to be sent, by account.", () =>
    lanes(conversations, ({ waiting }) => waiting),
  );
  book.look("gauge", "parley_turns_running", "Turns at work in this process.", () => [
    [{}, parts.turnsRunning()],
  ]);
  book.look("gauge", "parley_deliveries_running", "Conversations that this process sends to now.", () => [
    [{}, parts.deliveriesRunning()],
  ]);
  book.look(
    "gauge",
    "parley_dead_messages",
    "Messages that failed for good and wait for an operator; counted up to 1000.",
    async () => [[{}, (await store.troubled()).rows]],
  );
  book.look(
    "gauge",
    "parley_troubled_deliveries",
    "Answers that did not arrive, or may not have; counted up to 1000.",
    async () => [[{}, (await store.troubled()).deliveries]],
  );
  book.look(
    "counter",
    "parley_prompt_stable_moves_total",
    "Turns that found their session's stable prompt moved, by section.",
    () => [...parts.stableMoves()].map(([section, value]) => [{ section }, value]),
  );
  book.look("gauge", "parley_control_connections", "Clients of the control plane.", () => [
    [{}, parts.connections()],
  ]);
  book.look(
    "counter",
    "parley_config_reloads_total",
    "Changes of the config, by what became of them.",
    () => {
      const { taken, refused } = parts.reloads();
      return [
        [{ result: "taken" }, taken],
        [{ result: "refused" }, refused],
      ];
    },
  );
  book.look("gauge", "parley_config_ok", "0 while the config file is one that was refused.", () => [
    [{}, parts.configTrouble() ? 0 : 1],
  ]);
}

/** Names as Prometheus' own clients have them. */
function processNumbers(
  book: MetricRegistry,
  startedAtMs: number,
  lag: ReturnType<typeof monitorEventLoopDelay>,
): void {
  book.look("counter", "process_cpu_seconds_total", "User and system CPU time.", () => {
    const { user, system } = process.cpuUsage();
    return [[{}, (user + system) / 1e6]];
  });
  book.look("gauge", "process_start_time_seconds", "When the daemon started.", () => [
    [{}, startedAtMs / 1000],
  ]);
  book.look("gauge", "process_resident_memory_bytes", "Resident memory.", () => [
    [{}, process.memoryUsage.rss()],
  ]);
  book.look("gauge", "nodejs_heap_size_used_bytes", "Heap in use.", () => [
    [{}, process.memoryUsage().heapUsed],
  ]);
  book.look(
    "gauge",
    "nodejs_eventloop_lag_seconds",
    "How late the event loop was since the last look: mean, 99th percentile and most.",
    () => {
      // It wakes the process fifty times a second, so it begins when somebody looks.
      lag.enable();
      const samples: readonly Sample[] = [
        [{ stat: "mean" }, seconds(lag.mean)],
        [{ stat: "p99" }, seconds(lag.percentile(99))],
        [{ stat: "max" }, seconds(lag.max)],
      ];
      lag.reset();
      return samples;
    },
  );
}

/** Of nanoseconds; there are none right after a reset. */
function seconds(nanos: number): number {
  return Number.isFinite(nanos) ? nanos / 1e9 : 0;
}
