// Writes how a job's run ended in the transaction that ends its turn: the job's state, its history, a webhook
// that is to be called, and what the owner is told. It wraps the store, so that every way in which a turn or
// a waiting row can end counts. A failed run says nothing by itself: the second in a row alerts, the tenth
// pauses the job, and a job of one run tells at once, because nothing comes after it.
import { textDelivery } from "@parley/delivery";
import { isFault, type Address, type Clock, type SessionKey, type Usage } from "@parley/protocol";
import { afterRun, jobPrefix, jobStore, type AfterRun, type Job, type KeptJob } from "@parley/schedules";
import type { CellWrite, Commit, Inbox, Lease, NewDelivery, Store, Turn, Turns } from "@parley/store";
import { wordsIn } from "../sessions/turn-end.ts";
import { missedRun, type RunEnding as Ended, type RunLog } from "./run-log.ts";
import { isHeartbeat, isUnasked, slotOf } from "./slot-row.ts";
import { webhookCell } from "./webhook-cell.ts";

export interface ScheduledNeeds {
  readonly log: RunLog;
  /** Private chats of the owners, for jobs without a conversation. */
  readonly ownersAt: () => Promise<readonly Address[]>;
  readonly clock: Clock;
}

interface CommittedRun {
  readonly id: string;
  readonly turn: Turn;
  readonly what: Commit;
  readonly tokens: number;
}

interface RunEffects {
  readonly cells: readonly CellWrite[];
  readonly deliveries: readonly NewDelivery[];
}

/** A trim reads the whole history, so not every run does it. */
const runsPerTrim = 10;
/** More rows than one turn takes. */
const mostRows = 1_000;
/** Ends and looks that write the same job in one moment. */
const mostTries = 20;

/** The same store, whose turns and waiting rows record the runs of jobs. */
export function scheduledStore<S extends Pick<Store, "turns" | "inbox" | "cells" | "sessions">>(
  store: S,
  needs: ScheduledNeeds,
): S {
  const jobs = jobStore(store.cells);
  const { log, clock } = needs;

  async function commitRun(turn: Turn, id: string, what: Commit): ReturnType<Turns["commit"]> {
    const rows = await store.inbox.find({ turn: id, limit: mostRows });
    const slots = rows.flatMap((row) => slotOf(row) ?? []);
    const isHeld = endedAs(what).outcome === "failed" && isUnasked(rows);
    const run = { id, turn, what, tokens: await tokensOf(turn.lane, what) };
    for (let tried = 1; ; tried += 1) {
      const found = await Promise.all(slots.map(({ job }) => jobs.get(job)));
      const ends = await Promise.all(slots.map((slot, at) => endOf(slot, found[at] ?? null, run)));
      try {
        const done = await store.turns.commit(turn, id, {
          ...what,
          deliveries: [
            ...(what.deliveries ?? []).filter(({ cause }) => !isHeld || cause !== id),
            ...ends.flatMap(({ deliveries }) => deliveries),
          ],
          cells: [...(what.cells ?? []), ...ends.flatMap(({ cells }) => cells)],
        });
        await trimNow(found.flatMap((kept) => kept?.job ?? []));
        return done;
      } catch (error) {
        if (!isFault(error, "conflict") || tried >= mostTries) throw error;
        const now = await Promise.all(slots.map(({ job }) => jobs.get(job)));
        // Another cause than a job that was written meanwhile is a lost lease.
        if (now.every((kept, at) => kept?.cell === found[at]?.cell)) throw error;
      }
    }
  }

  /** The run is committed, so that a history stays too long until the next time is no failure of it. */
  async function trimNow(ended: readonly Job[]): Promise<void> {
    for (const job of ended)
      if (job.state.runs % runsPerTrim === 0) await log.trim(job.id).catch(() => undefined);
  }

  /** What the session used in this turn. */
  async function tokensOf(lane: string, { patch = {} }: Commit): Promise<number> {
    const after = sum(patch["usage"]);
    if (after === 0) return 0;
    const { fields } = await store.sessions.open(lane as SessionKey);
    return Math.max(0, after - sum(fields["usage"]));
  }

  async function endOf(
    { job: jobId, id: slot, run }: NonNullable<ReturnType<typeof slotOf>>,
    kept: KeptJob | null,
    { id, turn, what, tokens }: CommittedRun,
  ): Promise<RunEffects> {
    const ended = endedAs(what);
    const { outcome, reason } = ended;
    const said = wordsOf(what, id);
    const nowMs = clock.now();
    const record = log.writing({
      v: 1,
      job: jobId,
      slot,
      instantMs: run.instantMs,
      turn: id,
      session: turn.lane,
      outcome,
      reason,
      count: 1,
      startedAtMs: turn.openedAtMs,
      endedAtMs: nowMs,
      tokens,
      said,
    });
    if (kept === null) return { cells: [record], deliveries: [] };
    const after = afterRun(kept.job, {
      slot: { id: slot, instantMs: run.instantMs },
      outcome,
      reason,
      endedAtMs: nowMs,
    });
    const isLast = kept.job.maxRuns !== null && after.job.state.runs >= kept.job.maxRuns;
    const words = outcome === "failed" && isLast ? lastWords(kept.job, reason) : toldWords(after, reason);
    return {
      cells: [
        record,
        ...after.missed.map((missed) => log.writing(missedRun(kept.job, missed, nowMs))),
        after.isOver
          ? { key: `${jobPrefix}${jobId}`, value: null, expect: kept.cell }
          : jobs.writing(kept, after.job),
        ...(outcome === "ok" || outcome === "failed" ? webhookCell(kept.job, slot, ended, said, nowMs) : []),
      ],
      deliveries:
        words === null ? [] : await notices(kept.job, `${slot}/${after.tell ?? "failed"}`, words, slot),
    };
  }

  async function notices(
    job: Job,
    id: string,
    words: string,
    cause: string,
  ): Promise<readonly NewDelivery[]> {
    const places = await alertPlaces(job, needs.ownersAt);
    return places.map((to, at) => textDelivery(`notice:${id}/${at}`, to, words, cause));
  }

  const turns: Turns = {
    ...store.turns,
    async commit(lease, id, what) {
      if (!isTurn(lease)) return store.turns.commit(lease, id, what);
      if (lease.rows.some((row) => slotOf(row) !== null)) return commitRun(lease, id, what);
      if (!isHeartbeat(lease.rows)) return store.turns.commit(lease, id, what);
      const rows = await store.inbox.find({ turn: id, limit: mostRows });
      return store.turns.commit(lease, id, isHeartbeat(rows) ? asHeartbeat(what, id) : what);
    },
  };

  const inbox: Inbox = {
    ...store.inbox,
    async stop(lane, what) {
      const stopped = await store.inbox.stop(lane, what);
      for (const id of stopped.rows) {
        if (!id.startsWith("cron:")) continue;
        const [row] = await store.inbox.find({ id, limit: 1, dismissed: true });
        const slot = row === undefined ? null : slotOf(row);
        if (slot === null) continue;
        const { job, run } = slot;
        await log.note([
          {
            v: 1,
            job,
            slot: id,
            instantMs: run.instantMs,
            turn: null,
            session: lane,
            outcome: "skipped",
            reason: what.reason,
            count: 1,
            startedAtMs: null,
            endedAtMs: clock.now(),
            tokens: 0,
            said: "",
          },
        ]);
      }
      return stopped;
    },
  };
  return { ...store, turns, inbox };
}

