// What must hold after mixed traffic over any number of ends.
import { expect } from "vitest";
import { isKnown, type TrafficReport } from "./mixed-traffic.ts";
import { flawless } from "./said.ts";

export function checkTraffic(report: TrafficReport): void {
  expect(report.store).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  for (const { who, verdict } of [...report.web, ...report.discord])
    expect({ who, ...verdict }).toEqual({ who, ...flawless });
  for (const { who, verdict, texts } of report.telegram) {
    expect({ who, ...verdict, lost: [], doubled: [] }).toEqual({ who, ...flawless });
    // What nobody saw stands in the store as what nobody knows: two deaths hit both sends of it.
    expect(verdict.lost.filter((n) => !isKnown(report.store.ambiguous, who, n))).toEqual([]);
    // What people saw twice is what the store flagged, in this chat.
    const [, chat = ""] = who.split(" ");
    const doubles = texts.filter((text, at) => texts.indexOf(text) !== at);
    for (const text of new Set(doubles)) {
      const flags = report.store.flagged.filter(
        (flag) => flag.includes(`:${chat} `) && flag.includes(JSON.stringify(text)),
      );
      expect(flags.length, `${who} saw "${text}" again`).toBeGreaterThanOrEqual(
        doubles.filter((double) => double === text).length,
      );
    }
  }
  expect(report.toolRuns.filter((line, at) => report.toolRuns.indexOf(line) !== at)).toEqual([]);
}
