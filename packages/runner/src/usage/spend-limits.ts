// Checks before every model call the daily and monthly caps of an agent, of the person who asked and of a
// shared place. The sums are read from the usage cells once and updated with this process's commits. Running
// turns count at once, so that turns side by side exceed a cap by no more than their calls under way; commits
// of other processes are seen when the day is read again.
import type { Ledger, LoopEnd } from "@parley/agent";
import type { Config, SpendConfig } from "@parley/config";
import type { Model, ModelEvent, ModelRequest } from "@parley/models";
import {
  noUsage,
  type Clock,
  type Log,
  type SessionKey,
  type Usage,
  localDay,
  recentDays,
} from "@parley/protocol";
import { firstInstantFrom } from "@parley/schedules";
import type { CellWrite, Turn } from "@parley/store";
import { payerOf } from "../sessions/child-registry.ts";
import { capsOf, payersOf, personKey, placeKeys, whoAsked, type Payer } from "./payers.ts";
import { addUsed, noneUsed, sumOf, tokensOf, usedBy, type UsageLog, type Used } from "./usage-log.ts";

interface Refusal {
  readonly ok: false;
  readonly reason: string;
  readonly key: string | null;
}

const toldPrefix = "limit-told:";

export interface SpendState {
  readonly agent: string;
  readonly caps: SpendConfig;
  readonly day: Used;
  readonly month: Used;
}

/** The limits of one turn or one command. */
export interface TurnSpendLimits extends Ledger {
  /**
   * Wraps the model for side calls, flush and summary: each is checked, and its usage counts for the next.
   */
  sideModel(model: Model): Model;
  /**
   * The cell's key that says that whom the last refusal is about was told, for this day or month; null when
   * nothing was refused, or by the agent's own cap, which is nobody's alone.
   */
  refusalKey(): string | null;
  /** Returns the cell that the commit writes. */
  note(
    end: Pick<LoopEnd, "entries" | "usage">,
    asked: Pick<Model, "id" | "priced">,
  ): Promise<readonly CellWrite[]>;
  /** The caller's commit is durable. */
  committed(): void;
  /** The turn is over, committed or not. */
  close(): void;
}

export interface SpendLimits {
  /** `beside`: it is no turn and runs while one does. */
  forTurn(
    turn: Pick<Turn, "id" | "lane" | "conversation" | "rows">,
    how?: { readonly beside?: boolean },
  ): TurnSpendLimits;
  /** Agents that have caps, with their usage so far. */
  states(): Promise<readonly SpendState[]>;
}

export interface SpendLimitsOptions {
  readonly config: Config;
  readonly book: UsageLog;
  readonly clock: Clock;
  readonly log: Log;
}

/** The sum of the day is read again after this, because other processes write too. */
const freshMs = 60_000;

