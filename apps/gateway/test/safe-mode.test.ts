// When a crash loop is one, and how safe mode ends.
import { describe, expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { crashLoopReason, safeMode } from "../src/daemon/safe-mode.ts";

const minute = 60_000;
const now = 100 * minute;
const boot = (startedAtMs: number, stoppedAtMs: number | null, worked = false) => ({
  boot: String(startedAtMs),
  startedAtMs,
  stoppedAtMs,
  worked,
});
const current = boot(now, null);

describe("a crash loop", () => {
  test("is three starts within five minutes that did not end well", () => {
    const boots = [
      current,
      boot(now - minute, null),
      boot(now - 2 * minute, null),
      boot(now - 3 * minute, null),
    ];
    expect(crashLoopReason(boots, now)).toContain("3 starts");
    expect(crashLoopReason(boots.slice(0, 3), now)).toBeNull();
  });

  test("does not count starts that ended cleanly, or long ago, or the current one", () => {
    expect(
      crashLoopReason([current, boot(now - 1, now), boot(now - 2, null), boot(now - 3, null)], now),
    ).toBeNull();
    expect(
      crashLoopReason([current, boot(now - 1, null), boot(now - 2, null), boot(now - 6 * minute, null)], now),
    ).toBeNull();
  });
});

test("a start that ended a turn, or ended well, breaks the row of those that did nothing", () => {
  const died = [1, 2, 3].map((n) => boot(now - n * minute, null));
  for (const good of [boot(now - 1, null, true), boot(now - 1, now)]) {
    expect(crashLoopReason([current, good, ...died], now)).toBeNull();
    expect(crashLoopReason([current, ...died.slice(0, 2), good, ...died.slice(2)], now)).toBeNull();
    expect(crashLoopReason([current, ...died, good], now)).not.toBeNull();
  }
});

describe("safe mode", () => {
  test("ends by itself after ten minutes, once", async () => {
    const clock = virtualClock();
    let released = 0;
    const mode = safeMode(clock, async () => void (released += 1));
    await clock.advance(10 * minute - 1);
    expect(released).toBe(0);
    await clock.advance(1);
    expect(released).toBe(1);
    expect(await mode.resume()).toBe(false);
    expect(released).toBe(1);
  });

  test("ends at once when the operator says so", async () => {
    const clock = virtualClock();
    let released = 0;
    const mode = safeMode(clock, async () => void (released += 1));
    expect(await mode.resume()).toBe(true);
    await clock.advance(20 * minute);
    expect(released).toBe(1);
    expect(clock.armed()).toBe(0);
  });
});
