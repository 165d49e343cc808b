// A turn of talk: rows become user entries, the agent loop runs over the durable journal, its outcome becomes one commit (I2, I3, I6).
import { replyParser, runLoop, type LoopEnd, type Redaction, type ReplyParser } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Model } from "@parley/models";
import {
  accountKey,
  Fault,
  isFault,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type Clock,
  type Json,
  type Log,
  type SessionKey,
} from "@parley/protocol";
import type { Held, WorkEnd } from "@parley/queue";
import type { Outbox, Session, Sessions, Turn, Turns } from "@parley/store";
import { withStoredCalls } from "../approvals/stored-calls.ts";
import { turnApprovals, type TurnApprovalsOptions } from "../approvals/turn-approvals.ts";
import { deadline } from "../deadline.ts";
import { queueSettingsOf, type QueueSettings } from "../inbound/queue-settings.ts";
import { untilStored } from "../until-stored.ts";
import { editedPreview, noPreview, type Preview, type Previewed } from "./preview.ts";
import { blocks } from "./blocks.ts";
import { turnContext } from "./context.ts";
import { defaultContext } from "./context-settings.ts";
import { sessionHistory } from "./history.ts";
import { listen, newParser, saysNothing } from "./listen.ts";
import { resultName } from "./long-results.ts";
import { turnMedia } from "./media.ts";
import type { ReadMedia } from "./media-reader.ts";
import type { ShowProgress } from "./progress.ts";
import type { RunLaneOptions } from "./run-lane.ts";
import type { RunningTurns } from "./running-turns.ts";
import type { PromptNote } from "./prompt-book.ts";
import { startupField } from "./startup-memory.ts";
import { openingContext, openingRows, turnJournal, type TurnJournal } from "./turn-journal.ts";
import { turnCommit, turnOutcome } from "./turn-commit.ts";
import type { SpendLedger, TurnLedger } from "./ledger.ts";
import { asWanted, saysInstead } from "./thinking.ts";
import { growingThoughts, thoughtsOf } from "./thoughts.ts";
import { troubleNotes } from "./trouble-notes.ts";
import { keepTyping } from "./typing.ts";
import { skillCallsIn } from "./skill-call.ts";
import { turnMessages } from "./turn-messages.ts";
import { turnNames } from "./turn-names.ts";
import { isAddressed, isWake, placeOf, speakersOf, wantedBy } from "./turn-rows.ts";
import type { SetUpTurn, TurnSetup } from "./turn-setup.ts";

