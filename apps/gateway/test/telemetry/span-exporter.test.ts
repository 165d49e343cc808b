// The exporter against a collector that is there, away, or refuses.
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "@parley/protocol";
import { fakeCollector, virtualClock } from "@parley/testkit";
import { spanExporter, type Span } from "../../src/telemetry/span-exporter.ts";

const span = (n: number, more: Partial<Span> = {}): Span => ({
  traceId: "a".repeat(32),
  spanId: n.toString(16).padStart(16, "0"),
  name: `span ${n}`,
  kind: "internal",
  startMs: 1_700_000_000_000 + n,
  endMs: 1_700_000_000_005 + n,
  attributes: { text: "x", whole: 3, part: 0.5, yes: true, list: ["a"], none: undefined },
  ...more,
});

async function exporting(endpoint?: string) {
  const collector = await fakeCollector();
  onTestFinished(() => collector.close());
  const clock = virtualClock({ settle: () => new Promise((done) => setTimeout(done, 20)) });
  const counts = { sent: 0, dropped: 0 };
  const exporter = spanExporter({
    endpoint: endpoint ?? collector.url,
    headers: { "x-key": "secret" },
    resource: { "service.name": "parley" },
    count: (result, spans) => (counts[result] += spans),
    clock,
    log: silentLog,
  });
  return { collector, clock, counts, exporter };
}

test("spans arrive in one batch, as OTLP", async () => {
  const { collector, clock, counts, exporter } = await exporting();
  exporter.add(span(1));
  exporter.add(span(2, { parentSpanId: "1".repeat(16), error: "it broke" }));
  await clock.advance(1_000);
  await expect.poll(() => counts).toEqual({ sent: 2, dropped: 0 });
  expect(collector.requests).toHaveLength(1);
  expect(collector.requests[0]).toMatchObject({ "x-key": "secret", "content-type": "application/json" });
  expect(collector.mistakes).toEqual([]);
  expect(collector.spans()[0]).toMatchObject({
    startMs: 1_700_000_000_001,
    attributes: { text: "x", whole: 3, part: 0.5, yes: true, list: ["a"] },
    failed: false,
  });
  expect(collector.spans()[1]).toMatchObject({ parentSpanId: "1".repeat(16), failed: true });
});

test("while the collector is away spans wait, in bounds, and the rest is counted", async () => {
  const { collector, clock, counts, exporter } = await exporting();
  collector.answers(503);
  for (let n = 0; n < 4_100; n += 1) exporter.add(span(n));
  expect(counts.dropped).toBe(4);
  await clock.advance(1_000);
  await expect.poll(() => collector.requests.length).toBe(1);
  collector.answers(200);
  await exporter.stop();
  expect(counts).toEqual({ sent: 4_096, dropped: 4 });
  expect(collector.spans()).toHaveLength(4_096);
});

test("what the collector refuses for good is dropped and counted", async () => {
  const { collector, counts, exporter } = await exporting();
  collector.answers(400);
  exporter.add(span(1));
  await exporter.stop();
  expect(counts).toEqual({ sent: 0, dropped: 1 });
});

test("a collector that is not there costs nothing but the spans", async () => {
  const { counts, exporter } = await exporting("http://127.0.0.1:9/");
  exporter.add(span(1));
  await exporter.stop();
  expect(counts).toEqual({ sent: 0, dropped: 1 });
  exporter.add(span(2));
  expect(counts.dropped).toBe(2);
});
