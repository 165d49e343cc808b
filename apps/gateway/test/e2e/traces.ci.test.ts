// A daemon and a collector: what a collector has of a message, over the death of the process that took it.
import { expect, onTestFinished, test } from "vitest";
import { fakeCollector } from "@parley/testkit";
import { cleanUp, eventually } from "./daemon.ts";
import { world } from "./world.ts";

test("a collector has one trace of each message, also of those before and after kill -9", async () => {
  const [all, collector] = await Promise.all([world(), fakeCollector()]);
  onTestFinished(async () => {
    await cleanUp();
    await Promise.all([all.close(), collector.close()]);
  });
  const config = { telemetry: { traces: { endpoint: collector.url, headers: { "x-key": "k" } } } };
  const named = (name: string) => collector.spans().filter((span) => span.name === name);
  const first = await all.start({ config });
  all.telegram.as(7).says("one");
  await all.answered(7, 1);
  await eventually(() => named("deliver").length === 1, 10_000, "the first answer's span");
  first.kill("SIGKILL");
  await first.exited;
  const second = await all.start({ config, home: first.home });
  all.telegram.as(7).says("two");
  await all.answered(7, 2);
  // What still waits is sent before the process ends.
  await second.stop();
  expect(collector.mistakes).toEqual([]);
  expect(collector.requests[0]?.["x-key"]).toBe("k");
  expect(named("turn")).toHaveLength(2);
  for (const turn of named("turn"))
    expect(
      collector
        .spans()
        .filter(({ traceId }) => traceId === turn.traceId)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(["chat m1", "deliver", "received", "turn", "waited"]);
  expect(collector.bodies.join("")).not.toContain("You said");
});
