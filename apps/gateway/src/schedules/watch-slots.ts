// Decides when a change of watched files fires its job: once they have been quiet for the job's debounce. A
// change has a number, which the job's state counts, and the digest of what was seen: both are in the slot's
// id, so that the same change is accepted once however often it is found, over crashes and on several nodes.
// What was found and has not fired is known to memory only: the next look finds it again.
import { visibleText, type Clock } from "@parley/protocol";
import type { FilesSeen } from "@parley/runner";
import type { Due, Job } from "@parley/schedules";

export interface WatchSlots {
  /** `Due` of a job that watches files; a text: why it cannot be watched any more. */
  due(job: Job, schedule: WatchSchedule): Promise<Due | string>;
}

export type WatchSchedule = Extract<Job["schedule"], { readonly kind: "watch" }>;

interface Pending {
  readonly digest: string;
  readonly version: number;
  /** Since when this was seen, and since when something was. */
  readonly sinceMs: number;
  readonly firstMs: number;
}

const leastPollMs = 250;
const mostPollMs = 2_000;
/** A look takes at most this part of the time. */
const partOfTime = 100;
/** What never is quiet fires all the same, after so many times the debounce. */
const mostDebounces = 12;
const mostNamed = 10;

export function watchSlots(
  filesOf: (agent: string, path: string) => Promise<FilesSeen | string>,
  clock: Clock,
): WatchSlots {
  const pending = new Map<string, Pending>();

  return {
    async due(job, { path, debounceMs }) {
      const { id, version, state, overlap } = job;
      const nowMs = clock.now();
      const none: Due = {
        fire: [],
        missed: [],
        decidedMs: state.decidedMs,
        nextMs: null,
        wakeAtMs: null,
        isSetBack: false,
      };
      const isOver = job.maxRuns !== null && state.runs >= job.maxRuns;
      if (!job.enabled || state.paused !== null || isOver) {
        pending.delete(id);
        return none;
      }
      const begunAt = clock.mono();
      const now = await filesOf(job.agent, path);
      if (typeof now === "string") return now;
      const tookMs = clock.mono() - begunAt;
      const pollMs = Math.max(
        Math.min(mostPollMs, Math.max(leastPollMs, debounceMs / 4)),
        tookMs * partOfTime,
      );
      const later = (atMs: number): Due => ({
        ...none,
        wakeAtMs: Math.ceil(Math.max(nowMs + leastPollMs, atMs)),
      });
      const { seen } = state;
      if (seen === undefined || seen.digest === now.digest) {
        pending.delete(id);
        // A job from a copy of another store has seen nothing yet: what is there now is no change.
        return seen === undefined
          ? { ...later(nowMs + pollMs), seen: { generation: 0, digest: now.digest, atMs: nowMs } }
          : later(nowMs + pollMs);
      }
      const last = pending.get(id);
      const known = last?.version === version ? last : undefined;
      const isSame = known?.digest === now.digest && known.sinceMs <= nowMs;
      const found: Pending = {
        digest: now.digest,
        version,
        sinceMs: isSame ? known.sinceMs : nowMs,
        firstMs: Math.min(known?.firstMs ?? nowMs, nowMs),
      };
      pending.set(id, found);
      const quietAtMs = Math.min(found.sinceMs + debounceMs, found.firstMs + debounceMs * mostDebounces);
      const heldUntilMs = (state.last?.endedAtMs ?? 0) + state.backoffMs;
      const isHeld = state.backoffMs > 0 && nowMs < heldUntilMs && (state.last?.endedAtMs ?? 0) <= nowMs;
      if (nowMs < quietAtMs) return later(Math.min(quietAtMs, nowMs + pollMs));
      if (isHeld) return later(Math.min(heldUntilMs, nowMs + mostPollMs));
      pending.delete(id);
      const generation = seen.generation + 1;
      const skip = overlap === "skip" && isOwnWriting(job, now) ? ownWriting : undefined;
      return {
        ...later(nowMs + pollMs),
        decidedMs: nowMs,
        fire: [
          {
            id: `cron:${id}:watch:${generation}-${now.digest}`,
            job: id,
            version,
            instantMs: nowMs,
            atMs: quietAtMs,
            because: changeWords(path, now, seen.atMs),
            ...(skip === undefined ? {} : { skip }),
          },
        ],
        seen: { generation, digest: now.digest, atMs: nowMs },
      };
    },
  };
}

const ownWriting =
  "the files changed while the job's last run went on, and its overlap policy is skip: a run does not wake itself";

/** The newest change fell into the job's last run, which may be what wrote it. */
function isOwnWriting({ state: { last } }: Job, { files }: FilesSeen): boolean {
  const [newest] = files;
  if (last === null || newest === undefined || last.outcome === "skipped") return false;
  return newest.mtimeMs >= last.instantMs && newest.mtimeMs <= last.endedAtMs;
}

/** Names in a workspace may be anybody's words, so they are shown as text. */
function changeWords(path: string, { files }: FilesSeen, sinceMs: number): string {
  const changed = files.filter(({ mtimeMs }) => mtimeMs >= sinceMs);
  const named = changed.slice(0, mostNamed).map(({ name }) => JSON.stringify(visibleText(name)));
  const more = changed.length > mostNamed ? ` and ${changed.length - mostNamed} more` : "";
  const what = named.length === 0 ? "something is gone or was moved" : `changed: ${named.join(", ")}${more}`;
  return `files of ${JSON.stringify(path)} in the workspace, ${what}`;
}
