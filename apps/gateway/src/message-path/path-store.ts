// Wraps the store for one message path, so that rows and turns that end tell those who wait for them: the
// platform that shows an answer is coming, the session that asked, and the job whose run it was.
import type { Address, SessionKey } from "@parley/protocol";
import {
  answeringStore,
  childRegistry,
  endWithoutTurn,
  healChildren,
  killBelow,
  runLog,
  scheduledStore,
  threadOpeningOutbox,
  type ChildRegistry,
} from "@parley/runner";
import type { Store } from "@parley/store";
import { endsWaiting } from "../receive/end-waiting.ts";
import { noticingJobs } from "../schedules/job-changes.ts";
import type { MessagePathParts } from "./parts.ts";
import { runLimitsOf } from "./path-schedules.ts";

export interface PathStore {
  readonly store: Store;
  readonly children: ChildRegistry;
  /** Ends and tells what a process left half ended when it died: stopped rows first, then sub-agents. */
  readonly heal: () => Promise<void>;
}

/** `shows`: true when the account's platform shows that an answer is awaited. */
export function pathStore(
  parts: Pick<MessagePathParts, "config" | "store" | "kept" | "handOvers" | "clock" | "log">,
  shows: (account: string) => boolean,
  placeOf: (session: string, from: Address) => Address | null,
  ownersAt: () => Promise<readonly Address[]>,
): PathStore {
  const { handOvers: threads, clock, log } = parts;
  const { running } = parts.kept;
  const children = childRegistry(parts.store.cells);
  const noticed = noticingJobs(parts.store, parts.kept.jobChanges);
  const inner = { ...noticed, inbox: endsWaiting({ ...noticed, shows, log }) };
  const endBelow = async (session: SessionKey): Promise<void> => {
    await killBelow(
      { ...parts.store, children, threads, running, placeOf, clock },
      session,
      "its parent failed",
    ).catch((error: unknown) =>
      log.warn({ session, error }, "sub-agents could not be ended now: the next start ends them"),
    );
  };
  const { healStops, ...answering } = answeringStore<Store>(inner, {
    children,
    threads,
    placeOf,
    endBelow,
    clock,
  });
  const ending = { ...answering, children, threads, running, placeOf, clock, log };
  const outbox = threadOpeningOutbox(answering.outbox, {
    ...answering,
    children,
    threads,
    endUnstarted: (id, end) => endWithoutTurn(id, end, ending),
    log,
  });
  const heal = async (): Promise<void> => {
    await healStops();
    await healChildren(ending);
  };
  const runs = runLog(noticed.cells, runLimitsOf(parts.config));
  const store = scheduledStore({ ...answering, outbox }, { log: runs, ownersAt, clock });
  return { store, children, heal };
}
