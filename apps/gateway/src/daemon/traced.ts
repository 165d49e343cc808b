// Lays traces around the daemon's store and models where the config names a collector; elsewhere no code of
// them is loaded.
import { secretValues, type Config } from "@parley/config";
import { version, type Clock, type Log } from "@parley/protocol";
import type { GatewayMetrics } from "../metrics/gateway-metrics.ts";

export interface TracedOptions {
  readonly config: Config;
  readonly node: string;
  readonly bootId: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Traced {
  /** The same metrics, whose views of store and models also trace. */
  readonly metrics: GatewayMetrics;
  /** Sends what waits, within a short time. */
  stop(): Promise<void>;
}

export async function traced(metrics: GatewayMetrics, options: TracedOptions): Promise<Traced> {
  const { config, node, bootId, clock, log } = options;
  const { traces } = config.telemetry;
  if (traces === undefined || traces.sampleRatio === 0) return { metrics, stop: async () => {} };
  const [{ messageTraces }, { spanExporter }] = await Promise.all([
    import("../telemetry/message-traces.ts"),
    import("../telemetry/span-exporter.ts"),
  ]);
  const exporter = spanExporter({
    endpoint: traces.endpoint,
    headers: Object.fromEntries(
      Object.entries(traces.headers).map(([name, value]) => [name, value.reveal()]),
    ),
    resource: {
      "service.name": traces.serviceName,
      "service.version": version,
      "service.instance.id": bootId,
      "host.name": node,
    },
    count: metrics.spans,
    clock,
    log,
  });
  const views = messageTraces({ ...traces, secrets: secretValues(config), add: exporter.add, clock, log });
  return {
    metrics: {
      ...metrics,
      store: (store) => metrics.store(views.store(store)),
      models: (models) => metrics.models(views.models(models)),
    },
    stop: exporter.stop,
  };
}
