// Implements the agent's journal on the store's turn record. Positions make every write repeatable, and a
// lost lease ends the loop by its Fault (I3).
import type { Journal, JournalStep } from "@parley/agent";
import { isFault, type Fault, type UserEntry } from "@parley/protocol";
import type { CellWrite, NewDelivery, NewRow, Row, Step, Turn, Turns } from "@parley/store";
import { saidHere } from "./messages/said-here.ts";
import { sentId } from "./sessions/asked-rows.ts";
import { answeredIn, isWake } from "./turn-rows.ts";

export interface TurnJournal extends Omit<Journal, "checkpoint"> {
  /** As `Journal.checkpoint`. `closes`: the preview that the effects' deliveries take out of the way. */
  checkpoint(
    steps: readonly JournalStep[],
    how?: Parameters<Journal["checkpoint"]>[1] & { readonly closes?: string },
  ): Promise<void>;
  /** Rows claimed so far, the absorbed ones last. */
  rows(): readonly Row[];
  /**
   * Answers that woke the turn and that no call has as its result, because the waiting call failed or was
   * stopped. Each is told once.
   */
  unheard(): readonly UserEntry[];
  /** Queues deliveries in one step with a mark in the log. */
  post(mark: PreviewMark | BlockMark, deliveries: readonly NewDelivery[]): Promise<void>;
  /** Previews that earlier holders of this turn or this one opened, without those that a call closed. */
  readonly previews: readonly PreviewMark[];
  /** How many previews were opened, also those that are closed: each has an id of its own. */
  readonly opened: number;
  /** Texts that the turn's calls sent to its own conversation. */
  saidHere(): readonly string[];
  /** Pieces of the answer that earlier holders of this turn or this one sent for good. */
  readonly blocks: readonly BlockMark[];
}

/** Marks an opened preview, so that a holder that resumes the turn reuses its delivery. */
interface PreviewMark {
  readonly delivery: string;
  /** A call of the turn sent something, so the preview was taken away. */
  readonly closed?: true;
}

/** Marks a piece of the answer that went out. */
interface BlockMark extends PreviewMark {
  /** The answer up to the end of the piece. */
  readonly said: string;
}

/** Controls how messages join a running turn. */
export interface JoiningRows {
  /** True when messages that arrive meanwhile join this turn. */
  readonly steer: boolean;
  /** Where they do not: how many of those that wait first a person told to join. Default: none. */
  readonly pushed?: () => Promise<number>;
  readonly entryOf: (row: Row) => UserEntry;
  /** Fetches the files of rows that joined; awaited before `entryOf` gets them. */
  readonly prepare: (rows: readonly Row[]) => Promise<void>;
}

/** Messages that may join a running turn at one model call. */
const rowsPerAbsorb = 20;

