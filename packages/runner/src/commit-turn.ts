// Ends a turn once its loop did: parks it with its tickets, gives it back to the next holder, or commits it.
// One write commits outcome, entries, deliveries, spending and the session's fields (I2, I6), and nobody is
// told of them before. The deliveries wait in the outbox from then on.
// Next: packages/delivery/src/deliver.ts.
import type { LoopEnd } from "@parley/agent";
import { isProgram } from "@parley/access";
import { withShortValues, type ButtonPlace } from "@parley/delivery";
import {
  accountKey,
  addUsage,
  Fault,
  formatContent,
  isFault,
  noUsage,
  type Content,
  type Json,
  type Outcome,
  type Address,
  type Usage,
} from "@parley/protocol";
import { untilStored, type WorkEnd } from "@parley/queue";
import type { CellWrite, Commit, NewDelivery, Outcome as RowOutcome, Session, Turn } from "@parley/store";
import { spokenToo } from "./speech/spoken-answer.ts";
import { unrepeated } from "./messages/said-here.ts";
import type { Previewed } from "./streaming/edited-preview.ts";
import { thoughtsOf } from "./streaming/live-answer.ts";
import { withinLimit } from "./streaming/long-answer.ts";
import { isHeartbeat } from "./schedules/slot-row.ts";
import type { ReadAnswer } from "./streaming/read-answer.ts";
import type { TurnJournal } from "./turn-journal.ts";
import { turnOutcome, unsaid } from "./turn-outcome.ts";
import { wasToldOfLimit } from "./usage/told-once.ts";
import { isCommand, openingContext } from "./turn-rows.ts";
import { isOwed, refusesSilence, type Services, type TurnScope } from "./turn-scope.ts";

/** The loop's results that the commit needs. */
export interface EndedTurn {
  readonly end: LoopEnd;
  readonly journal: TurnJournal;
  readonly previewed: Previewed;
  /** The model's last words as parsed, and its thoughts from tags. */
  readonly answer: ReadAnswer;
  /** Session fields that the turn's notes and context window write. */
  readonly patch: { readonly [field: string]: Json };
}

type CommitServices = Pick<
  Services,
  "turns" | "cells" | "config" | "redaction" | "mediaFolder" | "speech" | "clock"
>;

/** Parks the turn or commits it. Throws Fault for an interrupted turn, which stays as its journal has it. */
export async function commitTurn(
  services: CommitServices,
  scope: TurnScope,
  ended: EndedTurn,
): Promise<WorkEnd> {
  const { turns, clock } = services;
  const { turn, lease, prepared, spending, log } = scope;
  const { end, journal } = ended;
  if (end.stop === "parked") {
    const { tickets = [], untilMs = clock.now() } = end;
    await turns.park(turn, { tickets, wake: "any", untilMs });
    log.info({ tickets }, "turn parked");
    return { settled: true };
  }
  if (end.stop === "aborted" && !scope.timedOut()) {
    // The turn was drained, stopped or lost, so the next holder continues from the journal.
    const reason: unknown = lease.signal.reason;
    throw isFault(reason) ? reason : new Fault("conflict", "the turn was told to stop");
  }
  const promptNote = prepared.promptNote(turn.id);
  const outcome = (await untilStored(lease, clock, () => wasToldOfLimit(services, scope, end)))
    ? { kind: "silent" as const, reason: end.reason ?? "a cap" }
    : await spokenToo(services, scope, ended, await outcomeOf(services, scope, ended));
  // Only this process has the last answer, so a short outage of the store must not cost another model call.
  const spent = await untilStored(lease, clock, () => spending.note(end, prepared.model));
  const { reasoning } = prepared;
  const thoughts =
    reasoning === "on" ? thoughtsOf(end.entries, ended.answer.thinking, services.redaction) : null;
  const commit = commitOf(scope, ended, outcome, thoughts, {
    patch: promptNote.patch,
    cells: [...promptNote.cells, ...spent],
  });
  await untilStored(lease, clock, () => turns.commit(turn, turn.id, commit));
  promptNote.committed();
  spending.committed();
  log.info(
    {
      joined: journal
        .rows()
        .slice(turn.rows.length)
        .map((row) => row.id),
      outcome: outcome.kind,
      stop: end.stop,
      steps: end.entries.filter(({ type }) => type === "assistant").length,
      usage: end.usage,
    },
    "turn committed",
  );
  return { settled: true };
}

/** Computes the turn's outcome without what people were already sent, and within the limit for messages. */
function outcomeOf(
  { config, mediaFolder }: Pick<Services, "config" | "mediaFolder">,
  scope: TurnScope,
  { end, journal, previewed, answer }: EndedTurn,
): Promise<Outcome> {
  const { turn, address, channel, log } = scope;
  const sent = journal.saidHere();
  const whole = turnOutcome({
    end,
    timedOut: scope.timedOut(),
    replyOwed: isOwed(scope) && sent.length === 0,
    refusesSilence: refusesSilence(scope, journal.rows()) && sent.length === 0,
    said: answer.outcome,
  });
  return withinLimit(unrepeated(unsaid(whole, previewed.said), sent), {
    maxChars: isProgram(address) ? Infinity : config.messages.answerMaxChars,
    session: turn.lane,
    capabilities: channel?.capabilities ?? null,
    folder: mediaFolder,
    log,
  });
}

