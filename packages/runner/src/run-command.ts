// Runs the commands that keep their place among the messages, because they change what later messages meet.
// Text after /new is a row of its own behind it.
import {
  parseConversationKey,
  type Inbound,
  type Json,
  type Log,
  type SessionKey,
  parseRowPayload,
} from "@parley/protocol";
import { type TurnLease, untilStored, turnNames } from "@parley/queue";
import type { CellWrite, Commit, Turn } from "@parley/store";
import { textDelivery } from "@parley/delivery";
import type { Services, TurnWork } from "./turn-scope.ts";

export interface LaneCommandCall {
  readonly key: SessionKey;
  readonly name: string;
  /** The text after the name, trimmed. */
  readonly args: string;
  /** For /new: the model that its first word named when the message arrived. */
  readonly model?: string;
  readonly inbound: Inbound;
  readonly owner: boolean;
  readonly turn: Turn;
  /** Its signal ends long work, and a command that takes long must extend the lease through it. */
  readonly lease: TurnLease;
  readonly log: Log;
}

/** A command's result; a plain string is the reply, and null sends none. */
export interface LaneCommandEnd {
  readonly answer: string | null;
  /** JSON texts that the transcript gets, in order. */
  readonly entries?: readonly string[];
  readonly patch?: { readonly [field: string]: Json };
  readonly cells?: readonly CellWrite[];
  /** Called once the commit is durable. */
  readonly committed?: () => void;
}

export interface LaneCommand {
  readonly name: string;
  /** Must be safe to repeat, because a crash before the commit runs it again. */
  run(call: LaneCommandCall): Promise<string | null | LaneCommandEnd>;
}

export function runCommand(
  { turns, clock, log }: Pick<Services, "turns" | "clock" | "log">,
  commands: readonly LaneCommand[],
): TurnWork {
  const table = new Map(commands.map((command) => [command.name, command]));

  return async (turn, lease) => {
    const [row] = turn.rows;
    if (row === undefined) return { afterMs: 0, reason: "an empty turn" };
    const { command, inbound, owner } = parseRowPayload(row.payload);
    const found = table.get(command?.name ?? "");
    if (command === undefined) throw new Error("a row that is no command was run as one");
    // A command's own writes carry no fencing token, so the lease is renewed right before (I3).
    await lease.renew();
    const call = {
      key: turn.lane as SessionKey,
      ...command,
      inbound,
      owner,
      turn,
      lease,
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
    await untilStored(lease, clock, () => turns.commit(turn, turn.id, what));
    committed?.();
    return { settled: true };
  };
}
