// Whole tables of what written jobs and edits become: the job with every default, or all mistakes with path,
// value and fix. After a wanted change: `vitest run --project @parley/schedules written-table -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { editedJob, newJob, type Job } from "../src/index.ts";
import { context, jobOf, startMs, written } from "./jobs.ts";

const dayMs = 86_400_000;
const usual = jobOf({}) as unknown as { readonly [field: string]: unknown };

/** What differs from the usual job, or from the one before an edit. */
function differs(job: Job, from: { readonly [field: string]: unknown }): object {
  return Object.fromEntries(
    Object.entries(job).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(from[name])),
  );
}
const told = (decision: ReturnType<typeof newJob>, from: { readonly [field: string]: unknown }): unknown =>
  decision.ok
    ? differs(decision.job, from)
    : decision.problems.map(
        ({ path, value, why, fix }) => `${path} ${JSON.stringify(value)} ${why}. Fix: ${fix}`,
      );

test("what a new job becomes", async () => {
  const every = (more: object): object => ({ schedule: { kind: "every", ...more } });
  const watch = (more: object): object => ({ schedule: { kind: "watch", path: "inbox", ...more } });
  const at = (when: unknown): object => ({ schedule: { kind: "at", at: when } });
  const cron = (expression: string, more: object = {}): object => ({
    schedule: { kind: "cron", expression, ...more },
  });
  const event = { payload: { kind: "systemEvent", text: "Up." } };
  const rows: readonly object[] = [
    {},
    ...[
      "1000ms",
      "1s",
      "90 sec",
      "2 seconds",
      "5m",
      "5 mins",
      "1h 30m",
      "2 hrs",
      "1 hour",
      "1d",
      "2 days",
      "1w",
      "2 weeks",
      "in 5m",
      "5M",
      "5 m 3",
      "5",
      "",
      "-5m",
      "1.5h",
      "999ms",
      "366d",
      "367d",
    ].map((each) => every({ every: each })),
    every({ every: 1_000 }),
    every({ every: 366 * dayMs + 1 }),
    every({ every: "1h", anchorMs: startMs - 1 }),
    every({ every: "1h", zone: "UTC" }),
    at(startMs),
    at(startMs + 1),
    at(startMs + 100 * 366 * dayMs),
    at(startMs + 100 * 366 * dayMs + 1),
    at(" 20m "),
    { ...at("20m"), maxRuns: 5 },
    { ...at("20m"), deleteAfterRun: false },
    cron("0 * * * *"),
    cron("0 * * * *", { zone: "America/New_York" }),
    cron("5 * * * *"),
    cron("0 9 * * *"),
    cron("0 0 * * * *"),
    { ...cron("0 * * * *"), staggerMs: 0 },
    { ...cron("0 * * * *"), staggerMs: 3_600_001 },
    watch({}),
    watch({ debounce: "100ms" }),
    watch({ debounce: 99 }),
    watch({ debounce: "1h" }),
    watch({ debounce: "61m" }),
    watch({ debounce: "soon" }),
    watch({ zone: "UTC" }),
    ...["/etc", "~/x", "a/../b", "..", ".", "", "./a//b/", " notes/*.md ", "a..b"].map((path) =>
      watch({ path }),
    ),
    event,
    { ...event, target: { kind: "current" } },
    { ...event, target: { kind: "session", session: "agent:main:main" } },
    { ...event, target: { kind: "session", session: "agent:other:main" } },
    { ...event, target: { kind: "isolated" } },
    { target: { kind: "main" } },
    { target: { kind: "current" } },
    { target: { kind: "session", session: "nonsense" } },
    { delivery: { kind: "none" } },
    { delivery: { kind: "announce" } },
    {
      delivery: {
        kind: "announce",
        to: { channel: "discord", account: "b", kind: "channel", peer: "9" },
        bestEffort: true,
      },
    },
    { delivery: { kind: "webhook", url: "https://a.test/x" } },
    { delivery: { kind: "webhook", url: "https://a.test/x", bestEffort: true } },
    { delivery: { kind: "webhook", url: "file:///x" } },
    { payload: { kind: "command", command: "ls" } },
    { enabled: false },
    { misfire: "all" },
    { ...cron("* * * * *"), misfire: "all" },
    { ...cron("* * * * *"), misfire: "all", catchUpMs: 60_000 },
    {
      maxRuns: 3,
      overlap: "queue",
      wake: "next-heartbeat",
      catchUpMs: 60_000,
      timeoutSeconds: 1,
      mostTokensPerDay: 1,
    },
    { maxRuns: 0 },
    { overlap: "some", misfire: "never" },
    { unknown: 1 },
    { name: "" },
    { name: undefined },
    { schedule: { kind: "often" } },
    { deleteAfterRun: true },
    { maxRuns: 1, deleteAfterRun: true },
  ];
  await expect(
    answerTable(rows, (fields) => told(newJob({ ...written, ...fields }, context), usual)),
  ).toMatchFileSnapshot("tables/new-jobs.txt");
});

