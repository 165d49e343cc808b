// What an operator asks and sees of jobs.
import { at, view, type View } from "./view.ts";

const job = {
  id: "1ccc530f",
  name: "morning",
  agent: "main",
  enabled: true,
  paused: null as string | null,
  words: "every day at 09:00 UTC",
  schedule: { kind: "cron", expression: "0 9 * * *", zone: "UTC" } as object,
  payload: { kind: "agentTurn", message: "What is on?", thinking: "low" } as object,
  target: { kind: "isolated" },
  session: "agent:main:cron:1ccc530f",
  delivery: { kind: "none" } as object,
  wake: "now",
  misfire: "latest",
  overlap: "skip",
  staggerMs: 0,
  catchUpMs: 345_600_000,
  maxRuns: null as number | null,
  deleteAfterRun: false,
  timeoutSeconds: 3_600,
  mostTokensPerDay: null,
  version: 1,
  createdAtMs: at(0),
  editedAtMs: at(0),
  owner: { kind: "operator", sender: null, isOwner: true, session: null },
  nextAtMs: null,
  nextAt: null as string | null,
  runs: 3,
  missed: 1,
  consecutiveErrors: 0,
  last: null as object | null,
};
const watch = { kind: "watch", path: "inbox/*", debounceMs: 2_000 };
const to = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
const last = { instantMs: at(0), outcome: "failed", reason: "no model" as string | null };
const run = {
  instantMs: at(0),
  outcome: "ok",
  reason: null as string | null,
  count: 1,
  tokens: 0,
  startedAtMs: null as number | null,
  endedAtMs: at(3.5),
  said: "",
  slot: "s1",
};
const none = { disabled: 0, busy: 0 };
const counted = {
  enabled: true,
  jobs: 5,
  switchedOff: 1,
  paused: 2,
  failing: 3,
  running: 4,
  nextAt: null as string | null,
  nextJob: null as string | null,
  zone: "UTC",
  unreadable: [] as string[],
  slots: { fired: 0, mostLateSeconds: 0.44, skipped: none, missed: none },
};
const explained = { words: "every day", next: [] as object[], staggerMs: 0 };
const next = [
  { iso: "2026-01-01T09:00:00.000Z", local: "Thu 1 January 2026, 09:00 UTC" },
  { iso: "2026-01-02T09:00:00.000Z", local: "Fri 2 January 2026, 09:00 UTC" },
];

const shown = (command: string, more: object = {}): View =>
  view(command, {
    "cron.add": { job: { ...job, ...more } },
    "cron.update": { job },
    "cron.get": { job: { ...job, ...more } },
  });

