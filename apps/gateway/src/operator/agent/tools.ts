// Serves tools, approvals and questions over the control plane: lists the tools that a session may use and
// why not the rest, lists the waiting approvals and questions, and decides an approval.
import { Fault, type MethodParams, type MethodResult } from "@parley/protocol";
import { type Approval, askedByLines, listedTools, type Question } from "@parley/runner";
import type { StorePorts } from "../ports.ts";
import { promptNow, type PromptPorts } from "./prompt.ts";

export interface DecisionCaller {
  readonly peer: string;
}

export function toolMethods(ports: PromptPorts & Pick<StorePorts, "approvals" | "questions" | "hold">) {
  const { approvals, questions, hold } = ports;
  const { sessionOf, ofSession } = promptNow(ports);
  return {
    async "approvals.list"({
      all = false,
    }: MethodParams<"approvals.list">): Promise<MethodResult<"approvals.list">> {
      const found = (await approvals.list()).filter(({ state }) => all || state === "open");
      const grants = await approvals.book.grants();
      return {
        approvals: found.map(shown),
        grants: grants.map((grant) => ({ ...grant, argv: [...grant.argv] })),
      };
    },
    async "approvals.resolve"(
      { id, decision }: MethodParams<"approvals.resolve">,
      { peer }: DecisionCaller,
    ): Promise<MethodResult<"approvals.resolve">> {
      const { approval, say } = await approvals.decide(id, decision, { operator: peer });
      return { id: approval.id, state: approval.state, say };
    },
    async "approvals.revoke"({
      id,
    }: MethodParams<"approvals.revoke">): Promise<MethodResult<"approvals.revoke">> {
      if (await approvals.book.revoke(id)) return { id };
      throw new Fault(
        "missing",
        `nothing was allowed for good under ${JSON.stringify(id)}; \`parley approvals list\` shows what was`,
      );
    },
    async "questions.list"({
      all = false,
    }: MethodParams<"questions.list">): Promise<MethodResult<"questions.list">> {
      const found = (await questions.list()).filter(({ state }) => all || state === "open");
      return { questions: found.map(shownQuestion) };
    },
    async "tools.hold"(
      _params: MethodParams<"tools.hold">,
      { peer }: DecisionCaller,
    ): Promise<MethodResult<"tools.hold">> {
      return { held: await hold.hold(peer) };
    },
    async "tools.resume"(): Promise<MethodResult<"tools.resume">> {
      return { resumed: await hold.release() };
    },
    async "tools.list"({ session: key }: MethodParams<"tools.list">): Promise<MethodResult<"tools.list">> {
      const session = await sessionOf(key);
      const { here } = await ofSession(session);
      const { decision, sandbox } = here;
      const where =
        sandbox === undefined
          ? null
          : `${sandbox.kind}, workspace ${sandbox.access}, network ${sandbox.network}`;
      return {
        session: session.key,
        tools: [...listedTools(here)],
        sandbox: where,
        reason: decision.reason ?? null,
      };
    },
  };
}

function shown(approval: Approval): MethodResult<"approvals.list">["approvals"][number] {
  const {
    id,
    state,
    session,
    agent,
    tool,
    shown: text,
    reason,
    grant,
    askedBy,
    createdAtMs,
    expiresAtMs,
    log,
  } = approval;
  const asked = askedByLines(approval);
  return {
    id,
    state,
    session,
    agent,
    tool,
    shown: text,
    reason,
    always: grant !== null,
    askedBy,
    asked,
    createdAtMs,
    expiresAtMs,
    log,
  };
}

function shownQuestion(each: Question): MethodResult<"questions.list">["questions"][number] {
  const { id, state, session, conversation, question, options, people } = each;
  const { createdAtMs, expiresAtMs, answer = null } = each;
  return {
    id,
    state,
    session,
    conversation,
    question,
    options,
    people,
    createdAtMs,
    expiresAtMs,
    answer,
  };
}
