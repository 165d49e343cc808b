// Makes a summary of the older part of a conversation: decides where to cut, asks a model, and adds what no
// summary may lose. It writes nothing; the entry that it returns joins the log's end (I11).
import type { Clock, Entry, Log, SummaryEntry } from "@parley/protocol";
import { noUsage } from "@parley/protocol";
import type { Prepared } from "../loop/context-port.ts";
import { liveHistory, type Placed } from "./live-history.ts";
import { planCut } from "./plan.ts";
import type { CompactionSettings } from "./settings.ts";
import { charsPerToken, tokensOf, tokensOfAll } from "./size.ts";
import { pinnedAddendum, requestAddendum, withoutAddenda } from "./summary-addenda.ts";
import type { Summarised, SummaryInput } from "./summarise.ts";

export interface SummaryOptions {
  /** The model's window in tokens. */
  readonly windowTokens: number;
  /** Tokens of the system prompt and the tools. */
  readonly overheadTokens: number;
  readonly compaction: CompactionSettings;
  /** Asks a model for a summary. */
  readonly summarise: (
    input: Omit<SummaryInput, "cacheKey" | "mark">,
    signal: AbortSignal,
  ) => Promise<Summarised>;
  /** Returns the sections of AGENTS.md to repeat with a summary; empty for none. */
  readonly pinnedSections: () => Promise<string>;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
}

interface How {
  readonly scale: number;
  /** Cuts off at least three quarters, even where all of it would fit. */
  readonly most?: boolean;
  readonly signal: AbortSignal;
  readonly focus?: string;
  /** First seq of the running turn; absent when none runs. */
  readonly turnFrom?: number;
}

type MakeSummary = (placed: readonly Placed[], how: How) => Promise<Prepared & { readonly reason?: string }>;

/** Shares of the conversation's room: what stays word for word, and the summary. */
const keepShare = 0.5;
const summaryShare = 0.25;
/** Share of the window that a question for a summary may take. */
const askShare = 0.6;
const summaryChars = { least: 1_200, most: 16_000 } as const;

/** `limitTokens`: the conversation has so much of the window, with prompt and tools. */
export function historySummary(options: SummaryOptions, limitTokens: number): MakeSummary {
  const { windowTokens, overheadTokens, compaction, log } = options;
  return async (placed: readonly Placed[], how: How): Promise<Prepared & { readonly reason?: string }> => {
    const { scale, signal, focus, turnFrom = Infinity } = how;
    const { summary: previous, tail } = liveHistory(placed);
    const entries = tail.map(({ entry }) => entry);
    const sizeOf = (entry: Entry): number => tokensOf(entry) * scale;
    const turnAt = tail.findIndex(({ seq }) => seq >= turnFrom);
    const roomTokens = Math.max(0, limitTokens - overheadTokens * scale);
    const quarter = how.most === true ? (tokensOfAll(entries) * scale) / 4 : Infinity;
    const cut = planCut({
      entries,
      sizeOf,
      keepTokens: Math.min(compaction.keepRecentTokens, roomTokens * keepShare, quarter),
      turnFrom: turnAt < 0 ? entries.length : turnAt,
      roomTokens: roomTokens * (keepShare + summaryShare),
    });
    const through = cut === null ? undefined : tail[cut - 1];
    if (cut === null || through === undefined) return { summary: null, usage: noUsage, reason: "nothing" };

    const maxChars = Math.floor((roomTokens * summaryShare * charsPerToken) / scale);
    const made = await options.summarise(
      {
        previous: previous === null ? null : withoutAddenda(previous.entry.text),
        entries: entries.slice(0, cut),
        ...(focus === undefined ? {} : { focus }),
        inputTokens: Math.floor((windowTokens * askShare) / scale),
        maxChars: Math.min(summaryChars.most, Math.max(summaryChars.least, maxChars)),
        keepIdentifiers: compaction.mode === "safeguard" && compaction.identifierPolicy === "strict",
      },
      signal,
    );
    if (!made.ok) {
      log.warn({ reason: made.reason }, "the conversation could not be summarised; it stays as it is");
      return { summary: null, usage: made.usage, reason: made.reason };
    }
    const addenda = [
      requestAddendum(placed.filter(({ seq }) => seq >= turnFrom && seq <= through.seq)),
      pinnedAddendum(await options.pinnedSections()),
    ].filter((text) => text !== "");
    const entry: SummaryEntry = {
      type: "summary",
      text: [made.text, ...addenda].join("\n\n"),
      throughSeq: through.seq,
      atMs: options.clock.now(),
    };
    log.info(
      { summarised: cut, kept: entries.length - cut, chars: entry.text.length },
      "conversation compacted",
    );
    return { summary: entry, usage: made.usage };
  };
}
