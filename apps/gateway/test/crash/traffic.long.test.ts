// A hundred kills, forty in pairs, and sixty orderly ends, at random instants under mixed traffic.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { endedAtRandom, type TrafficReport } from "./mixed-traffic.ts";
import { checkTraffic } from "./traffic-law.ts";

afterEach(cleanUp);

test(
  "a hundred kills: nothing lost, nothing twice on Discord and the web, on Telegram only what is flagged",
  { timeout: 1_800_000 },
  async () => {
    const report = await killed(100, false);
    expect(report.store.ambiguous).toEqual([]);
  },
);

test(
  "forty kills, every second in the recovery from the first: what is not answered is listed as ambiguous",
  { timeout: 1_800_000 },
  async () => {
    await killed(40, true);
  },
);

async function killed(times: number, inPairs: boolean): Promise<TrafficReport> {
  const seed = Date.now() % 1_000_000;
  const report = await endedAtRandom({ signal: "SIGKILL", times, seed, inPairs });
  const doubled = report.telegram.flatMap(({ verdict }) => verdict.doubled).length;
  const { flagged, ambiguous } = report.store;
  const byMedium = [report.telegram, report.discord, report.web].map(
    (heard) => heard.flatMap(({ texts }) => texts).length,
  );
  console.log(
    `seed ${seed}: ${report.messages} messages, ${report.sessionsForgotten} times without Discord's session; ${byMedium.join(", ")} answers on ` +
      `Telegram, Discord and the web; on Telegram ${doubled} doubled, ${flagged.length} flagged, ${ambiguous.length} ambiguous`,
  );
  checkTraffic(report);
  return report;
}

test("sixty orderly ends: everything answered exactly once", { timeout: 1_800_000 }, async () => {
  const seed = Date.now() % 1_000_000;
  const report = await endedAtRandom({ signal: "SIGTERM", times: 60, seed });
  console.log(`seed ${seed}: ${report.messages} messages`);
  checkTraffic(report);
  expect(report.exits.every((exit) => exit === 0)).toBe(true);
  expect(report.store.flagged).toEqual([]);
});
