// The shape of a section: pure, and blind to whatever lies outside its zone's facts (I12).
import type { PromptMode } from "../prompt-mode.ts";
import type { PromptFacts, StableFacts } from "./facts.ts";

interface SectionShape<Facts> {
  readonly id: string;
  readonly title: string;
  /** Depth of its heading; 0 shows none. */
  readonly level: 0 | 1 | 2;
  readonly modes: readonly PromptMode[];
  /** Under a budget the lowest gives way first; `neverDropped` stays whatever the window. */
  readonly priority: number;
  /** The text below the heading; null when the section does not apply. */
  render(facts: Facts): string | null;
  /** A shorter text of about `maxChars` for small windows; null when nothing useful fits. */
  shrink?(facts: Facts, maxChars: number): string | null;
  /**
   * Under a budget it is made shorter before any other, down to its share of the zone; only when the others
   * gave way too, further.
   */
  readonly shrinksFirst?: true;
  /** Why it is in or out, for `parley prompt explain`. */
  why(facts: Facts): string;
}

export interface StableSection extends SectionShape<StableFacts> {
  readonly zone: "stable";
}

export interface VolatileSection extends SectionShape<PromptFacts> {
  readonly zone: "volatile";
}

export type Section = StableSection | VolatileSection;

export const neverDropped = 100;
