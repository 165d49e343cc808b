// Levels of thinking and of showing thoughts, with the aliases that people type.

export const thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh"] as const;
export type ThinkingLevel = (typeof thinkingLevels)[number];

export const reasoningLevels = ["off", "on", "stream"] as const;
export type ReasoningLevel = (typeof reasoningLevels)[number];

const aliases: { readonly [alias: string]: ThinkingLevel } = {
  on: "low",
  enable: "low",
  min: "minimal",
  mid: "medium",
  harder: "medium",
  ultra: "high",
  max: "high",
  highest: "high",
  "x-high": "xhigh",
};

/** Returns null for a word that names no level. */
export function parseThinkingLevel(word: string): ThinkingLevel | null {
  const key = word.trim().toLowerCase();
  const exact = thinkingLevels.find((level) => level === key);
  return exact ?? (Object.hasOwn(aliases, key) ? (aliases[key] ?? null) : null);
}