export function spendLimits({ config, book, clock, log }: SpendLimitsOptions): SpendLimits {
  /** By day, then by agent, `person <id>` and `place <session>`. */
  const sums = new Map<string, Map<string, Used>>();
  const open = new Map<string, { readonly payers: readonly string[]; used: Used }>();
  let readAtMs = -Infinity;
  let commits = 0;
  let reading: Promise<void> | null = null;

  const add = (day: string, payers: readonly string[], used: Used): void => {
    const known = sums.get(day) ?? new Map<string, Used>();
    for (const payer of payers) known.set(payer, addUsed(known.get(payer) ?? noneUsed, used));
    sums.set(day, known);
  };

  /** Days of this month, newest first. */
  const monthDays = (): readonly string[] => {
    const days = recentDays(clock.now(), book.timeZone, 31);
    const [today = ""] = days;
    return days.filter((day) => day.startsWith(today.slice(0, 7)));
  };

  async function read(days: readonly string[]): Promise<void> {
    const [today = "", ...earlier] = days;
    const missing = [today, ...earlier.filter((day) => !sums.has(day))];
    const before = commits;
    const rows = await book.rows(missing);
    // A commit that came meanwhile may be missing from what was read, so the cached sums stay.
    if (commits !== before && sums.has(today)) return;
    for (const day of missing) sums.set(day, new Map());
    for (const row of rows)
      add(row.day, [payerOf(row.session), personKey(row.person), ...placeKeys(row.session)], row);
    for (const day of sums.keys()) if (!days.includes(day)) sums.delete(day);
    readAtMs = clock.mono();
  }

  async function usedBySource(payer: string): Promise<Pick<SpendState, "day" | "month">> {
    const days = monthDays();
    const isFresh = clock.mono() - readAtMs < freshMs && days.every((day) => sums.has(day));
    if (!isFresh) await (reading ??= read(days).finally(() => (reading = null)));
    const running = [...open.values()]
      .filter(({ payers }) => payers.includes(payer))
      .reduce((sum, { used }) => addUsed(sum, used), noneUsed);
    const on = (day: string): Used => sums.get(day)?.get(payer) ?? noneUsed;
    const [today = ""] = days;
    return {
      day: addUsed(on(today), running),
      month: addUsed(days.map(on).reduce(addUsed, noneUsed), running),
    };
  }

  const stateOf = async (agent: string): Promise<SpendState> => ({
    agent,
    caps: capsOf(config, agent),
    ...(await usedBySource(agent)),
  });

  async function verdictFor(payers: readonly Payer[]): Promise<Refusal | { readonly ok: true }> {
    for (const { key, caps, of } of payers) {
      const { day, month } = await usedBySource(key);
      const isOver = (used: Used, usd: number | undefined, tokens: number | undefined): boolean =>
        (usd !== undefined && used.costUsd >= usd) || (tokens !== undefined && tokensOf(used) >= tokens);
      const over = isOver(month, caps.monthUsd, caps.monthTokens)
        ? "month"
        : isOver(day, caps.dayUsd, caps.dayTokens) || day.turns >= (caps.turnsPerDay ?? Infinity)
          ? "day"
          : null;
      if (over === null) continue;
      const whose = of === "agent" ? { agent: key } : { of: key };
      log.warn({ ...whose, over, caps, day, month }, "a spending limit is reached: the model is not asked");
      const period = localDay(clock.now(), book.timeZone).slice(0, over === "day" ? 10 : 7);
      return {
        ok: false,
        reason: refusal(of, over, book.timeZone, clock.now()),
        key: of === "agent" ? null : `${toldPrefix}${key}:${period}`,
      };
    }
    return { ok: true };
  }

  return {
    forTurn(turn, { beside = false } = {}) {
      const payers = payersOf(config, turn);
      const keys = payers.map(({ key }) => key);
      const isCapped = payers.length > 0;
      /** Counts each side call against the turn until the loop's next usage figure, which includes it. */
      async function* checked(
        model: Model,
        request: ModelRequest,
        signal: AbortSignal,
      ): AsyncGenerator<ModelEvent> {
        const verdict = await verdictFor(payers);
        if (!verdict.ok) {
          yield {
            type: "end",
            stop: "error",
            usage: noUsage,
            content: [],
            error: { kind: "refused", message: verdict.reason },
          };
          return;
        }
        for await (const event of model.stream(request, signal)) {
          if (event.type === "end")
            open.set(turn.id, {
              payers: keys,
              used: addUsed(open.get(turn.id)?.used ?? noneUsed, usedSoFar(event.usage)),
            });
          yield event;
        }
      }
      let refused: string | null = null;
      let noted: { readonly day: string; readonly used: Used } | null = null;
      return {
        async mayCall(usage) {
          if (!isCapped) return { ok: true };
          open.set(turn.id, { payers: keys, used: usedSoFar(usage) });
          const verdict = await verdictFor(payers);
          if (verdict.ok) return verdict;
          refused = verdict.key;
          return { ok: false, reason: verdict.reason };
        },
        refusalKey: () => refused,
        sideModel(model) {
          return isCapped
            ? { ...model, stream: (request, signal) => checked(model, request, signal) }
            : model;
        },
        async note(end, asked) {
          const models = usedBy(end, asked);
          const day = book.today();
          const cell = await book.note({
            session: turn.lane as SessionKey,
            ...whoAsked(turn),
            beside,
            models,
          });
          noted = cell === null ? null : { day, used: sumOf(models) };
          return cell === null ? [] : [cell];
        },
        committed() {
          open.delete(turn.id);
          if (noted === null) return;
          commits += 1;
          if (sums.has(noted.day)) {
            const { person } = whoAsked(turn);
            add(noted.day, [payerOf(turn.lane), personKey(person), ...placeKeys(turn.lane)], noted.used);
          }
          noted = null;
        },
        close: () => void open.delete(turn.id),
      };
    },
    async states() {
      const capped = config.agents.list.filter(({ spend = {} }) => Object.keys(spend).length > 0);
      return Promise.all(capped.map(({ id }) => stateOf(id)));
    },
  };
}

function usedSoFar({ costUsd = 0, ...tokens }: Usage): Used {
  return { ...noneUsed, ...tokens, costUsd };
}

/** Tells people when the limit ends, without figures. */
function refusal(of: Payer["of"], over: "day" | "month", timeZone: string, nowMs: number): string {
  const when = over === "day" ? "Today's" : "This month's";
  const what =
    of === "agent"
      ? `${when} spending limit`
      : of === "person"
        ? `${when} limit for one person`
        : `${when} limit for this chat`;
  return `${what} is reached, so I cannot answer now. It resets ${resetIn(over, timeZone, nowMs)}.`;
}

/** "at midnight (Europe/Berlin), in 3 h 20 min", "on 2026-12-01 at 00:00 (UTC), in 9 days". */
export function resetIn(over: "day" | "month", timeZone: string, nowMs: number): string {
  const [year = 0, month = 1, day = 1] = localDay(nowMs, timeZone).split("-").map(Number);
  const next = new Date(over === "day" ? Date.UTC(year, month - 1, day + 1) : Date.UTC(year, month, 1));
  // A day of the zone may have 23 or 25 hours.
  const leftMinutes = Math.ceil((firstInstantFrom(next.getTime(), timeZone) - nowMs) / 60_000);
  const left =
    leftMinutes < 2_880
      ? `${Math.floor(leftMinutes / 60)} h ${leftMinutes % 60} min`
      : `${Math.ceil(leftMinutes / 1_440)} days`;
  return over === "day"
    ? `at midnight (${timeZone}), in ${left}`
    : `on ${next.toISOString().slice(0, 10)} at 00:00 (${timeZone}), in ${left}`;
}
