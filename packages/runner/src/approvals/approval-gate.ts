// Decides about each call of a turn before it starts: what is not allowed already parks the turn until a person has answered, and the answer is
// used up in the same write as the call's intent, so that one approval starts one call (I7). What was shown is what is hashed is what runs.
import type { Gate, GateDecision, JournalStep } from "@parley/agent";
import {
  Fault,
  isFault,
  type Clock,
  type ConversationKey,
  type SessionKey,
  type ToolCall,
} from "@parley/protocol";
import type { CellWrite } from "@parley/store";
import {
  actionHash,
  describeAction,
  execDecision,
  type ExecAction,
  type ExecPolicy,
  type ExecPorts,
  type Tool,
  type ToolScope,
} from "@parley/tools";
import type { Speakers, Place } from "@parley/access";
import { approvalId, isGiven, type Approval } from "./approval.ts";
import type { ApprovalStore, Kept } from "./approval-store.ts";
import type { Approvals } from "./approvals.ts";
import { longestShown } from "./approval-card.ts";
import { storedIn } from "./stored-calls.ts";

export interface TurnApprovals {
  readonly gate: Gate;
  /** What is written with these steps: the approvals that their calls use up. */
  cellsFor(steps: readonly JournalStep[]): readonly CellWrite[];
  /** When a turn that is parked now stops waiting. */
  parkedUntilMs(): number;
}

export interface ApprovalGateOptions {
  readonly desk: Approvals;
  readonly turn: string;
  /** What the turn was parked for. */
  readonly tickets: readonly string[];
  readonly session: SessionKey;
  readonly epoch: number;
  readonly agent: string;
  readonly place: Place;
  readonly conversation: ConversationKey;
  readonly authority: string;
  readonly by: Speakers;
  /** What those who speak call themselves, by `<channel>:<id>`. */
  readonly names: { readonly [person: string]: string };
  readonly policy: ExecPolicy;
  readonly timeoutMs: number;
  readonly scopeOf: (callId: string) => ToolScope;
  /** Rows that wait in the lane now. */
  readonly waiting: () => Promise<number>;
  /** Ends the preview that stands before the request; its delivery, if there is one. */
  readonly closePreview: () => Promise<string | null>;
  readonly clock: Clock;
}

const refuse = (reason: string): GateDecision => ({ kind: "refuse", reason });
const go: GateDecision = { kind: "go" };

