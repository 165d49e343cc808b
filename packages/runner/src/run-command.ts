// Runs the commands that keep their place among the messages, because they change what the messages after them meet. A message that stood
// after /new is a row of its own behind it.
import {
  parseConversationKey,
  type Inbound,
  type Json,
  type Log,
  type SessionKey,
  parseRowPayload,
} from "@parley/protocol";
import { type LeaseHandle, untilStored, turnNames } from "@parley/queue";
import type { CellWrite, Commit, Turn } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import type { Services, TurnWork } from "./turn-scope.ts";

export interface LaneCommandCall {
  readonly key: SessionKey;
  readonly name: string;
  /** What stands after the name, trimmed. */
  readonly args: string;
  /** Of /new: the model that its first word named when it was received. */
  readonly model?: string;
  readonly inbound: Inbound;
  readonly owner: boolean;
  readonly turn: Turn;
  /** Its signal ends long work; whoever takes long covers itself with it. */
  readonly held: LeaseHandle;
  readonly log: Log;
}

/** What a command comes to; a lone string is what is said back, null says nothing. */
export interface LaneCommandEnd {
  readonly answer: string | null;
  /** Appended to the transcript, in order; JSON text. */
  readonly entries?: readonly string[];
  readonly patch?: { readonly [field: string]: Json };
  readonly cells?: readonly CellWrite[];
  /** Called once the commit holds. */
  readonly committed?: () => void;
}

export interface LaneCommand {
  readonly name: string;
  /** Must bear repetition: a crash before the commit runs it again. */
  run(call: LaneCommandCall): Promise<string | null | LaneCommandEnd>;
}

export function runCommand(
  { turns, clock, log }: Pick<Services, "turns" | "clock" | "log">,
  commands: readonly LaneCommand[],
): TurnWork {
  const table = new Map(commands.map((command) => [command.name, command]));

  return async (turn, held) => {
    const [row] = turn.rows;
    if (row === undefined) return { afterMs: 0, reason: "an empty turn" };
    const { command, inbound, owner } = parseRowPayload(row.payload);
    const found = table.get(command?.name ?? "");
    if (command === undefined) throw new Error("a row that is no command was run as one");
    // What the command writes carries no fencing token, so the lease is proven right before (I3).
    await held.renew();
    const call = {
      key: turn.lane as SessionKey,
      ...command,
      inbound,
      owner,
      turn,
      held,
      log: log.child(turnNames(turn)),
    };
    // A row may outlive the build that knew its command.
    const said = found === undefined ? `There is no /${command.name} any more.` : await found.run(call);
    const {
      answer,
      entries = [],
      patch,
      cells,
      committed,
    }: LaneCommandEnd = typeof said === "string" || said === null ? { answer: said } : said;
    const what: Commit = {
      outcome: "commanded",
      reason: `/${command.name}`,
      entries,
      deliveries:
        answer === null
          ? []
          : [textDelivery(`${turn.id}/0`, parseConversationKey(turn.conversation), answer, turn.id)],
      ...(patch === undefined ? {} : { patch }),
      ...(cells === undefined ? {} : { cells }),
    };
    await untilStored(held, clock, () => turns.commit(turn, turn.id, what));
    committed?.();
    return { settled: true };
  };
}
