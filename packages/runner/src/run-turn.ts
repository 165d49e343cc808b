// Runs one turn of talk, from its leased rows to its commit: opens the scope, prepares, journals, shows the
// answer as it grows, asks the gate before each call, loops, and commits (I2, I3, I6). Nothing here retries:
// a fault gives the turn back to the lane runner, and the next holder resumes from the journal.
// Next: packages/runner/src/prepare-turn.ts.
import { isProgram } from "@parley/access";
import { runLoop } from "@parley/agent";
import type { Model } from "@parley/models";
import { deadline, type SessionKey } from "@parley/protocol";
import { untilStored, type LeaseHandle } from "@parley/queue";
import type { Turn, Turns } from "@parley/store";
import { turnGate } from "./approvals/approval-gate.ts";
import { withStoredCalls } from "./approvals/stored-calls.ts";
import { commitTurn } from "./commit-turn.ts";
import { turnContext } from "./context/context.ts";
import { historyReader, type ReadHistory } from "./transcript/history.ts";
import { turnMedia } from "./media/attachments.ts";
import { wholeAlbum } from "./media/whole-album.ts";
import { startupFor } from "./memory/startup-memory.ts";
import { asWanted, saysInstead } from "./models/thinking.ts";
import { overflow, type Overflow } from "./queue/overflow.ts";
import { tellPreprocessed } from "./hooks/message-events.ts";
import { isUnasked, ownRun, runLimits } from "./schedules/slot-row.ts";
import { runTimeoutMs } from "./sessions/asked-rows.ts";
import { pushedRows, somebodyWrote } from "./queue/pushed-rows.ts";
import { queueSettingsOf } from "./queue/queue-settings.ts";
import { skillCallsIn } from "./skills/skill-call.ts";
import { listen } from "./streaming/listen.ts";
import { liveAnswer } from "./streaming/live-answer.ts";
import { answerReader, saysNothing, visibleOf } from "./streaming/read-answer.ts";
import { makingWay } from "./streaming/make-way.ts";
import { noProgress } from "./streaming/progress.ts";
import { ackReaction } from "./streaming/ack-reaction.ts";
import { tellingCalls, verboseOf } from "./streaming/told-calls.ts";
import { keepTyping } from "./streaming/typing.ts";
import { loadedNow } from "./tools/loaded-tools.ts";
import { resultName } from "./result-files.ts";
import { turnJournal, type TurnJournal } from "./turn-journal.ts";
import { steppingAside, tellsEnds } from "./step-aside.ts";
import { troubleNotes } from "./turn-notes.ts";
import type { PreparedTurn } from "./prepared-turn.ts";
import { isAddressed, wantedBy, wholeRows } from "./turn-rows.ts";
import {
  isOwed,
  openTurn,
  refusesSilence,
  toolScope,
  type OpenTurn,
  type Services,
  type TurnScope,
  type TurnWork,
} from "./turn-scope.ts";
import { turnMessages } from "./transcript/user-messages.ts";

/** Caches that one process keeps from turn to turn. */
interface Readers {
  readonly historyOf: ReadHistory;
  readonly flood: Overflow;
}

export function runTurn(services: Services): TurnWork {
  const readers = { historyOf: historyReader(services.sessions), flood: overflow(services) };
  return async (turn, lease) => {
    const opened = await openTurn(services, await wholeAlbum(services, turn, lease), lease);
    if (tellsEnds(opened)) await lease.makeWay(lease.signal);
    const ready = await prepare(services, readers, opened);
    return talk(services, readers, opened, ready);
  };
}

/** Gathers what the turn runs with and the notes that go beside its messages. */
async function prepare(services: Services, { historyOf, flood }: Readers, opened: OpenTurn) {
  const { turn, session, agent, place, speakers, address, log } = opened;
  const [history, trouble, dropped, prepared] = await Promise.all([
    // Each run of a job with a session of its own begins without the history of earlier runs.
    ownRun(opened.opening) === null ? historyOf(session, turn.epoch) : [],
    troubleNotes(services, opened),
    flood.notes(turn.conversation),
    services.prepareTurn({
      agent,
      session,
      log,
      called: skillCallsIn(turn.rows),
      wanted: wantedBy(turn.rows),
      by: speakers,
      unseen: opened.unseen,
      ...runLimits(turn.rows),
      ...place,
    }),
  ]);
  const spending = services.ledger.forTurn(turn);
  const context = turnContext(services, { ...opened, history, prepared, spending });
  const startup = await startupFor(turn, session, address, prepared.startupNotes);
  return {
    history,
    prepared,
    spending,
    context,
    startup: startup.told,
    notes: [...trouble.notes, ...dropped, ...prepared.notes],
    patch: { ...startup.patch, ...trouble.patch },
  };
}

