// Hands the end of a turn to the session that asked for it, in the transaction that ends the turn (I2). It
// wraps the store, so that every way in which a turn or a waiting row can end is one: answered, failed,
// stopped, buried, dropped. Nothing of a turn that only sessions asked for goes to a conversation (I6).
import {
  isFault,
  parseContent,
  parseConversationKey,
  parseRowPayload,
  type Address,
  type Asker,
  type Clock,
  type Entry,
  type Part,
  type SessionKey,
} from "@parley/protocol";
import type {
  Cells,
  Commit,
  Inbox,
  Lease,
  NewDelivery,
  Row,
  Sessions,
  Step,
  Store,
  Turn,
  Turns,
} from "@parley/store";
import { answerRow, askedRow, childRow, isUnseen } from "./asked-rows.ts";
import {
  childIn,
  endedChild,
  worksInThread,
  type AskedEnd,
  type Child,
  type ChildRegistry,
} from "./child-registry.ts";
import { farewell, leavesThread, type ChildThreads } from "./child-threads.ts";
import { internalOf } from "../internal-row.ts";

interface AnswerNeeds {
  readonly children: ChildRegistry;
  readonly sessions: Pick<Sessions, "open">;
  /** Returns where what a session began in `from` goes on; null where its rows say. */
  readonly placeOf: (session: string, from: Address) => Address | null;
  readonly threads: ChildThreads;
  /** Ends the sub-agents of a run that ended without them; what it leaves, the next start ends. */
  readonly endBelow: (session: SessionKey) => Promise<void>;
  readonly clock: Clock;
}

interface AnsweringOptions extends AnswerNeeds {
  readonly turns: Turns;
  readonly inbox: Inbox;
}

/** More rows than one turn takes. */
const mostRows = 1_000;
const stopping = "stopping:";
/** The store keeps rows longer than this, so it still recognizes a repeated row. */
const stoppingLifeMs = 86_400_000;

/** The same store, whose turns and waiting rows answer the sessions that asked for them. */
export function answeringStore<S extends Pick<Store, "turns" | "inbox" | "sessions" | "cells">>(
  store: S,
  needs: Omit<AnswerNeeds, "sessions">,
): S & HealsStops {
  const own = { ...needs, sessions: store.sessions };
  const { healStops, ...inbox } = answeringInbox({ inbox: store.inbox, cells: store.cells, ...own });
  return { ...store, inbox, turns: answeringTurns({ turns: store.turns, inbox, ...own }), healStops };
}

interface HealsStops {
  /** Tells what a process left untold when it died between the end of waiting rows and their answers. */
  healStops(): Promise<void>;
}

function answeringTurns({ turns, ...needs }: AnsweringOptions): Turns {
  /** Turns of this process that took in another session's row on their way. */
  const joined = new Set<string>();
  const isAsked = (lease: Lease, id: string): boolean =>
    joined.has(id) ||
    childIn(lease.lane) !== null ||
    ("rows" in lease && (isUnseen(lease.lane, (lease as Turn).rows) || holdsAsks((lease as Turn).rows)));

  return {
    ...turns,
    async absorb(lease, at, maxRows, how) {
      const rows = await turns.absorb(lease, at, maxRows, how);
      if (holdsAsks(rows) && "id" in lease) joined.add((lease as Turn).id);
      return rows;
    },
    async commit(lease, id, what) {
      if (!isAsked(lease, id)) return turns.commit(lease, id, what);
      const rows = await needs.inbox.find({ turn: id, limit: mostRows });
      const session = lease.lane as SessionKey;
      const shown = worksInThread(session) ? shownPieces((await turns.find(id))?.log ?? []) : "";
      const handed = await handedOver(rows, { what, end: endOf(what, rows, shown) }, session, needs);
      const committed = await turns.commit(lease, id, { ...what, ...handed.commit });
      joined.delete(id);
      if (handed.left) await needs.threads.unbind(session);
      if (handed.ends === "badly") await needs.endBelow(session);
      return committed;
    },
  };
}

