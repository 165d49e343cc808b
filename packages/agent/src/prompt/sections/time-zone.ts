// The zone, never the clock: a clock in the prompt would break the cache every turn (I12).
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

export const timeZone: StableSection = {
  id: "time_zone",
  title: "Current Date & Time",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 60,
  render: ({ timeZone: zone, tools }) => {
    if (zone === undefined) return null;
    const clock = tools.has("session_status")
      ? `\nFor the current date and time, run \`${tools.name("session_status")}\`.`
      : "";
    return `Time zone: ${plainLine(zone, 64)}${clock}`;
  },
  why: ({ timeZone: zone }) =>
    zone === undefined ? "no time zone is configured" : "a time zone is configured",
};
