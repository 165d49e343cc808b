// Which turn kills the process? One in which it died twice is a suspect. Suspects run one at a time, over all nodes, while everybody else goes
// on; what dies then was that one, unless processes die of something else: so each boot first watches for a while, with no suspect running,
// and a death proves something only if the process lived twice as long without the suspect as with it.
// Everything that proves something is in cells: it has to outlive the death that it tells of.
import type { Clock, Log } from "@parley/protocol";
import type { Cell, Cells, CellWrite, Release, Turn, Turns } from "@parley/store";
import { turnNames } from "@parley/queue";

/** Deaths in a turn after which it is a suspect. */
const strikesBeforeSuspect = 2;
/** Whoever lives this long with a turn is not killed by it. */
export const clearedAfterMs = 60_000;

export function isSuspect(turn: Pick<Turn, "attempt">): boolean {
  return turn.attempt > strikesBeforeSuspect;
}

export type Ruling =
  /** It runs as everybody's. */
  | { readonly kind: "free" }
  /** Given back meanwhile, so that it takes nobody's place. */
  | { readonly kind: "wait"; readonly how: Release }
  /** It is the one suspect that runs, until `end`. */
  | { readonly kind: "alone"; readonly end: () => Promise<void> }
  /** The process died while it was. `cells` is the proof, used up by the commit that buries it. */
  | { readonly kind: "guilty"; readonly cells: readonly CellWrite[] };

export interface Quarantine {
  /** What is to be done with a suspect that is held. */
  rule(turn: Turn): Promise<Ruling>;
  /** Those of this process, in words for the status; empty when there are none. */
  reasons(): readonly string[];
}

/** The suspects of this process. They run on when the config changes, so whoever rules next has to know of them. */
export interface QuarantineMemory {
  /** The one that runs; the cell may lag behind it when the store was away. */
  running: string | null;
  readonly known: Map<string, { readonly alone: boolean; readonly untilMs: number }>;
}

export function quarantineMemory(): QuarantineMemory {
  return { running: null, known: new Map() };
}

/** What stands in the one cell: the boot that tries suspects, and the turn that it tries now. */
interface Trial {
  readonly boot: string;
  /** Since when this boot watches, and how long it does before the first suspect may run. */
  readonly sinceMs: number;
  readonly forMs: number;
  /** The one that runs, and since when; null while none does: what dies then, dies of something else. */
  readonly alone: { readonly turn: string; readonly atMs: number } | null;
  /** Deaths of this turn before that proved nothing. */
  readonly unclear: number;
  /** The boot is taken for gone after this, if it did not say anything since. */
  readonly untilMs: number;
  /** It is known that the boot died with it, and when at the latest. */
  readonly diedByMs?: number;
}

const trialCell = "suspects:trial";
/** Processes die of something else: while this stands, no turn is a suspect. */
const elsewhereCell = "suspects:elsewhere";
const elsewhereMs = 5 * 60_000;
/** So many more deaths end it too: one that a message causes all the while must not go on for minutes. */
const elsewhereDeaths = 8;
/** A proof waits this long for its turn. */
const proofMs = 7 * 86_400_000;
const leastWatchMs = 5_000;
const mostWatchMs = 30_000;
/** So many times as long as the processes lived with this turn: what kills them by itself is likely to do it within that. */
const watchTimes = 3;
const mostUnclearWatchMs = 75_000;
/** More deaths while one suspect ran prove something, however long each took. */
const mostUnclear = 2;
const graceMs = 15_000;
const againMs = 1_000;

