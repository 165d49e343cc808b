// Which levels of thinking a model takes, and what becomes of one that it does not take. Typed levels are refused by whoever reads them;
// stored ones and those of a fallback come here and are moved to the nearest, so that a change of model never ends a turn.
import { thinkingLevels, type ThinkingLevel } from "@parley/protocol";

/** What nearly every reasoning model can be told; more only where it is known. A model that cannot reason natively does it in tags. */
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

/** The level itself where the model takes it, else the nearest; one that thinks stays one that thinks where the model can. */
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

/** Where nobody said anything. */
export function defaultThinking(model: Thinker): ThinkingLevel {
  return model.reasoning ? nearestThinking(model, "medium") : "off";
}

/** Levels by the efforts that a config declares; `max` has no level of its own. */
export function levelsOfEfforts(efforts: readonly string[]): readonly ThinkingLevel[] {
  return thinkingLevels.filter((level) => efforts.includes(level === "off" ? "none" : level));
}
