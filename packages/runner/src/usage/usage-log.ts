// Records usage in one cell for each session and day. The session's turns write it in their commits, so that
// it is exact after any crash and costs no transaction of its own; a lane has one holder (I3), so nobody else
// writes it meanwhile. Cells expire, and each names a limited number of persons and models, the rest summed
// up (I9).
import type { LoopEnd } from "@parley/agent";
import type { Model } from "@parley/models";
import {
  addUsage,
  localDay,
  noUsage,
  parseSessionKey,
  type Clock,
  type SessionKey,
  type Usage,
} from "@parley/protocol";
import type { Cells, CellWrite } from "@parley/store";

export interface Used {
  readonly turns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** Cost of the models with a known price. */
  readonly costUsd: number;
  /** Tokens of models without a known price, which no dollar figure includes. */
  readonly unpricedTokens: number;
}

export interface UsageRow extends Used {
  readonly day: string;
  readonly session: SessionKey;
  readonly agent: string;
  /** `<channel>:<account>`. */
  readonly channel: string;
  /** `<channel>:<id>` of the person who got the answer. */
  readonly person: string;
  readonly model: string;
}

export const noneUsed: Used = {
  turns: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  costUsd: 0,
  unpricedTokens: 0,
};

export function addUsed(a: Used, b: Used): Used {
  return {
    turns: a.turns + b.turns,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    costUsd: a.costUsd + b.costUsd,
    unpricedTokens: a.unpricedTokens + b.unpricedTokens,
  };
}

export function tokensOf(
  used: Pick<Used, "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens">,
): number {
  return used.inputTokens + used.outputTokens + used.cacheReadTokens + used.cacheWriteTokens;
}

/** A little more than two months, because this month's caps and last month's report need no more. */
const usageDays = 62;
const keptMs = (usageDays + 2) * 86_400_000;
const rowsPerCell = 200;
const others = "others";
/** More cells than a list ever has to hold. */
const cellLimit = 1_000_000;

interface Spent {
  readonly session: SessionKey;
  readonly channel: string;
  readonly person: string;
  /** Spent beside the session's turns, which therefore do not write the same cell. */
  readonly beside?: boolean;
  /** By the id of the model that answered. */
  readonly models: ReadonlyMap<string, Used>;
}

/**
 * Splits a turn's usage by model. Usage without an answer, such as summaries and failed attempts, counts for
 * the model that the turn asked.
 */
export function usedBy(
  end: Pick<LoopEnd, "entries" | "usage">,
  asked: Pick<Model, "id" | "priced">,
): ReadonlyMap<string, Used> {
  const models = new Map<string, Used>();
  const add = (model: string, used: Used): void =>
    void models.set(model, addUsed(models.get(model) ?? noneUsed, used));
  let told: Usage = noUsage;
  for (const entry of end.entries) {
    if (entry.type !== "assistant") continue;
    told = addUsage(told, entry.usage);
    add(entry.model, used(entry.usage));
  }
  const rest: Usage = {
    inputTokens: Math.max(0, end.usage.inputTokens - told.inputTokens),
    outputTokens: Math.max(0, end.usage.outputTokens - told.outputTokens),
    cacheReadTokens: Math.max(0, end.usage.cacheReadTokens - told.cacheReadTokens),
    cacheWriteTokens: Math.max(0, end.usage.cacheWriteTokens - told.cacheWriteTokens),
    ...(asked.priced === true || end.usage.costUsd !== undefined
      ? { costUsd: Math.max(0, (end.usage.costUsd ?? 0) - (told.costUsd ?? 0)) }
      : {}),
  };
  if (tokensOf(rest) > 0 || (rest.costUsd ?? 0) > 0) add(asked.id, used(rest));
  const first = models.keys().next();
  if (first.done === true) return models;
  add(first.value, { ...noneUsed, turns: 1 });
  return models;
}

