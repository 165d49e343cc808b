// A few random ends of the daemon under mixed traffic; traffic.long.test.ts has a hundred.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { endedAtRandom } from "./mixed-traffic.ts";
import { checkTraffic } from "./traffic-law.ts";

afterEach(cleanUp);

/** On a busy machine a start alone takes many seconds. */
const timeout = 300_000;

test(
  "killed three times under mixed traffic: nothing lost, nothing twice but what is flagged",
  { timeout },
  async () => {
    const report = await endedAtRandom({ signal: "SIGKILL", times: 3, seed: 1 });
    checkTraffic(report);
    expect(report.exits).toEqual(["SIGKILL", "SIGKILL", "SIGKILL", 0]);
  },
);

test("asked to stop under mixed traffic: everything answered exactly once", { timeout }, async () => {
  const report = await endedAtRandom({ signal: "SIGTERM", times: 1, seed: 2 });
  checkTraffic(report);
  expect(report.exits).toEqual([0, 0]);
  expect(report.store.flagged).toEqual([]);
});
