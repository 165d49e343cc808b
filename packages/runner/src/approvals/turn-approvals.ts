// The gate of one turn, from what the turn knows of itself; none where there is nothing to approve.
import type { Clock } from "@parley/protocol";
import type { Session, Turn } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import { namesIn, placeOf, speakersOf } from "../turn-rows.ts";
import type { PreparedTurn } from "../turn-scope.ts";
import type { Approvals } from "./approvals.ts";
import { heldText, type EmergencyStop } from "../tools/emergency-stop.ts";
import type { ToolHooks } from "../tools/tool-hooks.ts";
import { approvalGate, type TurnApprovals } from "./approval-gate.ts";

export interface TurnApprovalsOptions {
  readonly desk: Approvals;
  readonly hold: Pick<EmergencyStop, "now">;
  readonly hooks: ToolHooks | undefined;
  /** How long a request stays open. */
  readonly timeoutMs: number;
}

export interface TurnApprovalsInput {
  readonly options: TurnApprovalsOptions | undefined;
  readonly turn: Turn;
  readonly session: Session;
  readonly agent: string;
  readonly setup: Pick<PreparedTurn, "execPolicy">;
  readonly scopeOf: (callId: string) => ToolScope;
  readonly waiting: () => Promise<number>;
  readonly closePreview: () => Promise<string | null>;
  readonly clock: Clock;
}

export function turnApprovals({
  options,
  turn,
  session,
  setup,
  ...ports
}: TurnApprovalsInput): TurnApprovals | null {
  const { execPolicy: policy } = setup;
  if (options === undefined || policy === undefined) return null;
  const { hold, hooks } = options;
  const asking = approvalGate({
    ...options,
    ...ports,
    policy,
    turn: turn.id,
    tickets: turn.tickets,
    session: session.key,
    epoch: turn.epoch,
    place: placeOf(turn),
    conversation: turn.conversation,
    authority: turn.authority,
    by: speakersOf(turn.rows),
    names: namesIn(turn.rows),
  });
  return {
    ...asking,
    async gate(call, tool) {
      const held = await hold.now();
      const reason = held === null ? await hooks?.before(call, tool, ports.scopeOf(call.id)) : heldText(held);
      return typeof reason === "string" ? { kind: "refuse", reason } : asking.gate(call, tool);
    },
  };
}