export const schedules: readonly View[] = [
  view("cron list", { "cron.list": { jobs: [] } }),
  view("cron list --agent main", {
    "cron.list": {
      jobs: [
        job,
        { ...job, nextAt: "2026-01-01T09:00:00.000Z", last },
        { ...job, enabled: false, paused: "too many errors" },
        { ...job, paused: "too many errors" },
        { ...job, maxRuns: 3 },
        { ...job, maxRuns: 4 },
        { ...job, schedule: watch },
      ],
    },
  }),
  shown("cron get morning"),
  shown("cron get morning", { enabled: false, paused: "by a person", schedule: watch }),
  shown("cron get morning", { schedule: watch, delivery: { kind: "webhook", url: "https://x/y" }, last }),
  shown("cron get morning", {
    payload: { kind: "systemEvent", text: "two\nlines" },
    delivery: { kind: "announce", to },
    nextAt: "2026-01-01T09:00:00.000Z",
    last: { ...last, outcome: "ok", reason: null },
  }),
  shown("cron add --name x --at 20m --tz Europe/Berlin --message a --session main --agent b"),
  shown("cron add --name x --every 1h --system-event a --wake next-heartbeat --misfire skip --overlap queue"),
  shown(
    "cron add --name x --cron 0_9_*_*_* --tz UTC --message a --model b/c --thinking low --tools x,_y --light-context",
  ),
  shown("cron add --name x --watch inbox/* --debounce 2s --message a --webhook https://x/y --to telegram:7"),
  shown("cron add --name x --at 20m --message a --no-deliver --catch-up 30s --exact --stagger 5m"),
  shown("cron add --name x --at 20m --message a --to telegram:7 --announce --catch-up 2h --stagger 5m"),
  shown("cron add --name x --at 20m --message a --announce --catch-up 1d --max-runs 1 --delete-after-run"),
  shown(
    "cron add --name x --at 20m --message a --keep-after-run --timeout-seconds 5 --max-tokens-per-day 7 --disabled",
  ),
  shown("cron edit morning --name y --if-version 3"),
  shown("cron edit morning --tz Asia/Tokyo --model a/b"),
  shown("cron edit morning --tz Asia/Tokyo", { schedule: watch }),
  shown("cron edit morning --model a/b", { payload: { kind: "systemEvent", text: "x" } }),
  shown("cron edit morning --tz Asia/Tokyo --at 5m --message n --model a/b"),
  shown("cron enable morning"),
  shown("cron disable morning"),
  view("cron rm morning", { "cron.remove": { id: "1", name: "morning" } }),
  view("cron run morning", { "cron.run": { id: "1", run: "s1" } }),
  view("cron runs morning", { "cron.runs": { now: [], runs: [] } }),
  view("cron runs morning --limit 7", {
    "cron.runs": {
      now: [{ slot: "s9", state: "running", instantMs: at(9) }],
      runs: [
        run,
        {
          ...run,
          count: 2,
          startedAtMs: at(0),
          tokens: 1,
          reason: "late",
          said: `two\nlines${"x".repeat(120)}`,
        },
        { ...run, count: 100, startedAtMs: at(1.6) },
        { ...run, count: 99, outcome: "missed" },
      ],
    },
  }),
  view("cron status", { "cron.status": counted }),
  view("cron status", {
    "cron.status": {
      ...counted,
      enabled: false,
      nextAt: "2026-01-01T09:00:00.000Z",
      nextJob: "morning",
      unreadable: ["a", "b"],
      slots: {
        fired: 12,
        mostLateSeconds: 0.44,
        skipped: { ...none, busy: 2 },
        missed: { disabled: 1, busy: 3 },
      },
    },
  }),
  view("cron explain morning", { "cron.explain": { ...explained, next } }),
  view("cron explain 0_9_*_*_* --tz Europe/Berlin --count 2 --from 2026-01-01", {
    "cron.explain": { ...explained, next, staggerMs: 300_000 },
  }),
  view("cron explain @hourly", { "cron.explain": explained }),
  view("cron explain --every 1h", { "cron.explain": { ...explained, next } }),
  view("cron explain --at 5m --tz UTC", { "cron.explain": { ...explained, next } }),
  view("cron explain --watch inbox/*", { "cron.explain": { ...explained, files: 0 } }),
  view("cron explain", {}),
  view("cron wake do_it", { wake: { session: "agent:main:main", id: "w1" } }),
  view("cron wake do_it --mode next-heartbeat --agent b --session k", {
    wake: { session: "agent:b:main", id: "w2" },
  }),
  view("cron wake do_it --mode later", {}),
  ...[
    "add --name x --message a --at 5m --every 1h",
    "add --name x --message a --system-event b --at 5m",
    "add --name x --message a --watch w --tz UTC",
    "add --name x --message a --at 5m --session session:",
    "add --name x --message a --at 5m --catch-up 30",
    "add --name x --message a --at 5m --stagger 1w",
    "add --name x --message a --at 5m --max-runs 0",
    "add --name x --message a --at 5m --max-runs 1.5",
    "edit morning",
    "runs morning --limit 0",
  ].map((command) => view(`cron ${command}`, {})),
];
