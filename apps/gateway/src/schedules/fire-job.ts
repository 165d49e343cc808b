// Looks at one job: accepts the rows of the slots that are due, then writes what was decided. The order is
// the guarantee. A crash in between only means that the same rows are accepted again, and the store knows
// their ids; the other order would lose a slot. So the job's state is a hint that may lag behind its rows.
import type { Log, SessionKey } from "@parley/protocol";
import type { MayReach } from "@parley/access";
import {
  alertPlaces,
  emptyRun,
  isManual,
  keptEpochs,
  missedRun,
  placeOfRuns,
  sessionOfRuns,
  slotOf,
  slotRow,
  type JobRun,
  type Schedules,
} from "@parley/runner";
import { textDelivery } from "@parley/delivery";
import { afterLook, dueSlots, missedBeside, type Due, type Job } from "@parley/schedules";
import type { Address, Clock } from "@parley/protocol";
import type { NewRow, RowView, Stop, Store } from "@parley/store";
import type { RunningTurns } from "@parley/runner";
import { keptEvents } from "./kept-events.ts";
import type { SlotCounts } from "./slot-counts.ts";
import type { WatchSchedule, WatchSlots } from "./watch-slots.ts";

export interface FireJobOptions {
  readonly schedules: Pick<Schedules, "jobs" | "log" | "rightsNow">;
  readonly store: Pick<Store, "inbox" | "outbox" | "cells" | "sessions">;
  readonly agents: readonly string[];
  readonly running: Pick<RunningTurns, "stop">;
  /** Says why nothing may be sent to a place. */
  readonly reach: MayReach;
  /** The chat that a platform closed to us, by the address that it has now; null: it is open. */
  readonly closedAt: (to: Address) => Promise<Address | null>;
  readonly ownersAt: () => Promise<readonly Address[]>;
  /** The cell that keeps a row for the next heartbeat; null where none comes, and the row is due now. */
  readonly keeping: Schedules["keeping"];
  readonly sessionRetentionMs: number;
  readonly counts: SlotCounts;
  readonly watches: WatchSlots;
  readonly clock: Clock;
  readonly log: Log;
}

/** Looks at the job with this id, and returns when to look again; null: nothing comes any more. */
export type FireJob = (id: string) => Promise<number | null>;

/** `known`: slots whose rows an earlier look wrote without noting it. */
type DueNow = Due & { readonly known: number };

/** More rows of one lane than anybody waits for. */
const mostRows = 100;

