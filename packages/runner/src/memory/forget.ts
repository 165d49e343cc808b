// Forgets something for good: lines of the notes, their index and vectors, and what is stored of
// conversations. That something was forgotten is recorded, with its time and its extent and without a word
// of it.
import { Fault, type Clock, type Log, type SessionKey } from "@parley/protocol";
import type { Config } from "@parley/config";
import type { Store } from "@parley/store";
import { agentIn } from "../prepare-turn.ts";
import { noteHistory } from "./note-history.ts";
import { memoryTarget, tellForgotten, type MemoryParts } from "./recall.ts";

interface ForgetPlan {
  readonly lines: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  /** Stored texts that were rewritten; null before it is confirmed, and where none can be. */
  readonly history: number | null;
  /** What it does not reach, in words for a person. */
  readonly notes: readonly string[];
}

export interface MemoryForgetting {
  /** Without `confirm` it only shows. Throws Fault. */
  forget(agent: string, query: string, confirm: boolean): Promise<ForgetPlan>;
  /** Shows, and keeps the question for ten minutes, so that nobody says the words again to confirm it. */
  ask(session: SessionKey, agent: string, query: string): Promise<ForgetPlan>;
  /** Null when nothing was asked in this session. */
  confirm(session: SessionKey, agent: string): Promise<ForgetPlan | null>;
}

export interface ForgettingOptions {
  /** Absent where no notes are searched. */
  readonly machine: { readonly home: string; readonly memory?: MemoryParts } | undefined;
  readonly config: Config;
  readonly store: Pick<Store, "redact" | "cells">;
  readonly clock: Clock;
  readonly log: Log;
}

const recordPrefix = "memory-forgotten:";
const askedPrefix = "memory-forget-question:";
const askedMs = 600_000;

export function memoryForgetting(options: ForgettingOptions): MemoryForgetting {
  const { machine, config, store, clock, log } = options;
  const { cells } = store;
  const self: MemoryForgetting = {
    async ask(session, agent, query) {
      const plan = await self.forget(agent, query, false);
      await cells.put(`${askedPrefix}${session}`, JSON.stringify({ query }), { ttlMs: askedMs });
      return plan;
    },
    async confirm(session, agent) {
      const asked = await cells.get(`${askedPrefix}${session}`);
      if (asked === null) return null;
      const { query } = JSON.parse(asked.value) as { readonly query: string };
      const plan = await self.forget(agent, query, true);
      await cells.remove(`${askedPrefix}${session}`);
      return plan;
    },
    async forget(agent, query, confirm) {
      const memory = machine?.memory;
      if (machine === undefined || memory === undefined)
        throw new Fault("unsupported", "there is no memory here");
      const what = memory.forgetting(query);
      const target = memoryTarget(machine.home, agentIn(config)(agent));
      const rewrite = store.redact;
      const nowMs = clock.now();
      if (confirm && what !== null) await noteHistory({ cells, clock }).forget(agent, what);
      // The store first: what is indexed of sessions is read from it anew.
      const history =
        !confirm || what === null || rewrite === undefined
          ? null
          : await rewrite((stored) => what.json(stored));
      const { lines, problems } = await memory.engine.forget(target, {
        query,
        write: confirm,
        nowMs,
      });
      if (confirm) await tellForgotten(cells, agent, nowMs);
      const notes = [
        ...problems.map(({ path, reason }) => `${path} was not looked through: ${reason}`),
        ...(rewrite === undefined
          ? [
              "what is stored of conversations stays: this store cannot rewrite it (`parley sessions forget` can)",
            ]
          : []),
        "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models",
      ];
      if (!confirm || what === null) return { lines, history: null, notes };
      const record = { agent, atMs: nowMs, lines: lines.length, history };
      // Two of one millisecond are two records.
      for (let at = nowMs, kept = null; kept === null; at += 1)
        kept = await cells.put(`${recordPrefix}${at}`, JSON.stringify(record), { expect: 0 });
      log.info(record, "something was forgotten for somebody who asked for it");
      return { lines, history, notes };
    },
  };
  return self;
}
