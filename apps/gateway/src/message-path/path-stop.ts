// Ends what works for a session when its people say stop: the turn, and all that runs beside it.
import type { DropAnswers } from "@parley/delivery";
import type { SessionKey } from "@parley/protocol";
import { stopBelow } from "@parley/runner";
import type { CommandRecord, Commands } from "@parley/tools";
import type { Stoppable } from "../commands/chat-command.ts";

interface PathStop {
  readonly stop: Stoppable;
  /** Background commands that a session began. */
  readonly begunBy: (session: SessionKey) => Promise<readonly CommandRecord[]>;
}

/** `commands`: absent where none can run. */
export function pathStop(
  ending: Parameters<typeof stopBelow>[0],
  commands: Pick<Commands, "list" | "end"> | undefined,
  endAsks: (session: SessionKey) => Promise<number>,
  answers: DropAnswers,
): PathStop {
  const begunBy = async (session: SessionKey) => (await commands?.list(session)) ?? [];
  return {
    begunBy,
    stop: {
      turn: ending.running.stop,
      async beside(session) {
        const begun = await begunBy(session);
        await commands?.end(session);
        const ended = begun.filter(({ state }) => state === "running").length;
        const below = await stopBelow(ending, session, "/stop");
        return ended + below + (await endAsks(session));
      },
      answers,
    },
  };
}
