// When a crash loop is one, and how safe mode ends.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { virtualClock } from "@parley/testkit";
import { writeRecord } from "@parley/update";
import { describe, expect, onTestFinished, test } from "vitest";
import { crashLoop, crashLoopReason, ownBoots, safeMode } from "../src/daemon/safe-mode.ts";

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
    expect(crashLoopReason(boots, now)).toBe(
      '3 starts within five minutes died before they got anything done; channels are held. They resume after ten clean minutes, or by "parley resume"',
    );
    expect(crashLoopReason(boots.slice(0, 3), now)).toBeNull();
    // The oldest of them at exactly five minutes counts, a millisecond before it does not.
    const oldest = (atMs: number) => [...boots.slice(0, 3), boot(atMs, null)];
    expect(crashLoopReason(oldest(now - 5 * minute), now)).not.toBeNull();
    expect(crashLoopReason(oldest(now - 5 * minute - 1), now)).toBeNull();
    expect(crashLoopReason([...boots, boot(now - 4 * minute, null)], now)).toMatch(/^4 starts/);
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

test("the starts of a version that an update tried and took back do not hold the one that is in force again", () => {
  const boots = [current, ...[1, 2, 3].map((n) => boot(now - n * minute, null))];
  const begunAtMs = now - 3 * minute;
  for (const state of ["going-back", "went-back"] as const) {
    const endedAtMs = state === "went-back" ? now : null;
    expect(ownBoots(boots, { state, begunAtMs, endedAtMs })).toEqual([current]);
    // One more start of its own before the update.
    expect(ownBoots(boots, { state, begunAtMs: begunAtMs + 1, endedAtMs })).toEqual([current, boots[3]]);
  }
  // What died after it had gone back is its own.
  const after = { state: "went-back", begunAtMs: now - 9 * minute, endedAtMs: now - 3 * minute - 1 } as const;
  expect(ownBoots(boots, after)).toEqual(boots);
  for (const state of ["preparing", "swapping", "trying", "done", "failed"] as const)
    expect(ownBoots(boots, { state, begunAtMs, endedAtMs: null })).toEqual(boots);
  expect(ownBoots(boots, null)).toEqual(boots);
});

test("a start reads the record of the last update before it holds channels", async () => {
  const home = mkdtempSync(join(tmpdir(), "parley-safe-mode-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const boots = [current, ...[1, 2, 3].map((n) => boot(now - n * minute, null))];
  expect(await crashLoop(boots, home, now)).toContain("3 starts");
  const record = {
    id: "u",
    root: home,
    from: "1.0.0",
    to: "2.0.0",
    fromRef: "1.0.0",
    toRef: "2.0.0",
    reason: "it died",
    backup: null,
    restore: null,
    replaced: null,
    kept: null,
    worked: null,
    watchMs: minute,
    askedBy: null,
    driver: 1,
    before: null,
  };
  const times = { begunAtMs: now - 4 * minute, endedAtMs: now };
  writeRecord(home, { ...record, ...times, state: "went-back" });
  expect(await crashLoop(boots, home, now)).toBeNull();
  writeRecord(home, { ...record, ...times, state: "done" });
  expect(await crashLoop(boots, home, now)).toContain("3 starts");
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

  test("is ended by nobody once the daemon stops", async () => {
    const clock = virtualClock();
    let released = 0;
    safeMode(clock, async () => void (released += 1)).cancel();
    await clock.advance(20 * minute);
    expect([released, clock.armed()]).toEqual([0, 0]);
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
