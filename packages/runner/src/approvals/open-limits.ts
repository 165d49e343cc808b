// Limits the requests that may wait at once. Each is a message to the approvers, and anyone who can make a
// model call a tool could flood their chat until they press without reading.
import type { Approval } from "./approval.ts";

const mostOpen = {
  /** One person's requests, wherever they ask. */
  perPerson: 5,
  /** One conversation's requests, by anyone. */
  perPlace: 8,
  /** The requests of everyone who is no owner, together. */
  ofOthers: 12,
} as const;

/**
 * Returns null when there is room for one more, else what the model is told. `open`: requests that wait now.
 */
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
