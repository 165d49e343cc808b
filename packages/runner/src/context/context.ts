// Opens the context window of a turn with the config's settings, the session's log, and the ports through
// which a compaction calls the turn's model, reads AGENTS.md and lets the agent save notes. The window
// returns its decisions as session fields for the next turn.
import { createHash } from "node:crypto";
import { join } from "node:path";
import {
  openContextWindow,
  disarm,
  pinnedSectionsOf,
  rootedReader,
  schemaSize,
  summarise,
  tokensOfBytes,
  type ContextWindow,
} from "@parley/agent";
import type { ToolSchema } from "@parley/models";
import {
  conversationKey,
  noUsage,
  parseSessionKey,
  type Entry,
  type HookEvent,
  type Json,
  deadline,
} from "@parley/protocol";
import type { Session } from "@parley/store";
import { standsFromField } from "../transcript/history.ts";
import { internalOf } from "../internal-row.ts";
import { memoryFlush } from "../memory/memory-flush.ts";
import type { Services, TurnScope } from "../turn-scope.ts";

/** The part of a turn that the window needs; a command that compacts has no whole turn. */
export type ContextScope = Pick<
  TurnScope,
  "turn" | "lease" | "session" | "agent" | "address" | "history" | "prepared" | "spending" | "log"
>;

export interface TurnContext extends ContextWindow {
  /** Session fields to write when the turn commits with these new entries. */
  patch(added: readonly Entry[]): { readonly [field: string]: Json };
}

/** A compaction drops a summary that takes longer, because a person waits. */
const summaryTimeoutMs = 180_000;
const prunedField = "prunedThroughSeq";
const compactionsField = "compactions";

export function turnContext(
  services: Pick<Services, "sessions" | "cells" | "redaction" | "hookPort" | "clock">,
  scope: ContextScope,
): TurnContext {
  const { session, history, prepared, log } = scope;
  const { clock } = services;
  const { workspace, context: settings, notesPlace: notes } = prepared;
  // The calls of a compaction count against the turn's caps.
  const model = scope.spending.sideModel(prepared.model);
  const timeoutMs = Math.min(summaryTimeoutMs, prepared.timeoutMs / 3);
  const schemas = prepared.tools
    .filter(({ deferred }) => deferred !== true)
    .map(({ name, description, parameters }) => ({ name, description, parameters }));
  // Only private conversations are flushed; groups, schedules and subagents are not.
  const isPrivate = scope.address.kind === "dm" && ["main", "dm"].includes(parseSessionKey(session.key).kind);
  const flushes = settings.compaction.memoryFlush.enabled && isPrivate && prepared.keepsNotes;

  /** The id is made from the turn and what it stands on: a turn that begins again tells nothing more. */
  async function tellHooks(when: "before" | "after", context: HookEvent["context"]): Promise<void> {
    const id = `${scope.turn.id}:${numberIn(session, compactionsField)}:${context["messageCount"] as number}`;
    const event = {
      type: "session",
      action: `compact:${when}`,
      sessionKey: session.key,
      id,
      context,
    } as const;
    await services.hookPort.ask(event);
  }

  const keeper = openContextWindow({
    history,
    lastSeq: session.lastSeq,
    windowTokens: model.contextWindow,
    maxTokens: model.maxTokens,
    overheadTokens: tokensOfBytes(overheadBytes(prepared.system, schemas)),
    pruning: settings.pruning,
    compaction: settings.compaction,
    prunedThroughSeq: numberIn(session, prunedField),
    async summarise(request, signal) {
      const timeout = deadline(clock, timeoutMs, "a summary");
      const mark = createHash("sha256").update(`${scope.turn.id} ${clock.now()}`).digest("hex").slice(0, 12);
      const ports = { model, signal: AbortSignal.any([signal, timeout.signal]), clock };
      const counted = {
        messageCount: request.entries.length,
        // Where a person waits, hooks may say so there.
        ...(scope.turn.rows.some((row) => internalOf(row) === null)
          ? { conversation: conversationKey(scope.address) }
          : {}),
      };
      await tellHooks("before", counted);
      const made = await summarise({ ...request, cacheKey: `${session.key}#summary`, mark }, ports).finally(
        () => timeout.cancel(),
      );
      if (made.ok) await tellHooks("after", { ...counted, summaryLength: made.text.length });
      return made;
    },
    async pinnedSections() {
      const file = await rootedReader().read(workspace, "AGENTS.md");
      const originOf = await notes.originOf();
      // A summary must not repeat instructions that no owner confirmed.
      if (file.state !== "present" || originOf(join(workspace, "AGENTS.md"), file.sha256) !== null) return "";
      return disarm(
        pinnedSectionsOf(
          file.text,
          settings.compaction.postCompactionSections,
          settings.postCompactionMaxChars,
        ),
      );
    },
    flush: flushes ? memoryFlush(services, scope, model) : async () => noUsage,
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

/** Of the prompt and the list of schemas, as they are written out. */
function overheadBytes(
  { stable, volatile }: ContextScope["prepared"]["system"],
  schemas: readonly ToolSchema[],
): number {
  const brackets = 2 + Math.max(0, schemas.length - 1);
  const listed = schemas.reduce((sum, schema) => sum + schemaSize(schema).bytes, brackets);
  return Buffer.byteLength(stable) + Buffer.byteLength(volatile) + listed;
}

function numberIn({ fields }: Session, field: string): number {
  const value = fields[field];
  return typeof value === "number" ? value : 0;
}
