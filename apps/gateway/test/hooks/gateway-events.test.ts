// What hooks hear of the gateway itself: which of its processes says that it started, and how long its end
// waits for them.
import { version, type HookEvent } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { gatewayEvents, type GatewayEventsOptions } from "../../src/hooks/gateway-events.ts";
import { memoryStore } from "../receive/store.ts";

type Others = Awaited<ReturnType<NonNullable<GatewayEventsOptions["others"]>>>;

async function world() {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const heard: HookEvent[] = [];
  let answer: Promise<null> = Promise.resolve(null);
  const events = (bootId: string, others: Others | null = null) =>
    gatewayEvents({
      port: {
        tell: (event: HookEvent) => void heard.push(event),
        ask: (event: HookEvent) => (heard.push(event), answer),
      } as never,
      cells: store.cells,
      others: others === null ? null : async () => others,
      bootId,
      clock,
    });
  const isFirst = async (bootId: string, others: Others | null) => {
    await events(bootId, others).started();
    return heard.pop()?.context["first"];
  };
  return { clock, heard, events, isFirst, hangs: () => void (answer = new Promise(() => {})) };
}

test("the process that came up alone is the gateway's start, others that come to it are none", async () => {
  const { clock, heard, events, isFirst } = await world();
  await events("b0").started();
  expect(heard.splice(0)).toEqual([
    { type: "gateway", action: "startup", sessionKey: "", context: { version, bootId: "b0", first: true } },
  ]);
  const up = (boot: string, agoMs: number, state: Others[number]["state"] = "running") => ({
    boot,
    state,
    startedAtMs: clock.now() - agoMs,
  });
  // Two that start together: the first of them to write it.
  expect(await isFirst("b1", [up("b2", 0)])).toBe(true);
  expect(await isFirst("b2", [up("b1", 0)])).toBe(false);
  // One that is up for long is enough; one that came a moment ago, or goes, is not.
  expect(await isFirst("b3", [up("x", 0), up("y", 30_001)])).toBe(false);
  expect(await isFirst("b4", [up("x", 30_000), up("y", 90_000, "draining" as never)])).toBe(true);
  // After all of them went, the next one is first again.
  expect(await isFirst("b5", [])).toBe(true);
});

test.each([
  [true, ["pre-restart", "shutdown"], 15_000],
  [false, ["shutdown"], 5_000],
])(
  "an end with restarts: %s asks %j, and hooks that hang hold it up for %d ms",
  async (restarts, asked, ms) => {
    const { clock, heard, events, hangs } = await world();
    await events("b1").stopping("SIGTERM", restarts);
    expect([heard.map(({ action }) => action), clock.now(), clock.armed()]).toEqual([
      asked,
      1_700_000_000_000,
      0,
    ]);
    expect(heard.map(({ context }) => context)).toEqual(
      asked.map((action) => ({
        version,
        bootId: "b1",
        reason: "SIGTERM",
        ...(action === "shutdown" ? { restarts } : { restartExpectedMs: 30_000 }),
      })),
    );
    hangs();
    let over = false;
    const ended = events("b1")
      .stopping("SIGTERM", restarts)
      .then(() => (over = true));
    await clock.advance(ms - 1);
    expect(over).toBe(false);
    await clock.advance(1);
    await ended;
  },
);
