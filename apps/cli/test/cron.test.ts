import { describe, expect, test } from "vitest";
import { fakeGateway, parley, Refusal } from "./fake-gateway.ts";

const job = {
  id: "1ccc530f",
  name: "morning",
  agent: "main",
  enabled: true,
  paused: null,
  words: "every day at 09:00 UTC",
  schedule: { kind: "cron", expression: "0 9 * * *", zone: "UTC" },
  payload: { kind: "agentTurn", message: "What is on?", thinking: "low" },
  target: { kind: "isolated" },
  session: "agent:main:cron:1ccc530f",
  delivery: { kind: "none" },
  wake: "now",
  misfire: "latest",
  overlap: "skip",
  staggerMs: 0,
  catchUpMs: 345_600_000,
  maxRuns: null,
  deleteAfterRun: false,
  timeoutSeconds: 3_600,
  mostTokensPerDay: null,
  version: 1,
  createdAtMs: 0,
  editedAtMs: 0,
  owner: { kind: "operator", sender: null, isOwner: true, session: null },
  nextAtMs: null,
  nextAt: null,
  runs: 0,
  missed: 0,
  consecutiveErrors: 0,
  last: null,
};

describe("cron", () => {
  test.each([
    [["add", "x", "--system-event", "a"], "--at, --every, --cron and --watch"],
    [["add", "x", "--at", "20m"], "--message or --system-event"],
    [["add", "x", "--at", "20m", "--message", "a", "--session", "banana"], "isolated or session:<key>"],
    [["add", "x", "--at", "20m", "--system-event", "a", "--model", "b/c"], "are for --message"],
    [["edit", "x"], "nothing to change"],
    [
      ["add", "x", "--every", "1h", "--tz", "Europe/Berlin", "--message", "a"],
      "elapsed time, which has no zone",
    ],
    [["add", "x", "--watch", "inbox", "--at", "1h", "--message", "a"], "--at, --every, --cron and --watch"],
    [["add", "x", "--at", "1h", "--debounce", "5s", "--message", "a"], "--debounce is for --watch"],
    [["explain", "--every", "1h", "--tz", "Europe/Berlin"], "elapsed time, which has no zone"],
  ])("%j is wrong usage, before anybody is asked", async (argv, says) => {
    const gateway = await fakeGateway(() => ({ job }));
    const { exitCode, err } = await parley(gateway.home, ["cron", ...argv]);
    expect(exitCode).toBe(2);
    expect(err).toContain(says);
    expect(gateway.requests).toEqual([]);
  });

  test("what the gateway refuses of an expression is wrong usage; a job that there is none of is a failure", async () => {
    const invalid = await fakeGateway(() => {
      throw new Refusal("invalid", "schedule.expression never comes");
    });
    const missing = await fakeGateway(() => {
      throw new Refusal("missing", 'there is no job "x" here');
    });
    const add = ["cron", "add", "x", "--cron", "0 0 31 2 *", "--message", "a"];
    expect((await parley(invalid.home, add)).exitCode).toBe(2);
    expect((await parley(missing.home, ["cron", "edit", "x", "--name", "y"])).exitCode).toBe(1);
  });

  test("a zone and a model that are named alone join what the job has", async () => {
    const gateway = await fakeGateway(() => ({ job }));
    const argv = ["cron", "edit", "morning", "--tz", "Asia/Tokyo", "--model", "a/b"];
    expect((await parley(gateway.home, argv)).exitCode).toBe(0);
    expect(gateway.requests.at(-1)).toMatchObject({
      method: "cron.update",
      params: {
        id: "morning",
        patch: {
          schedule: { kind: "cron", expression: "0 9 * * *", zone: "Asia/Tokyo" },
          payload: { kind: "agentTurn", message: "What is on?", thinking: "low", model: "a/b" },
        },
      },
    });
  });

  test("a watch is asked for by its path and debounce, and shown as waiting for a change", async () => {
    const schedule = { kind: "watch", path: "inbox/*", debounceMs: 2_000 };
    const gateway = await fakeGateway(() => ({ job: { ...job, schedule } }));
    const argv = ["cron", "add", "x", "--watch", "inbox/*", "--debounce", "2s", "--message", "a"];
    const { out } = await parley(gateway.home, argv);
    expect(gateway.requests.find(({ method }) => method === "cron.add")?.params).toMatchObject({
      job: { schedule: { kind: "watch", path: "inbox/*", debounce: "2s" } },
    });
    expect(out).toMatch(/next +when a file changes/);
  });

  test("a job that has run as often as it may says so, in place of a next instant", async () => {
    const over = { ...job, maxRuns: 2, runs: 2 };
    const gateway = await fakeGateway(({ method }) =>
      method === "cron.list" ? { jobs: [over] } : { job: over },
    );
    for (const argv of [["list"], ["get", "morning"]])
      expect((await parley(gateway.home, ["cron", ...argv])).out).toContain("never: it has run 2 of 2 times");
  });
});
