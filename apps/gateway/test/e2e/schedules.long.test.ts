// A real daemon on the nights on which clocks change, suspended, and with a clock that jumps: each slot runs
// once, or is told as missed.
import { lacks, program } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { clockNight } from "./clock-nights.ts";
import { cleanUp } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
  w.models.reply("done");
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

const faketime = program("faketime");

/**
 * Zone, wall time, a moment before it, its only instant in the night, and for what comes twice a moment
 * before the second.
 */
const nights = [
  ["America/New_York", "30 2", "2027-03-14T06:59:57Z", "2027-03-14T07:00:00.000Z", null],
  ["America/New_York", "30 1", "2027-11-07T05:29:57Z", "2027-11-07T05:30:00.000Z", "2027-11-07T06:29:57Z"],
  ["Europe/Berlin", "30 2", "2027-10-31T00:29:57Z", "2027-10-31T00:30:00.000Z", "2027-10-31T01:29:57Z"],
  ["Australia/Lord_Howe", "15 2", "2027-10-02T15:29:57Z", "2027-10-02T15:30:00.000Z", null],
  ["Australia/Lord_Howe", "45 1", "2027-04-03T14:44:57Z", "2027-04-03T14:45:00.000Z", "2027-04-03T15:14:57Z"],
] as const;
const hour = 3_600;

describe.skipIf(lacks(faketime))("a real daemon", () => {
  test.for(nights)("%s at %s, on %s", { timeout: 300_000 }, async ([zone, time, before, instant, again]) => {
    const night = await clockNight(w, faketime);
    const daemon = await night.start(new Date(Date.parse(before) - 600_000).toISOString());
    await night.set(before);
    const job = await night.add({ kind: "cron", expression: `${time} * * *`, zone });
    await night.until(async () => (await night.ran(job)).length > 0, "the run");
    if (again !== null) {
      daemon.kill("SIGKILL");
      await daemon.exited;
      await night.start(again);
      // Another job shows that the moment has passed.
      const witness = await night.add({ kind: "every", every: "5s" });
      await night.until(async () => (await night.ran(witness)).length > 1, "the time after it");
    }
    expect(await night.ran(job)).toEqual([instant]);
    expect(Date.parse((await night.nextAt(job)) ?? "") - Date.parse(instant)).toBeGreaterThan(
      20 * hour * 1_000,
    );
  });

  test(
    "suspended for ten minutes, makes up for the last slot and tells the others",
    { timeout: 300_000 },
    async () => {
      const night = await clockNight(w, faketime);
      const daemon = await night.start("2027-06-01T12:00:00Z");
      const job = await night.add({ kind: "every", every: "1m" }, { misfire: "latest" });
      daemon.kill("SIGSTOP");
      await night.jump(600);
      daemon.kill("SIGCONT");
      await night.until(async () => (await night.ran(job)).length > 0, "the run after it");
      const runs = await night.runs(job);
      const missed = runs
        .filter(({ outcome }) => outcome === "missed")
        .reduce((sum, { count }) => sum + count, 0);
      expect(missed).toBeGreaterThanOrEqual(8);
      expect(await night.ran(job)).toHaveLength(1);
    },
  );

  test("with a clock set back for half a minute, runs no slot twice", { timeout: 300_000 }, async () => {
    const night = await clockNight(w, faketime);
    await night.start("2027-06-01T12:00:00Z");
    const job = await night.add({ kind: "cron", expression: "*/5 * * * * *" });
    await night.until(async () => (await night.ran(job)).length > 2, "some runs");
    const last = (await night.ran(job)).at(-1) ?? "";
    await night.jump(-30);
    await night.until(async () => ((await night.ran(job)).at(-1) ?? "") > last, "runs of the time after it");
    // Each is asked for by its instant, so what ran twice would be asked for twice.
    const asked = w.models.requests().map(({ lastUserText }) => lastUserText);
    expect(asked.length).toBeGreaterThan(3);
    expect(new Set(asked).size).toBe(asked.length);
  });
});
