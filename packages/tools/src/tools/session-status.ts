// Tells what an agent cannot know by itself: the time, what was used, which model answers; and sets the
// session's model.
import { z } from "zod";
import type { ToolContext } from "../context.ts";
import { defineTool, textResult } from "../define-tool.ts";
import type { Tool } from "../tool.ts";
import type { ToolListing } from "../tool-listing.ts";

const args = z.object({
  model: z.string().min(1).max(200).optional().describe("Only when the user asked to change it."),
});

export const sessionStatusListing: ToolListing = {
  name: "session_status",
  label: "Session status",
  section: "sessions",
  profiles: ["minimal", "coding", "messaging"],
  effect: "writes",
  summary: "Show time, usage and model; set the model",
};

export function sessionStatus({ status, clock, timeZone, halfDays = false }: ToolContext): Tool {
  return defineTool({
    ...sessionStatusListing,
    description:
      "Tells the current date and time in the user's zone, and the session's model and usage. " +
      'With model it also sets this session\'s model ("PROVIDER/MODEL" or an alias); "default" goes back to the agent\'s own.',
    args,
    async run({ model }, scope) {
      const set =
        model === undefined
          ? []
          : [{ name: "Set", value: await status.setModel(scope, model === "default" ? null : model) }];
      const lines = [
        ...set,
        { name: "Time", value: timeIn(timeZone, clock.now(), halfDays) },
        ...(await status.lines(scope)),
      ];
      return textResult(lines.map(({ name, value }) => `${name}: ${value}`).join("\n"));
    },
  });
}

/**
 * "Saturday, 21 November 2026, 08:05 (Europe/Berlin, GMT+01:00)": the day's name too, because models count
 * days badly.
 */
export function timeIn(timeZone: string, nowMs: number, halfDays = false): string {
  const day = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
  });
  const hours = halfDays
    ? ({ hour: "numeric", hourCycle: "h12" } as const)
    : ({ hour: "2-digit", hourCycle: "h23" } as const);
  const time = new Intl.DateTimeFormat("en-GB", { timeZone, minute: "2-digit", ...hours });
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone, timeZoneName: "longOffset" }).formatToParts(
    nowMs,
  );
  const offset = parts.find(({ type }) => type === "timeZoneName")?.value ?? "";
  return `${day.format(nowMs).replace(/^(\w+) /, "$1, ")}, ${time.format(nowMs)} (${timeZone}, ${offset})`;
}
