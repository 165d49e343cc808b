// Every instant at which the database promises something: killed at the first sync, the second, and so on
// until the conversation is over; then the same at the writes in between.
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { killedAt, type Where } from "./every-sync.ts";
import type { Medium } from "./stage.ts";
import { diesAtSync, diesAtWrite, whyNoStrace } from "./strace.ts";

afterEach(cleanUp);

/** Between two of these writes lie less than a commit's worth. */
const everyWrite = 5;
const most = 1_000;

async function loop(
  medium: Medium,
  under: (nth: number) => readonly string[],
  step: number,
): Promise<Map<Where, number>> {
  const seen = new Map<Where, number>();
  for (let nth = 1; nth < most; nth += step) {
    const where = await killedAt(medium, under(nth)).catch((error: unknown) => {
      throw new Error(`killed at call ${nth}`, { cause: error });
    });
    await cleanUp();
    seen.set(where, (seen.get(where) ?? 0) + 1);
    if (where === "not at all") return seen;
  }
  throw new Error(`the conversation is not over after ${most} calls`);
}

describe.skipIf(whyNoStrace !== null)(`killed at an exact system call (${whyNoStrace ?? "strace"})`, () => {
  test.each(["telegram", "discord", "web"] as const)(
    "at each sync in turn: nothing lost, in order, nothing twice but what is flagged (%s)",
    { timeout: 1_800_000 },
    async (medium) => {
      const seen = await loop(medium, diesAtSync, 1);
      console.log(medium, Object.fromEntries(seen));
      expect([...seen.keys()]).toEqual(
        expect.arrayContaining([
          "before it was ready",
          "before the model was asked",
          "between the tool and the answer",
          "after the answer, before it was sent",
          "after it was sent",
          "while it stopped",
          "not at all",
        ] satisfies Where[]),
      );
    },
  );

  test.each(["telegram", "discord", "web"] as const)(
    "at writes in the middle of a transaction (%s)",
    { timeout: 1_800_000 },
    async (medium) => {
      const seen = await loop(medium, diesAtWrite, everyWrite);
      console.log(medium, Object.fromEntries(seen));
      expect(seen.get("not at all")).toBe(1);
    },
  );
});