export function approvalGate(options: ApprovalGateOptions): TurnApprovals {
  const { desk, turn, session, policy, clock } = options;
  const using = new Map<string, CellWrite>();
  let untilMs = 0;

  async function gate(call: ToolCall, tool: Tool): Promise<GateDecision> {
    if (tool.action === undefined) return go;
    const parsed = tool.parse(call.args);
    if (!parsed.ok) return go; // Told by whoever runs it.
    let action: ExecAction;
    try {
      action = await tool.action(parsed.args, options.scopeOf(call.id));
    } catch (error) {
      if (isFault(error)) return refuse(`Not run: ${error.message}`);
      throw error;
    }
    const hash = actionHash(action);
    const decision = execDecision(action, policy);
    if (decision.kind === "refuse") return refuse(`Not run: ${decision.reason}.\n${describeAction(action)}`);
    const stored = storedIn(call.id);
    const found = await desk.book.get(stored ?? approvalId(turn, call.id, hash));
    const kept = found === null ? null : await desk.current(found);
    if (kept !== null) {
      const { approval } = kept;
      if (approval.session !== session) return refuse("Not run: that approval is of another conversation.");
      if (approval.hash !== hash)
        return refuse(
          "Not run: what this command would do now is not what was approved (its program, its files, the folder or the sandbox changed). Ask again.",
        );
      if (isGiven(approval)) return use(kept, call.id);
      if (approval.state !== "open")
        return decision.kind === "run" ? go : refuse(`Not run: ${closedWords(approval)}`);
    }
    if (decision.kind === "run") return go;
    return stored === null
      ? ask(call, action, hash, decision)
      : refuse("Not run: that approval is not there any more.");
  }

  function use(kept: Kept, callId: string): GateDecision {
    using.set(
      callId,
      desk.book.moving(kept, { state: "used", used: { turn, callId } }, { what: "used", by: turn }),
    );
    return go;
  }

  async function ask(
    call: ToolCall,
    action: ExecAction,
    hash: string,
    why: { readonly reason: string; readonly always: boolean },
  ): Promise<GateDecision> {
    const shown = describeAction(action);
    if (shown.length > longestShown)
      return refuse(
        `Not run: it needs a person's approval, and ${shown.length} characters are too many to be read before. Put it into a script and run that.`,
      );
    const surfaces = await desk.surfaces(options.place.address, options.by.owner);
    if (surfaces.length === 0)
      return refuse(
        `Not run: it needs a person's approval (${why.reason}), and there is nobody to ask: no owner is known (commands.ownerAllowFrom).`,
      );
    const id = approvalId(turn, call.id, hash);
    if (options.tickets.includes(id) && (await options.waiting()) > 0)
      return refuse(
        `Not run yet: nobody has decided, and somebody wrote meanwhile. Approval ${id} stays open; once it is given, the command runs by itself and you are told. Do not ask again; answer the message.`,
      );
    const nowMs = clock.now();
    const { guild, parent } = options.place;
    const kept = await desk.ask(
      {
        v: 1,
        id,
        session,
        epoch: options.epoch,
        agent: options.agent,
        turn,
        callId: call.id,
        conversation: options.conversation,
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        authority: options.authority,
        owner: options.by.owner,
        askedBy: [...options.by.senders],
        names: { ...options.names },
        tool: call.name,
        args: call.args,
        hash,
        shown,
        reason: why.reason,
        grant: why.always
          ? {
              argv: [...action.argv],
              cwd: action.cwd,
              sandbox: action.sandbox,
              files: [...action.files],
              outside: [...action.outside],
            }
          : null,
        approvers: await desk.people(),
        createdAtMs: nowMs,
        expiresAtMs: nowMs + options.timeoutMs,
        state: "open",
        log: [{ atMs: nowMs, what: "asked", by: turn }],
      },
      options.closePreview,
    );
    if ("full" in kept) {
      return refuse(
        `Not run: it needs a person's approval, and ${kept.full} already. Say so, and do not ask again before some of them are decided.`,
      );
    }
    untilMs = Math.max(untilMs, kept.approval.expiresAtMs);
    return { kind: "park", tickets: [id] };
  }

  return {
    gate,
    cellsFor: (steps) =>
      steps.flatMap((step) => {
        const cell = step.kind === "intent" ? using.get(step.callId) : undefined;
        return cell === undefined ? [] : [cell];
      }),
    parkedUntilMs() {
      if (untilMs === 0) throw new Fault("invalid", "a turn is parked that waits for nothing");
      return untilMs;
    },
  };
}

/** The last look before the start: the approval of exactly this action was used up for exactly this call. */
export function isApproved(book: Pick<ApprovalStore, "get">): NonNullable<ExecPorts["approved"]> {
  return async (_action, hash, { turn, callId, session }) => {
    const kept = await book.get(storedIn(callId) ?? approvalId(turn, callId, hash));
    if (kept === null) return false;
    const { approval } = kept;
    const isForThis = approval.used?.turn === turn && approval.used.callId === callId;
    return approval.state === "used" && isForThis && approval.session === session && approval.hash === hash;
  };
}

function closedWords({ state, log }: Approval): string {
  const by = log.at(-1)?.by ?? "";
  if (state === "denied") return `it was denied by ${by}. Do not try it in another form.`;
  if (state === "expired") return "nobody approved it in time, so it is denied.";
  return state === "used" ? "its approval was used before." : "what asked for its approval was stopped.";
}