export function quarantine(
  { cells, turns }: { readonly cells: Cells; readonly turns: Pick<Turns, "find"> },
  here: QuarantineMemory,
  { bootId, bootAtMs }: { readonly bootId: string; readonly bootAtMs: number },
  clock: Clock,
  log: Log,
): Quarantine {
  const { known } = here;

  const wait = (turn: Turn, afterMs: number): Ruling => {
    known.set(turn.id, { alone: false, untilMs: clock.now() + afterMs + graceMs });
    return { kind: "wait", how: { afterMs, reason: "a suspect waits until it may run", refund: true } };
  };

  const watchMs = ({ attempt, openedAtMs }: Turn): number => {
    const livedMs = (bootAtMs - openedAtMs) / (attempt - 1);
    return Math.min(mostWatchMs, Math.max(leastWatchMs, watchTimes * livedMs));
  };

  const write = (trial: Trial, expect: number, ttlMs: number): Promise<Cell | null> =>
    cells.put(trialCell, JSON.stringify(trial), { expect, ttlMs });

  async function watch(turn: Turn, version: number, forMs = watchMs(turn), unclear = 0): Promise<Ruling> {
    const sinceMs = clock.now();
    const trial: Trial = {
      boot: bootId,
      sinceMs,
      forMs,
      alone: null,
      unclear,
      untilMs: sinceMs + forMs + graceMs,
    };
    await write(trial, version, forMs + clearedAfterMs);
    log.warn(
      { ...turnNames(turn), attempt: turn.attempt, forMs },
      "the process died in this turn twice, watching whether it dies without it",
    );
    return wait(turn, forMs);
  }

  async function tryAlone(turn: Turn, watched: Trial, version: number): Promise<Ruling> {
    const atMs = clock.now();
    const trial: Trial = {
      ...watched,
      alone: { turn: turn.id, atMs },
      untilMs: atMs + clearedAfterMs + graceMs,
    };
    if ((await write(trial, version, proofMs)) === null) return wait(turn, againMs);
    here.running = turn.id;
    known.set(turn.id, { alone: true, untilMs: trial.untilMs });
    log.warn(
      { ...turnNames(turn), attempt: turn.attempt },
      "the process died in this turn before, it is the one suspect that runs",
    );
    return { kind: "alone", end: () => endOf(turn) };
  }

  /** The next suspect may run at once: this boot has watched long enough. */
  async function endOf(turn: Turn): Promise<void> {
    if (here.running !== turn.id) return;
    here.running = null;
    known.delete(turn.id);
    const cell = await cells.get(trialCell);
    if (cell === null) return;
    const trial = readTrial(cell);
    if (trial.boot !== bootId || trial.alone?.turn !== turn.id) return;
    const untilMs = clock.now() + clearedAfterMs;
    await write({ ...trial, alone: null, unclear: 0, untilMs }, cell.version, clearedAfterMs);
  }

  async function ruleOnDead(
    turn: Turn,
    { alone, sinceMs, unclear }: Trial,
    diedByMs: number,
    version: number,
  ): Promise<Ruling> {
    if (alone === null) {
      log.warn(
        { ...turnNames(turn) },
        "the process died while no suspect ran: what kills it is none of them",
      );
      await cells.put(elsewhereCell, `${elsewhereDeaths}`, { ttlMs: elsewhereMs });
      await cells.remove(trialCell, version);
      return { kind: "free" };
    }
    if (alone.turn === turn.id) {
      const livedWithMs = diedByMs - alone.atMs;
      const isProof = 2 * livedWithMs <= alone.atMs - sinceMs || unclear >= mostUnclear;
      // Longer than that boot lived: what kills by the clock then does it while the next one watches.
      if (!isProof)
        return watch(turn, version, Math.min(mostUnclearWatchMs, 2 * (diedByMs - sinceMs)), unclear + 1);
      known.delete(turn.id);
      return { kind: "guilty", cells: [{ key: trialCell, value: null }] };
    }
    // Its lane is due, and whoever takes it buries it; unless somebody stopped it meanwhile, or it came further and may be parked for days.
    const tried = await turns.find(alone.turn);
    const isOver = tried === null || tried.state === "done" || !isSuspect(tried);
    return isOver ? watch(turn, version) : wait(turn, againMs);
  }

  return {
    async rule(turn) {
      if ((await cells.get(elsewhereCell)) !== null) return { kind: "free" };
      const cell = await cells.get(trialCell);
      if (cell === null) return watch(turn, 0);
      const trial = readTrial(cell);
      if (trial.diedByMs !== undefined) return ruleOnDead(turn, trial, trial.diedByMs, cell.version);
      const now = clock.now();
      if (trial.boot !== bootId)
        return trial.untilMs <= now ? watch(turn, cell.version) : wait(turn, againMs);
      if (here.running !== null && here.running !== turn.id) return wait(turn, againMs);
      const leftMs = trial.sinceMs + trial.forMs - now;
      return leftMs > 0 ? wait(turn, leftMs) : tryAlone(turn, trial, cell.version);
    },
    reasons() {
      for (const [id, { untilMs }] of known) if (untilMs <= clock.now()) known.delete(id);
      if (known.size === 0) return [];
      const what = known.size === 1 ? "one turn is" : `${known.size} turns are`;
      const now = [...known].find(([, { alone }]) => alone);
      return [
        `${what} under suspicion: Parley died twice while it worked on each; they run one at a time, everybody else goes on ` +
          `(${now === undefined ? "none runs now" : `now ${now[0]}`})`,
      ];
    },
  };
}

/** At the start: what the boot that stood here before was trying may prove something if it died, at the latest then; null: it ended well. */
export async function settleTrial(cells: Cells, boot: string, diedByMs: number | null): Promise<void> {
  const [cell, elsewhere] = await Promise.all([cells.get(trialCell), cells.get(elsewhereCell)]);
  if (elsewhere !== null && diedByMs !== null) {
    const left = Number(elsewhere.value) - 1;
    const ttlMs = (elsewhere.expiresAtMs ?? diedByMs) - diedByMs;
    if (left > 0 && ttlMs > 0)
      await cells.put(elsewhereCell, `${left}`, { expect: elsewhere.version, ttlMs });
    else await cells.remove(elsewhereCell, elsewhere.version);
  }
  if (cell === null) return;
  const trial = readTrial(cell);
  if (trial.boot !== boot || trial.diedByMs !== undefined) return;
  if (diedByMs !== null)
    await cells.put(trialCell, JSON.stringify({ ...trial, diedByMs }), {
      expect: cell.version,
      ttlMs: proofMs,
    });
  else await cells.remove(trialCell, cell.version);
}

function readTrial({ value }: Cell): Trial {
  return JSON.parse(value) as Trial;
}
