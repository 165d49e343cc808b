// Decides about each call of a turn before it starts. A call that is not allowed yet parks the turn until a
// person has answered. The approval is consumed in the same write that records the call's intent, so that one
// approval starts one call (I7); the hash covers exactly what was shown and what runs.
import { createHash } from "node:crypto";
import type { Gate, GateDecision, HeardBefore } from "@parley/agent";
import { isFault, type ToolCall } from "@parley/protocol";
import {
  actionHash,
  describeAction,
  execDecision,
  reachesOut,
  type ExecAction,
  type ExecDecision,
  type ExecPorts,
  type Tool,
} from "@parley/tools";
import { approvalId, isGiven, type Approval } from "./approval.ts";
import type { ApprovalStore, Kept } from "./approval-store.ts";
import { longestShown } from "./approval-card.ts";
import { storedIn } from "./stored-calls.ts";
import { heldText } from "../emergency-stop.ts";
import { somebodyWrote } from "../queue/pushed-rows.ts";
import { namesIn } from "../turn-rows.ts";
import { toolScope, type Services, type TurnScope } from "../turn-scope.ts";

type GateServices = Pick<Services, "approvals" | "config" | "inbox" | "hold" | "toolHooks" | "clock">;

/** What a person is asked about. */
interface Asked {
  readonly hash: string;
  readonly shown: string;
  /** What "always" would keep, where that may be chosen. */
  readonly grant: Approval["grant"];
}

/** Why a call waits that would need nobody's word in a turn that had read nothing of strangers. */
function asksAfter(source: string | null): Extract<ExecDecision, { readonly kind: "ask" }> {
  const reason = `the turn has read text of strangers: ${source ?? "in an earlier turn"}`;
  return { kind: "ask", reason, always: false };
}

/** Arguments are the whole of a call that is no command. */
function callHash({ name, args }: ToolCall): string {
  return createHash("sha256")
    .update(JSON.stringify([name, args]))
    .digest("hex");
}

/** What a device itself said goes nowhere else by a command on it. */
function isOwnWord({ device }: ExecAction, sources: readonly string[]): boolean {
  const name = device?.slice(0, device.lastIndexOf(" ("));
  return name !== undefined && sources.every((source) => source === `device ${name}`);
}

const refuse = (reason: string): GateDecision => ({ kind: "refuse", reason });
const go: GateDecision = { kind: "go" };

/**
 * Asks everything that may refuse a call: the rules of the model and the sender, /estop, the hooks, and last
 * the approvers. `closePreview` ends the preview that is shown before a request for approval and returns its
 * delivery, if there is one.
 */
export function turnGate(
  services: GateServices,
  scope: TurnScope,
  closePreview: () => Promise<string | null>,
): Gate {
  const { turn, lease, prepared } = scope;
  const approval = approvalGate(services, scope, closePreview);
  return async (call, tool, heard, begun) => {
    const refusal = prepared.refuses(tool.name);
    if (refusal !== null) return refuse(refusal);
    await lease.cover(prepared.timeoutMs);
    const held = await services.hold.now();
    if (held !== null) return refuse(heldText(held));
    const hooked = await services.toolHooks.before(call, tool, toolScope(turn, prepared));
    if (hooked !== null) return refuse(hooked);
    if (tool.endsPreview === true) await closePreview();
    // A keyed call that waits for its answer was approved when it began.
    return begun ? go : approval(call, tool, heard);
  };
}

/**
 * Asks people about what the exec policy does not allow by itself, and about what a turn would send or spend
 * outside after it has read text of strangers (DESIGN 10.4).
 */