/** The rows of a failed turn become `dead`, so that an operator can look at them and retry them. */
const rowOutcomes: { readonly [kind in Outcome["kind"]]: RowOutcome } = {
  reply: "answered",
  silent: "silent",
  heartbeatOk: "silent",
  stopped: "stopped",
  failed: "dead",
};

/**
 * `thoughts` are sent before the answer when the session shows them; `more` is written in the same
 * transaction.
 */
function commitOf(
  { turn, session, address, channel }: TurnScope,
  { end, journal, previewed, patch }: EndedTurn,
  outcome: Outcome,
  thoughts: string | null,
  more: { readonly patch: EndedTurn["patch"]; readonly cells: readonly CellWrite[] },
): Commit {
  // The platform shows people that a command's answer is coming, so it must be told when there is none.
  const showsWaiting =
    previewed.said === "" && channel?.settle !== undefined && journal.rows().some(isCommand);
  const last = openingContext(turn).at(-1);
  const { outcome: sendable, cells: buttons } = withShortButtons(outcome, { id: turn.id, to: address });
  const cells = [...buttons, ...more.cells];
  const said = withThoughts(sendable, thoughts);
  return {
    // A spending limit is no failure of the message, so an operator has nothing to look at.
    outcome: end.stop === "capped" ? "refused" : rowOutcomes[outcome.kind],
    reason: outcome.kind === "failed" || outcome.kind === "silent" ? outcome.reason : end.stop,
    entries: isForgotten(outcome, end, journal)
      ? []
      : [...end.entries, ...journal.unheard()].map((entry) => JSON.stringify(entry)),
    deliveries: deliveriesOf(turn, address, said, previewed.open, showsWaiting),
    patch: { ...more.patch, ...patch, ...usageAfter(session, end.usage) },
    ...(last === undefined ? {} : { contextThrough: last.seq }),
    ...(cells.length === 0 ? {} : { cells }),
  };
}

/**
 * Builds the turn's deliveries; the answer takes the place of its preview. A preview is removed when the turn
 * says nothing, or when it stands above a request that the turn waited for: the answer then comes below as a
 * new message, because nobody is notified of an edited old one.
 */
function deliveriesOf(
  turn: Turn,
  address: Address,
  outcome: Outcome,
  preview: string | null,
  showsWaiting: boolean,
): readonly NewDelivery[] {
  const content = contentOf(outcome);
  const at = { pool: accountKey(address), lane: turn.conversation, cause: turn.id };
  const into = preview === null ? {} : { into: `${preview}/0` };
  const closes = preview === null ? {} : { closes: preview };
  const removed = { content: formatContent({ v: 1, kind: "remove" }), ...into };
  const id = `${turn.id}/0`;
  if (content === null)
    return preview === null && !showsWaiting ? [] : [{ id, ...at, ...closes, parts: [removed] }];
  if (preview === null || turn.tickets.length === 0)
    return [{ id, ...at, ...closes, parts: [{ content: formatContent(content), ...into }] }];
  return [
    { id: `${turn.id}/removed`, ...at, ...closes, parts: [removed] },
    { id, ...at, parts: [{ content: formatContent(content) }] },
  ];
}

/** A heartbeat that found nothing and did nothing would only cost what every later turn reads of it. */
function isForgotten(outcome: Outcome, { entries }: LoopEnd, journal: Pick<TurnJournal, "rows">): boolean {
  if (outcome.kind !== "heartbeatOk" || !isHeartbeat(journal.rows())) return false;
  return entries.every(({ type }) => type !== "toolResult");
}

function contentOf(outcome: Outcome): Content | null {
  if (outcome.kind === "failed")
    return { v: 1, kind: "reply", parts: [{ kind: "text", markdown: outcome.userMessage }] };
  if (outcome.kind !== "reply" || outcome.parts.length === 0) return null;
  return {
    v: 1,
    kind: "reply",
    parts: outcome.parts,
    ...(outcome.replyTo === undefined ? {} : { replyTo: outcome.replyTo }),
  };
}

function withShortButtons(
  outcome: Outcome,
  place: ButtonPlace,
): { readonly outcome: Outcome; readonly cells: readonly CellWrite[] } {
  if (outcome.kind !== "reply") return { outcome, cells: [] };
  const { parts, cells } = withShortValues(outcome.parts, place);
  return { outcome: { ...outcome, parts }, cells };
}

function withThoughts(outcome: Outcome, thoughts: string | null): Outcome {
  if (outcome.kind !== "reply" || thoughts === null) return outcome;
  return { ...outcome, parts: [{ kind: "text", markdown: thoughts }, ...outcome.parts] };
}

/** Returns the session field that sums up what the session used. */
export function usageAfter(session: Session, usage: Usage): { readonly usage: Json } {
  return { usage: { ...addUsage(usageOf(session), usage) } };
}

function usageOf(session: Session): Usage {
  return { ...noUsage, ...(session.fields["usage"] as Partial<Usage> | undefined) };
}
