// A turn of talk: rows become user entries, the agent loop runs over the durable journal, its outcome becomes one commit (I2, I3, I6).
import { replyParser, runLoop, type Redaction, type ReplyParser } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Streaming } from "@parley/config";
import {
  accountKey,
  parseConversationKey,
  parseSessionKey,
  type Clock,
  type Log,
  type SessionKey,
  deadline,
} from "@parley/protocol";
import type { Outbox, Sessions, Turns } from "@parley/store";
import { withStoredCalls } from "./approvals/stored-calls.ts";
import { turnApprovals, type TurnApprovalsOptions } from "./approvals/turn-approvals.ts";
import { queueSettingsOf, type QueueSettings } from "./queue-settings.ts";
import { isProgram } from "@parley/access";
import { untilStored, turnNames } from "@parley/queue";
import { turnContext } from "./context.ts";
import { defaultContext } from "./context-settings.ts";
import { commitTurn } from "./finish-turn.ts";
import { liveAnswer } from "./streaming/live-answer.ts";
import { historyReader } from "./history.ts";
import {
  listen,
  newParser,
  readAnswer,
  saysNothing,
  visibleOf,
  type ReadAnswer,
} from "./streaming/listen.ts";
import { resultName } from "./tools/result-files.ts";
import { turnMedia } from "./media/attachments.ts";
import type { MediaFolder } from "./media/media-store.ts";
import type { ReadMedia } from "./media/read-attachment.ts";
import type { Overflow } from "./overflow.ts";
import type { ShowProgress } from "./streaming/progress.ts";
import type { RunLaneOptions } from "./run-session.ts";
import type { RunningTurns } from "./running-turns.ts";
import { startupFor } from "./memory/startup-memory.ts";
import { openingContext, openingRows, turnJournal } from "./turn-journal.ts";
import type { SpendLimits } from "./usage/spend-limits.ts";
import { asWanted, saysInstead } from "./models/thinking.ts";
import { troubleNotes } from "./turn-notes.ts";
import { keepTyping } from "./streaming/typing.ts";
import { skillCallsIn } from "./skills/skill-call.ts";
import { turnMessages } from "./user-messages.ts";
import { isAddressed, isAsked, isCommand, isWake, placeOf, speakersOf, wantedBy } from "./turn-rows.ts";
import type { PrepareTurn } from "./turn-scope.ts";

