// Keeps what a model is shown within its window, for one turn: prunes when that costs no cache, compacts when
// pruning is not enough, and force-fits the view when no summary can be had. It only makes views; a summary
// is one more entry at the log's end (I11). It knows the past from the log alone, so a resumed turn decides
// as the first one did.
import type { AssistantEntry, Entry, Usage } from "@parley/protocol";
import { addUsage, noUsage } from "@parley/protocol";
import type { Fitted, LoopContext, Prepared } from "../loop/context-port.ts";
import { historySummary, type SummaryOptions } from "./history-summary.ts";
import { prune } from "./prune.ts";
import type { PruningSettings } from "./settings.ts";
import { charsPerToken, tokensOf, tokensOfAll } from "./size.ts";
import { forceFit } from "./force-fit.ts";
import { liveHistory, type Placed } from "./live-history.ts";

export interface ContextWindowOptions extends SummaryOptions {
  /** The session before this turn, as far as it is read; oldest first. */
  readonly history: readonly Placed[];
  /** Seq of the session's last entry; the turn's own entries follow it. */
  readonly lastSeq: number;
  readonly maxTokens: number;
  readonly pruning: PruningSettings;
  /** The last call saw its view pruned through this seq. */
  readonly prunedThroughSeq: number;
  /**
   * Lets the model save what should outlast the conversation, once per `cycle`, the stretch between two
   * compactions.
   */
  readonly flush: (view: readonly Entry[], cycle: number, signal: AbortSignal) => Promise<Usage>;
}

export interface ContextWindow extends LoopContext {
  /**
   * Compacts now, whatever the size, because a person asks for it. `reason` says why there is no summary:
   * "nothing" to compact, or the model's failure.
   */
  compact(
    entries: readonly Entry[],
    signal: AbortSignal,
    focus?: string,
  ): Promise<Prepared & { readonly reason?: string }>;
  /** Tokens of the view, by our estimate and the provider's last count. */
  tokens(entries: readonly Entry[]): number;
  /** Seq to hand to the next turn's context window. */
  prunedThroughSeq(): number;
}

/** The reserve takes at most this share of a window. */
const mostReserveShare = 0.25;
/** Distance between flush and compaction in a small window, as a share of it. */
const flushShare = 0.1;
/**
 * Beyond this share a request is force-fitted before it is sent; the rest is for the answer and for
 * miscounting.
 */
const fullShare = 0.95;
const leastAnswerTokens = 256;
/** A history with so many entries or bytes is compacted however large the window is (I9). */
export const longLog = { entries: 1_000, bytes: 4_000_000 } as const;
/** Shorter requests to try after the provider refused one: first a compacted one, then a force-fitted one. */
const mostRecoveries = 2;

