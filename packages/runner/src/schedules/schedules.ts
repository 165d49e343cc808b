// Does with jobs what people, operators and agents ask for: add, list, change, remove, run now. All come
// through here, so that they have the same rules: a job keeps who made it, where it speaks and with which
// rights, and nobody reaches further by a job than by a message.
import {
  conversationKey,
  Fault,
  parseSessionKey,
  type Address,
  type Ids,
  type SessionKey,
} from "@parley/protocol";
import { jobPrefix, jobStore, type Job, type JobStore, type KeptJob } from "@parley/schedules";
import type { Cells, CellWrite, Inbox, NewRow } from "@parley/store";
import { checkedJobs, type CheckedJobsOptions } from "./checked-job.ts";
import { nextOf } from "./job-line.ts";
import { mayChange, mayName, type JobMaker } from "./job-maker.ts";
import { manualId } from "./manual-run.ts";
import { runLog, type JobRun, type RunLog } from "./run-log.ts";
import { operatorSender, scheduleRow, sessionOfRuns, slotOf, slotRow, type RunRights } from "./slot-row.ts";
import type { FilesOf } from "./watch-baseline.ts";

interface RunningRun {
  readonly slot: string;
  readonly instantMs: number;
  readonly state: "waiting" | "running";
  readonly turn: string | null;
  readonly session: string;
}

export interface Schedules {
  readonly jobs: JobStore;
  readonly log: RunLog;
  /** Checks a new job, and stores nothing. Throws Fault with every mistake, its value and its fix. */
  made(asked: unknown, by: JobMaker, id: string): Promise<Job>;
  add(asked: unknown, by: JobMaker): Promise<Job>;
  /** As part of another write. Throws Fault("conflict") when there are too many. */
  adding(job: Job): Promise<CellWrite>;
  /** The next version of a job. `from`: the version that was seen; absent: the present one. */
  edited(id: string, asked: unknown, by: JobMaker): Promise<{ readonly kept: KeptJob; readonly next: Job }>;
  edit(id: string, asked: unknown, by: JobMaker, from?: number): Promise<Job>;
  /** Jobs that this maker may see, in the order in which they come. */
  list(by: JobMaker): Promise<readonly Job[]>;
  /** By id or name. Throws Fault("missing"), also for what this maker may not see. */
  get(id: string, by: JobMaker): Promise<KeptJob>;
  remove(id: string, by: JobMaker): Promise<Job>;
  /** As `get`, of a job that this maker may change. Throws Fault("denied"). */
  removable(id: string, by: JobMaker): Promise<KeptJob>;
  /** Runs it now, beside its schedule. `key`: a repeat with the same key runs nothing more. */
  run(id: string, by: JobMaker, key: string): Promise<string>;
  runs(
    id: string,
    limit: number,
  ): Promise<{ readonly now: readonly RunningRun[]; readonly ended: readonly JobRun[] }>;
  /**
   * The row that tells a session something. `key`: a repeat with the same key tells nothing more.
   */
  wake(event: WakeEvent, by: JobMaker, key: string): Promise<NewRow>;
  /** The cell that keeps a row for the agent's next heartbeat; null where none comes. */
  keeping(row: NewRow, agent: string): CellWrite | null;
  /** Accepts a row of `wake`, or keeps it for the next heartbeat where one comes. */
  tell(row: NewRow, agent: string, mode: WakeEvent["mode"]): Promise<void>;
  /**
   * Where an agent's operator is: the first owner's private chat, or its main session, which no conversation
   * sees.
   */
  homeOf(agent: string): Promise<Home>;
  /** What a row of the job may do at the moment: never more than when it was made. */
  rightsNow(job: Pick<Job, "owner">): Promise<RunRights>;
  /** Resumes the jobs that waited for something to come from these places. */
  reopened(places: readonly Address[]): Promise<void>;
  /** The zone of schedules that name none. */
  readonly zone: string;
  /** The files that a watch means now. */
  readonly filesOf: FilesOf;
}

interface WakeEvent {
  readonly text: string;
  readonly mode: "now" | "next-heartbeat";
  /** Absent: the one of whoever wakes. */
  readonly session?: string | undefined;
}

interface Home {
  readonly session: SessionKey;
  readonly place: Address | null;
}

export interface SchedulesOptions extends CheckedJobsOptions {
  readonly cells: Cells;
  readonly inbox: Pick<Inbox, "accept" | "find">;
  readonly runs: { readonly retentionMs: number; readonly keepLines: number };
  /** `<channel>:<id>` of each owner. */
  readonly owners: () => Promise<readonly string[]>;
  readonly homeOf: (agent: string) => Promise<Home>;
  /** The cell that keeps a row for the agent's next heartbeat; null where none comes. */
  readonly keeping: (row: NewRow, agent: string) => CellWrite | null;
  readonly ids: Ids;
}

/** Jobs that people who are no owners have in one conversation. */
const mostOfOthers = 25;
const mostShown = 1_000;

