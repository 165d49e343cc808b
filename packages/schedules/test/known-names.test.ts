// The whole form that each other way of writing a job becomes. After a wanted change:
// `vitest run --project @parley/schedules known-names -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { asEdited, asWritten } from "../src/known-names.ts";

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
  { timeoutMs: 1_500 },
  { unknown: 1 },
];

test("jobs as others write them", async () => {
  const jobs: readonly unknown[] = [...schedules, ...payloads, ...others, {}, null, "job", [1]];
  const table = [true, false].map((isNew) => answerTable(jobs, (job) => asWritten(job, isNew)));
  await expect(table.join("\n")).toMatchFileSnapshot("tables/names.txt");
});

test("an edit keeps the fields of the payload, the schedule and the delivery that it does not name", () => {
  const schedule = { kind: "cron", expression: "0 9 * * *", zone: "UTC" };
  const payload = { kind: "agentTurn", message: "a", model: "m", tools: ["read"] };
  const delivery = { kind: "announce", to: "here", bestEffort: false };
  const edit = (asked: object) => asEdited(asked, { schedule, payload, delivery });
  expect(edit({ message: "b" })).toEqual({ payload: { ...payload, message: "b" } });
  expect(edit({ payload: { model: null, toolsAllow: ["write"] } })).toEqual({
    payload: { kind: "agentTurn", message: "a", tools: ["write"] },
  });
  expect(edit({ payload: { kind: "systemEvent", text: "b" } })).toEqual({
    payload: { kind: "systemEvent", text: "b" },
  });
  expect(edit({ schedule: { tz: "Europe/Berlin" } })).toEqual({
    schedule: { ...schedule, zone: "Europe/Berlin" },
  });
  expect(edit({ schedule: { at: "20m" } })).toEqual({ schedule: { at: "20m" } });
  expect(edit({ delivery: { bestEffort: true } })).toEqual({ delivery: { ...delivery, bestEffort: true } });
  expect(edit({ delivery: { mode: "none" }, name: "c" })).toEqual({ delivery: { mode: "none" }, name: "c" });
});
