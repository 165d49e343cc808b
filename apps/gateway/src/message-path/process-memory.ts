// What is known in memory only and outlives a change of the config: the core of the next config is given it. Nothing in here is needed to be
// right after a crash; all of it may be lost.
import { cooldowns, type Cooldowns } from "@parley/models";
import type { Clock } from "@parley/protocol";
import { botLoops, type BotLoops } from "@parley/access";
import type { RateLimit } from "@parley/delivery";
import { runningTurns, type RunningTurns, quarantineMemory, type QuarantineMemory } from "@parley/runner";

export interface ProcessMemory {
  readonly running: RunningTurns;
  readonly cooldowns: Cooldowns;
  readonly quarantine: QuarantineMemory;
  readonly botLoops: BotLoops;
  /** See `SetUp.stableMoves`. */
  readonly stableMoves: Map<string, number>;
  /** By account; what a platform counted does not begin anew. */
  readonly pacers: Map<string, RateLimit>;
  readonly bootAtMs: number;
}

export function processMemory(clock: Clock): ProcessMemory {
  return {
    running: runningTurns(),
    cooldowns: cooldowns(clock),
    quarantine: quarantineMemory(),
    botLoops: botLoops(clock),
    stableMoves: new Map(),
    pacers: new Map(),
    bootAtMs: clock.now(),
  };
}
