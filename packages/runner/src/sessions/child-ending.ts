// Decides whether a sub-agent's run ends with a turn of it, and what its parent is then told.
import {
  type Address,
  type SessionKey,
  type Clock,
  type Asker,
  parseConversationKey,
  parseRowPayload,
  isFault,
} from "@parley/protocol";
import type { Sessions, Row, Inbox, Commit, NewDelivery } from "@parley/store";
import { internalOf } from "../internal-row.ts";
import { type answerRow, childRow, askedRow } from "./asked-rows.ts";
import { type ChildRegistry, childIn, type AskedEnd, endedChild, type Child } from "./child-registry.ts";
import { type ChildThreads, leavesThread, farewell } from "./child-threads.ts";
import { isWell } from "./turn-end.ts";

export interface AnswerNeeds {
  readonly children: ChildRegistry;
  readonly sessions: Pick<Sessions, "open" | "transcript">;
  /** Returns where what a session began in `from` goes on; null where its rows say. */
  readonly placeOf: (session: string, from: Address) => Address | null;
  readonly threads: ChildThreads;
  /** Ends the sub-agents of a run that ended without them; what it leaves, the next start ends. */
  readonly endBelow: (session: SessionKey) => Promise<void>;
  readonly clock: Clock;
}

/** More rows than one turn takes. */
export const mostRows = 1_000;

/** `row`: what the asker is answered for. */
export async function handingTo(
  asker: Asker,
  { conversation }: Pick<Row, "conversation">,
  { children, sessions, placeOf, clock }: Omit<AnswerNeeds, "endBelow" | "threads">,
): Promise<Parameters<typeof answerRow>[3]> {
  const { epoch } = await sessions.open(asker.session as SessionKey);
  const id = childIn(asker.session);
  const above = id === null ? null : await children.get(id);
  const over = above !== null && (above.killed || above.end !== null);
  return {
    nowMs: clock.now(),
    forgotten: epoch !== asker.epoch,
    place: placeOf(asker.session, parseConversationKey(conversation)),
    over: over ? "the sub-agent that asked has ended" : null,
  };
}

/**
 * A sub-agent's run is over when a turn of it ends well and nothing below it is under way: what it spawned
 * itself reports to it first. A turn that fails or is stopped ends the run at once. What other sessions ask
 * it is no part of the run: its parent hears neither their answers nor their conversations.
 */
export async function endingChild(
  rows: readonly Row[],
  end: AskedEnd,
  session: SessionKey,
  needs: AnswerNeeds & { readonly inbox: Inbox },
): Promise<Required<Pick<Commit, "rows" | "cells">> & { readonly farewells: readonly NewDelivery[] }> {
  const none = { rows: [], cells: [], farewells: [] };
  const id = childIn(session);
  const known = id === null ? null : await needs.children.get(id);
  if (known === null || (rows.every(isBeside) && !known.killed)) return none;
  const child = known.end === null ? known : toldAgain(known, rows);
  if (child === null) return none;
  if (isWell(end) && !child.killed && (await isUnderWay(session, needs))) return none;
  const row = await causeOf(child, rows, needs);
  const handing = row === null ? null : await handingTo(child.asker, row, needs);
  const told = row === null || handing === null ? null : childRow(child, row, end, handing);
  return {
    rows: told === null ? [] : [told],
    cells: [endedChild(child, end, needs.clock.now())],
    farewells: leavesThread(child, end)
      ? needs.threads.threadsOf(session).map((place) => farewell(child, place))
      : [],
  };
}

/**
 * True for another session's message, which that session is answered for, and for what a person says in the
 * sub-agent's thread.
 */
function isBeside(row: Row): boolean {
  return askedRow(row)?.internal.kind === "message" || (isReadable(row) && internalOf(row) === null);
}

/** A sub-agent that was guided in the moment in which its run ended answers that too; null otherwise. */
function toldAgain(child: Child, rows: readonly Row[]): Child | null {
  return rows.some(isGuidance) && !child.killed ? { ...child, runs: child.runs + 1 } : null;
}

function isGuidance(row: Row): boolean {
  return internalOf(row)?.kind === "message" && !isBeside(row);
}

/**
 * The row that the parent's row inherits place and authority from: what guided this turn, unless it goes back
 * to another conversation than the task, or the task. What else the turn read may come of what somebody in
 * the sub-agent's thread asked for, whose rights are not the task's. Null when no build can read any.
 */
async function causeOf(
  { id }: Child,
  rows: readonly Row[],
  { inbox }: { readonly inbox: Pick<Inbox, "find"> },
): Promise<Row | null> {
  const [task] = await inbox.find({ id: `task:${id}`, limit: 1, dismissed: true });
  if (task === undefined) return rows.filter((row) => !isBeside(row)).find(isReadable) ?? null;
  const guiding = rows.filter((row) => isGuidance(row) && row.conversation === task.conversation);
  return [...guiding, task].find(isReadable) ?? null;
}

function isReadable({ payload }: Row): boolean {
  try {
    parseRowPayload(payload);
    return true;
  } catch (error) {
    if (isFault(error, "invalid")) return false;
    throw error;
  }
}

/** A child below ends and writes its row in one step, so this order of looking misses neither. */
async function isUnderWay(
  session: SessionKey,
  { children, inbox }: Pick<AnswerNeeds, "children"> & { readonly inbox: Inbox },
): Promise<boolean> {
  const open = (await children.below(session)).some(({ parent, end }) => parent === session && end === null);
  return (
    open ||
    (await inbox.find({ lane: session, state: "waiting", limit: mostRows })).some((row) => !isBeside(row))
  );
}
