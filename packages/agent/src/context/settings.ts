// Defines an operator's settings of context: pruning of old tool results and compaction. Names and numbers
// are the reference product's, so that people find what they know.

export interface PruningSettings {
  /**
   * `cache-ttl`: only once the provider's cache of the prompt has gone cold, so that pruning never costs a
   * cache that still lives.
   */
  readonly mode: "off" | "cache-ttl" | "always";
  /** How long a provider keeps a prompt after its last use. */
  readonly ttlMs: number;
  /** Tool results after the last so many answers are never touched. */
  readonly keepLastAssistants: number;
  /** Shares of the window, in characters. */
  readonly softTrimRatio: number;
  readonly hardClearRatio: number;
  /** Less prunable text than this is never cleared. */
  readonly minPrunableToolChars: number;
  readonly softTrim: { readonly maxChars: number; readonly headChars: number; readonly tailChars: number };
  readonly hardClear: { readonly enabled: boolean; readonly placeholder: string };
  /** Names of tools, `*` for any run of characters; deny wins, an empty allow list is all. */
  readonly tools: { readonly allow: readonly string[]; readonly deny: readonly string[] };
}

export interface CompactionSettings {
  /** `safeguard`: what the summary must not lose is looked for in it and added where it is missing. */
  readonly mode: "default" | "safeguard";
  /** Kept free for the answer; at most a quarter of the window. */
  readonly reserveTokensFloor: number;
  /** The newest so many tokens stay word for word. */
  readonly keepRecentTokens: number;
  readonly identifierPolicy: "strict" | "off";
  readonly memoryFlush: {
    readonly enabled: boolean;
    /** The flush runs so many tokens before the compaction. */
    readonly softThresholdTokens: number;
    /** Or once the history has so many bytes. */
    readonly forceFlushTranscriptBytes: number;
  };
  /** Headings of AGENTS.md whose sections are repeated with the summary. */
  readonly postCompactionSections: readonly string[];
}

export const defaultPruning: PruningSettings = {
  mode: "cache-ttl",
  ttlMs: 300_000,
  keepLastAssistants: 3,
  softTrimRatio: 0.3,
  hardClearRatio: 0.5,
  minPrunableToolChars: 50_000,
  softTrim: { maxChars: 4_000, headChars: 1_500, tailChars: 1_500 },
  hardClear: { enabled: true, placeholder: "[Old tool result content cleared]" },
  tools: { allow: [], deny: [] },
};

export const defaultCompaction: CompactionSettings = {
  mode: "safeguard",
  reserveTokensFloor: 20_000,
  keepRecentTokens: 20_000,
  identifierPolicy: "strict",
  memoryFlush: { enabled: true, softThresholdTokens: 4_000, forceFlushTranscriptBytes: 2_000_000 },
  postCompactionSections: ["Session Startup", "Red Lines"],
};
