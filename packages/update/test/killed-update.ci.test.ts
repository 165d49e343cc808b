// Updates over three invented versions, killed at every step, with and without a start before they are gone
// on with: in the end one whole version runs, with a database that it knows, and no message that was taken is
// missing.
import { afterEach, describe, expect, test } from "vitest";
import { resumeUpdate, runUpdate } from "../src/run-update.ts";
import { hasEnded, readRecord } from "../src/update-record.ts";
import { Killed, machine, nodeArgs, removeMachines, schemaOf, ways } from "./machine.ts";

afterEach(removeMachines);

/** Kills the update at the step, lets a start come in between or not, and goes on with it until it ended. */
async function killedAndResumed(
  killAt: number,
  [from, to]: readonly [string, string],
  sickness: { readonly broken?: string; readonly sick?: string },
  isBootedBetween: boolean,
) {
  const m = machine(from, to, { ...sickness, killAt });
  try {
    await runUpdate(m.record, m.world);
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
  m.live();
  if (isBootedBetween && m.running() === null) await m.boot();
  const left = readRecord(m.home);
  if (left !== null && !hasEnded(left)) await resumeUpdate(left, m.world);
  return m;
}

describe.each(ways)("an update from %s to %s", (from, to) => {
  test.each([
    ["does well", {}],
    ["dies at its start", { broken: to }],
    ["is worse", { sick: to }],
  ] as const)(
    "killed at any step ends with one whole version that runs: the new one %s",
    async (_, sickness) => {
      const whole = machine(from, to, sickness);
      await runUpdate(whole.record, whole.world);
      expect(whole.steps()).toBeGreaterThan(15);
      for (let killAt = 1; killAt <= whole.steps(); killAt += 1)
        for (const isBooted of [false, true]) {
          const m = await killedAndResumed(killAt, [from, to], sickness, isBooted);
          const where = `killed at step ${killAt}, ${isBooted ? "started between" : "resumed at once"}`;
          expect(m.running(), where).toBe(m.inForce());
          expect(m.args(), where).toEqual(nodeArgs);
          expect(m.schema(), where).toBe(schemaOf(m.inForce()));
          expect(m.messages()[0], where).toBe("before");
          if (Object.keys(sickness).length > 0) expect(m.inForce(), where).toBe(from);
          const record = readRecord(m.home);
          if (record !== null) expect(hasEnded(record), where).toBe(true);
          removeMachines();
        }
    },
  );
});