function holdsAsks(rows: readonly Row[]): boolean {
  return rows.some((row) => askedRow(row) !== null);
}

/**
 * Rows that end without a turn, because they were stopped or dropped while they waited. What ends is noted
 * before, so that a death in between leaves nobody without an answer.
 */
function answeringInbox({
  inbox,
  cells,
  ...needs
}: Omit<AnsweringOptions, "turns"> & { readonly cells: Pick<Cells, "put" | "remove" | "list"> }): Inbox &
  HealsStops {
  async function tell(lane: SessionKey, ids: readonly string[], reason: string): Promise<void> {
    const end: AskedEnd = { state: "stopped", text: "", reason, tokens: 0 };
    for (const id of ids) {
      const [row] = await inbox.find({ id, limit: 1, dismissed: true });
      const ask = row === undefined || row.state !== "ended" || row.turn !== null ? null : askedRow(row);
      if (ask === null) continue;
      if (ask.internal.kind === "task") await endChild(ask.internal.id, ask.row, end, { inbox, ...needs });
      else {
        const answer = answerRow(ask, lane, end, await handingTo(ask.internal.asker, ask.row, needs));
        if (answer !== null) await inbox.accept([answer]);
      }
    }
  }

  return {
    ...inbox,
    async stop(lane, what) {
      const waiting =
        what.rows === undefined ? [] : await inbox.find({ lane, state: "waiting", limit: mostRows });
      const asked = waiting.filter((row) => askedRow(row) !== null).map(({ id }) => id);
      if (asked.length === 0) return inbox.stop(lane, what);
      const { reason } = what;
      const key = `${stopping}${needs.clock.now()}:${lane}`;
      await cells.put(key, JSON.stringify({ lane, ids: asked, reason }), { ttlMs: stoppingLifeMs });
      const stopped = await inbox.stop(lane, what);
      await tell(
        lane,
        asked.filter((id) => stopped.rows.includes(id)),
        reason,
      );
      await cells.remove(key);
      return stopped;
    },
    async healStops() {
      for (const { key, value } of await cells.list(stopping, mostRows)) {
        const { lane, ids, reason } = JSON.parse(value) as {
          readonly lane: SessionKey;
          readonly ids: readonly string[];
          readonly reason: string;
        };
        await tell(lane, ids, reason);
        // Another process may be about to end them.
        const waiting = await inbox.find({ lane, state: "waiting", limit: mostRows });
        if (!waiting.some(({ id }) => ids.includes(id))) await cells.remove(key);
      }
    },
  };
}

/** Ends a child where no commit does; it is safe to repeat. `row`: one of its own. */
export async function endChild(
  id: string,
  row: Row,
  end: AskedEnd,
  needs: Omit<AnswerNeeds, "endBelow" | "threads"> & { readonly inbox: Pick<Inbox, "accept"> },
): Promise<void> {
  const child = await needs.children.get(id);
  if (child === null || child.end !== null) return;
  const told = childRow(child, row, end, await handingTo(child.asker, row, needs));
  if (told !== null) await needs.inbox.accept([told]);
  await needs.children.end(id, end, needs.clock.now());
}

