// Finds the turn that kills the process. A turn in which it died twice is a suspect; suspects run one at a
// time over all nodes while other turns continue. A death then proves the suspect guilty only if the process
// lived twice as long without it as with it, so each boot first watches for a while with no suspect running.
// All evidence is in cells, because it must outlive the death that it describes.
import type { Clock, Log } from "@parley/protocol";
import type { Cell, Cells, CellWrite, Release, Turn, Turns } from "@parley/store";
import { turnNames } from "@parley/queue";

/** Deaths in a turn after which it is a suspect. */
const strikesBeforeSuspect = 2;
/** A turn that the process survives this long does not kill it. */
export const clearedAfterMs = 60_000;

export function isSuspect(turn: Pick<Turn, "attempt">): boolean {
  return turn.attempt > strikesBeforeSuspect;
}

export type Ruling =
  /** It runs like any other turn. */
  | { readonly kind: "free" }
  /** It is given back meanwhile, so that it blocks no other turn. */
  | { readonly kind: "wait"; readonly how: Release }
  /** It is the one suspect that runs, until `end`. */
  | { readonly kind: "alone"; readonly end: () => Promise<void> }
  /** The process died while it ran alone. `cells` is the proof, which the commit that buries it consumes. */
  | { readonly kind: "guilty"; readonly cells: readonly CellWrite[] };

export interface Quarantine {
  /** Decides what happens to a leased suspect. */
  rule(turn: Turn): Promise<Ruling>;
  /** Describes this process's suspects for the status; empty when there are none. */
  reasons(): readonly string[];
}

/** The suspects of this process, kept across config changes because they run on through them. */
export interface QuarantineMemory {
  /** The suspect that runs; the cell may be older after an outage of the store. */
  running: string | null;
  readonly known: Map<string, { readonly alone: boolean; readonly untilMs: number }>;
}

export function quarantineMemory(): QuarantineMemory {
  return { running: null, known: new Map() };
}

/** The content of the one trial cell: the boot that tries suspects, and the turn that it tries now. */
interface Trial {
  readonly boot: string;
  /** When this boot began to watch, and how long it watches before the first suspect may run. */
  readonly sinceMs: number;
  readonly forMs: number;
  /** The suspect that runs, and since when; null while none does, when a death has another cause. */
  readonly alone: { readonly turn: string; readonly atMs: number } | null;
  /** Earlier deaths of this turn that proved nothing. */
  readonly unclear: number;
  /** A boot that has not renewed the cell by then counts as dead. */
  readonly untilMs: number;
  /** Set once the boot is known to have died with the suspect: the latest possible time of death. */
  readonly diedByMs?: number;
}

const trialCell = "suspects:trial";
/** While this cell exists processes die of another cause, so no turn is a suspect. */
const elsewhereCell = "suspects:elsewhere";
const elsewhereMs = 5 * 60_000;
/** This many more deaths end it too, because a message that causes them all must not do so for minutes. */
const elsewhereDeaths = 8;
/** A proof that no commit consumed expires after this. */
const proofMs = 7 * 86_400_000;
const leastWatchMs = 5_000;
const mostWatchMs = 30_000;
/**
 * Watches this many times as long as the processes lived with the turn; another cause is likely to strike
 * within that.
 */
const watchTimes = 3;
const mostUnclearWatchMs = 75_000;
/** This many more deaths with the suspect running are proof, however long each took. */
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
    // Before the write, so that nobody who rules meanwhile takes it for free: two that run alone at once
    // would end as proof against one of them.
    here.running = turn.id;
    let isMine = false;
    try {
      isMine = (await write(trial, version, proofMs)) !== null;
    } finally {
      if (!isMine) here.running = null;
    }
    if (!isMine) return wait(turn, againMs);
    known.set(turn.id, { alone: true, untilMs: trial.untilMs });
    log.warn(
      { ...turnNames(turn), attempt: turn.attempt },
      "the process died in this turn before, it is the one suspect that runs",
    );
    return { kind: "alone", end: () => endOf(turn) };
  }

  /** Lets the next suspect run at once, because this boot has watched long enough. */
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
      // The next boot watches longer than that one lived, so that a cause that strikes by the clock shows
      // itself.
      if (!isProof)
        return watch(turn, version, Math.min(mostUnclearWatchMs, 2 * (diedByMs - sinceMs)), unclear + 1);
      known.delete(turn.id);
      return { kind: "guilty", cells: [{ key: trialCell, value: null }] };
    }
    // The lane is due and its next holder buries the turn, unless somebody stopped it or it got further and
    // may be parked for days.
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

/**
 * Judges at a start what the previous boot was trying. `diedByMs`: the latest time of its death; null when it
 * ended normally.
 */
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
