// `parley approvals list|resolve|revoke`: what waits for a person's decision, deciding it, and taking back
// what was allowed for good.
import type { MethodResult } from "@parley/protocol";
import { document, line, result, type Console } from "../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../exit.ts";
import { withState } from "../with-gateway.ts";

type Listed = MethodResult<"approvals.list">;

export async function approvalsList(terminal: Console, all: boolean): Promise<ExitCode> {
  const found = await withState(terminal, (client) => client.request("approvals.list", { all }));
  if (terminal.json) {
    document(terminal.out, found);
    return exitCodes.ok;
  }
  if (found.approvals.length === 0)
    line(terminal.out, all ? "Nothing was asked for." : "Nothing waits for a decision.");
  for (const text of found.approvals.flatMap(approvalLines)) line(terminal.out, text);
  if (found.approvals.some(({ state }) => state === "open"))
    line(terminal.out, "Decide with: parley approvals resolve ID once|always|deny");
  if (found.grants.length > 0) line(terminal.out, "Allowed for good:");
  for (const { id, agent, argv, cwd, sandbox, by } of found.grants)
    line(terminal.out, `${id}  ${agent}  ${JSON.stringify(argv)}  in ${cwd}, sandbox ${sandbox}; by ${by}`);
  return exitCodes.ok;
}

export async function approvalsResolve(terminal: Console, id: string, decision: string): Promise<ExitCode> {
  if (decision !== "once" && decision !== "always" && decision !== "deny")
    throw new CommandFailure(
      "usage",
      `the decision is once, always or deny, not ${JSON.stringify(decision)}`,
      exitCodes.usage,
    );
  const done = await withState(terminal, (client) => client.request("approvals.resolve", { id, decision }));
  result(terminal, done, done.say);
  return exitCodes.ok;
}

export async function approvalsRevoke(terminal: Console, id: string): Promise<ExitCode> {
  const done = await withState(terminal, (client) => client.request("approvals.revoke", { id }));
  result(terminal, done, `No longer allowed for good: ${done.id}.`);
  return exitCodes.ok;
}

function approvalLines({
  id,
  state,
  agent,
  asked,
  shown,
  reason,
  always,
  expiresAtMs,
  log,
}: Listed["approvals"][number]): string[] {
  const until =
    state === "open"
      ? ` until ${new Date(expiresAtMs).toISOString()}${always ? ", may be allowed always" : ""}`
      : "";
  return [
    `${id}  ${state}${until}  agent ${agent}`,
    ...asked.split("\n").map((text) => `  ${text}`),
    `  why: ${reason}`,
    ...shown.split("\n").map((text) => `  ${text}`),
    ...log.map(({ atMs, what, by }) => `  ${new Date(atMs).toISOString()} ${what} by ${by}`),
  ];
}
