// Shows what a written job becomes, and that each mistake is refused with its path, the value and the fix.
import { answerTable } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { editedJob, newJob, previewOf, type Job } from "../src/index.ts";
import { formatJob, parseJob } from "../src/job.ts";
import { context, jobOf, startMs, written } from "./jobs.ts";

const problemsOf = (fields: object, here: object = {}): readonly (readonly unknown[])[] => {
  const decision = newJob({ ...written, ...fields }, { ...context, ...here });
  if (decision.ok) return [];
  for (const { why, fix } of decision.problems) expect(Math.min(why.length, fix.length)).toBeGreaterThan(5);
  return decision.problems.map(({ path, value, why, fix }) => [path, value, `${why}; ${fix}`]);
};
const cron = (expression: string, zone = "Europe/Berlin"): object => ({
  schedule: { kind: "cron", expression, zone },
});
const at = (text: string | number, zone = "Europe/Berlin"): object => ({
  schedule: { kind: "at", at: text, zone },
});
const edited = (job: Job, edit: object, nowMs = startMs): Job => {
  const decision = editedJob(job, edit, { ...context, nowMs });
  if (!decision.ok) throw new Error(JSON.stringify(decision.problems));
  return decision.job;
};

describe("a schedule that can never be kept", () => {
  test.for([
    ["0 0 31 2 *", "never comes"],
    ["0 0 30W 2 *", "never comes"],
    ["@reboot", "@daily"],
    ["5-1 * * * *", "ranges go upwards"],
    ["*/0 * * * *", "stepping"],
    ["60 * * * *", "minute"],
    ["0 0 32 * *", "day: 32"],
    ["0 0 * 13 *", "month: 13"],
    ["@every 5m", "kind every"],
    ["* * * *", "4 fields"],
    ["0 0 0 1 1 * 2030", "7 fields"],
    ["2026-12-24T09:00:00", "1 fields"],
    ["", "0 fields"],
  ])("%s", ([expression = "", words]) => {
    const [[path, value, text] = []] = problemsOf(cron(expression));
    expect([path, value]).toEqual(["schedule.expression", expression]);
    expect(text).toContain(words);
  });

  test.for(["Nope/Zone", "+02:00", ""])("the zone %j", (zone) =>
    expect(problemsOf(cron("0 9 * * *", zone))).toEqual([
      ["schedule.zone", zone, expect.stringContaining("Europe/Berlin") as string],
    ]),
  );

  test.for([
    ["2026-11-23T08:59", "is past"],
    ["2026-11-23T09:00", "is past"],
    ["0s", "is past"],
    ["2027-02-30T09:00", "does not exist"],
    ["2027-01-01T24:30", "does not exist"],
    ["2026-12-24", 'add one: "2026-12-24T09:00"'],
    ["tomorrow", '"20m"'],
    ["2027-02-03T09:00+25:00", "offset that no zone has"],
    ["2027-02-03T09:00+01:75", "offset that no zone has"],
    ["2027-03-28T02:30", 'the next time is "2027-03-28 03:00"'],
  ])("the instant %s", ([text = "", words]) => {
    const [[path, value, told] = []] = problemsOf(at(text));
    expect([path, value]).toEqual(["schedule.at", text]);
    expect(told).toContain(words);
  });

  test.for(["0m", "soon", 999, "400d"])("the span %s", (every) =>
    expect(problemsOf({ schedule: { kind: "every", every } })[0]?.slice(0, 2)).toEqual([
      "schedule.every",
      every,
    ]),
  );
});

