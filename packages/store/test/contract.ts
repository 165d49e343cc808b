// The contract suite of the store: every driver calls it, against one handle and against two at once.
import { describe, test } from "vitest";
import { inboxCases } from "./cases/inbox.ts";
import { limitCases } from "./cases/limits.ts";
import { outboxCases } from "./cases/outbox.ts";
import { scrubCases } from "./cases/scrub.ts";
import { stateCases } from "./cases/state.ts";
import { turnEndCases } from "./cases/turn-ends.ts";
import { turnCases } from "./cases/turns.ts";
import { inTurns, type OpenedStore, type StoreCase } from "./subject.ts";

export interface StoreSubject {
  readonly name: string;
  /** A fresh, empty store behind this many handles. */
  open(handles: number): Promise<OpenedStore>;
  /** Title of a case -> why this driver does not keep it. */
  readonly skip?: { readonly [title: string]: string };
}

export const storeCases: readonly StoreCase[] = [
  ...inboxCases,
  ...turnCases,
  ...turnEndCases,
  ...outboxCases,
  ...stateCases,
  ...scrubCases,
];

export async function runCase(found: StoreCase, opened: OpenedStore): Promise<void> {
  try {
    await found.run({ store: inTurns(opened.handles), clock: opened.clock });
  } finally {
    await opened.close();
  }
}

export function storeContract({ name, open, skip = {} }: StoreSubject): void {
  for (const handles of [1, 2]) {
    describe(`${name}, ${handles === 1 ? "one handle" : `${handles} handles at once`}`, () => {
      for (const found of handles === 1 ? [...storeCases, ...limitCases] : storeCases) {
        const why = skip[found.title];
        if (why === undefined) test(found.title, async () => runCase(found, await open(handles)));
        else test.skip(`${found.title} (${why})`, () => {});
      }
    });
  }
}