export interface AgentTurnOptions {
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly setUp: SetUpTurn;
  readonly channel: (account: string) => Channel | null;
  /** How answers grow on this account. */
  readonly streams: (account: string) => "edit" | "block" | "off";
  readonly readMedia: ReadMedia;
  readonly outbox: Outbox;
  /** What no answer may show: secrets, and paths of the state folder outside the workspaces (I8). */
  readonly redaction: Redaction;
  readonly running: RunningTurns;
  readonly ledger: SpendLedger;
  /** Absent: nobody is asked about anything. */
  readonly approvals?: TurnApprovalsOptions;
  readonly showProgress: ShowProgress;
  readonly queue: QueueSettings;
  /** Rows accepted before this boot and older than two hours are told as "while I was away". */
  readonly bootAtMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export function agentTurn(options: AgentTurnOptions): RunLaneOptions["agent"] {
  const { turns, sessions, clock } = options;

  return async (turn, held) => {
    const log = options.log.child(turnNames(turn));
    log.info({ attempt: turn.attempt }, "turn begins");
    const session = await sessions.open(turn.lane as SessionKey);
    const address = parseConversationKey(turn.conversation);
    const agent = parseSessionKey(turn.lane).agent;
    const [history, trouble, setup] = await Promise.all([
      sessionHistory(sessions, session, turn.epoch),
      troubleNotes(options.outbox, session, turn.conversation),
      options.setUp({
        agent,
        session,
        log,
        called: skillCallsIn(turn.rows),
        wanted: wantedBy(turn.rows),
        by: speakersOf(turn.rows),
        ...placeOf(turn),
      }),
    ]);
    const spending = options.ledger.forTurn(turn);
    const onLedger = { ...setup, model: spending.sideModel(setup.model) };
    const context = turnContext({
      sessions,
      session,
      epoch: turn.epoch,
      turn: turn.id,
      agent,
      address,
      history,
      setup: onLedger,
      held,
      clock,
      log,
    });
    const startup = await startupOf(turn, session, address, setup);
    const account = accountKey(address);
    const channel = options.channel(account);
    const running = options.running.begin(turn.id);
    const timeout = deadline(clock, setup.timeoutMs, "the turn");
    const signal = AbortSignal.any([held.signal, running.signal, timeout.signal]);
    const media = turnMedia({ account, channel, readMedia: options.readMedia, signal });
    const cap = queueSettingsOf(session, options.queue).cap;
    const opening = openingRows(turn);
    const messages = turnMessages({
      turn: turn.id,
      opening,
      context: openingContext(turn),
      address,
      bootAtMs: options.bootAtMs,
      notes: [...trouble.notes, ...(setup.notes ?? [])],
      ...(startup.text === null ? {} : { startup: startup.text }),
      cap,
      read: media.read,
      ...(setup.skillBodies === undefined ? {} : { skillBodies: setup.skillBodies }),
    });
    const journal = turnJournal({
      turns: {
        ...turns,
        absorb: (...args) => untilStored(held, clock, () => turns.absorb(...args)),
        checkpoint: (...args) => untilStored(held, clock, () => turns.checkpoint(...args)),
      },
      lease: turn,
      turn,
      steer: queueSettingsOf(session, options.queue).mode === "steer" && setup.alone !== true,
      entryOf: messages.entryOf,
      prepare: media.prepare,
      cellsFor: (steps) => approvals?.cellsFor(steps) ?? [],
    });
    const stopTyping = keepTyping(channel, address, clock, log);
    const progress = options.showProgress(turn.conversation);
    progress.begin();
    const { reasoning = "off" } = setup;
    const streams = options.streams(account);
    // Pieces that went out would stand before the thoughts of which they came.
    const preview = previewOf(streams === "block" && reasoning === "on" ? "off" : streams, channel, {
      turn: turn.id,
      conversation: turn.conversation,
      address,
      journal,
      log,
      signal,
    });
    let thoughts: string | null = null;
    const show = (text: string, replyTo?: string): void => {
      progress.text(turn.id, thoughts !== null && reasoning === "on" ? `${thoughts}\n\n${text}` : text);
      // With thoughts to keep the growing message is theirs; the answer comes after it.
      if (thoughts === null || reasoning !== "on") preview.show(text, replyTo);
    };
    const showThoughts = (visible: string): void => {
      thoughts = growingThoughts(visible);
      if (thoughts === null) return;
      progress.text(turn.id, thoughts);
      if (streams !== "block") preview.show(thoughts);
    };
    const scope = { session: turn.lane as SessionKey, agent, turn: turn.id, workspace: setup.workspace, env: setup.env ?? {} };
    const approvals = turnApprovals({
      options: options.approvals,
      turn,
      session,
      agent,
      setup,
      scopeOf: (callId) => ({ ...scope, callId, signal }),
      waiting: held.renew,
      async closePreview() {
        await preview.close();
        return journal.previews.at(-1)?.delivery ?? null;
      },
      clock,
    });
    const asked = setup.refusal ? saysInstead(setup.model, `⚠️ ${setup.refusal}`) : setup.model;
    const stored = options.approvals === undefined ? asked : withStoredCalls(asked, turn.id, journal.rows, options.approvals.desk.book);
    const model = asWanted(stored, () => ({
      thinking: setup.thinkingFor?.(wantedBy(journal.rows())) ?? setup.thinking,
      showThoughts: reasoning !== "off",
    }));
    const isOwed = address.kind === "dm" || (setup.tellsEmptyInGroups === true && opening.some(isAddressed));
    const parserOf = (finalOnly: boolean): ReplyParser =>
      newParser(
        journal.rows().filter((row) => !isWake(row, turn.id)),
        messages,
        options.redaction,
        finalOnly,
      );
    const parser = (): ReplyParser => parserOf(setup.finalOnly === true);
    /** Of a whole answer. A model that forgot the tags it was told to use has answered all the same. */
    const parserFor = (text: string): ReplyParser => parserOf(setup.finalOnly === true && /<final\b/i.test(text));
    const promptNote = setup.promptNote?.(turn.id);
    try {
      await media.prepare(opening.slice(-cap));
      await media.prepare(turn.rows.filter((row) => !opening.includes(row)));
      const end = await listen(
        runLoop(
          {
            system: setup.system,
            history: history.map(({ entry }) => entry),
            incoming: messages.opening,
            thinking: setup.thinking,
            cacheKey: turn.lane,
            finalPass: isOwed,
            saysNothing: (text) => saysNothing(parserFor(text), text),
          },
          {
            model,
            tools: setup.tools,
            scope,
            journal,
            ledger: spending,
            context,
            spill: (callId, text) => setup.spill(resultName(turn.id, callId), text),
            resultBytes: (setup.context ?? defaultContext).toolResultMaxBytes,
            gate: async (call, tool) => {
              await held.cover(setup.timeoutMs);
              return (await approvals?.gate(call, tool)) ?? { kind: "go" };
            },
            signal,
            clock,
            log,
          },
        ),
        show,
        parser,
        reasoning === "off" ? null : { parser: () => replyParser({ redaction: options.redaction }), show: showThoughts },
      );
      const previewed = await preview.close();
      return await finish(
        {
          turn,
          previewed,
          held,
          session,
          address,
          journal,
          isOwed,
          parser: parserFor(end.finalText),
          showsThoughts: reasoning === "on",
          promptNote,
          spending,
          parkedUntilMs: () => approvals?.parkedUntilMs() ?? clock.now(),
          model: setup.model,
          patch: { ...startup.patch, ...trouble.patch, ...promptNote?.patch, ...context.patch(end.entries) },
          timedOut: timeout.signal.aborted,
          log,
        },
        end,
      );
    } finally {
      running.end();
      spending.close();
      timeout.cancel();
      stopTyping();
      await preview.close();
      progress.end();
    }
  };

  /** Recent notes for the first message after a bare /new. Read again when the turn is resumed: only what is committed counts as told. */
  async function startupOf(
    turn: Turn,
    session: Session,
    address: Address,
    setup: TurnSetup,
  ): Promise<{ readonly text: string | null; readonly patch: { readonly [field: string]: Json } }> {
    if (session.fields[startupField] !== turn.epoch || address.kind !== "dm") return { text: null, patch: {} };
    return { text: (await setup.startupNotes?.()) ?? null, patch: { [startupField]: null } };
  }

  interface Finish {
    readonly turn: Turn;
    readonly previewed: Previewed;
    readonly held: Held;
    readonly session: Session;
    readonly address: Address;
    readonly journal: TurnJournal;
    readonly isOwed: boolean;
    readonly parser: ReplyParser;
    readonly showsThoughts: boolean;
    readonly promptNote: PromptNote | undefined;
    readonly spending: TurnLedger;
    readonly parkedUntilMs: () => number;
    readonly model: Model;
    readonly patch: { readonly [field: string]: Json };
    readonly timedOut: boolean;
    readonly log: Log;
  }

  async function finish(at: Finish, end: LoopEnd): Promise<WorkEnd> {
    const { turn, held, journal, log } = at;
    if (end.stop === "parked") {
      await turns.park(turn, { tickets: end.tickets ?? [], wake: "any", untilMs: at.parkedUntilMs() });
      log.info({ tickets: end.tickets ?? [] }, "turn parked");
      return { settled: true };
    }
    if (end.stop === "aborted" && !at.timedOut) {
      // Drained, stopped or lost: the next holder goes on from the journal.
      const reason: unknown = held.signal.reason;
      throw isFault(reason) ? reason : new Fault("conflict", "the turn was told to stop");
    }
    const outcome = turnOutcome({
      end,
      timedOut: at.timedOut,
      replyOwed: at.isOwed,
      parser: at.parser,
    });
    const thoughts = at.showsThoughts ? thoughtsOf(end.entries, at.parser.thinking(), options.redaction) : null;
    const what = turnCommit({
      ...at,
      end,
      outcome,
      thoughts,
      cells: [...(at.promptNote?.cells ?? []), ...(await at.spending.note(end, at.model))],
    });
    await untilStored(held, clock, () => turns.commit(turn, turn.id, what));
    at.promptNote?.committed();
    at.spending.committed();
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

  function previewOf(how: "edit" | "block" | "off", channel: Channel | null, at: Parameters<typeof blocks>[0]): Preview {
    if (channel === null || how === "off") return noPreview;
    if (how === "block") return blocks(at);
    const canEdit = channel.capabilities.edits && channel.act !== undefined;
    return canEdit ? editedPreview({ ...at, channel, outbox: options.outbox, clock }) : noPreview;
  }
}
