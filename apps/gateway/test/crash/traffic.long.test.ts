// A hundred kills, and sixty orderly ends, at random instants under mixed traffic.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { endedAtRandom } from "./mixed-traffic.ts";
import { checkTraffic } from "./traffic-law.ts";

afterEach(cleanUp);

test("a hundred kills: nothing lost, nothing twice on the web, on Telegram only what is flagged", { timeout: 1_800_000 }, async () => {
  const seed = Date.now() % 1_000_000;
  const report = await endedAtRandom({ signal: "SIGKILL", times: 100, seed });
  const doubled = report.telegram.flatMap(({ verdict }) => verdict.doubled).length;
  console.log(`seed ${seed}: ${report.messages} messages, ${doubled} doubled on Telegram, ${report.store.flagged.length} flagged`);
  checkTraffic(report);
});

test("sixty orderly ends: everything answered exactly once", { timeout: 1_800_000 }, async () => {
  const seed = Date.now() % 1_000_000;
  const report = await endedAtRandom({ signal: "SIGTERM", times: 60, seed });
  console.log(`seed ${seed}: ${report.messages} messages`);
  checkTraffic(report);
  expect(report.exits.every((exit) => exit === 0)).toBe(true);
  expect(report.store.flagged).toEqual([]);
});
