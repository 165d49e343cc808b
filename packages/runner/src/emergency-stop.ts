// Implements /estop: while it is on, no tool of any session starts. The store keeps the state, so that a
// restart does not end it; only an operator or an owner does.
import type { Clock } from "@parley/protocol";
import type { Cells, Inbox, Turns } from "@parley/store";

export interface EmergencyStop {
  /**
   * Resolves once the state is durable, with true when it was off before; running calls are ended after that.
   */
  hold(by: string): Promise<boolean>;
  /** Resolves with true when it was on. */
  release(): Promise<boolean>;
  now(): Promise<HeldTools | null>;
}

export interface HeldTools {
  readonly by: string;
  readonly atMs: number;
}

export interface EmergencyStopOptions {
  readonly cells: Pick<Cells, "get" | "put" | "remove">;
  readonly inbox: Pick<Inbox, "stop">;
  readonly turns: Pick<Turns, "list">;
  /** Ends a turn at once instead of at its next write. */
  readonly stopTurn: (turn: string) => void;
  /** Ends all sub-agents, also those that wait; what their parents are told of it begins no turn. */
  readonly endChildren: () => Promise<void>;
  /** Ends the background commands of all sessions. */
  readonly endCommands: () => Promise<void>;
  readonly clock: Clock;
}

const cell = "tools:held";
/** Far more than can run at once. */
const mostLanes = 10_000;

export function emergencyStop({
  cells,
  inbox,
  turns,
  stopTurn,
  endChildren,
  endCommands,
  clock,
}: EmergencyStopOptions): EmergencyStop {
  async function now(): Promise<HeldTools | null> {
    const found = await cells.get(cell);
    return found === null ? null : (JSON.parse(found.value) as HeldTools);
  }

  return {
    now,
    async hold(by) {
      const fresh =
        (await cells.put(cell, JSON.stringify({ by, atMs: clock.now() }), { expect: 0 })) !== null;
      // Before the turns of their parents, so that none of these is told of it and spawns them again.
      await endChildren();
      // The lanes are listed after the cell is written, so a call that passed the gate before it belongs to a
      // turn that ends here.
      const running = (await turns.list(undefined, mostLanes)).filter(({ holder }) => holder !== null);
      for (const { lane } of running) {
        const stopped = await inbox.stop(lane as Parameters<Inbox["stop"]>[0], {
          turn: "open",
          reason: "/estop",
        });
        if (stopped.turn !== null) stopTurn(stopped.turn);
      }
      // A call that passed the gate before may have spawned more.
      await endChildren();
      await endCommands();
      return fresh;
    },
    release: () => cells.remove(cell),
  };
}

/** The text that a model gets when it calls a tool meanwhile. */
export function heldText({ by }: HeldTools): string {
  return `Not run: all tools are held by /estop of ${by} until an owner resumes them (/estop off, or \`parley tools resume\`). Do not try again; answer without tools and say so.`;
}