test.for([
  ["2026-12-24T09:00", "2026-12-24T08:00:00.000Z"],
  ["2026-12-24 09:00:30", "2026-12-24T08:00:30.000Z"],
  ["2026-12-24T09:00Z", "2026-12-24T09:00:00.000Z"],
  ["2026-12-24T09:00-05:30", "2026-12-24T14:30:00.000Z"],
  ["in 1h 30m", "2026-11-23T09:30:00.000Z"],
  ["in 20 minutes", "2026-11-23T08:20:00.000Z"],
  ["1 hour 5 mins", "2026-11-23T09:05:00.000Z"],
  ["2026-12-24T09:00+14:00", "2026-12-23T19:00:00.000Z"],
  // The clocks show 02:30 twice in that night: the first time counts.
  ["2027-10-31T02:30", "2027-10-31T00:30:00.000Z"],
])("%s in Berlin is %s", ([text = "", expected]) => {
  const { schedule } = jobOf(at(text));
  expect(schedule.kind === "at" ? new Date(schedule.atMs).toISOString() : null).toBe(expected);
});

test.for([-1, 9e15])("the anchor %s is refused before a job has it", (anchorMs) => {
  const schedule = { kind: "every", every: "1h", anchorMs };
  expect(problemsOf({ schedule }).map(([path]) => path)).toEqual(["schedule.anchorMs"]);
});

describe("fields that contradict one another", () => {
  const event = { payload: { kind: "systemEvent", text: "Look at the mail." } };
  const watch = { schedule: { kind: "watch", path: "inbox" } };
  test.for([
    ["main without an event", { target: { kind: "main" } }, "target.kind"],
    ["an event without a session", { ...event, target: { kind: "isolated" } }, "target.kind"],
    ["a key that is none", { target: { kind: "session", session: "main" } }, "target.session"],
    ["deletion of an endless job", { deleteAfterRun: true }, "deleteAfterRun"],
    ["a backlog without bound", { ...cron("* * * * *"), misfire: "all" }, "misfire"],
    ["a window that the store's memory does not cover", { catchUpMs: 5 * 86_400_000 }, "catchUpMs"],
    [
      "a webhook of another scheme",
      { delivery: { kind: "webhook", url: "file:///etc/passwd" } },
      "delivery.url",
    ],
    ["a word that no field has", { overlap: "maybe" }, "overlap"],
    ["a policy of what was missed, for a watch", { ...watch, misfire: "all" }, "misfire"],
    ["a stagger of a watch", { ...watch, staggerMs: 1 }, "staggerMs"],
  ] as const)("%s", ([, fields, path]) => expect(problemsOf(fields).map(([where]) => where)).toEqual([path]));

  test("places are needed where there is no conversation", () => {
    const owner = { ...context.owner, conversation: null, session: null };
    expect(problemsOf({ delivery: { kind: "announce" } }, { owner })[0]?.[0]).toBe("delivery.to");
    expect(problemsOf({ target: { kind: "current" } }, { owner })[0]?.[0]).toBe("target.kind");
    const both = problemsOf({ target: { kind: "current" }, delivery: { kind: "announce" } }, { owner });
    expect(both.map(([path]) => path)).toEqual(["target.kind", "delivery.to"]);
  });

  test("a watch is taken without either, and blanks and dots around a name or a path say nothing", () => {
    const decision = newJob(
      { ...written, ...watch, name: " Tea ", schedule: { kind: "watch", path: " ./inbox//a/ " } },
      context,
    );
    expect(decision).toMatchObject({
      ok: true,
      job: { name: "Tea", schedule: { kind: "watch", path: "inbox/a" }, staggerMs: 0, misfire: "latest" },
    });
  });
});

test("a job is whole, fixed in its places, and survives its cell", () => {
  const job = jobOf();
  expect(job).toMatchObject({
    target: { kind: "isolated" },
    delivery: { kind: "announce", to: context.owner.conversation, bestEffort: false },
    misfire: "latest",
    overlap: "skip",
    staggerMs: 0,
    version: 1,
    maxRuns: null,
    deleteAfterRun: false,
    state: { nextMs: Date.parse("2026-11-24T08:00:00Z"), decidedMs: startMs },
  });
  expect(parseJob(formatJob(job))).toEqual(job);
  expect(parseJob(JSON.stringify({ ...job, v: 2 }))).toBeNull();
  expect(jobOf({ target: { kind: "current" } }).target).toEqual({
    kind: "current",
    session: "agent:main:main",
  });
  expect(jobOf(at("20m"))).toMatchObject({ maxRuns: 1, deleteAfterRun: true });
});