export function createSchedules(options: SchedulesOptions): Schedules {
  const { cells, inbox, zone, owners, filesOf, clock, ids } = options;
  const jobs = jobStore(cells);
  const log = runLog(cells, options.runs);
  const { made, next } = checkedJobs(options);

  async function named(id: string, by: JobMaker): Promise<KeptJob> {
    const kept = await jobs.get(id);
    if (kept !== null && mayName(kept.job, by)) return kept;
    const all = (await jobs.list()).jobs.filter(({ job }) => mayName(job, by));
    const [found, second] = all.filter(({ job }) => job.name.toLowerCase() === id.trim().toLowerCase());
    if (found !== undefined && second === undefined) return found;
    if (found !== undefined)
      throw new Fault(
        "conflict",
        `several jobs are called ${JSON.stringify(found.job.name)}: name one by its id, ${all
          .filter(({ job }) => job.name.toLowerCase() === found.job.name.toLowerCase())
          .map(({ job }) => job.id)
          .join(" or ")}`,
      );
    const known = all.slice(0, 10).map(({ job }) => `${job.id} (${JSON.stringify(job.name)})`);
    throw new Fault(
      "missing",
      `there is no job ${JSON.stringify(id.slice(0, 80))} here; there ${known.length === 0 ? "is none" : `are ${known.join(", ")}`}`,
    );
  }

  async function edited(id: string, asked: unknown, by: JobMaker) {
    const kept = await named(id, by);
    mayChange(kept.job, by);
    return { kept, next: await next(kept.job, asked, by) };
  }

  const rightsNow: Schedules["rightsNow"] = async ({ owner }) => {
    const { sender, isOwner, authority } = owner;
    if (!isOwner) return { owner: false, authority };
    const isStill = sender === null || /^(?:web|api):/.test(sender) || (await owners()).includes(sender);
    return isStill ? { owner: true, authority } : { owner: false, authority: "member" };
  };

  async function adding(job: Job): Promise<CellWrite> {
    const all = await jobs.list();
    if (!job.owner.isOwner) {
      const here = all.jobs.filter(
        ({ job: { owner } }) => !owner.isOwner && owner.session === job.owner.session,
      );
      if (here.length >= mostOfOthers)
        throw new Fault(
          "conflict",
          `${here.length} jobs were made in this conversation already: remove some first`,
        );
    }
    if (all.jobs.length >= 10_000)
      throw new Fault("conflict", "there are 10000 jobs already; remove some that are not needed");
    return { key: `${jobPrefix}${job.id}`, value: JSON.stringify(job), expect: 0 };
  }

  return {
    jobs,
    log,
    zone,
    filesOf,
    made,
    adding,
    edited,
    rightsNow,
    async add(asked, by) {
      const job = await made(asked, by, ids.uuid().slice(0, 8));
      const write = await jobs.add(job);
      if (!write.ok) throw new Fault("conflict", write.reason);
      return write.kept.job;
    },
    async edit(id, asked, by, from) {
      const { kept, next } = await edited(id, asked, by);
      const write = await jobs.update(from ?? kept.job.version, next);
      if (!write.ok) throw new Fault(write.refusal === "missing" ? "missing" : "conflict", write.reason);
      return write.kept.job;
    },
    async list(by) {
      const all = (await jobs.list()).jobs.map(({ job }) => job).filter((job) => mayName(job, by));
      const nowMs = clock.now();
      const wakes = new Map(all.map((job) => [job.id, nextOf(job, nowMs) ?? Infinity]));
      return all.toSorted((a, b) => (wakes.get(a.id) ?? 0) - (wakes.get(b.id) ?? 0));
    },
    get: named,
    async removable(id, by) {
      const kept = await named(id, by);
      mayChange(kept.job, by);
      return kept;
    },
    async remove(id, by) {
      const { job } = await named(id, by);
      mayChange(job, by);
      await jobs.remove(job.id);
      await log.forget(job.id);
      return job;
    },
    async run(id, by, key) {
      const { job } = await named(id, by);
      mayChange(job, by);
      const nowMs = clock.now();
      const slot = manualId(job.id, key);
      await inbox.accept([slotRow(job, { id: slot, instantMs: nowMs }, await rightsNow(job), nowMs)]);
      return slot;
    },
    homeOf: options.homeOf,
    keeping: options.keeping,
    async reopened(places) {
      const open = new Set(places.map(chatOf));
      for (const { job } of (await jobs.list()).jobs) {
        const until = job.state.paused?.until;
        if (until !== undefined && open.has(chatOf(until))) await jobs.resume(job.id, clock.now());
      }
    },
    async wake({ text, session }, by, key) {
      if (session !== undefined && session !== by.session && !by.isOwner)
        throw new Fault("denied", "only an owner may wake another session");
      const home = await options.homeOf(by.agent);
      const own = by.session === null ? home : { session: by.session as SessionKey, place: by.conversation };
      const isOther = session !== undefined && session !== own.session;
      const lane = isOther ? (session as SessionKey) : own.session;
      parseSessionKey(lane);
      return scheduleRow({
        id: `wake:${key}`,
        lane,
        place: isOther ? (lane === home.session ? home.place : null) : own.place,
        job: "wake",
        sender: by.sender ?? operatorSender,
        owner: by.isOwner,
        authority: by.authority,
        text: `Event for this session:\n${text}`,
        internal: by.untrusted === undefined ? {} : { untrusted: by.untrusted },
        turn: by.turn ?? "",
        nowMs: clock.now(),
        alone: false,
      });
    },
    async tell(row, agent, mode) {
      const kept = mode === "next-heartbeat" ? options.keeping(row, agent) : null;
      if (kept === null || kept.value === null) await inbox.accept([row]);
      else await cells.put(kept.key, kept.value, {});
    },
    async runs(id, limit) {
      const kept = await jobs.get(id);
      const lane = kept === null ? null : sessionOfRuns(kept.job);
      const found =
        lane === null
          ? []
          : await Promise.all(
              (["claimed", "waiting"] as const).map((state) => inbox.find({ lane, state, limit: mostShown })),
            );
      const now = found.flat().flatMap((row): RunningRun[] => {
        const slot = slotOf(row);
        if (slot?.job !== id) return [];
        const state = row.state === "claimed" ? "running" : "waiting";
        return [{ slot: row.id, instantMs: slot.run.instantMs, state, turn: row.turn, session: row.lane }];
      });
      return { now, ended: await log.list(id, limit) };
    },
  };
}

function chatOf({ thread: _any, ...chat }: Address): string {
  return conversationKey(chat);
}
