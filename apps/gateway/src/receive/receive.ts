// Turns a platform's events into durable rows and resolves once they are stored, so a platform is
// acknowledged only then (I1). Every event gets a row: work, a command, a refusal with its reason, or an
// unreadable one. Commands that act past the lane run here, before anything after them is looked at.
// Next: packages/queue/src/lane-runner.ts.
import {
  isFault,
  openingId,
  type Deletion,
  type FaultCode,
  type Inbound,
  type SessionKey,
} from "@parley/protocol";
import type { Receive } from "@parley/channels";
import type { Accepted, Inbox, Outbox } from "@parley/store";
import { noticeDelivery } from "@parley/delivery";
import type { Command } from "../commands/parse-command.ts";
import type { Admitted } from "../commands/chat-command.ts";
import { rowOf } from "./new-rows.ts";
import { eventPlanner, type PlanEventOptions, type PlannedRow } from "./plan-event.ts";
import type { QueueOverflow } from "./queue-overflow.ts";

/** What the store says of a message that it did not know; `closed`: talk of which no history is kept. */
const news: ReadonlySet<Accepted["verdict"]> = new Set(["queued", "context", "closed"]);

/** Faults that no repeat can heal. */
const hopeless: ReadonlySet<FaultCode> = new Set(["invalid", "unsupported", "denied", "missing"]);

/** Runs a command that acts past the lane and resolves with its answer. It must bear repetition. */
type RunPastLane = (command: Command, by: Admitted) => Promise<string | null>;

export interface ReceiveOptions extends PlanEventOptions {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly runPastLane: RunPastLane;
  readonly queueOverflow: QueueOverflow;
  /** Told of each message once it is durable, and never of a repeat. */
  readonly heard: (session: SessionKey, inbound: Inbound) => void;
  /** Told of each command that acts past the lane, once it has acted. */
  readonly commanded: (name: string, session: SessionKey, inbound: Inbound) => void;
}

export type ReceiveEvents = Receive;

export function receiver(options: ReceiveOptions): ReceiveEvents {
  const { inbox, outbox, log } = options;
  const { plan, rowOfUnreadable } = eventPlanner(options);

  async function store(batch: readonly PlannedRow[]): Promise<void> {
    if (batch.length === 0) return;
    const notices = batch.flatMap((planned) => planned.notices);
    // Called in one turn of the event loop, so that rows and notices share one commit. Without notices the
    // "received" line follows the commit directly: the turn it starts may log its beginning soon after.
    const accepting = inbox.accept(batch.map((planned) => planned.row));
    const accepted = await (notices.length > 0
      ? Promise.all([accepting, outbox.post(notices)]).then(([first]) => first)
      : accepting);
    for (const [index, row] of accepted.entries()) {
      const planned = batch[index];
      if (planned === undefined) continue;
      // The refusal log writes a line of its own, limited in a flood.
      const say = isRefused(planned) ? log.debug.bind(log) : log.info.bind(log);
      say({ rows: [row.id], lane: planned.row.lane, verdict: row.verdict, waiting: row.waiting }, "received");
      if (planned.heard !== undefined && news.has(row.verdict))
        options.heard(planned.row.lane, planned.heard);
      if (row.verdict === "queued" && planned.settings !== undefined)
        await options.queueOverflow(planned.row, row, planned.settings);
    }
  }

  async function runAtOnce(command: Command, by: Admitted): Promise<void> {
    const { inbound } = by;
    // A redelivered command must not act twice: its row exists once it has acted.
    if ((await inbox.find({ id: inbound.id, limit: 1 })).length > 0) return;
    const answer = await answerOf(command, by);
    // Posts the answer first: its id comes from the event, so a redelivery repeats nothing, while a row
    // without its answer would be final.
    if (answer !== null) await outbox.post([{ ...noticeDelivery(inbound, answer), passes: true }]);
    await store([
      {
        row: rowOf(by, { kind: "closed", outcome: "commanded", reason: `/${command.name}` }, command),
        notices: [],
      },
    ]);
    options.commanded(command.name, by.route.session, inbound);
  }

  /**
   * A failing command is answered too: if it threw, it would be redelivered forever and hold up everything
   * behind it.
   */
  async function answerOf(command: Command, by: Admitted): Promise<string | null> {
    try {
      return await options.runPastLane(command, by);
    } catch (error) {
      // Store trouble passes, and until then nothing may be acknowledged.
      if (isFault(error, "unavailable") || isFault(error, "ambiguous")) throw error;
      log.error({ rows: [by.inbound.id], command: command.name, error }, "a command failed");
      return `/${command.name} failed. The operator can see why in the log.`;
    }
  }

  /** Stops a deleted message that nobody has read; one that a turn has read cannot be taken back. */
  async function takeBack({ messages }: Deletion): Promise<void> {
    for (const id of messages.flatMap((message) => [message, openingId(message)])) {
      const [row] = await inbox.find({ id, state: "waiting", limit: 1 });
      if (row === undefined) continue;
      const stopped = await inbox.stop(row.lane, {
        rows: { ids: [id] },
        outcome: "superseded",
        reason: "the message was deleted",
      });
      if (stopped.rows.length > 0) log.info({ rows: stopped.rows, lane: row.lane }, "taken back");
    }
  }

  return async (events) => {
    let batch: PlannedRow[] = [];
    const refused: string[] = [];
    const flush = async (): Promise<void> => {
      await store(batch);
      // Only then: what could not be stored is tried again at the end, and else nothing is acknowledged (I1).
      batch = [];
    };
    for (const event of events) {
      if (event.kind === "deletion") {
        await flush();
        await takeBack(event);
        continue;
      }
      if (event.kind === "unreadable") {
        batch.push(await rowOfUnreadable(event));
        continue;
      }
      try {
        const planned = await plan(event);
        if ("command" in planned) {
          await flush();
          await runAtOnce(planned.command, planned.by);
        } else {
          batch.push(...planned);
          if (planned.every(isSilentRefusal)) refused.push(event.id);
        }
      } catch (error) {
        if (isFault(error) && !hopeless.has(error.code)) throw error;
        // A bug in one event must not hold up everything behind it forever. Neither must what no repeat
        // heals, such as a row in its lane that this version cannot read.
        log.error({ rows: [event.id], error }, "an event met a bug and is put aside");
        const { id, channel, account } = event;
        const reason = `a bug: ${error instanceof Error ? error.message : String(error)}`;
        const from = event.kind === "message" && event.addressed ? { from: event } : {};
        batch.push(
          await rowOfUnreadable({
            kind: "unreadable",
            id,
            channel,
            account,
            raw: JSON.stringify(event),
            reason,
            ...from,
          }),
        );
      }
    }
    await flush();
    void options.buttonPresses.acknowledge(events);
    return { refused };
  };
}

function isRefused({ row }: PlannedRow): boolean {
  return row.as.kind === "closed" && row.as.outcome === "refused";
}

function isSilentRefusal(planned: PlannedRow): boolean {
  return isRefused(planned) && planned.notices.length === 0;
}
