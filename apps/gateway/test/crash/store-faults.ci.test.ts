// A disk that fails and a database that others hold: what is not durable is not acknowledged, and what was
// acknowledged is answered.
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage, type Medium, type Stage } from "./stage.ts";
import { failsAtSync, whyNoStrace } from "./strace.ts";

afterEach(cleanUp);

/** Ends non-zero on its own; the next start answers. */
async function failingDisk(at: Stage, medium: Medium, nth: number): Promise<void> {
  const daemon = await at.start(failsAtSync(nth));
  at.says(medium);
  expect(await daemon.exited).toBe(1);
  await at.start();
  at.says(medium);
  await at.quiet(medium);
  const { flagged, ...left } = await at.end();
  expect(left).toEqual({ ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  const seen = at.verdict(medium);
  expect({ ...seen, doubled: [] }).toEqual(flawless);
  expect(seen.doubled.length).toBeLessThanOrEqual(medium === "web" ? 0 : flagged.length);
}

describe.skipIf(whyNoStrace !== null)(`an I/O error under a commit (${whyNoStrace ?? "strace"})`, () => {
  // every-sync.long.test.ts knows what each sync of a conversation is for.
  test.each([
    ["telegram", 15],
    ["web", 20],
  ] as const)("on %s, at sync %i: the daemon ends, the next one answers", async (medium, nth) => {
    const at = await stage();
    try {
      await failingDisk(at, medium, nth);
    } finally {
      await at.close();
    }
  });
});

test("a database that another process holds for a second delays, and loses nothing", async () => {
  const at = await stage();
  try {
    await at.start();
    await at.called("getUpdates", 2);
    at.freeze();
    at.says("telegram");
    at.says("web");
    await pause(1_000);
    at.thaw();
    await Promise.all([at.quiet("telegram"), at.quiet("web")]);
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(at.verdict("web")).toEqual(flawless);
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});
