// Gives a turn its context keeper: the settings from the config, the session's log, and the ports through which a compaction asks the
// turn's model, reads AGENTS.md and lets the agent save notes. What the keeper decided is handed to the next turn as session fields.
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  openContextWindow,
  disarm,
  pinnedSectionsOf,
  rootedReader,
  summarise,
  tokensOfText,
  type ContextWindow,
  type Placed,
} from "@parley/agent";
import type { Model, ModelRequest } from "@parley/models";
import {
  noUsage,
  parseSessionKey,
  type Address,
  type Clock,
  type Entry,
  type Json,
  type Log,
  type SessionKey,
  deadline,
} from "@parley/protocol";
import type { LeaseHandle } from "@parley/queue";
import type { Session, Sessions } from "@parley/store";
import type { Tool } from "@parley/tools";
import { defaultContext, type ContextSettings } from "./context-settings.ts";
import { standsFromField } from "./history.ts";
import { memoryFlush } from "./memory/memory-flush.ts";
import { notesPlace, type NotesPlace } from "./memory/notes-place.ts";

export interface TurnContextInput {
  readonly sessions: Sessions;
  readonly session: Session;
  readonly epoch: number;
  readonly turn: string;
  readonly agent: string;
  readonly address: Address;
  readonly history: readonly Placed[];
  readonly setup: {
    readonly model: Model;
    readonly system: ModelRequest["system"];
    readonly tools: readonly Tool[];
    readonly workspace: string;
    readonly timeoutMs: number;
    readonly context?: ContextSettings;
    readonly keepsNotes?: boolean;
    readonly notesPlace?: NotesPlace;
  };
  readonly held: Pick<LeaseHandle, "renew">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface TurnContext extends ContextWindow {
  /** Session fields to write when the turn commits with these new entries. */
  patch(added: readonly Entry[]): { readonly [field: string]: Json };
}

/** A summary that takes longer is done without: a person waits. */
const summaryTimeoutMs = 180_000;
const prunedField = "prunedThroughSeq";
const compactionsField = "compactions";

export function turnContext(input: TurnContextInput): TurnContext {
  const { session, history, setup, clock, log } = input;
  const { model } = setup;
  const settings = setup.context ?? defaultContext;
  const timeoutMs = Math.min(summaryTimeoutMs, setup.timeoutMs / 3);
  const schemas = setup.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  // Of what people say in private; not of groups, schedules and subagents.
  const isPrivate = input.address.kind === "dm" && ["main", "dm"].includes(parseSessionKey(session.key).kind);
  const flushes = settings.compaction.memoryFlush.enabled && isPrivate && setup.keepsNotes !== false;
  const notes = setup.notesPlace ?? notesPlace(setup.workspace, session.key as SessionKey, nobody, undefined);

  const keeper = openContextWindow({
    history,
    lastSeq: session.lastSeq,
    windowTokens: model.contextWindow,
    maxTokens: model.maxTokens,
    overheadTokens: tokensOfText(setup.system.stable + setup.system.volatile + JSON.stringify(schemas)),
    pruning: settings.pruning,
    compaction: settings.compaction,
    prunedThroughSeq: numberIn(session, prunedField),
    async summarise(request, signal) {
      const timeout = deadline(clock, timeoutMs, "a summary");
      const mark = createHash("sha256").update(`${input.turn} ${clock.now()}`).digest("hex").slice(0, 12);
      const ports = { model, signal: AbortSignal.any([signal, timeout.signal]), clock };
      return summarise({ ...request, cacheKey: `${session.key}#summary`, mark }, ports).finally(() =>
        timeout.cancel(),
      );
    },
    async pinnedSections() {
      const file = await rootedReader().read(setup.workspace, "AGENTS.md");
      const originOf = await notes.originOf();
      // Instructions that no owner confirmed are not repeated.
      if (file.state !== "present" || originOf(join(setup.workspace, "AGENTS.md"), file.sha256) !== null)
        return "";
      return disarm(
        pinnedSectionsOf(
          file.text,
          settings.compaction.postCompactionSections,
          settings.postCompactionMaxChars,
        ),
      );
    },
    flush: flushes
      ? memoryFlush({ ...input, workspace: setup.workspace, notes, timeZone: settings.timeZone, model })
      : async () => noUsage,
    clock,
    log,
  });

  return {
    ...keeper,
    patch(added) {
      const summaries = added.filter((entry) => entry.type === "summary");
      const last = summaries.at(-1);
      const pruned = keeper.prunedThroughSeq();
      return {
        ...(pruned === numberIn(session, prunedField) ? {} : { [prunedField]: pruned }),
        ...(last === undefined
          ? {}
          : {
              [standsFromField]: last.throughSeq,
              [compactionsField]: numberIn(session, compactionsField) + summaries.length,
            }),
      };
    },
  };
}

const nobody = { owner: false, senders: [] };

function numberIn({ fields }: Session, field: string): number {
  const value = fields[field];
  return typeof value === "number" ? value : 0;
}
