// One lane while it is held: decides what the leased turn is - one to close, a suspect, a command, or talk for the agent - and hands it on.
import { Fault, isFault, type Log } from "@parley/protocol";
import type { Held, WorkEnd } from "@parley/queue";
import type { Cells, Turn, Turns } from "@parley/store";
import { parseRowPayload } from "../inbound/row-payload.ts";
import { buriedNotice } from "./bury.ts";
import type { Solitude } from "./solitude.ts";
import { turnNames } from "./turn-names.ts";

export type TurnWork = (turn: Turn, held: Held) => Promise<WorkEnd>;

export interface RunLaneOptions {
  readonly turns: Turns;
  readonly cells: Cells;
  readonly solitude: Solitude;
  /** Ends a turn that was told to stop. */
  readonly close: TurnWork;
  readonly command: TurnWork;
  readonly agent: TurnWork;
  readonly log: Log;
}

export interface RunLane {
  readonly run: TurnWork;
  /** For what no retry can heal: the rows end `dead`, the person is told. */
  bury(turn: Turn, error: unknown): Promise<void>;
}

/** Deaths of the process inside a turn after which it runs alone. */
const strikesBeforeAlone = 2;
const aloneLifeMs = 7 * 86_400_000;

export function runLane(options: RunLaneOptions): RunLane {
  const { turns, cells, solitude, log } = options;

  async function bury(turn: Turn, reason: string): Promise<void> {
    await turns.commit(turn, turn.id, { outcome: "dead", reason, entries: [], deliveries: [buriedNotice(turn)] });
    log.error({ ...turnNames(turn), reason }, "turn buried");
  }

  async function alone(turn: Turn, held: Held, work: TurnWork): Promise<WorkEnd> {
    const mark = `alone:${turn.id}`;
    if ((await cells.get(mark)) !== null) {
      await bury(turn, "the process died in this turn, the last time while nothing else ran");
      return { settled: true };
    }
    return solitude.alone(async () => {
      await held.cover(0);
      await cells.put(mark, "1", { ttlMs: aloneLifeMs });
      log.warn({ ...turnNames(turn), attempt: turn.attempt }, "the process died in this turn before, running it alone");
      try {
        return await work(turn, held);
      } finally {
        // Also after a drain or an outage: the process lived, so nothing is proven against the turn.
        await cells.remove(mark);
      }
    });
  }

  return {
    async run(turn, held) {
      if (turn.stop !== null) return options.close(turn, held);
      const work = isCommand(turn) ? options.command : options.agent;
      return turn.attempt > strikesBeforeAlone ? alone(turn, held, work) : solitude.together(() => work(turn, held));
    },
    async bury(turn, error) {
      const reason = error instanceof Error ? error.message : String(error);
      try {
        await bury(turn, `a bug: ${reason}`);
      } catch (cause) {
        if (!isFault(cause)) throw new Fault("unavailable", "could not bury a turn", { cause });
        throw cause;
      }
    },
  };
}

/** The only row is a command: nothing of it is talk for a model. */
export function isCommand(turn: Turn): boolean {
  const [row] = turn.rows;
  return turn.rows.length === 1 && row !== undefined && parseRowPayload(row.payload).command !== undefined;
}