test.for([
  ["0 * * * *", 300_000],
  ["@hourly", 300_000],
  ["0 0 */2 * * *", 300_000],
  ["0 9 * * *", 0],
  ["5 * * * *", 0],
] as const)("%s is spread over %i ms", ([expression, stagger]) =>
  expect(jobOf(cron(expression)).staggerMs).toBe(stagger),
);

describe("an edit", () => {
  const laterMs = startMs + 3_600_000;
  test("makes a version, and keeps what it does not name", () => {
    const job = jobOf({ maxRuns: 5, delivery: { kind: "none" } });
    const next = edited(job, { name: "Other" }, laterMs);
    expect(next).toEqual({ ...job, name: "Other", version: 2, editedAtMs: laterMs });
  });

  test("that resumes begins from now, without the errors of before", () => {
    const job = jobOf();
    const state = { ...job.state, consecutiveErrors: 10, paused: { reason: "failed", atMs: startMs } };
    const next = edited({ ...job, state }, { enabled: true }, laterMs);
    expect(next).toMatchObject({ effectiveFromMs: laterMs, state: { paused: null, consecutiveErrors: 0 } });
    expect(edited(edited(job, { enabled: false }), { enabled: true }, laterMs).state.decidedMs).toBe(laterMs);
  });

  test("that resumes a one-shot whose instant is past is refused", () => {
    const job = { ...jobOf(at("10m")), enabled: false };
    const decision = editedJob(job, { enabled: true }, { ...context, nowMs: laterMs });
    expect(decision.ok ? [] : decision.problems.map(({ path }) => path)).toEqual(["schedule.at"]);
  });

  test("between kinds leaves no rule of the old one", () => {
    const weekly = edited(jobOf(at("10m")), { schedule: { kind: "cron", expression: "@weekly" } });
    expect(weekly).toMatchObject({ maxRuns: null, deleteAfterRun: false });
    expect(edited(jobOf({ maxRuns: 3 }), { maxRuns: null }).maxRuns).toBeNull();
  });
});

test.for([
  ["0 9 * * 1-5", "every weekday at 09:00 Europe/Berlin"],
  ["@daily", "every day at 00:00 Europe/Berlin"],
  ["30 8,20 * * MON,THU", "every Monday and Thursday at 08:30 and 20:30 Europe/Berlin"],
  ["*/15 * * * *", "every 15 minutes Europe/Berlin"],
  ["0 */6 * * 0", "every 6 hours at :00, every Sunday Europe/Berlin"],
  ["0 9 1 * *", "on day 1 of every month at 09:00 Europe/Berlin"],
  ["0 9 L 2,12 *", "on the last day of February and December at 09:00 Europe/Berlin"],
  ["* * * * *", "every minute Europe/Berlin"],
  ["0 9 * * 7", "every Sunday at 09:00 Europe/Berlin"],
  ["0 9 * * 0,6", "every Sunday and Saturday at 09:00 Europe/Berlin"],
  ["5 * * * *", "every hour at :05 Europe/Berlin"],
  ["0 9 * 12 *", "every day in December at 09:00 Europe/Berlin"],
  ["@annually", "on day 1 of January at 00:00 Europe/Berlin"],
  ["@yearly", "on day 1 of January at 00:00 Europe/Berlin"],
  ["@monthly", "on day 1 of every month at 00:00 Europe/Berlin"],
  ["@weekly", "every Sunday at 00:00 Europe/Berlin"],
  ["@midnight", "every day at 00:00 Europe/Berlin"],
  ["@hourly", "every hour at :00 Europe/Berlin"],
  // Said in words, these would be wrong: seven does not divide sixty, and either day counts.
  ["*/7 * * * *", 'by the cron expression "*/7 * * * *" Europe/Berlin'],
  ["0 */5 * * *", 'by the cron expression "0 */5 * * *" Europe/Berlin'],
  ["0 9 13 * 5", 'by the cron expression "0 9 13 * 5" Europe/Berlin'],
  ["30 0 9 * * *", 'by the cron expression "30 0 9 * * *" Europe/Berlin'],
])("%s is said as: %s", ([expression = "", words]) =>
  expect(previewOf(jobOf(cron(expression)).schedule, startMs).words).toBe(words),
);

