// Computes the instants of a cron expression by croner, and is the only file that sees it. An expression of
// given times (no `*` and no step) names times of day: one that the clocks skip comes at the next instant
// there is, one that they repeat comes once. An expression with `*` or a step goes by the clock: in a skipped
// hour it has no instants, in a repeated one it has both.
import { Cron } from "croner";

export interface Instants {
  /** The first one after `afterMs`; null when there is none any more. */
  next(afterMs: number): number | null;
  /** The last one before `beforeMs`; null when there is none. */
  previous(beforeMs: number): number | null;
}

const parsed = new Map<string, Instants>();
const mostParsed = 2_000;
const nicknames = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/** Throws for an expression that `expressionMistake` finds wrong. */
export function expressionInstants(expression: string, zone: string): Instants {
  const key = `${expression}\n${zone}`;
  const known = parsed.get(key);
  if (known !== undefined) return known;
  const cron = read(expression, zone);
  const instants: Instants = {
    // Instants are whole seconds. croner counts from the second, so parts of one are cut off before.
    next: (afterMs) => cron.nextRun(new Date(Math.floor(afterMs / 1_000) * 1_000))?.getTime() ?? null,
    previous: (beforeMs) =>
      cron.previousRuns(1, new Date(Math.ceil(beforeMs / 1_000) * 1_000))[0]?.getTime() ?? null,
  };
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(key, instants);
  return instants;
}

/** What is wrong with an expression, and how to write it; null when it can be read. */
export function expressionMistake(expression: string): { readonly why: string; readonly fix: string } | null {
  const text = expression.trim();
  const fields = text.split(/\s+/).length;
  if (text.startsWith("@"))
    return nicknames.includes(text.toLowerCase())
      ? null
      : { why: "it is no name of a schedule", fix: `use one of ${nicknames.join(", ")}` };
  // croner would take a date for a one-shot and a seventh field for years.
  if (fields !== 5 && fields !== 6)
    return {
      why: `it has ${text === "" ? 0 : fields} fields`,
      fix: 'write five, "minute hour day month weekday", or six with seconds first, for example "0 9 * * 1-5"; for one date use the kind "at"',
    };
  try {
    read(text, "UTC");
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^\w+: /, "") : String(error);
    return {
      why,
      fix: 'minute 0-59, hour 0-23, day 1-31 or L, month 1-12 or JAN-DEC, weekday 0-7 or SUN-SAT; ranges go upwards, for example "22,23,0-2"',
    };
  }
}

function read(expression: string, zone: string): Cron {
  return new Cron(expression.trim(), {
    timezone: zone,
    paused: true,
    mode: "5-or-6-parts",
    fixedTimeRule: "no-wildcard",
  });
}
