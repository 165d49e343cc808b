// Maps levels of thinking to those that a model accepts. Callers that read typed levels refuse unsupported
// ones. Stored levels and those of a fallback come here and are moved to the nearest supported level, so that
// a change of model never ends a turn.
import { thinkingLevels, type ThinkingLevel } from "@parley/protocol";

/**
 * Nearly every reasoning model accepts these; others are listed where known. A model without native reasoning
 * does it in tags.
 */
const usual: readonly ThinkingLevel[] = ["off", "minimal", "low", "medium", "high"];

export interface Thinker {
  readonly reasoning: boolean;
  /** Absent: all but the highest. */
  readonly thinking?: readonly ThinkingLevel[] | undefined;
}

export function thinkingLevelsOf({ thinking }: Pick<Thinker, "thinking">): readonly ThinkingLevel[] {
  return thinking === undefined || thinking.length === 0
    ? usual
    : thinkingLevels.filter((level) => thinking.includes(level));
}

/**
 * The level itself where the model accepts it, otherwise the nearest. A level that thinks stays one that
 * thinks if the model can.
 */
export function nearestThinking(model: Pick<Thinker, "thinking">, wanted: ThinkingLevel): ThinkingLevel {
  const levels = thinkingLevelsOf(model);
  if (levels.includes(wanted)) return wanted;
  const rank = (level: ThinkingLevel): number => thinkingLevels.indexOf(level);
  const thinks = levels.filter((level) => level !== "off");
  const among = wanted === "off" || thinks.length === 0 ? levels : thinks;
  const [nearest = "off"] = among.toSorted(
    (a, b) => Math.abs(rank(a) - rank(wanted)) - Math.abs(rank(b) - rank(wanted)) || rank(a) - rank(b),
  );
  return nearest;
}

/** The level when nobody chose one. */
export function defaultThinking(model: Thinker): ThinkingLevel {
  return model.reasoning ? nearestThinking(model, "medium") : "off";
}

/** Maps the efforts that a config declares to levels; `max` has no level of its own. */
export function levelsOfEfforts(efforts: readonly string[]): readonly ThinkingLevel[] {
  return thinkingLevels.filter((level) => efforts.includes(level === "off" ? "none" : level));
}