export function fireJob(options: FireJobOptions): FireJob {
  const { schedules, store, agents, running, reach, ownersAt, counts, clock, log } = options;
  const { jobs } = schedules;

  return async (id) => {
    const kept = await jobs.get(id);
    if (kept === null) return null;
    const { job } = kept;
    const nowMs = clock.now();
    const { schedule, delivery } = job;
    const due = schedule.kind === "watch" ? await watchDue(job, schedule) : await dueNow(job, nowMs);
    if (typeof due === "string") {
      await pause(job, `what it watches ${due}`);
      return null;
    }
    if (due.fire.length === 0 && due.missed.length === 0) {
      if (due.seen !== undefined) await jobs.write(kept, afterLook(job, due, 0));
      return due.wakeAtMs;
    }
    const blocked = await whyNot(job);
    const goesOn = blocked?.of === "place" && delivery.kind === "announce" && delivery.bestEffort;
    if (blocked !== null && !goesOn) {
      await pause(job, blocked.reason, blocked.until);
      return null;
    }
    const over = job.mostTokensPerDay === null ? null : await overDay(job, job.mostTokensPerDay, nowMs);
    // With bestEffort it works on, and what it says stays in its session.
    const unheard: Job = goesOn ? { ...job, delivery: { kind: "none" } } : job;
    const rows = await rowsFor(unheard, due, over, nowMs);
    const accepted = rows.length === 0 ? [] : await store.inbox.accept(rows);
    const isNew = accepted.map(({ verdict }) => verdict !== "duplicate");
    await schedules.log.note([
      ...due.missed.map((missed) => missedRun(job, missed, nowMs)),
      ...rows.flatMap((row, at) =>
        row.as.kind === "closed" && isNew[at] === true ? [skippedRun(job, row, nowMs)] : [],
      ),
    ]);
    // Of slots that were decided before, and come again because the clock was set back, each ran already.
    const runs = due.known + (due.isSetBack ? isNew.filter(Boolean).length : due.fire.length);
    const written = await jobs.write(kept, afterLook(job, due, runs));
    const skipped = rows.filter(({ as }) => as.kind === "closed").length;
    if (written) count(due, rows, over !== null);
    log.info(
      { job: id, rows: rows.map((row) => row.id), skipped, missed: due.missed.length, written },
      "schedule fired",
    );
    // Somebody wrote the job meanwhile: what is due is decided again, and the rows are known.
    return written ? due.wakeAtMs : nowMs;
  };

  async function watchDue(job: Job, schedule: WatchSchedule): Promise<DueNow | string> {
    const due = await options.watches.due(job, schedule);
    return typeof due === "string" ? due : { ...due, known: 0 };
  }

  /**
   * A look that died between its rows and what it decided is known by the rows that are still open: those
   * count as runs, and are not missed. Ends of runs write what they were by themselves.
   */
  async function dueNow(job: Job, nowMs: number): Promise<DueNow> {
    const { decidedMs } = job.state;
    const due = dueSlots(job, decidedMs, nowMs);
    if (due.missed.length === 0) return { ...due, known: 0 };
    const open = (await openRuns(sessionOfRuns(job), job.id)).flatMap((row) => {
      const run = slotOf(row)?.run;
      const isOurs = run?.version === job.version && run.instantMs > decidedMs && run.instantMs < nowMs;
      return isOurs ? [run.instantMs] : [];
    });
    if (open.length === 0) return { ...due, known: 0 };
    // They are runs of the job, which may have no other left.
    const begun = { ...job, state: { ...job.state, runs: job.state.runs + open.length } };
    const after = dueSlots(begun, Math.max(...open), nowMs);
    return { ...after, missed: [...missedBeside(job, open), ...after.missed], known: open.length };
  }

  /** Once, by the look that wrote what it decided. */
  function count(due: Due, rows: readonly NewRow[], isOverDay: boolean): void {
    for (const { why, count: many } of due.missed) counts.missed(why, many);
    const closed = new Set(rows.filter(({ as }) => as.kind === "closed").map(({ id }) => id));
    for (const { id, atMs } of due.fire)
      if (closed.has(id)) counts.skipped(isOverDay ? "spend" : "overlap");
      else counts.fired(Math.max(0, clock.now() - atMs));
  }

  /** Why the job cannot run any more, until somebody looks at it. */
  async function whyNot(job: Job): Promise<{
    readonly of: "agent" | "maker" | "place";
    readonly reason: string;
    readonly until?: Address;
  } | null> {
    if (!agents.includes(job.agent))
      return { of: "agent", reason: `there is no agent ${JSON.stringify(job.agent)} any more` };
    const { conversation } = job.owner;
    // Its answer may go nowhere: it works for somebody all the same.
    if (conversation !== null && !(await schedules.rightsNow(job)).owner) {
      const why = await reach({ address: conversation });
      if (why !== null)
        return {
          of: "maker",
          reason: `whoever made it is not served any more: ${why}`,
          ...(await untilOpen(conversation)),
        };
    }
    const place = placeOfRuns(job);
    if (place === null) return null;
    const refused = await reach({ address: place });
    if (refused === null) return null;
    const reason = `its answer can not be delivered: ${refused}`;
    return { of: "place", reason, ...(await untilOpen(place)) };
  }

  /** A chat that the platform closed opens with its next event; what the config closed does not. */
  async function untilOpen(to: Address): Promise<{ readonly until?: Address }> {
    const until = await options.closedAt(to);
    return until === null ? {} : { until };
  }

  async function pause(job: Job, reason: string, until?: Address): Promise<void> {
    const nowMs = clock.now();
    const write = await jobs.pause(job.id, reason, nowMs, until);
    if (!write.ok) return;
    const goesOn = `\`parley cron enable ${job.id}\` lets it go on${until === undefined ? "" : ", and so does the next message from there"}.`;
    const words = `⏸ The scheduled job ${JSON.stringify(job.name)} (${job.id}) is paused: ${reason}\n\n${goesOn}`;
    const own = await alertPlaces(job, ownersAt);
    // Where its own conversation is what is closed, the owners hear of it.
    const open = await Promise.all(own.map(async (address) => (await reach({ address })) === null));
    const places = own.filter((_, at) => open[at]);
    const told = places.length > 0 ? places : await ownersAt();
    await store.outbox.post(
      told.map((to, at) =>
        textDelivery(`notice:cron:${job.id}:paused:${nowMs}/${at}`, to, words, `cron:${job.id}`),
      ),
    );
    log.warn({ job: job.id, reason }, "a schedule is paused");
  }

  async function rowsFor(job: Job, due: Due, over: string | null, nowMs: number): Promise<readonly NewRow[]> {
    if (due.fire.length === 0) return [];
    const lane = sessionOfRuns(job);
    const rights = await schedules.rightsNow(job);
    const busy = (await openRuns(lane, job.id)).length;
    const rows: NewRow[] = [];
    const joins = job.wake === "next-heartbeat";
    const events = joins ? await keptEvents(store.cells, job.agent, `cron:${job.id}:`) : [];
    // A slot that is kept already comes again when a look ends before it wrote what it decided.
    const others = events.filter(({ row }) => !due.fire.some(({ id }) => id === row.id));
    let waiting = busy + others.length;
    for (const slot of due.fire) {
      const row = slotRow(job, slot, rights, nowMs);
      const reason = slot.skip ?? over ?? (waiting > 0 ? await overlapping(job, lane, waiting) : null);
      if (reason !== null) {
        rows.push({ ...row, as: { kind: "closed", outcome: "superseded", reason } });
        continue;
      }
      const kept = joins ? options.keeping(row, job.agent) : null;
      if (kept !== null && kept.value !== null) {
        await store.cells.put(kept.key, kept.value, {});
        waiting += 1;
        continue;
      }
      rows.push(row);
      waiting += 1;
    }
    if (job.target.kind === "isolated" && busy === 0 && rows.some(({ as }) => as.kind === "work"))
      await beginSession(lane, nowMs);
    return rows;
  }

  /** Why this slot does not run beside the one that goes on; null when it does. */
  async function overlapping(job: Job, lane: SessionKey, waiting: number): Promise<string | null> {
    switch (job.overlap) {
      case "skip":
        return "the job's last run goes on, and its overlap policy is skip";
      case "queue":
        return waiting < mostRows ? null : `${waiting} runs of the job wait already`;
      case "replace": {
        const reason = "replaced by the job's next run";
        const { turn } = await store.inbox.stop(lane, { ...(await ownOf(job, lane)), reason });
        if (turn !== null) running.stop(turn);
        return null;
      }
    }
  }

  /** What a run that replaces others ends: of a session that others use too, the job's own rows alone. */
  async function ownOf(job: Job, lane: SessionKey): Promise<Pick<Stop, "turn" | "rows">> {
    if (job.target.kind === "isolated") return { turn: "open", rows: "all" };
    const open = await openRuns(lane, job.id);
    const ids = open.filter(({ state }) => state === "waiting").map(({ id }) => id);
    const turn = open.find(({ state }) => state === "claimed")?.turn ?? null;
    if (turn === null) return { rows: { ids } };
    // Somebody's message has joined the run, and is still to be answered.
    const isShared = (await store.inbox.find({ turn, limit: mostRows })).some(
      (row) => slotOf(row)?.job !== job.id,
    );
    return isShared ? { rows: { ids } } : { turn, rows: { ids } };
  }

  async function openRuns(lane: SessionKey, job: string): Promise<readonly RowView[]> {
    const found = await Promise.all(
      (["claimed", "waiting"] as const).map((state) => store.inbox.find({ lane, state, limit: mostRows })),
    );
    return found.flat().filter((row) => slotOf(row)?.job === job && !isManual(row.id));
  }

  /** A new conversation for the run; what earlier ones left goes after its time. */
  async function beginSession(lane: SessionKey, nowMs: number): Promise<void> {
    const { lastSeq } = await store.sessions.open(lane);
    if (lastSeq === 0) return;
    const { before, patch } = keptEpochs(await store.sessions.reset(lane), options.sessionRetentionMs, nowMs);
    const entries = before === null ? 0 : await store.sessions.trim(lane, before);
    const record = entries === 0 ? {} : { [forgottenField]: { atMs: nowMs, entries } };
    await store.sessions.patch(lane, { ...patch, ...record });
  }

  async function overDay(job: Job, most: number, nowMs: number): Promise<string | null> {
    const sinceMs = nowMs - dayMs;
    const runs = await schedules.log.list(job.id, mostCounted);
    const used = runs
      .filter(({ endedAtMs }) => endedAtMs > sinceMs)
      .reduce((sum, { tokens }) => sum + tokens, 0);
    return used < most
      ? null
      : `its runs used ${used} tokens within a day, and ${most} may be (mostTokensPerDay)`;
  }
}

const dayMs = 86_400_000;
const mostCounted = 1_000;
const forgottenField = "forgotten";

function skippedRun(job: Job, row: NewRow, nowMs: number): JobRun {
  const instantMs = slotOf(row)?.run.instantMs ?? nowMs;
  const reason = row.as.kind === "closed" ? row.as.reason : null;
  return { ...emptyRun(job, nowMs), slot: row.id, instantMs, outcome: "skipped", reason };
}
