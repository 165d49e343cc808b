// Local times of zones far east and west: what the clocks skip, repeat and show, on both sides of each
// change.
import { expect, test } from "vitest";
import { firstInstantFrom, instantsOf, localText, zoneNamed } from "../src/zones.ts";

const at = (text: string): number => Date.parse(`${text}Z`);
const iso = (ms: number): string => new Date(ms).toISOString().replace(".000Z", "Z");

test.for([
  // Clocks go forward: nothing reads the time in between, and the first one after it is the change.
  ["America/Los_Angeles", "2026-03-08T02:30", [], "2026-03-08T10:00:00Z"],
  ["America/Los_Angeles", "2026-03-08T02:00", [], "2026-03-08T10:00:00Z"],
  ["America/Los_Angeles", "2026-03-08T01:59:59", ["2026-03-08T09:59:59Z"], "2026-03-08T09:59:59Z"],
  ["America/Los_Angeles", "2026-03-08T03:00", ["2026-03-08T10:00:00Z"], "2026-03-08T10:00:00Z"],
  ["Europe/Berlin", "2026-03-29T02:30", [], "2026-03-29T01:00:00Z"],
  ["Pacific/Auckland", "2026-09-27T02:30", [], "2026-09-26T14:00:00Z"],
  ["Australia/Lord_Howe", "2026-10-04T02:15", [], "2026-10-03T15:30:00Z"],
  // They go back: two instants, the earlier one first.
  [
    "America/Los_Angeles",
    "2026-11-01T01:30",
    ["2026-11-01T08:30:00Z", "2026-11-01T09:30:00Z"],
    "2026-11-01T08:30:00Z",
  ],
  [
    "Pacific/Auckland",
    "2026-04-05T02:30",
    ["2026-04-04T13:30:00Z", "2026-04-04T14:30:00Z"],
    "2026-04-04T13:30:00Z",
  ],
  [
    "Australia/Lord_Howe",
    "2026-04-05T01:45",
    ["2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z"],
    "2026-04-04T14:45:00Z",
  ],
  // A whole day was skipped.
  ["Pacific/Apia", "2011-12-30T12:00", [], "2011-12-30T10:00:00Z"],
  ["Etc/GMT+12", "2026-01-01T00:00", ["2026-01-01T12:00:00Z"], "2026-01-01T12:00:00Z"],
  ["Pacific/Kiritimati", "2026-01-01T00:00", ["2025-12-31T10:00:00Z"], "2025-12-31T10:00:00Z"],
] as const)("in %s the clocks read %s at %j", ([zone, local, instants, first]) => {
  expect(instantsOf(at(local), zone).map(iso)).toEqual(instants);
  expect(iso(firstInstantFrom(at(local), zone))).toBe(first);
});

test("a time is written with seconds only where there are any", () => {
  expect(
    ["2026-03-08T09:59:59", "2026-03-08T10:00:00", "2026-03-08T07:59"].map((text) =>
      localText(at(text), "America/Los_Angeles"),
    ),
  ).toEqual(["2026-03-08 01:59:59", "2026-03-08 03:00", "2026-03-07 23:59"]);
  expect(localText(-1, "UTC")).toBe("1969-12-31 23:59:59");
});

test.for([
  ["europe/berlin", "Europe/Berlin"],
  ["utc", "UTC"],
  ["Asia/Kolkata", "Asia/Kolkata"],
  ["Asia/Calcutta", "Asia/Calcutta"],
  ["+02:00", null],
  ["-5", null],
  ["2", null],
  ["Mars/Base", null],
  ["", null],
] as const)("the zone %s is %s", ([text, name]) => {
  expect(zoneNamed(text)).toBe(name);
});

test("more zones than are kept at once are read as well as few", () => {
  const zones = Intl.supportedValuesOf("timeZone").slice(0, 120);
  const read = () => zones.map((zone) => localText(0, zone));
  expect(read()).toEqual(read());
});