export function turnJournal(
  turns: Pick<Turns, "absorb" | "checkpoint">,
  turn: Turn,
  { steer, pushed = async () => 0, entryOf, prepare }: JoiningRows,
): TurnJournal {
  const rows = [...turn.rows];
  const byId = new Map(rows.map((row) => [row.id, row]));
  let at = turn.log.length;
  let steps: readonly JournalStep[] | null = null;
  const marks = [...marksIn(turn.log)];
  const logged = turn.log.flatMap((step) =>
    step.kind === "model" || step.kind === "result" ? [JSON.parse(step.body) as JournalStep] : [],
  );

  // After a write whose answer was lost the next position is unknown, and the store would take the next write
  // for a repeat.
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

  // The loop and the preview write side by side, but positions have one order.
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
    given: readonly NewRow[] = [],
  ): Promise<void> => {
    at = await turns.checkpoint(turn, at, {
      steps,
      ...(deliveries.length > 0 ? { deliveries } : {}),
      ...(given.length > 0 ? { rows: given } : {}),
      ...(cells.length > 0 ? { cells } : {}),
    });
  };
  const calls = waitingCalls(turn.id, entryOf);

  /** The steps are read only once the absorbed messages' files are there. */
  const replayed = (): JournalStep[] =>
    turn.log.flatMap((entry): JournalStep[] => {
      if (entry.kind === "preview") return [];
      if (entry.kind === "absorbed") {
        const claimed = (JSON.parse(entry.body) as string[]).flatMap((id) => byId.get(id) ?? []);
        return [{ kind: "absorbed", entries: [...calls.failed(), ...claimed.flatMap(calls.woken)] }];
      }
      const step = JSON.parse(entry.body) as JournalStep;
      calls.note(step);
      // The model was told before it answered, so it is told at the same place again.
      const late = entry.kind === "model" || entry.kind === "summary" ? calls.unheard() : [];
      return late.length === 0 ? [step] : [{ kind: "absorbed", entries: late }, step];
    });

  return {
    get steps() {
      return (steps ??= replayed());
    },
    unheard: () => calls.unheard(),
    get previews() {
      return openMarks(marks);
    },
    get blocks() {
      return marks.filter(isBlock);
    },
    get opened() {
      return marks.filter((mark) => !isBlock(mark) && mark.closed !== true).length;
    },
    saidHere: () => saidHere(turn.id, logged),
    rows: () => rows,
    checkpoint: (steps, { isLast = false, uses = [], effects = [], closes } = {}) =>
      inOrder(async () => {
        // The commit follows within milliseconds and syncs too, so a last step is not written by itself,
        // except where part of the answer is shown: showing the end may take longer, and a resumed turn must
        // not give another answer there.
        if (isLast && marks.length === 0) return;
        const closed: PreviewMark[] = closes === undefined ? [] : [{ delivery: closes, closed: true }];
        await append(
          [
            ...steps.map((step) => ({ kind: step.kind, body: JSON.stringify(step) })),
            ...closed.map((mark) => ({ kind: "preview" as const, body: JSON.stringify(mark) })),
          ],
          effects.flatMap(({ deliveries = [] }) => deliveries),
          [...uses, ...effects.flatMap(({ cells = [] }) => cells)],
          effects.flatMap(({ rows: given = [] }) => given),
        );
        steps.forEach(calls.note);
        logged.push(...steps);
        marks.push(...closed);
      }),
    absorb: () =>
      inOrder(async () => {
        const most = steer ? rowsPerAbsorb : Math.min(rowsPerAbsorb, await pushed());
        // Where each message has a turn of its own, /steer joins it, unless processes have died in it.
        const evenAlone = !steer && turn.attempt === 1;
        const claimed = most > 0 ? await turns.absorb(turn, at, most, { evenAlone }) : [];
        if (claimed.length > 0) at += 1;
        rows.push(...claimed);
        await prepare(claimed);
        return [...calls.unheard(), ...claimed.flatMap(calls.joined)];
      }),
    post: (mark, deliveries) =>
      inOrder(async () => {
        await append([{ kind: "preview", body: JSON.stringify(mark) }], deliveries);
        marks.push(mark);
      }),
  };
}

/** The preview that stands in the conversation after these steps; null when there is none. */
export function openPreview(log: readonly Step[]): string | null {
  return openMarks(marksIn(log)).at(-1)?.delivery ?? null;
}

function marksIn(log: readonly Step[]): readonly (PreviewMark | BlockMark)[] {
  return log.flatMap((step) =>
    step.kind === "preview" ? [JSON.parse(step.body) as PreviewMark | BlockMark] : [],
  );
}

function openMarks(marks: readonly (PreviewMark | BlockMark)[]): readonly PreviewMark[] {
  const closed = marks.flatMap((mark) => (mark.closed === true ? [mark.delivery] : []));
  return marks.filter((mark) => !isBlock(mark) && !closed.includes(mark.delivery));
}

function isBlock(mark: PreviewMark | BlockMark): mark is BlockMark {
  return "said" in mark;
}

/**
 * Decides which rows are words for the model. An answer that wakes the turn becomes the result of the call
 * that waits for it, so it is told by itself only when the call ended without it.
 */
function waitingCalls(turn: string, entryOf: (row: Row) => UserEntry) {
  const heard = new Set<string>();
  const closed = new Set<string>();
  let awaited: Row[] = [];
  return {
    note(step: JournalStep): void {
      if (step.kind !== "result") return;
      const sent = sentId(turn, step.entry.callId);
      closed.add(sent);
      if (!step.entry.isError) heard.add(sent);
    },
    /** A row that was claimed when the parked turn woke. */
    woken(row: Row): UserEntry[] {
      const sent = answeredIn(row, turn);
      if (sent === null || closed.has(sent)) return isWake(row, turn) ? [] : [entryOf(row)];
      awaited.push(row);
      return [];
    },
    /** A row that came between two model calls, when no call was open. */
    joined: (row: Row): UserEntry[] => (isWake(row, turn) ? [] : [entryOf(row)]),
    /** Of calls that ended without their answer, while others may still wait. */
    failed: () => take((sent) => closed.has(sent)),
    /** Of all calls, when none waits any more. */
    unheard: () => take(() => true),
  };

  function take(ended: (sent: string) => boolean): UserEntry[] {
    const sentBy = (row: Row): string => answeredIn(row, turn) ?? "";
    const taken = awaited.filter((row) => ended(sentBy(row)));
    awaited = awaited.filter((row) => !taken.includes(row));
    return taken.filter((row) => !heard.has(sentBy(row))).map(entryOf);
  }
}
