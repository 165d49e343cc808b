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
  const instants = remembering({
    next: (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null,
    previous: (beforeMs) => cron.previousRuns(1, new Date(beforeMs))[0]?.getTime() ?? null,
  });
  if (parsed.size >= mostParsed) parsed.clear();
  parsed.set(key, instants);
  return instants;
}

/** No instant lies between the two; what is an end of it, and no instant itself, is only known so far. */
interface Gap {
  readonly low: number;
  readonly high: number;
  readonly isLow: boolean;
  readonly isHigh: boolean;
}

/** A look asks for the instants around one moment, and so do the others with the same expression. */
const gapsKept = 8;

/** Computing an instant takes croner up to a millisecond, so gaps between them are kept. */
function remembering(instants: Instants): Instants {
  let gaps: readonly Gap[] = [];
  function learn(gap: Gap): void {
    const isBeside = (other: Gap): boolean => other.low < gap.high && gap.low < other.high;
    const whole = gaps.filter(isBeside).reduce(
      (a, b): Gap => ({
        low: Math.min(a.low, b.low),
        high: Math.max(a.high, b.high),
        isLow: a.low === b.low ? a.isLow || b.isLow : a.low < b.low ? a.isLow : b.isLow,
        isHigh: a.high === b.high ? a.isHigh || b.isHigh : a.high > b.high ? a.isHigh : b.isHigh,
      }),
      gap,
    );
    gaps = [whole, ...gaps.filter((other) => !isBeside(other))].slice(0, gapsKept);
  }
  return {
    // Instants are whole seconds. croner counts from the second, so parts of one are cut off before.
    next(afterMs) {
      const from = Math.floor(afterMs / 1_000) * 1_000;
      const known = gaps.find(({ low, high, isHigh }) => isHigh && low <= from && from < high);
      const at = known === undefined ? (instants.next(from) ?? Infinity) : known.high;
      if (known === undefined) learn({ low: from, high: at, isLow: false, isHigh: true });
      return at === Infinity ? null : at;
    },
    previous(beforeMs) {
      const until = Math.ceil(beforeMs / 1_000) * 1_000;
      const known = gaps.find(({ low, high, isLow }) => isLow && low < until && until <= high);
      const at = known === undefined ? (instants.previous(until) ?? -Infinity) : known.low;
      if (known === undefined) learn({ low: at, high: until, isLow: true, isHigh: false });
      return at === -Infinity ? null : at;
    },
  };
}

/** What is wrong with an expression, and how to write it; null when it can be read. */
export function expressionMistake(expression: string): { readonly why: string; readonly fix: string } | null {
  const text = expression.trim();
  const fields = text.split(/\s+/).length;
  if (text.startsWith("@"))
    return nicknames.includes(text.toLowerCase())
      ? null
      : { why: "it is no name of a schedule", fix: nicknameFix(text.toLowerCase()) };
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
    const why = error instanceof Error ? asPeopleCount(error.message.replace(/^\w+: /, "")) : String(error);
    return {
      why,
      fix: 'minute 0-59, hour 0-23, day 1-31 or L, month 1-12 or JAN-DEC, weekday 0-7 or SUN-SAT; ranges go upwards, for example "22,23,0-2"',
    };
  }
}

function nicknameFix(name: string): string {
  const fix = `use one of ${nicknames.join(", ")}`;
  if (name.startsWith("@every")) return `use the kind every, for example every: "5m"; or ${fix}`;
  return name === "@reboot"
    ? `${fix}; what is to happen when the gateway starts is for the hook boot-md`
    : fix;
}

/** croner counts days and months from 0 where it says which value is wrong. */
function asPeopleCount(message: string): string {
  return message.replace(
    /^(Invalid value for (?:day|month): )(-?\d+)$/,
    (_all, head: string, value: string) => `${head}${Number(value) + 1}`,
  );
}

function read(expression: string, zone: string): Cron {
  return new Cron(expression.trim(), {
    timezone: zone,
    paused: true,
    mode: "5-or-6-parts",
    fixedTimeRule: "no-wildcard",
  });
}