test("a preview lists the next three runs on the clocks of the zone", () => {
  expect(previewOf(jobOf().schedule, startMs).next.map(({ local }) => local)).toEqual([
    "2026-11-24 09:00 Europe/Berlin",
    "2026-11-25 09:00 Europe/Berlin",
    "2026-11-26 09:00 Europe/Berlin",
  ]);
  const once = previewOf(jobOf(at("90s")).schedule, startMs);
  expect([once.words, once.next.length]).toEqual(["once at 2026-11-23 09:01:30 Europe/Berlin", 1]);
  expect(once.next.map(({ local }) => local)).toEqual(["2026-11-23 09:01:30 Europe/Berlin"]);
  const spans = ["1d", "90m", "1h", "90s", "2d"].map(
    (every) => jobOf({ schedule: { kind: "every", every } }).schedule,
  );
  const said = spans.map((schedule) => previewOf(schedule, startMs).words);
  expect(said).toEqual([
    "every day",
    "every 1 hour 30 minutes",
    "every hour",
    "every 1 minute 30 seconds",
    "every 2 days",
  ]);
});

test("every expression is said in words that it means, or shown as it is, with its next two runs", async () => {
  const minutes = ["*", "0", "05", "30", "*/1", "*/15", "*/30", "*/7", "1,2", "59"];
  const hours = ["*", "0", "09", "8,20", "8,12,20", "*/1", "*/6", "*/5", "9-17", "23"];
  const days = [
    "* * *",
    "? * *",
    "* * ?",
    "? * ?",
    "1 * *",
    "01 1 *",
    "31 * ?",
    "L * *",
    "LW * *",
    "15W * *",
    "1,15 * *",
    "* 1 *",
    "* jan,FEB,12 *",
    "* 1-3 *",
    "* */2 *",
    "* * 0",
    "* * 6,7",
    "* * mon",
    "* * MON-FRI",
    "* * 1-5",
    "* * 1-6",
    "* * SUN,tue,4",
    "* 3,4 SUN",
    "* 4 1-5",
    "* * 5L",
    "* * MON#2",
    "13 * 5",
    "29 2 *",
  ];
  const expressions = [
    ...minutes.flatMap((minute) => hours.map((hour) => `${minute} ${hour} * * *`)),
    ...days.flatMap((day) => [`30 9 ${day}`, `*/20 * ${day}`]),
    "0 0 9 * * *",
    "00 0 9 * * 1",
    "1 0 9 * * *",
    "*/2 * * * * *",
    "  0   9 * * *  ",
    "@Daily",
    "@WEEKLY",
  ];
  const said = answerTable(expressions, (expression) => {
    const { words, next } = previewOf(jobOf(cron(expression)).schedule, startMs, 2);
    return [words, ...next.map(({ local }) => local.replace(" Europe/Berlin", ""))];
  });
  const spans = [
    1_000, 1_001, 59_000, 60_000, 61_000, 3_600_000, 3_661_000, 7_200_000, 86_400_000, 90_061_000,
    172_800_000,
  ];
  const spanned = answerTable(
    spans,
    (everyMs) => previewOf({ kind: "every", everyMs, anchorMs: startMs }, startMs, 2).words,
  );
  const watched = previewOf({ kind: "watch", path: "a/*.md", debounceMs: 1_500 }, startMs);
  expect(watched).toEqual({ words: "when a/*.md changes, after 1.5 s of quiet", next: [] });
  await expect(`${said}\n${spanned}`).toMatchFileSnapshot("tables/words.txt");
});
