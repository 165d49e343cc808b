// Closes a turn that a person or the operator stopped. The stop raised its fence, so the next holder closes
// it: the transcript keeps what was said and done, every call paired (I11) and marked as stopped, and a
// preview is removed.
import { runLoop, type LoopEnd } from "@parley/agent";
import type { Model } from "@parley/models";
import { accountKey, Fault, parseConversationKey, formatContent } from "@parley/protocol";
import { isChatCommandTurn, openingRows, showsWaiting } from "./turn-rows.ts";
import { toolScope, type Services, type TurnWork } from "./turn-scope.ts";
import { turnJournal } from "./turn-journal.ts";
import { shownBefore, stoppedEntry, stoppedMark, stoppedMessage } from "./stopped-answer.ts";
import { toldAlone, turnMessages } from "./transcript/user-messages.ts";
import { ackReaction } from "./streaming/ack-reaction.ts";
import { turnNames } from "@parley/queue";

type CloseServices = Pick<
  Services,
  | "turns"
  | "config"
  | "outbox"
  | "running"
  | "moreTools"
  | "bootAtMs"
  | "ledger"
  | "approvals"
  | "questions"
  | "channel"
  | "clock"
  | "log"
>;

/** Its holder in this process ends at once, unless a platform or a tool holds it up. */
const leavesWithinMs = 1_000;

export function closeStoppedTurn(services: CloseServices): TurnWork {
  const { turns, clock, log } = services;
  return async (turn, lease) => {
    const address = parseConversationKey(turn.conversation);
    const messages = turnMessages(services, turn, { ...toldAlone, cap: openingRows(turn).length });
    const journal = turnJournal(turns, turn, {
      steer: false,
      entryOf: messages.entryOf,
      prepare: async () => {},
    });
    const stopped = new AbortController();
    stopped.abort(new Fault("aborted", turn.stop ?? "stopped"));
    let end: LoopEnd | undefined;
    // With its signal aborted the loop calls no model and no tool; it only settles what the journal left
    // open.
    for await (const event of runLoop(
      {
        system: { stable: "", volatile: "" },
        history: [],
        incoming: isChatCommandTurn(turn) ? [] : messages.opening,
        thinking: "off",
        cacheKey: turn.lane,
      },
      {
        model: noModel,
        tools: services.moreTools,
        scope: toolScope(turn, { workspace: "", env: {} }),
        journal,
        somebodyWrote: async () => false,
        spill: async () => "",
        signal: stopped.signal,
        clock,
        log,
      },
    )) {
      if (event.type === "end") end = event;
    }
    // Nobody may decide about requests of a stopped turn, or answer its questions.
    await services.approvals.stop({ turn: turn.id });
    await services.questions.stop({ turn: turn.id });
    const preview = journal.previews.at(-1);
    const waits = journal
      .rows()
      .some((row) => showsWaiting(row, (account) => services.channel(account)?.settle !== undefined));
    // Earlier holders paid for their model calls, whatever became of the turn.
    const spending = services.ledger.forTurn(turn);
    const asked = end?.entries.findLast((entry) => entry.type === "assistant")?.model ?? "unknown";
    const said =
      (await services.running.left(turn.id, clock, leavesWithinMs)) ??
      (await shownBefore(journal, services.outbox));
    const mark = isChatCommandTurn(turn) ? null : stoppedMark(turn.stop ?? "stopped");
    const entries = [
      ...(end?.entries ?? []),
      ...journal.unheard(),
      ...(mark === null ? [] : [stoppedEntry(said, mark, asked, clock.now())]),
    ];
    const message =
      mark === null ? null : stoppedMessage(turn, said, journal.blocks.at(-1)?.said ?? "", mark);
    const cells = end === undefined ? [] : await spending.note(end, { id: asked });
    await turns.commit(turn, turn.id, {
      outcome: "stopped",
      reason: turn.stop ?? "stopped",
      entries: entries.map((entry) => JSON.stringify(entry)),
      ...(cells.length === 0 ? {} : { cells }),
      deliveries:
        message !== null
          ? [message]
          : preview === undefined && !waits
            ? []
            : [
                {
                  id: `${turn.id}/stopped`,
                  pool: accountKey(address),
                  lane: turn.conversation,
                  cause: turn.id,
                  ...(preview === undefined ? {} : { closes: preview.delivery }),
                  parts: [
                    {
                      content: formatContent({ v: 1, kind: "remove" }),
                      ...(preview === undefined ? {} : { into: `${preview.delivery}/0` }),
                    },
                  ],
                },
              ],
    });
    spending.committed();
    ackReaction(services, turn, lease).remove();
    log.info({ ...turnNames(turn), reason: turn.stop }, "turn stopped");
    return { settled: true };
  };
}

const noModel: Model = {
  id: "none/none",
  contextWindow: 1,
  maxTokens: 1,
  vision: false,
  reasoning: false,
  stream() {
    throw new Error("a turn that is being closed asked a model");
  },
};
