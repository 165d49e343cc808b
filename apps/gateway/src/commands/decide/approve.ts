// Implements /approve and /deny: a person answers a request for approval, typed or by a button. The command
// checks who may decide when the answer comes, because rights may have changed since the question.
import { approverRole } from "@parley/channels";
import { isFault } from "@parley/protocol";
import type { Verdict, Approvals, Decider } from "@parley/runner";
import { senderId } from "@parley/access";
import type { Admitted, PastLaneCommand } from "../chat-command.ts";

const usage = "Usage: /approve ID once, /approve ID always, /approve ID deny; /deny ID.";

const verdicts: { readonly [word: string]: Verdict } = {
  once: "once",
  "allow-once": "once",
  always: "always",
  "allow-always": "always",
  deny: "deny",
};

/** True for a client of the page whose token may approve: the right that `approvals.resolve` needs. */
function isOperator({ inbound, owner }: Admitted): boolean {
  return inbound.channel === "web" && (owner || inbound.sender.roles?.includes(approverRole) === true);
}

export const approve: PastLaneCommand = {
  name: "approve",
  summary: "allow a command that I asked about: /approve ID once",
  place: "past-lane",
  async run(call, { approvals }) {
    const [id = "", word = ""] = call.args.trim().split(/\s+/);
    const verdict = Object.hasOwn(verdicts, word.toLowerCase()) ? verdicts[word.toLowerCase()] : undefined;
    return id === "" || verdict === undefined ? usage : decide(approvals, id, verdict, call);
  },
};

export const deny: PastLaneCommand = {
  name: "deny",
  summary: "refuse a command that I asked about: /deny ID",
  place: "past-lane",
  async run(call, { approvals }) {
    const [id = ""] = call.args.trim().split(/\s+/);
    return id === "" ? usage : decide(approvals, id, "deny", call);
  },
};

async function decide(
  approvals: Approvals,
  id: string,
  verdict: Verdict,
  by: Admitted,
): Promise<string | null> {
  const { inbound } = by;
  const decider: Decider = isOperator(by)
    ? { operator: `web:${inbound.sender.id}` }
    : { person: senderId(inbound) };
  try {
    const { say } = await approvals.decide(id, verdict, decider);
    // Where a button was pressed, the approval's card shows the result.
    return inbound.kind === "callback" ? null : say;
  } catch (error) {
    if (
      isFault(error, "missing") ||
      isFault(error, "denied") ||
      isFault(error, "conflict") ||
      isFault(error, "invalid")
    )
      return `⚠️ ${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}`;
    throw error;
  }
}
