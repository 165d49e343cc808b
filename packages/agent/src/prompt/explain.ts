// A compiled prompt told to an operator: what is in it and why, and what moved between two. Plain values for
// the CLI and /context.
import type { ToolSchema } from "@parley/models";
import type { Cut } from "./budget.ts";
import type { CompiledPrompt, FileReport, SectionReport } from "./compile.ts";
import { schemaSize } from "./schema-size.ts";
import { estimateTokens, tokenEstimator } from "./tokens.ts";

export interface PromptExplanation {
  readonly mode: CompiledPrompt["mode"];
  readonly hash: string;
  readonly stableHash: string;
  readonly boundary: number;
  readonly chars: number;
  readonly tokens: number;
  readonly stableTokens: number;
  readonly volatileTokens: number;
  readonly estimator: string;
  readonly sections: readonly SectionReport[];
  readonly files: readonly FileReport[];
  readonly truncations: readonly Cut[];
  /** Schemas travel beside the prompt and count against the same window. */
  readonly tools: readonly SchemaReport[];
}

interface SchemaReport {
  readonly name: string;
  readonly chars: number;
  readonly tokens: number;
  readonly hash: string;
}

export function explain(prompt: CompiledPrompt, schemas: readonly ToolSchema[] = []): PromptExplanation {
  return {
    mode: prompt.mode,
    hash: prompt.hash,
    stableHash: prompt.stableHash,
    boundary: prompt.boundary,
    chars: prompt.text.length,
    tokens: estimateTokens(prompt.text),
    stableTokens: estimateTokens(prompt.stable),
    volatileTokens: estimateTokens(prompt.volatile),
    estimator: tokenEstimator,
    sections: prompt.sections,
    files: prompt.files,
    truncations: prompt.truncations,
    tools: schemas
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((schema) => {
        const { chars, tokens, hash } = schemaSize(schema);
        return { name: schema.name, chars, tokens, hash };
      }),
  };
}

interface PromptMove {
  readonly id: string;
  readonly zone: SectionReport["zone"];
  readonly change: "added" | "removed" | "changed";
  readonly charsBefore: number;
  readonly charsAfter: number;
}

export interface PromptDiff {
  /** True when the provider's cache of the prefix is lost. */
  readonly stableMoved: boolean;
  readonly moves: readonly PromptMove[];
  /** Workspace files whose injected text moved. */
  readonly files: readonly string[];
  /**
   * Tools whose schemas came, went or changed. They stand before the prompt in a provider's cache, so all of
   * it is lost with them.
   */
  readonly tools: readonly string[];
}

/** What two prompts are compared by. */
export type Comparable = Pick<PromptExplanation, "stableHash" | "sections" | "files"> &
  Partial<Pick<PromptExplanation, "tools">>;

/** What moved from `before` to `after`, in the order of the prompt. */
export function diff(before: Comparable, after: Comparable): PromptDiff {
  const old = new Map(before.sections.map((section) => [section.id, section]));
  const moves = after.sections.flatMap((section) => {
    const was = old.get(section.id);
    if ((was?.hash ?? "") === section.hash) return [];
    const change: PromptMove["change"] =
      was === undefined || !was.included ? "added" : section.included ? "changed" : "removed";
    return [
      { id: section.id, zone: section.zone, change, charsBefore: was?.chars ?? 0, charsAfter: section.chars },
    ];
  });
  return {
    stableMoved: before.stableHash !== after.stableHash,
    moves,
    files: movedNames(before.files, after.files),
    tools: movedNames(before.tools ?? [], after.tools ?? []),
  };
}

type Named = readonly { readonly name: string; readonly hash: string }[];

function movedNames(before: Named, after: Named): string[] {
  const hashes = (list: Named): Map<string, string> => new Map(list.map(({ name, hash }) => [name, hash]));
  const [was, is] = [hashes(before), hashes(after)];
  return [...new Set([...is.keys(), ...was.keys()])].filter((name) => was.get(name) !== is.get(name));
}
