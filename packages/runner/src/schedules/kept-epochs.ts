// Decides which conversations of a job's own session are old enough to go. Every run begins an epoch; a job
// of every minute has many, so only some of their beginnings are noted, and one may stay a little too long,
// but none goes too early.
import type { Session } from "@parley/store";

/** Since when an epoch and those after it are. */
type Mark = readonly [epoch: number, sinceMs: number];

/** Of one session; the marks of an age lie at least this part of it apart. */
const marksOfAge = 24;
const field = "epochMarks";

export interface KeptEpochs {
  /** Everything before this epoch is older than the age; null: nothing is. */
  readonly before: number | null;
  /** The session's new fields. */
  readonly patch: { readonly [field]: readonly (readonly number[])[] };
}

/** `session`: in the epoch that begins now. */
export function keptEpochs(
  { epoch, fields }: Pick<Session, "epoch" | "fields">,
  ageMs: number,
  nowMs: number,
): KeptEpochs {
  // A clock that was ahead left marks of the future, which would keep what came after them forever.
  const marks = marksIn(fields[field]).filter(([, sinceMs]) => sinceMs <= nowMs);
  const last = marks.at(-1);
  const isDue = last === undefined || nowMs - last[1] >= ageMs / marksOfAge;
  const all: readonly Mark[] = isDue ? [...marks, [epoch, nowMs]] : marks;
  // What lies before a mark had ended when the mark was made.
  const old = all.findLast(([, sinceMs]) => nowMs - sinceMs >= ageMs);
  return {
    before: old === undefined || old[0] <= 1 ? null : old[0],
    patch: { [field]: old === undefined ? all : all.slice(all.indexOf(old) + 1) },
  };
}

function marksIn(value: unknown): readonly Mark[] {
  if (!Array.isArray(value)) return [];
  return value.filter(
    (each): each is Mark =>
      Array.isArray(each) && each.length === 2 && each.every((number) => typeof number === "number"),
  );
}
