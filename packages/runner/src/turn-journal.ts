// The agent's journal over the store's turn record. Positions make every write repeatable; a lost lease ends the loop by its Fault (I3).
import type { Journal, JournalStep } from "@parley/agent";
import { isFault, type Fault, type UserEntry } from "@parley/protocol";
import type { CellWrite, NewDelivery, Row, Step, Turn, Turns } from "@parley/store";
import { isWake } from "./turn-rows.ts";

export interface TurnJournal extends Journal {
  /** Rows claimed so far, the absorbed ones last. */
  rows(): readonly Row[];
  /** Queues deliveries in one step with a mark in the log. */
  post(mark: PreviewMark | BlockMark, deliveries: readonly NewDelivery[]): Promise<void>;
  /** Previews that were opened, by earlier holders of this turn and by this one. */
  readonly previews: readonly PreviewMark[];
  /** Pieces of the answer that went out for good, likewise. */
  readonly blocks: readonly BlockMark[];
}

/** A preview was opened: its delivery is reused by whoever resumes the turn. */
interface PreviewMark {
  readonly delivery: string;
}

/** A piece of the answer went out. */
interface BlockMark extends PreviewMark {
  /** The answer up to the piece's end. */
  readonly said: string;
}

/** How messages join a turn that runs. */
export interface JoiningRows {
  /** Whether those that arrive meanwhile join this turn. */
  readonly steer: boolean;
  readonly entryOf: (row: Row) => UserEntry;
  /** Awaited before `entryOf` is asked for rows that joined: fetches their files. */
  readonly prepare: (rows: readonly Row[]) => Promise<void>;
}

/** Messages that join a running turn at one model call. */
const rowsPerAbsorb = 20;

export function turnJournal(
  turns: Pick<Turns, "absorb" | "checkpoint">,
  turn: Turn,
  { steer, entryOf, prepare }: JoiningRows,
): TurnJournal {
  const rows = [...turn.rows];
  const byId = new Map(rows.map((row) => [row.id, row]));
  let at = turn.log.length;
  let steps: readonly JournalStep[] | null = null;
  const marks = turn.log.flatMap((step) =>
    step.kind === "preview" ? [JSON.parse(step.body) as PreviewMark | BlockMark] : [],
  );

  // After a write whose answer was lost nobody here knows the next position: the next write would be taken for a repeat of it.
  let lost: Fault | null = null;
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    if (lost !== null) throw lost;
    try {
      return await work();
    } catch (error) {
      if (isFault(error, "ambiguous")) lost = error;
      throw error;
    }
  };

  // Positions have one order, but the loop and the preview write side by side.
  let tail: Promise<unknown> = Promise.resolve();
  const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
    const next = tail.then(() => write(work));
    tail = next.catch(() => {});
    return next;
  };

  const append = async (
    steps: readonly Step[],
    deliveries: readonly NewDelivery[],
    cells: readonly CellWrite[] = [],
  ): Promise<void> => {
    at = await turns.checkpoint(turn, at, {
      steps,
      ...(deliveries.length > 0 ? { deliveries } : {}),
      ...(cells.length > 0 ? { cells } : {}),
    });
  };
  const told = (row: Row): UserEntry[] => (isWake(row, turn.id) ? [] : [entryOf(row)]);

  return {
    get steps() {
      // Not before the files of the absorbed messages are there.
      return (steps ??= turn.log.flatMap((step) => journalStep(step, byId, told)));
    },
    get previews() {
      return marks.filter((mark) => !isBlock(mark));
    },
    get blocks() {
      return marks.filter(isBlock);
    },
    rows: () => rows,
    checkpoint: (steps, { isLast = false, uses = [] } = {}) =>
      inOrder(async () => {
        // The commit comes within milliseconds, and costs a sync as well. Where a part of the answer is shown the end of it may take longer,
        // and another answer would stand in its place.
        if (isLast && marks.length === 0) return;
        const logged = steps.map((step) => ({ kind: step.kind, body: JSON.stringify(step) }));
        await append(logged, [], uses);
      }),
    absorb: () =>
      inOrder(async () => {
        if (!steer) return [];
        const claimed = await turns.absorb(turn, at, rowsPerAbsorb);
        if (claimed.length === 0) return [];
        at += 1;
        rows.push(...claimed);
        await prepare(claimed);
        return claimed.flatMap(told);
      }),
    post: (mark, deliveries) =>
      inOrder(async () => {
        await append([{ kind: "preview", body: JSON.stringify(mark) }], deliveries);
        marks.push(mark);
      }),
  };
}

function isBlock(mark: PreviewMark | BlockMark): mark is BlockMark {
  return "said" in mark;
}

function journalStep(
  step: Step,
  rows: ReadonlyMap<string, Row>,
  told: (row: Row) => UserEntry[],
): JournalStep[] {
  if (step.kind === "preview") return [];
  if (step.kind !== "absorbed") return [JSON.parse(step.body) as JournalStep];
  const ids = JSON.parse(step.body) as string[];
  const entries = ids.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined ? [] : told(row);
  });
  return [{ kind: "absorbed", entries }];
}
