// Two of the instants that every-sync.long.test.ts goes through one by one.
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { killedAt } from "./every-sync.ts";
import { diesAtSync, whyNoStrace } from "./strace.ts";

afterEach(cleanUp);

describe.skipIf(whyNoStrace !== null)(`killed at an exact sync (${whyNoStrace ?? "strace"})`, () => {
  test.each([
    ["telegram", 4],
    ["web", 20],
  ] as const)("%s, sync %i: answered once, or a double is flagged", async (medium, nth) => {
    expect(await killedAt(medium, diesAtSync(nth))).not.toBe("not at all");
  });
});
