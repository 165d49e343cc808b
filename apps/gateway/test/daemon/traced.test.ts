// What the daemon adds to the traces of its messages: who it is, and the headers of the collector with their
// secrets.
import { secret } from "@parley/config";
import { version } from "@parley/protocol";
import { fakeCollector, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { traced } from "../../src/daemon/traced.ts";
import type { GatewayMetrics } from "../../src/metrics/gateway-metrics.ts";
import { operateFixture } from "../operator/operate-fixture.ts";
import { saidLog } from "./said-log.ts";

const { log } = saidLog();

function metrics() {
  const counted: unknown[] = [];
  return {
    counted,
    spans: (result: string, count: number) => void counted.push([result, count]),
    store: (store: object) => ({ ...store, isCounted: true }),
    models: (models: object) => ({ ...models, isCounted: true }),
  } as unknown as GatewayMetrics & { readonly counted: readonly unknown[] };
}

test("without a collector, or with no share of messages, store and models are counted alone", async () => {
  for (const traces of [undefined, { sampleRatio: 0, endpoint: "http://127.0.0.1:1", headers: {} }]) {
    const counting = metrics();
    const made = await traced(counting, {
      config: { telemetry: { traces } } as never,
      node: "n",
      bootId: "boot",
      clock: virtualClock(),
      log,
    });
    expect(made.metrics).toBe(counting);
    await made.stop();
  }
});

test("with one, a model's calls are counted and traced, and what waits is sent at the end, by this node and boot", async () => {
  const collector = await fakeCollector();
  onTestFinished(() => collector.close());
  const counting = metrics();
  const { metrics: both, stop } = await traced(counting, {
    config: {
      telemetry: {
        traces: {
          endpoint: collector.url,
          headers: { "x-key": secret("k"), "x-other": secret("o") },
          serviceName: "parley-test",
          sampleRatio: 1,
        },
      },
    } as never,
    node: "node-1",
    bootId: "boot-1",
    clock: virtualClock(),
    log,
  });
  const inner = { get: async () => ({ id: "m" }), list: () => [] };
  expect(both.models(inner as never)).toMatchObject({ isCounted: true });
  expect(both.models(inner as never).get).not.toBe(inner.get);
  expect(both.refused).toBe(counting.refused);
  const at = await operateFixture();
  const store = both.store(at.store);
  expect(store).toMatchObject({ isCounted: true });
  await at.accept("1", { text: "my key is k" });
  const turn = await store.turns.take({ pool: "main", holder: "boot", leaseMs: 30_000, maxRows: 9 });
  if ("idle" in turn) throw new Error("there is one");
  await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  await stop();
  const body = collector.bodies.join("");
  for (const [key, value] of Object.entries({
    "service.name": "parley-test",
    "service.version": version,
    "service.instance.id": "boot-1",
    "host.name": "node-1",
  }))
    expect(body).toContain(JSON.stringify({ key, value: { stringValue: value } }));
  expect(collector.requests[0]).toMatchObject({ "x-key": "k", "x-other": "o" });
  expect(collector.spans().map(({ name }) => name)).toEqual(["received", "waited", "turn"]);
  expect(counting.counted).toEqual([["sent", 3]]);
});