export function openContextWindow(options: ContextWindowOptions): ContextWindow {
  const { windowTokens, overheadTokens, pruning, compaction, log } = options;
  const limitTokens =
    windowTokens - Math.min(compaction.reserveTokensFloor, Math.floor(windowTokens * mostReserveShare));
  const summary = historySummary(options, limitTokens);
  let prunedThrough = options.prunedThroughSeq;
  /** For each request of this turn, the seq it was pruned through, by its number of entries. */
  const requests: { readonly entries: number; readonly markSeq: number }[] = [];
  /** The provider counts at least this much more than our estimate; learnt from its refusals. */
  let leastScale = 1;
  /** What the last request left for its answer, in tokens; providers count it with the prompt. */
  let answerTokens = 0;
  let fitShare = fullShare;
  let recoveries = 0;
  let recoveredAt = -1;
  /** A compaction that did not help is not tried again until the view was small once. */
  let armed = true;

  const place = (entries: readonly Entry[]): readonly Placed[] =>
    entries.map(
      (entry, at) => options.history[at] ?? { seq: options.lastSeq + 1 + at - options.history.length, entry },
    );

  /** Puts the summary first, then what came after it, pruned up to the mark. */
  function viewOfLog(placed: readonly Placed[], markSeq: number): readonly Entry[] {
    const { summary, tail } = liveHistory(placed);
    const older = tail.filter(({ seq }) => seq <= markSeq);
    const pruned = prune(
      [...(summary === null ? [] : [summary.entry]), ...older.map(({ entry }) => entry)],
      windowTokens,
      pruning,
    );
    return [...pruned, ...tail.slice(older.length).map(({ entry }) => entry)];
  }

  /**
   * Compares the provider's count of the last request with our estimate; a request before the last summary no
   * longer counts.
   */
  function scaleOf(placed: readonly Placed[]): number {
    const { summary } = liveHistory(placed);
    const at = placed.findLastIndex(
      ({ seq, entry }) => isCounted(entry) && seq > (summary?.seq ?? -Infinity),
    );
    const last = placed[at]?.entry;
    if (last?.type !== "assistant") return leastScale;
    // What was pruned later was still counted then.
    const markSeq = requests.findLast(({ entries }) => entries <= at)?.markSeq ?? options.prunedThroughSeq;
    const asked = overheadTokens + tokensOfAll(viewOfLog(placed.slice(0, at), markSeq));
    return Math.max(leastScale, Math.min(promptTokens(last), windowTokens) / Math.max(1, asked));
  }

  const sized = (view: readonly Entry[], scale: number): number =>
    Math.ceil((overheadTokens + tokensOfAll(view)) * scale);

  function coolAndPrune(placed: readonly Placed[]): void {
    const lastSeq = placed.at(-1)?.seq ?? 0;
    if (pruning.mode === "always" || (pruning.mode === "cache-ttl" && isCold(placed)))
      prunedThrough = lastSeq;
  }

  function isCold(placed: readonly Placed[]): boolean {
    const last = placed.findLast(({ entry }) => entry.type === "assistant")?.entry;
    return last?.type === "assistant" && options.clock.now() - last.atMs >= pruning.ttlMs;
  }

  /** A view short enough for a side question. */
  const fittingView = (placed: readonly Placed[], scale: number): readonly Entry[] =>
    forceFitted(viewOfLog(placed, prunedThrough), scale, limitTokens / windowTokens);

  function forceFitted(view: readonly Entry[], scale: number, share: number): readonly Entry[] {
    return forceFit(view, Math.max(0, Math.floor((windowTokens * share) / scale) - overheadTokens), tokensOf);
  }

  async function flushed(placed: readonly Placed[], scale: number, signal: AbortSignal): Promise<Usage> {
    return options.flush(
      fittingView(placed, scale),
      liveHistory(placed).summary?.entry.throughSeq ?? 0,
      signal,
    );
  }

  return {
    async prepare(entries, signal) {
      const placed = place(entries);
      const scale = scaleOf(placed);
      coolAndPrune(placed);
      let tokens = sized(viewOfLog(placed, prunedThrough), scale);
      if (tokens > limitTokens && pruning.mode !== "off") {
        // The cache is lost either way, and pruning is the cheaper loss.
        prunedThrough = placed.at(-1)?.seq ?? 0;
        tokens = sized(viewOfLog(placed, prunedThrough), scale);
      }
      const { tail } = liveHistory(placed);
      const bytes = tokensOfAll(tail.map(({ entry }) => entry)) * charsPerToken;
      const long = tail.length >= longLog.entries || bytes >= longLog.bytes;
      const due = tokens > limitTokens || long;
      const { softThresholdTokens, forceFlushTranscriptBytes } = compaction.memoryFlush;
      const nearlyDue =
        tokens > limitTokens - Math.min(softThresholdTokens, limitTokens * flushShare) ||
        bytes >= forceFlushTranscriptBytes;
      let usage = (due && armed) || nearlyDue ? await flushed(placed, scale, signal) : noUsage;
      if (!due) armed = true;
      if (!due || !armed || signal.aborted) return { summary: null, usage };
      armed = false;
      const made = await summary(placed, { scale, signal, most: long, turnFrom: options.lastSeq + 1 });
      usage = addUsage(usage, made.usage);
      return { summary: made.summary, usage };
    },

    fit(entries): Fitted {
      const placed = place(entries);
      const scale = scaleOf(placed);
      requests.push({ entries: entries.length, markSeq: prunedThrough });
      const view = forceFitted(viewOfLog(placed, prunedThrough), scale, fitShare);
      const leftTokens = Math.floor(windowTokens * fullShare) - sized(view, scale);
      answerTokens = Math.min(options.maxTokens, Math.max(leastAnswerTokens, leftTokens));
      return { entries: view, ...(leftTokens < options.maxTokens ? { maxTokens: answerTokens } : {}) };
    },

    async overflowed(entries, signal) {
      const placed = place(entries);
      const answers = placed.filter(({ entry }) => entry.type === "assistant").length;
      recoveries = answers === recoveredAt ? recoveries + 1 : 1;
      recoveredAt = answers;
      if (recoveries > mostRecoveries) return null;
      const refused = forceFitted(viewOfLog(placed, prunedThrough), scaleOf(placed), fitShare);
      leastScale = Math.max(
        leastScale,
        (windowTokens - answerTokens) / Math.max(1, overheadTokens + tokensOfAll(refused)),
      );
      if (pruning.mode !== "off") prunedThrough = placed.at(-1)?.seq ?? 0;
      let usage = noUsage;
      if (recoveries === 1) {
        usage = await flushed(placed, leastScale, signal);
        const made = await summary(placed, { scale: leastScale, signal, turnFrom: options.lastSeq + 1 });
        usage = addUsage(usage, made.usage);
        if (made.summary !== null) return { summary: made.summary, usage };
      }
      fitShare /= 2;
      log.warn({ share: fitShare }, "the request was too long for the model; parts of it are left out");
      return { summary: null, usage };
    },

    async compact(entries, signal, focus) {
      const placed = place(entries);
      const scale = scaleOf(placed);
      const usage = await flushed(placed, scale, signal);
      const made = await summary(placed, {
        scale,
        signal,
        most: true,
        ...(focus === undefined ? {} : { focus }),
      });
      return { ...made, usage: addUsage(usage, made.usage) };
    },

    tokens(entries) {
      const placed = place(entries);
      return sized(viewOfLog(placed, prunedThrough), scaleOf(placed));
    },

    prunedThroughSeq: () => prunedThrough,
  };
}

function isCounted(entry: Entry): entry is AssistantEntry {
  return entry.type === "assistant" && promptTokens(entry) > 0;
}

function promptTokens({ usage }: AssistantEntry): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
