// The whole form that each other way of writing a job becomes. After a wanted change:
// `vitest run --project @parley/schedules known-names -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { asWritten } from "../src/known-names.ts";

const schedules = [
  { at: "20m" },
  { every: "1h" },
  { everyMs: 60_000 },
  { cron: "0 9 * * *", tz: "UTC" },
  { expr: "0 9 * * *" },
  { watch: "inbox/*", debounce: "5s" },
  { watch: "inbox/*", debounceMs: 5 },
  { schedule: "0 9 * * *" },
  { schedule: { kind: "cron", expr: "0 9 * * *", tz: "UTC", staggerMs: 7 } },
  { schedule: { kind: "every", everyMs: 60_000, anchorMs: 3 } },
  { schedule: { kind: "at", atMs: 5 } },
  { schedule: 7 },
];
const payloads = [
  { message: "a" },
  { text: "a" },
  { message: "a", text: "b", toolsAllow: ["x"] },
  { payload: { kind: "systemEvent", message: "a" } },
  { payload: { kind: "systemEvent", text: "a", message: "b" } },
  { payload: { kind: "agentTurn", text: "a", toolsAllow: ["x"], timeoutSeconds: 5, deliver: true } },
  { payload: { kind: "agentTurn", message: "a", tools: ["y"], model: "m" } },
  { payload: { message: "a" } },
  { payload: { text: "a" } },
  { payload: { kind: "other", text: "a" } },
  { payload: "words" },
];
const others = [
  { delivery: "none" },
  { delivery: { mode: "announce", channel: "telegram", to: "7" } },
  { delivery: { mode: "announce", channel: "last", to: "7" } },
  { delivery: { channel: "telegram", account: "work", to: "7", bestEffort: true } },
  { delivery: { to: "telegram:7" } },
  { delivery: { mode: "webhook", to: "https://x" } },
  { delivery: { mode: "webhook", to: "https://x", url: "https://y", bestEffort: true } },
  { delivery: { mode: "none", to: "7" } },
  { delivery: 7 },
  { sessionTarget: "isolated", wakeMode: "next-heartbeat" },
  { target: "main", wake: "now", sessionTarget: "isolated", wakeMode: "next" },
  { exact: true, keepAfterRun: true },
  { exact: false, keepAfterRun: false, deleteAfterRun: true },
  { timeoutMs: 5_000 },
  { unknown: 1 },
];

test("jobs as others write them", async () => {
  const jobs: readonly unknown[] = [...schedules, ...payloads, ...others, {}, null, "job", [1]];
  const table = [true, false].map((isNew) => answerTable(jobs, (job) => asWritten(job, isNew)));
  await expect(table.join("\n")).toMatchFileSnapshot("tables/names.txt");
});
