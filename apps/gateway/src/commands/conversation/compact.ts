// Implements /compact [focus]: replaces the beginning of this conversation with a summary now, and reports
// the tokens saved. It keeps its place among the messages. Summary and answer are one commit, so a crash
// before it leaves the conversation as it was.
import { plainLine } from "@parley/agent";
import { accountKey, Fault, isFault, noUsage, parseSessionKey, type Entry } from "@parley/protocol";
import {
  turnContext,
  sessionHistory,
  type LaneCommandCall,
  type LaneCommandEnd,
  usageAfter,
  keepTyping,
} from "@parley/runner";
import { untilStored } from "@parley/queue";
import type { CommandPorts, InLaneCommand } from "../chat-command.ts";

const focusChars = 800;

export const compact: InLaneCommand = {
  name: "compact",
  summary: "turn the beginning of this conversation into a summary; say what matters after it",
  place: "in-lane",
  async run(call, ports) {
    const { channel, clock } = ports;
    const running = ports.running.begin(call.turn.id);
    const stopTyping = keepTyping(
      channel(accountKey(call.inbound)),
      call.inbound.address,
      call.lease,
      clock,
      call.log,
    );
    try {
      return await compacted(call, ports, AbortSignal.any([call.lease.signal, running.signal]));
    } finally {
      stopTyping();
      running.end();
    }
  },
};

async function compacted(
  call: LaneCommandCall,
  { store, turnPreparer, ledger, redaction, heard, clock }: CommandPorts,
  signal: AbortSignal,
): Promise<LaneCommandEnd> {
  const { sessions } = store;
  const { key, inbound, turn, lease, log } = call;
  const { address, guild, parent } = inbound;
  const session = await sessions.open(key);
  const agent = parseSessionKey(key).agent;
  const place = {
    address,
    ...(guild === undefined ? {} : { guild }),
    ...(parent === undefined ? {} : { parent }),
  };
  const account = ledger.forTurn(turn);
  const [history, prepared] = await Promise.all([
    sessionHistory(sessions, session, turn.epoch),
    turnPreparer.forTurn({ agent, session, log, ...place }),
  ]);
  const context = turnContext(
    { sessions, cells: store.cells, redaction, hookPort: heard.port, clock },
    { turn, lease, session, agent, address, history, prepared, spending: account, log },
  );
  const verdict = await account.mayCall(noUsage);
  if (!verdict.ok) {
    account.close();
    return { answer: `⚠️ ${verdict.reason}` };
  }
  const entries = history.map(({ entry }) => entry);
  const focus = plainLine(call.args, focusChars);
  const before = context.tokens(entries);
  const made = await context
    .compact(entries, signal, focus === "" ? undefined : focus)
    .finally(account.close);
  // The command was stopped, drained or lost its lease: the next lease holder decides what becomes of it.
  if (signal.aborted)
    throw isFault(signal.reason) ? signal.reason : new Fault("conflict", "the command was told to stop");
  const patch = {
    ...context.patch(made.summary === null ? [] : [made.summary]),
    ...usageAfter(session, made.usage),
  };
  // Only this process has the summary: a short outage of the store must not cost a second summary.
  const cells = await untilStored(lease, clock, () =>
    account.note({ entries: [], usage: made.usage }, prepared.model),
  );
  const spent = { patch, cells, committed: account.committed };
  if (made.summary === null) return { answer: refusalOf(made.reason), ...spent };
  const after = context.tokens([...entries, made.summary]);
  const count = summarised(
    history.filter(({ seq }) => seq <= (made.summary?.throughSeq ?? 0)).map(({ entry }) => entry),
  );
  const saved = before > after ? `, ${words(before - after)} saved` : "";
  return {
    answer: `Compacted: ${count} became a summary. The context takes about ${words(after)} tokens now, ${words(before)} before${saved}.`,
    entries: [JSON.stringify(made.summary)],
    ...spent,
  };
}

function refusalOf(reason: string | undefined): string {
  if (reason === "nothing") return "There is nothing to compact yet.";
  return "⚠️ The conversation could not be summarised, so it stays as it was. Please try again later.";
}

function summarised(entries: readonly Entry[]): string {
  const messages = entries.filter(({ type }) => type === "user" || type === "assistant").length;
  return messages === 1 ? "1 message" : `${messages} messages`;
}

/** Formats a count, such as 950, 12.3k or 210k. */
function words(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  return tokens < 100_000 ? `${(tokens / 1_000).toFixed(1)}k` : `${Math.round(tokens / 1_000)}k`;
}
