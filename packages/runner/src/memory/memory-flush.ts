// Runs the silent turn before a compaction, in which the model may save what should outlast the conversation.
// The model sees only its own request, has one tool, and nothing it says reaches anyone. It runs once between
// two compactions, and only in private with a writable workspace; a mark is stored before the first note, so
// that a crash never repeats one.
import { flushRequest, flushSystem, hideSecrets, runLoop, type Journal } from "@parley/agent";
import type { Model } from "@parley/models";
import { noUsage, type Entry, type Usage, localDay } from "@parley/protocol";
import { noteHistory } from "./note-history.ts";
import { stampLines } from "./provenance.ts";
import { isWritable, memoryNote } from "./memory-note.ts";
import { speakersOf } from "../turn-rows.ts";
import { toolScope, type Services, type TurnScope } from "../turn-scope.ts";

const field = "memoryFlush";
const mostSteps = 4;

type FlushScope = Pick<TurnScope, "turn" | "lease" | "session" | "prepared" | "log">;

/**
 * Implements the context window's port. `cycle` is the seq through which the current summary goes, 0 before
 * the first.
 */
export function memoryFlush(
  { sessions, cells, redaction, clock }: Pick<Services, "sessions" | "cells" | "redaction" | "clock">,
  { turn, lease, session, prepared, log }: FlushScope,
  model: Model,
): (view: readonly Entry[], cycle: number, signal: AbortSignal) => Promise<Usage> {
  const { workspace, notesPlace: notes } = prepared;
  let told = session.fields[field];

  return async (view, cycle, signal) => {
    const mark = `${turn.epoch}:${cycle}`;
    if (told === mark || view.length === 0 || !(await isWritable(workspace))) return noUsage;
    // Note files carry no fencing token, so the lease is renewed right before the write (I3).
    const markDone = async (): Promise<void> => {
      if (told === mark) return;
      await lease.renew();
      await sessions.patch(session.key, { [field]: mark });
      told = mark;
    };
    const day = localDay(clock.now(), prepared.context.timeZone);
    const { senders } = speakersOf(turn.rows);
    const tool = memoryNote(workspace, notes, day, markDone, {
      isSecret: (text) => hideSecrets(text, redaction.secrets) !== text,
      changing: (path, before, after) =>
        noteHistory({ cells, clock }).record(
          toolScope(turn, { workspace, env: {} }).agent,
          { path, session: session.key, turn: turn.id, by: senders, tool: "memory flush" },
          before,
          after,
        ),
      stamp: (text) =>
        stampLines(cells, toolScope(turn, { workspace, env: {} }).agent, text, {
          session: session.key,
          turn: turn.id,
          by: senders,
          atMs: clock.now(),
          tool: "memory flush",
        }),
    });
    const incoming = [
      flushRequest({ file: `${notes.folder}/${day}.md`, tool: tool.name, atMs: clock.now() }),
    ];
    let usage = noUsage;
    for await (const event of runLoop(
      {
        system: { stable: flushSystem, volatile: "" },
        history: view,
        incoming,
        thinking: "off",
        cacheKey: `${session.key}#flush`,
        maxSteps: mostSteps,
      },
      {
        model,
        tools: [tool],
        scope: toolScope(turn, { workspace, env: {} }),
        journal: forgotten,
        somebodyWrote: async () => false,
        spill: async () => "",
        signal,
        clock,
        log,
      },
    )) {
      if (event.type !== "end") continue;
      usage = event.usage;
      if (event.error !== undefined)
        log.warn({ kind: event.error.kind }, "the memory flush failed; the compaction goes on without it");
    }
    if (!signal.aborted) await markDone();
    return usage;
  };
}

/** A flush is never resumed: after a crash it starts anew, unless it had begun to write. */
const forgotten: Journal = { steps: [], checkpoint: async () => {}, absorb: async () => [] };
