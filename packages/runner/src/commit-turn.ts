// From how the loop ended to the one commit that ends the turn: what it came to, what is kept, what is said (I2, I6).
import type { LoopEnd } from "@parley/agent";
import { isBlank } from "@parley/channels";
import {
  accountKey,
  addUsage,
  noUsage,
  type Address,
  type Json,
  type Outcome,
  type Usage,
  formatContent,
  type Content,
} from "@parley/protocol";
import type { CellWrite, Commit, Outcome as RowOutcome, NewDelivery, Session, Turn } from "@parley/store";
import { withShortValues, type ButtonPlace } from "@parley/delivery";
import { nothingSaid, withEarlyEnd } from "./early-end.ts";
import { modelFailureText } from "./models/model-failure.ts";
import type { Previewed } from "./streaming/edited-preview.ts";
import { openingContext } from "./turn-journal.ts";

export interface OutcomeInput {
  readonly end: LoopEnd;
  readonly timedOut: boolean;
  /** A person waits for an answer, so an empty one is told. */
  readonly replyOwed: boolean;
  /** Nor is silence an answer to them. */
  readonly refusesSilence: boolean;
  /** What the model's last words say. */
  readonly said: Outcome;
}

export function turnOutcome({ end, timedOut, replyOwed, refusesSilence, said }: OutcomeInput): Outcome {
  // An answer that was whole before its time was up stands, however long it took to show it.
  if (timedOut && end.stop === "aborted")
    return failed(
      "the turn took too long",
      "⚠️ That took too long, so I stopped. Please try something smaller.",
    );
  if (end.error !== undefined)
    return failed(`${end.error.kind}: ${end.error.message}`, modelFailureText(end.error));
  if (end.stop === "capped")
    return failed(end.reason ?? "a cap", `⚠️ ${end.reason ?? "A spending limit was reached."}`);
  const isSilent = refusesSilence && said.kind === "silent";
  if (isSilent || (replyOwed && saysNothing(said))) {
    return failed(
      "the model gave no answer",
      nothingSaid(end.stop) ?? "⚠️ I have no answer to that. Please ask again in other words.",
    );
  }
  return withEarlyEnd(said, end.stop);
}

/** Invisible characters alone are no answer either: no platform would show them. */
function saysNothing(outcome: Outcome): boolean {
  if (outcome.kind === "reply")
    return outcome.parts.every((part) => part.kind === "text" && isBlank(part.markdown));
  return outcome.kind === "silent" && outcome.reason === "empty";
}

function failed(reason: string, userMessage: string): Outcome {
  return { kind: "failed", reason, userMessage };
}

export interface CommitInput {
  readonly turn: Turn;
  readonly session: Session;
  readonly address: Address;
  readonly previewed: Previewed;
  /** Somebody sees that an answer is coming, and must not go on seeing it when there is none. */
  readonly waits: boolean;
  readonly patch: { readonly [field: string]: Json };
  readonly end: LoopEnd;
  readonly outcome: Outcome;
  /** Shown before the answer, where somebody asked to see them. */
  readonly thoughts: string | null;
  /** Written in the same transaction. */
  readonly cells: readonly CellWrite[];
}

/** A turn that failed leaves its rows `dead`: an operator can look at them and try them again. */
const rowOutcomes: { readonly [kind in Outcome["kind"]]: RowOutcome } = {
  reply: "answered",
  silent: "silent",
  heartbeatOk: "silent",
  stopped: "stopped",
  failed: "dead",
};

export function turnCommit({
  turn,
  session,
  address,
  previewed,
  waits,
  patch,
  end,
  outcome,
  thoughts,
  cells: more,
}: CommitInput): Commit {
  const last = openingContext(turn).at(-1);
  const { outcome: sendable, cells: buttons } = withShortButtons(outcome, { id: turn.id, to: address });
  const cells = [...buttons, ...more];
  const said = withThoughts(sendable, thoughts);
  return {
    // A limit is no failure of the message: there is nothing for an operator to look at.
    outcome: end.stop === "capped" ? "refused" : rowOutcomes[outcome.kind],
    reason: outcome.kind === "failed" || outcome.kind === "silent" ? outcome.reason : end.stop,
    entries: end.entries.map((entry) => JSON.stringify(entry)),
    deliveries: deliveriesOf(turn, address, said, previewed.open, waits),
    patch: { ...patch, ...usageAfter(session, end.usage) },
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

/** The outcome without the beginning that people have already been sent. */
export function unsaid(outcome: Outcome, said: string): Outcome {
  if (outcome.kind !== "reply" || said === "") return outcome;
  const [first, ...others] = outcome.parts;
  if (first?.kind !== "text" || !first.markdown.startsWith(said.trimEnd())) return outcome;
  const markdown = first.markdown.slice(said.length).trim();
  // The quote went out with the beginning.
  return { kind: "reply", parts: [...(markdown === "" ? [] : [{ ...first, markdown }]), ...others] };
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
