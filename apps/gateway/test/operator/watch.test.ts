// What watches over the daemon itself: systemd's watchdog, and the full check of the database beside it.
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Fault, silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { databaseJobs } from "../../src/maintenance/database-jobs.ts";
import { fullCheck } from "../../src/maintenance/full-check.ts";
import { keepWatchdog, watchdogEveryMs } from "../../src/daemon/watchdog.ts";

test.for([
  [{}, null],
  [{ WATCHDOG_USEC: "0" }, null],
  [{ WATCHDOG_USEC: "no" }, null],
  [{ WATCHDOG_USEC: "60000000" }, 30_000],
  [{ WATCHDOG_USEC: "60000000", WATCHDOG_PID: "42" }, 30_000],
  [{ WATCHDOG_USEC: "60000000", WATCHDOG_PID: "43" }, null],
] as const)("%j asks process 42 for a ping every %s ms", ([env, everyMs]) => {
  expect(watchdogEveryMs(env, 42)).toBe(everyMs);
});

test("the watchdog is told at half its time, not while the store is silent, and not after the end", async () => {
  const clock = virtualClock();
  let pings = 0;
  let answer = (): void => {};
  let silent = false;
  const check = (): Promise<{ ok: true }> =>
    silent ? new Promise((resolve) => (answer = () => resolve({ ok: true }))) : Promise.resolve({ ok: true });
  const stop = keepWatchdog(1_000, { check }, () => (pings += 1), clock);
  await clock.advance(3_000);
  expect(pings).toBe(3);
  silent = true;
  await clock.advance(5_000);
  expect(pings).toBe(3);
  silent = false;
  answer();
  await clock.advance(1_000);
  expect(pings).toBe(5);
  stop();
  await clock.advance(5_000);
  expect(pings).toBe(5);
  expect(clock.armed()).toBe(0);
});

test("a store that answers with trouble is alive", async () => {
  const clock = virtualClock();
  let pings = 0;
  const stop = keepWatchdog(
    1_000,
    { check: async () => ({ ok: false, reason: "the disk is full" }) },
    () => (pings += 1),
    clock,
  );
  await clock.advance(1_000);
  stop();
  expect(pings).toBe(1);
});

test.for([
  ["nothing found", async () => [], null],
  [
    "a finding",
    async () => ["row 1 missing from index x", "more"],
    /^\/s\.db is damaged \(row 1 missing from index x\): .*parley restore/,
  ],
  ["a file that cannot be read", () => Promise.reject(new Fault("invalid", "no database")), /^no database$/],
  ["a check that could not run", () => Promise.reject(new Fault("unavailable", "no memory")), null],
  ["a check that was stopped", () => Promise.reject(new Fault("aborted", "stops")), null],
] as const)("the full check with %s", async ([, check, reason]) => {
  const found = fullCheck({ check }, "/s.db", silentLog);
  expect(found()).toBeNull();
  await new Promise((resolve) => setImmediate(resolve));
  if (reason === null) expect(found()).toBeNull();
  else expect(found()).toMatch(reason);
});

test("a database job says what went wrong as a Fault, and ends when it is told to", async () => {
  const jobs = databaseJobs(fileURLToPath(new URL("../../src/main.ts", import.meta.url)));
  await expect(jobs.check("/no/such/file.db")).rejects.toMatchObject({ code: "unavailable" });
  const checking = jobs.check("/no/such/file.db");
  jobs.stop();
  await expect(checking).rejects.toMatchObject({ code: "aborted" });
});