test("what an edit makes of a job", async () => {
  const failing = { consecutiveErrors: 3, backoffMs: 60_000, alertedAtMs: startMs, runs: 7, missed: 2 };
  const state = { ...jobOf({}).state, ...failing };
  const before: { readonly [name: string]: Job } = {
    usual: { ...jobOf({}), state },
    off: { ...jobOf({ enabled: false }), state: { ...state, nextMs: null } },
    paused: { ...jobOf({}), state: { ...state, nextMs: null, paused: { reason: "errors", atMs: startMs } } },
    limited: { ...jobOf({ maxRuns: 9 }), state },
    once: jobOf({ schedule: { kind: "at", at: "1h" } }),
    watch: { ...jobOf({ schedule: { kind: "watch", path: "inbox" } }), state },
  };
  const edits: readonly (readonly [from: string, edit: object])[] = [
    ["usual", {}],
    ["usual", { name: " Digest " }],
    ["usual", { schedule: { kind: "cron", expression: "0 * * * *" } }],
    ["usual", { schedule: { kind: "cron", expression: "0 9 * * 1-5" } }],
    ["usual", { schedule: { kind: "at", at: "20m" } }],
    ["usual", { schedule: { kind: "every", every: "1h" }, staggerMs: 5 }],
    ["usual", { schedule: { kind: "watch", path: "x" } }],
    ["usual", { enabled: true }],
    ["usual", { enabled: false }],
    ["off", { enabled: true }],
    ["off", { schedule: { kind: "every", every: "1h" } }],
    ["paused", { enabled: true }],
    ["paused", { name: "x" }],
    ["limited", { name: "x" }],
    ["limited", { maxRuns: null }],
    ["limited", { maxRuns: 4 }],
    ["limited", { schedule: { kind: "at", at: "20m" } }],
    ["once", { schedule: { kind: "every", every: "1h" } }],
    ["once", { schedule: { kind: "every", every: "1h" }, maxRuns: 3, deleteAfterRun: false }],
    ["once", { name: "x" }],
    ["once", { maxRuns: 4 }],
    ["watch", { schedule: { kind: "watch", path: "inbox" } }],
    ["watch", { schedule: { kind: "cron", expression: "0 9 * * *" } }],
    ["usual", { target: { kind: "main" } }],
    ["usual", { target: { kind: "main" }, payload: { kind: "systemEvent", text: "Up." } }],
    ["usual", { delivery: { kind: "announce" } }],
    ["usual", { delivery: { kind: "none" } }],
    ["usual", { timeoutSeconds: 0 }],
    ["usual", { owner: { isOwner: true } }],
    ["usual", { id: "other" }],
  ];
  await expect(
    answerTable(edits, ([from, edit]) => {
      const job = before[from] ?? jobOf({});
      return told(editedJob(job, edit, { ...context, nowMs: startMs + 60_000 }), job as never);
    }),
  ).toMatchFileSnapshot("tables/edited-jobs.txt");
});
