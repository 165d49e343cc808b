// Implements `usage`: sums usage by session, agent, channel, person, model or day, with what is left of the
// spending limits.
import { recentDays, type MethodParams, type MethodResult } from "@parley/protocol";
import {
  resetIn,
  type SpendState,
  addUsed,
  noneUsed,
  tokensOf,
  type UsageRow,
  type Used,
} from "@parley/runner";
import type { StorePorts } from "../ports.ts";

export type UsagePorts = Pick<StorePorts, "usage" | "ledger" | "clock">;

export function usageMethods({ usage: log, ledger, clock }: UsagePorts) {
  return {
    async usage({ by = "agent", days = 30 }: MethodParams<"usage">): Promise<MethodResult<"usage">> {
      const wanted = recentDays(clock.now(), log.timeZone, days);
      const [rows, states] = await Promise.all([log.rows(wanted), ledger.states()]);
      const sums = new Map<string, Used>();
      for (const row of rows) sums.set(nameBy[by](row), addUsed(sums.get(nameBy[by](row)) ?? noneUsed, row));
      const named = [...sums].map(([name, used]) => ({ name, ...used }));
      return {
        from: wanted.at(-1) ?? "",
        through: wanted[0] ?? "",
        timeZone: log.timeZone,
        rows:
          by === "day"
            ? named.toSorted((a, b) => (a.name < b.name ? -1 : 1))
            : named.toSorted(costliestFirst),
        total: rows.reduce(addUsed, noneUsed),
        caps: states.flatMap((state) => capsIn(state, log.timeZone, clock.now())),
      };
    },
  };
}

const nameBy: {
  readonly [by in "session" | "agent" | "channel" | "person" | "model" | "day"]: (row: UsageRow) => string;
} = {
  session: ({ session }) => session,
  agent: ({ agent }) => agent,
  channel: ({ channel }) => channel,
  person: ({ person }) => person,
  model: ({ model }) => model,
  day: ({ day }) => day,
};

function costliestFirst(a: Used, b: Used): number {
  return b.costUsd - a.costUsd || tokensOf(b) - tokensOf(a);
}

function capsIn(
  { agent, caps, day, month }: SpendState,
  timeZone: string,
  nowMs: number,
): MethodResult<"usage">["caps"] {
  const one = (
    over: "day" | "month",
    unit: "usd" | "tokens",
    most: number | undefined,
    used: Used,
  ): MethodResult<"usage">["caps"] =>
    most === undefined
      ? []
      : [
          {
            agent,
            over,
            unit,
            most,
            used: unit === "usd" ? used.costUsd : tokensOf(used),
            resets: resetIn(over, timeZone, nowMs),
          },
        ];
  return [
    ...one("day", "usd", caps.dayUsd, day),
    ...one("day", "tokens", caps.dayTokens, day),
    ...one("month", "usd", caps.monthUsd, month),
    ...one("month", "tokens", caps.monthTokens, month),
  ];
}
