// A session's lane put together: closing a turn that was told to stop, a command that keeps its place, or a turn of talk. All three end turns
// of one store and know the same tools, so that what one began another can close.
import type { Config } from "@parley/config";
import type { Store } from "@parley/store";
import type { Approvals } from "./approvals/approvals.ts";
import { quotesOf, streamingOf } from "@parley/access";
import { injectCommand } from "./inject.ts";
import type { ToolHooks } from "./tools/tool-hooks.ts";
import type { EmergencyStop } from "./tools/emergency-stop.ts";
import { droppedLog } from "./dropped-messages.ts";
import { runTurn, type RunTurnOptions } from "./run-turn.ts";
import { closeStoppedTurn, type CloseStoppedTurnOptions } from "./close-stopped-turn.ts";
import { runCommand, type LaneCommand } from "./run-command.ts";
import { mediaReader, type MediaReaderOptions, type ReadMedia } from "./media/read-attachment.ts";
import { overflow } from "./overflow.ts";
import { runLane, type SessionRunner } from "./run-session.ts";
import type { Quarantine } from "./quarantine.ts";

export interface RunSessionOptions extends Pick<
  RunTurnOptions,
  | "prepareTurn"
  | "channel"
  | "redaction"
  | "running"
  | "ledger"
  | "showProgress"
  | "bootAtMs"
  | "clock"
  | "log"
> {
  readonly config: Config;
  readonly store: Pick<Store, "turns" | "cells" | "sessions" | "outbox">;
  readonly quarantine: Pick<Quarantine, "rule">;
  readonly tools: CloseStoppedTurnOptions["tools"];
  readonly approvals: Approvals;
  readonly hold: EmergencyStop;
  readonly toolHooks: ToolHooks | undefined;
  readonly commands: readonly LaneCommand[];
  /** Absent: files of messages are told in words. */
  readonly media: Pick<MediaReaderOptions, "folder" | "transcribe"> | undefined;
}

export function runSession(options: RunSessionOptions): SessionRunner {
  const { config, store, approvals, media, bootAtMs, ledger, clock, log } = options;
  const { turns, cells, sessions, outbox } = store;
  return runLane({
    turns,
    quarantine: options.quarantine,
    close: closeStoppedTurn({
      turns,
      outbox,
      running: options.running,
      tools: options.tools,
      bootAtMs,
      ledger,
      withdraw: async (turn) => void (await approvals.stop({ turn })),
      shows: (account) => options.channel(account)?.settle !== undefined,
      clock,
      log,
    }),
    command: runCommand({ turns, commands: [...options.commands, injectCommand(clock)], clock, log }),
    agent: runTurn({
      turns,
      sessions,
      prepareTurn: options.prepareTurn,
      channel: options.channel,
      outbox,
      overflow: overflow({ outbox, dropped: droppedLog(cells), log }),
      streams: (account) => streamingOf(config, account),
      answerMaxChars: config.messages.answerMaxChars,
      folder: media?.folder,
      quotes: (account) => quotesOf(config, account),
      readMedia: media === undefined ? describeOnly : mediaReader({ ...media, cells, clock, log }),
      redaction: options.redaction,
      running: options.running,
      ledger,
      approvals: {
        desk: approvals,
        hold: options.hold,
        hooks: options.toolHooks,
        timeoutMs: config.approvals.exec.timeoutMinutes * 60_000,
      },
      showProgress: options.showProgress,
      queue: config.messages.queue,
      bootAtMs,
      clock,
      log,
    }),
    clock,
    log,
  });
}

const describeOnly: ReadMedia = async () => ({ kind: "described" });