function approvalGate(
  { approvals, config, inbox, clock }: GateServices,
  scope: TurnScope,
  closePreview: () => Promise<string | null>,
): (call: ToolCall, tool: Tool, heard: HeardBefore) => Promise<GateDecision> {
  const { turn, agent, place, speakers, signal, prepared } = scope;
  const session = scope.session.key;
  const timeoutMs = config.approvals.exec.timeoutMinutes * 60_000;

  async function gate(call: ToolCall, tool: Tool, heard: HeardBefore): Promise<GateDecision> {
    const parsed = tool.parse(call.args);
    if (!parsed.ok) return go; // The tool itself reports bad arguments.
    const told = { ...toolScope(turn, prepared), callId: call.id, signal };
    const read = config.tools.taint === "ask" ? heard.untrusted : null;
    let action: ExecAction | null;
    try {
      action = (await tool.action?.(parsed.args, told)) ?? null;
    } catch (error) {
      if (isFault(error)) return refuse(`Not run: ${error.message}`);
      throw error;
    }
    if (action === null) {
      const shown = tool.outside?.(parsed.args, told, heard) ?? null;
      const isAsked = (read !== null && shown !== null) || storedIn(call.id) !== null;
      return isAsked
        ? judge(call, { hash: callHash(call), shown: shown ?? "", grant: null }, asksAfter(read))
        : go;
    }
    const policy = execDecision(action, prepared.execPolicy);
    const isTainted = read !== null && reachesOut(action) && !isOwnWord(action, heard.sources);
    const decision = policy.kind === "run" && isTainted ? asksAfter(read) : policy;
    const { argv, cwd, sandbox, files, outside } = action;
    const grant = { argv: [...argv], cwd, sandbox, files: [...files], outside: [...outside] };
    return judge(call, { hash: actionHash(action), shown: describeAction(action), grant }, decision);
  }

  /** `decision`: what is so without any person's word. */
  async function judge(call: ToolCall, what: Asked, decision: ExecDecision): Promise<GateDecision> {
    const { hash, shown } = what;
    if (decision.kind === "refuse") return refuse(`Not run: ${decision.reason}.\n${shown}`);
    const stored = storedIn(call.id);
    const found = await approvals.book.get(stored ?? approvalId(turn.id, call.id, hash));
    const kept = found === null ? null : await approvals.current(found);
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
      ? ask(call, what, decision)
      : refuse("Not run: that approval is not there any more.");
  }

  function use(kept: Kept, callId: string): GateDecision {
    const used = { state: "used", used: { turn: turn.id, callId } } as const;
    return { kind: "go", uses: approvals.book.moving(kept, used, { what: "used", by: turn.id }) };
  }

  async function ask(
    call: ToolCall,
    { hash, shown, grant }: Asked,
    why: { readonly reason: string; readonly always: boolean },
  ): Promise<GateDecision> {
    if (shown.length > longestShown)
      return refuse(
        `Not run: it needs a person's approval, and ${shown.length} characters are too many to be read before. Make it shorter; a command, put into a script.`,
      );
    const surfaces = await approvals.surfaces(place.address, speakers.owner);
    if (surfaces.length === 0)
      return refuse(
        `Not run: it needs a person's approval (${why.reason}), and there is nobody to ask: no owner is known (commands.ownerAllowFrom).`,
      );
    const id = approvalId(turn.id, call.id, hash);
    if (turn.tickets.includes(id) && (await somebodyWrote(inbox, turn)))
      return refuse(
        `Not run yet: nobody has decided, and somebody wrote meanwhile. Approval ${id} stays open; once it is given, the call runs by itself and you are told. Do not ask again; answer the message.`,
      );
    const nowMs = clock.now();
    const { guild, parent } = place;
    const kept = await approvals.ask(
      {
        v: 1,
        id,
        session,
        epoch: turn.epoch,
        agent,
        turn: turn.id,
        callId: call.id,
        conversation: turn.conversation,
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
        authority: turn.authority,
        owner: speakers.owner,
        askedBy: [...speakers.senders],
        names: { ...namesIn(turn.rows) },
        tool: call.name,
        args: call.args,
        hash,
        shown,
        reason: why.reason,
        grant: why.always ? grant : null,
        approvers: await approvals.people(),
        createdAtMs: nowMs,
        expiresAtMs: nowMs + timeoutMs,
        state: "open",
        log: [{ atMs: nowMs, what: "asked", by: turn.id }],
      },
      closePreview,
    );
    if ("full" in kept) {
      return refuse(
        `Not run: it needs a person's approval, and ${kept.full} already. Say so, and do not ask again before some of them are decided.`,
      );
    }
    return { kind: "park", tickets: [id], untilMs: kept.approval.expiresAtMs };
  }

  return gate;
}

/**
 * Makes the last check before the start: the approval of exactly this action was consumed for exactly this
 * call.
 */
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