/** `row`: what the asker is answered for. */
async function handingTo(
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

/** The rows and cells that the end of a turn writes for those who wait for it. */
async function handedOver(
  rows: readonly Row[],
  { what, end }: { readonly what: Commit; readonly end: AskedEnd },
  session: SessionKey,
  needs: AnswerNeeds & { readonly inbox: Inbox },
): Promise<{ readonly commit: Partial<Commit>; readonly ends: "badly" | "well"; readonly left: boolean }> {
  const asks = rows
    .flatMap((row) => askedRow(row) ?? [])
    .filter(({ internal }) => internal.kind === "message");
  const answers = await Promise.all(
    asks.map(async (ask) =>
      answerRow(ask, session, end, await handingTo(ask.internal.asker, ask.row, needs)),
    ),
  );
  const child = await endingChild(rows, end, session, needs);
  return {
    commit: {
      rows: [...(what.rows ?? []), ...answers.filter((row) => row !== null), ...child.rows],
      cells: [...(what.cells ?? []), ...child.cells],
      deliveries: [...(isUnseen(session, rows) ? [] : (what.deliveries ?? [])), ...child.farewells],
    },
    left: child.farewells.length > 0,
    ends: child.cells.length > 0 && !isWell(end) ? "badly" : "well",
  };
}

/**
 * A sub-agent's run is over when a turn of it ends well and nothing below it is under way: what it spawned
 * itself reports to it first. A turn that fails or is stopped ends the run at once. What other sessions ask
 * it is no part of the run: its parent hears neither their answers nor their conversations.
 */
async function endingChild(
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

function isWell({ state }: AskedEnd): boolean {
  return state === "answered" || state === "silent";
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

/**
 * Takes the state from what the runtime did, never from the words. `shown`: the beginning of the answer that
 * went out before in pieces, which people have read and the asker has not.
 */
function endOf(what: Commit, rows: readonly Row[], shown: string): AskedEnd {
  const source =
    (what.entries ?? []).map(untrustedIn).find((each) => each !== null) ??
    rows.map((row) => internalOf(row)?.untrusted).find((each) => each !== undefined);
  const end = wholeAnswer(endWords(what), what, shown);
  return source === undefined ? end : { ...end, untrusted: source };
}

function wholeAnswer(end: AskedEnd, { outcome, entries }: Commit, shown: string): AskedEnd {
  // Pieces of what was said before a call are no part of the answer.
  if (shown === "" || outcome !== "answered" || !lastWords(entries ?? []).includes(shown)) return end;
  const text = end.text.startsWith(shown) ? end.text : [shown, end.text].filter(Boolean).join("\n\n");
  return { ...end, state: "answered", text };
}

/** What the model said last. */
function lastWords(entries: readonly string[]): string {
  const said = entries
    .map((entry) => JSON.parse(entry) as Entry)
    .findLast(({ type }) => type === "assistant");
  if (said?.type !== "assistant") return "";
  return said.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** How much of an answer that goes out in pieces went out, by the turn's log. */
function shownPieces(log: readonly Step[]): string {
  const marks = log.flatMap(({ kind, body }) =>
    kind === "preview" ? [JSON.parse(body) as { readonly said?: string }] : [],
  );
  return marks.findLast(({ said }) => said !== undefined)?.said?.trim() ?? "";
}

/** Of an entry as it is written; most have no such word and are not parsed. */
function untrustedIn(entry: string): string | null {
  if (!entry.includes('"untrusted"')) return null;
  const { untrusted } = JSON.parse(entry) as Extract<Entry, { readonly type: "toolResult" }>;
  return untrusted ?? null;
}

function endWords({ outcome, reason = "", deliveries = [], patch = {} }: Commit): AskedEnd {
  const words = deliveries.flatMap(({ parts }) => parts.flatMap(({ content }) => wordsIn(content)));
  const used = patch["usage"] as
    | { readonly inputTokens?: number; readonly outputTokens?: number }
    | undefined;
  const tokens = (used?.inputTokens ?? 0) + (used?.outputTokens ?? 0);
  const text = words.join("\n\n");
  if (outcome === "answered")
    return { state: text === "" ? "silent" : "answered", text, reason: null, tokens };
  if (outcome === "silent") return { state: "silent", text: "", reason: null, tokens };
  if (outcome === "stopped") return { state: "stopped", text, reason, tokens };
  return { state: "failed", text: "", reason, tokens };
}

export function wordsIn(content: string): readonly string[] {
  const meant = parseContent(content);
  return meant.kind === "reply" ? meant.parts.map(partWords) : [];
}

function partWords(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.markdown;
    case "card":
      return `${part.title}\n${part.markdown}`;
    case "poll":
      return [part.question, ...part.options].join("\n");
    case "voice":
      return `[voice note: ${part.file.name}]`;
    case "media":
      return [`[files: ${part.files.map(({ name }) => name).join(", ")}]`, part.caption ?? ""]
        .join(" ")
        .trim();
  }
}
