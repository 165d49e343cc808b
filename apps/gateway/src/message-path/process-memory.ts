// Keeps the state that lives in memory only and outlives a reload: each config's message path gets it from
// the one before. A crash may lose all of it, because nothing here is needed for correctness.
import { cooldowns, type Cooldowns } from "@parley/models";
import type { Clock } from "@parley/protocol";
import { botLoops, type BotLoops } from "@parley/access";
import type { RateLimit } from "@parley/delivery";
import { hookMemory, type HookMemory } from "../hooks/hook-runner.ts";
import { jobChanges, type JobChanges } from "../schedules/job-changes.ts";
import { slotCounts, type SlotCounts } from "../schedules/slot-counts.ts";
import { runningTurns, type RunningTurns, quarantineMemory, type QuarantineMemory } from "@parley/runner";

export interface ProcessMemory {
  readonly running: RunningTurns;
  readonly jobChanges: JobChanges;
  readonly cooldowns: Cooldowns;
  readonly quarantine: QuarantineMemory;
  readonly botLoops: BotLoops;
  /** Counts turns whose stable prompt changed, by the section that changed. */
  readonly stableMoves: Map<string, number>;
  /** Counts heartbeats by what became of them. */
  readonly heartbeats: Map<string, number>;
  /** Counts the slots of jobs by what became of them. */
  readonly slots: SlotCounts;
  /** Keyed by account; a reload must not reset what the platform counted. */
  readonly rateLimits: Map<string, RateLimit>;
  readonly hooks: HookMemory;
  readonly bootAtMs: number;
}

export function processMemory(clock: Clock): ProcessMemory {
  return {
    running: runningTurns(),
    jobChanges: jobChanges(),
    cooldowns: cooldowns(clock),
    quarantine: quarantineMemory(),
    botLoops: botLoops(clock),
    stableMoves: new Map(),
    heartbeats: new Map(),
    slots: slotCounts(),
    rateLimits: new Map(),
    hooks: hookMemory(),
    bootAtMs: clock.now(),
  };
}
