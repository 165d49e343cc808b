// Ends a turn once its loop did: parks it with its tickets, gives it back to the next holder, or commits it. The commit is one: outcome,
// entries, deliveries, spending and the session's fields (I2, I6), and what is told after it is told only then. The deliveries wait in the
// outbox from then on. Next: packages/delivery/src/deliver.ts.
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
import type { Previewed } from "./streaming/edited-preview.ts";
import { thoughtsOf } from "./streaming/live-answer.ts";
import { withinLimit } from "./streaming/long-answer.ts";
import type { ReadAnswer } from "./streaming/read-answer.ts";
import type { TurnJournal } from "./turn-journal.ts";
import { turnOutcome, unsaid } from "./turn-outcome.ts";
import { isCommand, openingContext } from "./turn-rows.ts";
import { isOwed, refusesSilence, type Services, type TurnScope } from "./turn-scope.ts";

/** What the loop left behind for the commit. */
export interface EndedTurn {
  readonly end: LoopEnd;
  readonly journal: TurnJournal;
  readonly previewed: Previewed;
  /** What the model's last words say, and what it thought in tags. */
  readonly answer: ReadAnswer;
  readonly parkedUntilMs: () => number;
  /** Session fields that the turn's notes and its context leave. */
  readonly patch: { readonly [field: string]: Json };
}

type CommitServices = Pick<Services, "turns" | "config" | "redaction" | "mediaFolder" | "clock">;

/** Parks the turn or commits it. Throws Fault for one that was interrupted: it stays as its journal has it. */
export async function commitTurn(
  services: CommitServices,
  scope: TurnScope,
  ended: EndedTurn,
): Promise<WorkEnd> {
  const { turns, clock } = services;
  const { turn, lease, prepared, spending, log } = scope;
  const { end, journal } = ended;
  if (end.stop === "parked") {
    await turns.park(turn, { tickets: end.tickets ?? [], wake: "any", untilMs: ended.parkedUntilMs() });
    log.info({ tickets: end.tickets ?? [] }, "turn parked");
    return { settled: true };
  }
  if (end.stop === "aborted" && !scope.timedOut()) {
    // Drained, stopped or lost: the next holder goes on from the journal.
    const reason: unknown = lease.signal.reason;
    throw isFault(reason) ? reason : new Fault("conflict", "the turn was told to stop");
  }
  const promptNote = prepared.promptNote(turn.id);
  const outcome = await outcomeOf(services, scope, ended);
  // Nothing but this process has the last answer: a store that is away for a moment must not cost another one.
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
      steps: journal.steps.length,
      usage: end.usage,
    },
    "turn committed",
  );
  return { settled: true };
}

/** What the turn came to, without what people were already sent, and within what messages may take. */
function outcomeOf(
  { config, mediaFolder }: Pick<Services, "config" | "mediaFolder">,
  scope: TurnScope,
  { end, journal, previewed, answer }: EndedTurn,
): Promise<Outcome> {
  const { turn, address, channel, log } = scope;
  const whole = turnOutcome({
    end,
    timedOut: scope.timedOut(),
    replyOwed: isOwed(scope),
    refusesSilence: refusesSilence(scope, journal.rows()),
    said: answer.outcome,
  });
  return withinLimit(unsaid(whole, previewed.said), {
    maxChars: isProgram(address) ? Infinity : config.messages.answerMaxChars,
    session: turn.lane,
    capabilities: channel?.capabilities ?? null,
    folder: mediaFolder,
    log,
  });
}

/** A turn that failed leaves its rows `dead`: an operator can look at them and try them again. */
const rowOutcomes: { readonly [kind in Outcome["kind"]]: RowOutcome } = {
  reply: "answered",
  silent: "silent",
  heartbeatOk: "silent",
  stopped: "stopped",
  failed: "dead",
};

/** `thoughts` are shown before the answer, where somebody asked to see them; `more` is written in the same transaction. */
function commitOf(
  { turn, session, address, channel }: TurnScope,
  { end, journal, previewed, patch }: EndedTurn,
  outcome: Outcome,
  thoughts: string | null,
  more: { readonly patch: EndedTurn["patch"]; readonly cells: readonly CellWrite[] },
): Commit {
  // Somebody sees that an answer is coming, and must not go on seeing it when there is none.
  const waits = previewed.said === "" && channel?.settle !== undefined && journal.rows().some(isCommand);
  const last = openingContext(turn).at(-1);
  const { outcome: sendable, cells: buttons } = withShortButtons(outcome, { id: turn.id, to: address });
  const cells = [...buttons, ...more.cells];
  const said = withThoughts(sendable, thoughts);
  return {
    // A limit is no failure of the message: there is nothing for an operator to look at.
    outcome: end.stop === "capped" ? "refused" : rowOutcomes[outcome.kind],
    reason: outcome.kind === "failed" || outcome.kind === "silent" ? outcome.reason : end.stop,
    entries: end.entries.map((entry) => JSON.stringify(entry)),
    deliveries: deliveriesOf(turn, address, said, previewed.open, waits),
    patch: { ...more.patch, ...patch, ...usageAfter(session, end.usage) },
    ...(last === undefined ? {} : { contextThrough: last.seq }),
    ...(cells.length === 0 ? {} : { cells }),
  };
}

/**
 * What the turn says, in place of its preview if there is one; a preview of a turn that says nothing is taken away. So is one above a request
 * that the turn waited for: the answer comes below, where it is looked for, and people are told of a new message, not of an old one that changed.
 */
function deliveriesOf(
  turn: Turn,
  address: Address,
  outcome: Outcome,
  preview: string | null,
  waits: boolean,
): readonly NewDelivery[] {
  const content = contentOf(outcome);
  const at = { pool: accountKey(address), lane: turn.conversation, cause: turn.id };
  const into = preview === null ? {} : { into: `${preview}/0` };
  const closes = preview === null ? {} : { closes: preview };
  const removed = { content: formatContent({ v: 1, kind: "remove" }), ...into };
  const id = `${turn.id}/0`;
  if (content === null) return preview === null && !waits ? [] : [{ id, ...at, ...closes, parts: [removed] }];
  if (preview === null || turn.tickets.length === 0)
    return [{ id, ...at, ...closes, parts: [{ content: formatContent(content), ...into }] }];
  return [
    { id: `${turn.id}/removed`, ...at, ...closes, parts: [removed] },
    { id, ...at, parts: [{ content: formatContent(content) }] },
  ];
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

/** The session's field that sums up what it used. */
export function usageAfter(session: Session, usage: Usage): { readonly usage: Json } {
  return { usage: { ...addUsage(usageOf(session), usage) } };
}

function usageOf(session: Session): Usage {
  return { ...noUsage, ...(session.fields["usage"] as Partial<Usage> | undefined) };
}
