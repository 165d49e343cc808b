// How many requests may wait for an answer at once: each is a message to those who decide, and whoever can make a model call a tool could fill
// their chat with them until they press without reading.
import type { Approval } from "./approval.ts";

const mostOpen = {
  /** Of one person, wherever they ask. */
  perPerson: 5,
  /** In one conversation, whoever asks. */
  perPlace: 8,
  /** Of all who are no owners, together. */
  ofOthers: 12,
} as const;

/** Null when there is room for one more; else what is said to the model. `open`: those that wait now. */
export function tooManyOpen(
  open: readonly Approval[],
  asked: Pick<Approval, "askedBy" | "conversation" | "owner">,
): string | null {
  for (const person of asked.askedBy) {
    const theirs = open.filter(({ askedBy }) => askedBy.includes(person)).length;
    if (theirs >= mostOpen.perPerson) return `${theirs} requests of ${person} wait for an answer`;
  }
  const here = open.filter(({ conversation }) => conversation === asked.conversation).length;
  if (here >= mostOpen.perPlace) return `${here} requests of this conversation wait for an answer`;
  const others = asked.owner ? 0 : open.filter(({ owner }) => !owner).length;
  return others >= mostOpen.ofOthers
    ? `${others} requests of people who are no owners wait for an answer`
    : null;
}