function used(usage: Usage): Used {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, costUsd } = usage;
  const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
  return {
    ...noneUsed,
    ...tokens,
    costUsd: costUsd ?? 0,
    unpricedTokens: costUsd === undefined ? tokensOf(tokens) : 0,
  };
}

/** Sum over the models. */
export function sumOf(models: ReadonlyMap<string, Used>): Used {
  return [...models.values()].reduce(addUsed, noneUsed);
}

export interface UsageLog {
  /**
   * Returns the cell for the commit; null when nothing was used. Call it while the lease lasts, right before
   * the commit. The cell of what was spent beside turns has a condition: when it fails, note it again.
   */
  note(spent: Spent): Promise<CellWrite | null>;
  /** Usage on these days. */
  rows(days: readonly string[]): Promise<readonly UsageRow[]>;
  /** One session's usage on these days. */
  ofSession(session: SessionKey, days: readonly string[]): Promise<readonly UsageRow[]>;
  /** Today's date in `timeZone`. */
  today(): string;
  readonly timeZone: string;
}

export function usageLog(
  cells: Pick<Cells, "get" | "list">,
  timeZone: string,
  clock: Pick<Clock, "now">,
): UsageLog {
  const today = (): string => localDay(clock.now(), timeZone);

  return {
    timeZone,
    today,
    async note({ session, channel, person, beside = false, models }) {
      if (models.size === 0) return null;
      const key = `${cellKey(today(), session)}${beside ? besideTurns : ""}`;
      const stored = await cells.get(key);
      const lines = new Map(linesOf(stored?.value).map((line) => [nameOf(line), line]));
      for (const [model, add] of models) {
        const isKnown = lines.has(nameOf({ channel, person, model }));
        const at =
          isKnown || lines.size < rowsPerCell
            ? { channel, person, model }
            : { channel: others, person: others, model: others };
        const line = lines.get(nameOf(at));
        lines.set(nameOf(at), { ...at, ...addUsed(line ?? noneUsed, add) });
      }
      const condition = beside ? { expect: stored?.version ?? 0 } : {};
      return {
        key,
        value: JSON.stringify({ v: 1, lines: [...lines.values()] }),
        ttlMs: keptMs,
        ...condition,
      };
    },
    async rows(days) {
      const found: UsageRow[] = [];
      for (const day of days) {
        for (const { key, value } of await cells.list(`${prefix}${day}/`, cellLimit))
          found.push(...rowsOf(day, key, value));
      }
      return found;
    },
    async ofSession(session, days) {
      const found = await Promise.all(
        days.flatMap((day) =>
          ["", besideTurns].map(async (end) => ({ day, cell: await cells.get(cellKey(day, session) + end) })),
        ),
      );
      return found.flatMap(({ day, cell }) => (cell === null ? [] : rowsOf(day, cell.key, cell.value)));
    },
  };
}

const prefix = "usage/";
/** Ends the key of the cell for what was spent beside turns; a slash inside a session key is escaped. */
const besideTurns = "/beside";

interface Line extends Used {
  readonly channel: string;
  readonly person: string;
  readonly model: string;
}

function cellKey(day: string, session: SessionKey): string {
  return `${prefix}${day}/${session}`;
}

function nameOf({ channel, person, model }: Pick<Line, "channel" | "person" | "model">): string {
  return `${channel}\n${person}\n${model}`;
}

function linesOf(stored: string | undefined): readonly Line[] {
  return stored === undefined ? [] : (JSON.parse(stored) as { readonly lines: readonly Line[] }).lines;
}

function rowsOf(day: string, key: string, value: string): readonly UsageRow[] {
  const named = key.slice(prefix.length + day.length + 1);
  const session = (named.endsWith(besideTurns) ? named.slice(0, -besideTurns.length) : named) as SessionKey;
  const { agent } = parseSessionKey(session);
  return linesOf(value).map((line) => ({ ...line, day, session, agent }));
}
