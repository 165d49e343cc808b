// Ends sub-agents from outside: one that its parent kills, all below a session that is stopped or fails, and
// what a dead process left half ended. Each end is recorded and told once, whoever repeats it.
import type { SessionKey } from "@parley/protocol";
import type { Services } from "../turn-scope.ts";
import { internalOf } from "../internal-row.ts";
import { endChild } from "./answering-turns.ts";
import { childIn, type AskedEnd, type Child } from "./child-registry.ts";
import { farewell, healThread, leavesThread, waitingTask } from "./child-threads.ts";

const mostWaiting = 1_000;

type KillNeeds = Pick<
  Services,
  "inbox" | "outbox" | "cells" | "sessions" | "children" | "threads" | "running" | "placeOf" | "clock"
>;

/** `quiet`: the end begins no turn of the parent, which reads it with its next message. */
interface How {
  readonly quiet?: boolean;
}

/** Ends a child and its own children, and returns those that were not over. */
export async function killChild(
  needs: KillNeeds,
  child: Child,
  reason: string,
  { quiet = false }: How = {},
): Promise<readonly Child[]> {
  const { inbox, children, running } = needs;
  const line = [child, ...(await children.below(child.session))].filter(({ end }) => end === null);
  // All are marked before the first ends, or its end would wake the next one.
  for (const each of line) await children.kill(each, quiet);
  for (const { id, session } of line) {
    const what = { turn: "open", rows: "all", reason } as const;
    const { turn } = await inbox.stop(session as SessionKey, what);
    if (turn !== null) running.stop(turn);
    else await endWithoutTurn(id, { state: "stopped", text: "", reason, tokens: 0 }, needs);
  }
  await leaveThreads(needs, [child, ...line]);
  return line;
}

/** One that had ended already may still have talked with people in its thread. */
async function leaveThreads(
  { outbox, threads }: Pick<KillNeeds, "outbox" | "threads">,
  ended: readonly Child[],
): Promise<void> {
  for (const child of ended) {
    const left = await threads.unbind(child.session);
    await outbox.post(left.map((place) => farewell(child, place)));
  }
}

/** Ends a child that has no turn, because it waits for its own children or because a process died. */
export async function endWithoutTurn(
  id: string,
  end: AskedEnd,
  needs: Omit<KillNeeds, "running">,
): Promise<void> {
  const [accepted] = await needs.inbox.find({ id: `task:${id}`, limit: 1, dismissed: true });
  const task = accepted ?? (await waitingTask(needs.cells, id)) ?? undefined;
  if (task === undefined) await needs.children.end(id, end, needs.clock.now());
  else await endChild(id, task, end, needs);
}

/** Ends all sub-agents below a session, and returns how many were not over. */
export async function killBelow(
  needs: KillNeeds,
  session: string,
  reason: string,
  how: How = {},
): Promise<number> {
  const own = (await needs.children.below(session)).filter(({ parent }) => parent === session);
  const ended = await Promise.all(own.map((child) => killChild(needs, child, reason, how)));
  return ended.flat().length;
}

/** Ends the sub-agents of all sessions; what their parents are told of it begins no turn. */
export async function killAll(needs: KillNeeds, reason: string): Promise<void> {
  const open = (await needs.children.all()).filter(({ end }) => end === null);
  const isBelow = ({ parent }: Child): boolean => open.some(({ session }) => session === parent);
  for (const child of open.filter((each) => !isBelow(each)))
    await killChild(needs, child, reason, { quiet: true });
}

/**
 * Ends the sub-agents of a session that a person stopped: nothing of them begins another turn there, which
 * could spawn them again. An end that came in between is dropped like all that waited.
 */
export async function stopBelow(needs: KillNeeds, session: SessionKey, reason: string): Promise<number> {
  const ended = await killBelow(needs, session, "stopped with its parent", { quiet: true });
  const waiting = await needs.inbox.find({ lane: session, state: "waiting", limit: mostWaiting });
  const ids = waiting.filter((row) => internalOf(row)?.kind === "child").map(({ id }) => id);
  if (ids.length > 0) await needs.inbox.stop(session, { rows: { ids }, reason });
  return ended;
}

/**
 * Ends what a dead process left half ended: children with neither rows nor children nor an end, and children
 * whose parent has ended without them.
 */
export async function healChildren(needs: KillNeeds & Pick<Services, "log">): Promise<void> {
  const { inbox, children } = needs;
  const opening = {
    ...needs,
    endUnstarted: (id: string, end: AskedEnd) => endWithoutTurn(id, end, needs),
  };
  const all = await children.all();
  const isOpen = (session: string): boolean =>
    all.some((child) => child.session === session && child.end === null);
  for (const child of all) {
    if (leavesThread(child, child.end) && child.end !== null) await leaveThreads(needs, [child]);
    if (await healThread(opening, child)) continue;
    if (child.end !== null) continue;
    if (child.killed || (childIn(child.parent) !== null && !isOpen(child.parent))) {
      await killChild(needs, child, "its parent has ended");
      continue;
    }
    const lane = child.session as SessionKey;
    const hasRows = async (): Promise<boolean> => {
      const found = await Promise.all(
        (["waiting", "claimed"] as const).map((state) => inbox.find({ lane, state, limit: 1 })),
      );
      return found.flat().length > 0;
    };
    const waits = async (): Promise<boolean> =>
      (await children.below(lane)).some(({ parent, end }) => parent === lane && end === null);
    // Other nodes run children meanwhile: one below ends and writes its row in one step.
    if ((await hasRows()) || (await waits()) || (await hasRows())) continue;
    const end: AskedEnd = { state: "lost", text: "", reason: "it ended without a word", tokens: 0 };
    await endWithoutTurn(child.id, end, needs);
  }
}