async function talk(
  services: Services,
  { flood }: Readers,
  opened: OpenTurn,
  { context, startup, notes, patch, ...known }: Awaited<ReturnType<typeof prepare>>,
): ReturnType<TurnWork> {
  const { clock, redaction } = services;
  const { turn, lease, session, address, opening, log } = opened;
  const { prepared, history, spending } = known;

  // The scope: a signal that /stop or the deadline aborts.
  const running = services.running.begin(turn.id);
  const timeout = deadline(clock, Math.min(prepared.timeoutMs, runTimeoutMs(turn.rows)), "the turn");
  const queue = queueSettingsOf(session, services.config.messages.queue);
  const scope: TurnScope = {
    ...opened,
    ...known,
    // Nobody watches a turn that a schedule or a hook began: its answer comes whole, once.
    channel: opened.unseen || isUnasked(opening) ? null : services.channel(opened.account),
    queue,
    signal: AbortSignal.any([lease.signal, running.signal, timeout.signal]),
    timedOut: () => timeout.signal.aborted,
  };

  // The model's input, and the journal of its steps.
  const media = turnMedia(services, scope);
  const { cap } = queue;
  const { skillBodies } = prepared;
  const messages = turnMessages(services, turn, { cap, notes, startup, read: media.read, skillBodies });
  const journal = turnJournal(whileHeld(services, lease), turn, {
    steer: queue.mode === "steer" && !prepared.alone,
    pushed: async () => (prepared.alone ? 0 : pushedRows(services.inbox, turn)),
    entryOf: messages.entryOf,
    prepare: media.prepare,
  });

  // Shows people the turn's progress.
  const ack = ackReaction(services, turn, lease);
  ack.show();
  // Nobody waits for a turn that a schedule or a hook began: people see its answer, and no typing before it.
  const isWatched = !opened.unseen && !isUnasked(opening);
  const stopTyping = keepTyping(isWatched ? scope.channel : null, address, lease, clock, log);
  const progress = isWatched ? services.showProgress(turn.conversation) : noProgress;
  progress.begin();
  const answer = liveAnswer(services, scope, journal, progress);
  const reader = answerReader(services, scope, journal);

  const verbose = isWatched && !isProgram(address) ? verboseOf(opened.session) : "off";
  const gate = turnGate(services, scope, async () => {
    await answer.close();
    return journal.previews.at(-1)?.delivery ?? null;
  });

  try {
    const isAwaited = address.kind === "dm" || opening.some(isAddressed);
    await flood.tell(turn, address, opening, messages.shortened, isAwaited);
    await media.prepare([...wholeRows(opening, cap), ...turn.rows.filter((row) => !opening.includes(row))]);
    tellPreprocessed(services.hookPort, turn, opening, media.read);
    const events = runLoop(
      {
        system: prepared.system,
        history: history.map(({ entry }) => entry),
        incoming: messages.opening,
        thinking: prepared.thinking,
        cacheKey: turn.lane,
        finalPass: isOwed(scope),
        saysNothing: (text) =>
          journal.saidHere().length > 0
            ? null
            : saysNothing(reader.read(text), refusesSilence(scope, journal.rows())),
      },
      {
        model: askedModel(services, turn, prepared, journal),
        tools: prepared.tools,
        loaded: () => loadedNow(services, session.key as SessionKey),
        scope: toolScope(turn, prepared),
        journal: tellingCalls(
          steppingAside(makingWay(journal, turn, answer), scope),
          turn,
          verbose,
          redaction,
        ),
        ledger: spending,
        context,
        // Asked for each result: a token may be given while the turn runs.
        get secrets() {
          return redaction.secrets;
        },
        spill: (callId, text) => prepared.spill(resultName(turn.id, callId), text),
        resultBytes: prepared.context.toolResultMaxBytes,
        gate,
        somebodyWrote: async () => somebodyWrote(services.inbox, turn),
        signal: scope.signal,
        clock,
        log,
      },
    );
    const end = await listen(events, reader, answer, (call) => progress.tool(turn.id, call));
    const previewed = await answer.close();
    const last = end.entries.at(-1);
    if (end.stop === "aborted" && last?.type === "assistant" && last.stop === "aborted")
      services.running.leave(turn.id, visibleOf(reader.parser(), last));
    const ended = await commitTurn(services, scope, {
      end,
      journal,
      previewed,
      answer: reader.read(end.finalText),
      patch: { ...patch, ...context.patch(end.entries) },
    });
    if (end.stop !== "parked") ack.remove();
    return ended;
  } finally {
    running.end();
    spending.close();
    timeout.cancel();
    stopTyping();
    await answer.close();
    progress.end();
  }
}

/** The journal's writes wait out a store outage, as long as the lease lasts. */
function whileHeld(
  { turns, clock }: Pick<Services, "turns" | "clock">,
  lease: LeaseHandle,
): Pick<Turns, "absorb" | "checkpoint"> {
  return {
    absorb: (...args) => untilStored(lease, clock, () => turns.absorb(...args)),
    checkpoint: (...args) => untilStored(lease, clock, () => turns.checkpoint(...args)),
  };
}

/**
 * The agent's model as the messages want it; calls whose approval came after their turn run before its first
 * words.
 */
function askedModel(
  { approvals }: Pick<Services, "approvals">,
  turn: Turn,
  prepared: PreparedTurn,
  journal: TurnJournal,
): Model {
  const { model, refusal, reasoning } = prepared;
  const asked = refusal === null ? model : saysInstead(model, `⚠️ ${refusal}`);
  const stored = withStoredCalls(asked, turn.id, journal.rows, approvals.book);
  return asWanted(stored, () => ({
    thinking: prepared.thinkingFor(wantedBy(journal.rows())),
    showThoughts: reasoning !== "off",
  }));
}