/** Where the owner of a job hears of it: its conversation, else the owners' private chats. */
export async function alertPlaces(
  { owner }: Pick<Job, "owner">,
  ownersAt: ScheduledNeeds["ownersAt"],
): Promise<readonly Address[]> {
  return owner.conversation === null ? ownersAt() : [owner.conversation];
}

function endedAs({ outcome, reason }: Commit): Ended {
  switch (outcome) {
    case "answered":
      return { outcome: "ok", reason: null };
    case "silent":
      return { outcome: "silent", reason: null };
    case "superseded":
      return { outcome: "superseded", reason: reason ?? null };
    case "stopped":
      return { outcome: "skipped", reason: reason ?? "stopped" };
    default:
      return { outcome: "failed", reason: reason ?? outcome };
  }
}

/** A heartbeat that fails is no news for a person: the log and the row say it. */
function asHeartbeat(what: Commit, id: string): Commit {
  if (what.outcome !== "dead" && what.outcome !== "refused") return what;
  const { deliveries = [] } = what;
  return { ...what, outcome: "refused", deliveries: deliveries.filter(({ cause }) => cause !== id) };
}

function wordsOf({ deliveries = [] }: Commit, id: string): string {
  const own = deliveries.filter(({ cause }) => cause === id);
  return own.flatMap(({ parts }) => parts.flatMap(({ content }) => wordsIn(content))).join("\n\n");
}

function toldWords({ job, tell }: AfterRun, reason: string | null): string | null {
  const { name, id, state } = job;
  const what = `The scheduled job ${JSON.stringify(name)} (${id})`;
  const why = reason === null ? "" : `: ${reason}`;
  switch (tell) {
    case null:
      return null;
    case "failing":
      return `⚠️ ${what} failed ${state.consecutiveErrors} times in a row${why}`;
    case "recovered":
      return `✅ ${what} works again.`;
    case "paused":
      return `⏸ ${what} failed ${state.consecutiveErrors} times in a row and is paused${why}\n\n\`parley cron enable ${id}\` or /cron resume ${id} lets it go on.`;
  }
}

function lastWords({ name, id, payload }: Job, reason: string | null): string {
  const what =
    payload.kind === "systemEvent" ? payload.text : payload.kind === "agentTurn" ? payload.message : name;
  return `⏰ ${what}\n\n(The scheduled job ${JSON.stringify(name)}, ${id}, was due, and could not be worked on: ${reason ?? "it failed"})`;
}

function sum(usage: unknown): number {
  const { inputTokens = 0, outputTokens = 0 } = (usage ?? {}) as Partial<Usage>;
  return inputTokens + outputTokens;
}

function isTurn(lease: Lease): lease is Turn {
  return "rows" in lease;
}