export interface RunTurnOptions {
  readonly turns: Turns;
  readonly sessions: Sessions;
  readonly prepareTurn: PrepareTurn;
  readonly channel: (account: string) => Channel | null;
  /** How answers grow on this account. */
  readonly streams: (account: string) => Streaming;
  /** Whether answers of this account quote what they answer. */
  readonly quotes: (account: string) => boolean;
  readonly readMedia: ReadMedia;
  readonly outbox: Outbox;
  /** Longest answer in messages. */
  readonly answerMaxChars: number;
  /** Where a longer one becomes a file; absent: it is cut. */
  readonly folder: MediaFolder | undefined;
  /** What is told of messages that were not read whole. */
  readonly overflow: Overflow;
  /** What no answer may show: secrets, and paths of the state folder outside the workspaces (I8). */
  readonly redaction: Redaction;
  readonly running: RunningTurns;
  readonly ledger: SpendLimits;
  /** Absent: nobody is asked about anything. */
  readonly approvals?: TurnApprovalsOptions;
  readonly showProgress: ShowProgress;
  readonly queue: QueueSettings;
  /** Rows accepted before this boot and older than two hours are told as "while I was away". */
  readonly bootAtMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

export function runTurn(options: RunTurnOptions): RunLaneOptions["agent"] {
  const { turns, sessions, clock } = options;
  const historyOf = historyReader(sessions);

  return async (turn, held) => {
    const log = options.log.child(turnNames(turn));
    log.info({ attempt: turn.attempt }, "turn begins");
    const session = await sessions.open(turn.lane as SessionKey);
    const address = parseConversationKey(turn.conversation);
    const agent = parseSessionKey(turn.lane).agent;
    const [history, trouble, dropped, setup] = await Promise.all([
      historyOf(session, turn.epoch),
      troubleNotes(options.outbox, session, turn.conversation),
      options.overflow.notes(turn.conversation),
      options.prepareTurn({
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
    const startup = await startupFor(turn, session, address, setup.startupNotes);
    const account = accountKey(address);
    const channel = options.channel(account);
    const running = options.running.begin(turn.id);
    const timeout = deadline(clock, setup.timeoutMs, "the turn");
    const signal = AbortSignal.any([held.signal, running.signal, timeout.signal]);
    const media = turnMedia({ account, channel, readMedia: options.readMedia, clock, signal });
    const cap = queueSettingsOf(session, options.queue).cap;
    const opening = openingRows(turn);
    const messages = turnMessages({
      turn: turn.id,
      opening,
      context: openingContext(turn),
      address,
      bootAtMs: options.bootAtMs,
      notes: [...trouble.notes, ...dropped, ...(setup.notes ?? [])],
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
    const stopTyping = keepTyping(channel, address, held, clock, log);
    const progress = options.showProgress(turn.conversation);
    progress.begin();
    const { reasoning = "off" } = setup;
    const answer = liveAnswer({
      how: options.streams(account),
      maxChars: options.answerMaxChars,
      reasoning,
      channel,
      progress,
      outbox: options.outbox,
      turn: turn.id,
      conversation: turn.conversation,
      address,
      journal,
      held,
      clock,
      log,
      signal,
    });
    const scope = {
      session: turn.lane as SessionKey,
      agent,
      turn: turn.id,
      workspace: setup.workspace,
      env: setup.env ?? {},
    };
    const approvals = turnApprovals({
      options: options.approvals,
      turn,
      session,
      agent,
      setup,
      scopeOf: (callId) => ({ ...scope, callId, signal }),
      waiting: held.renew,
      async closePreview() {
        await answer.close();
        return journal.previews.at(-1)?.delivery ?? null;
      },
      clock,
    });
    const asked = setup.refusal ? saysInstead(setup.model, `⚠️ ${setup.refusal}`) : setup.model;
    const stored =
      options.approvals === undefined
        ? asked
        : withStoredCalls(asked, turn.id, journal.rows, options.approvals.desk.book);
    const model = asWanted(stored, () => ({
      thinking: setup.thinkingFor?.(wantedBy(journal.rows())) ?? setup.thinking,
      showThoughts: reasoning !== "off",
    }));
    const isOwed = address.kind === "dm" || (setup.tellsEmptyInGroups === true && opening.some(isAddressed));
    /** Whoever waits in private, or called us in a group that wants answers, is not met with silence. */
    const refusesSilence = (): boolean =>
      (address.kind === "dm" || setup.tellsEmptyInGroups === true) && journal.rows().some(isAsked);
    const parserOf = (finalOnly: boolean): ReplyParser =>
      newParser(
        journal.rows().filter((row) => !isWake(row, turn.id)),
        messages,
        { redaction: options.redaction, finalOnly, quotesCurrent: options.quotes(account) },
      );
    const parser = (): ReplyParser => parserOf(setup.finalOnly?.() === true);
    /** Of a whole answer. A model that forgot the tags it was told to use has answered all the same. */
    const parserFor = (text: string): ReplyParser =>
      parserOf(setup.finalOnly?.() === true && /<final\b/i.test(text));
    let heard: { readonly text: string; readonly answer: ReadAnswer } | null = null;
    const read = (text: string): ReadAnswer =>
      heard?.text === text ? heard.answer : readAnswer(parserFor(text), text);
    try {
      await options.overflow.tell(
        turn,
        address,
        opening,
        messages.shortened,
        address.kind === "dm" || opening.some(isAddressed),
      );
      await media.prepare([...opening.slice(-cap), ...turn.rows.filter((row) => !opening.includes(row))]);
      const end = await listen(
        runLoop(
          {
            system: setup.system,
            history: history.map(({ entry }) => entry),
            incoming: messages.opening,
            thinking: setup.thinking,
            cacheKey: turn.lane,
            finalPass: isOwed,
            saysNothing: (text) => saysNothing(read(text), refusesSilence()),
          },
          {
            model,
            tools: setup.tools,
            scope,
            journal,
            ledger: spending,
            context,
            secrets: options.redaction.secrets,
            spill: (callId, text) => setup.spill(resultName(turn.id, callId), text),
            resultBytes: (setup.context ?? defaultContext).toolResultMaxBytes,
            gate: async (call, tool) => {
              const refusal = setup.refuses?.(tool.name) ?? null;
              if (refusal !== null) return { kind: "refuse", reason: refusal };
              await held.cover(setup.timeoutMs);
              return (await approvals?.gate(call, tool)) ?? { kind: "go" };
            },
            signal,
            clock,
            log,
          },
        ),
        {
          show: answer.show,
          parser,
          thoughts:
            reasoning === "off"
              ? null
              : { parser: () => replyParser({ redaction: options.redaction }), show: answer.showThoughts },
          heard(text, said) {
            // A model that forgot the tags it was told to use is read anew, as one that was not told.
            heard =
              setup.finalOnly?.() === true && said.outcome.kind === "silent" ? null : { text, answer: said };
          },
        },
      );
      const previewed = await answer.close();
      const last = end.entries.at(-1);
      if (end.stop === "aborted" && last?.type === "assistant" && last.stop === "aborted") {
        options.running.leave(turn.id, visibleOf(parser(), last));
      }
      const promptNote = setup.promptNote?.(turn.id);
      return await commitTurn(
        options,
        {
          turn,
          previewed,
          waits: previewed.said === "" && channel?.settle !== undefined && journal.rows().some(isCommand),
          held,
          session,
          address,
          journal,
          isOwed,
          refusesSilence: refusesSilence(),
          answer: read(end.finalText),
          limit: {
            maxChars: isProgram(address) ? Infinity : options.answerMaxChars,
            session: turn.lane,
            capabilities: channel?.capabilities ?? null,
            folder: options.folder,
            log,
          },
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
      await answer.close();
      progress.end();
    }
  };
}
