// Sections + facts + budget -> the prompt and its report. Keeps I12: the stable zone is rendered from the
// stable facts alone, cut to a share of its own, and ends at the cache boundary.
import type { BootstrapFile } from "../workspace/snapshot.ts";
import { type Cut, type Draft, fit, type PromptBudget } from "./budget.ts";
import type { PromptMode } from "../prompt-mode.ts";
import type { PromptFacts } from "./facts.ts";
import { hashOf } from "./hash.ts";
import { neverDropped, type Section } from "./section.ts";
import { estimateTokens } from "./tokens.ts";

export interface SectionReport {
  readonly id: string;
  readonly zone: "stable" | "volatile";
  readonly chars: number;
  /** By `tokenEstimator`. */
  readonly tokens: number;
  /** Of its text in this prompt; empty when it is not included. */
  readonly hash: string;
  readonly included: boolean;
  readonly reason: string;
}

export interface FileReport {
  readonly name: string;
  readonly state: BootstrapFile["state"];
  readonly rawChars: number;
  readonly injectedChars: number;
  readonly truncated: boolean;
  /** Why it may not be read, or who wrote it when that was not an owner. */
  readonly note?: string;
  /** Of what is injected. */
  readonly hash: string;
}

export interface CompiledPrompt {
  readonly mode: PromptMode;
  /** `stable` + `volatile`. */
  readonly text: string;
  /** UTF-16 offset in `text` where the volatile zone begins. */
  readonly boundary: number;
  readonly stable: string;
  readonly volatile: string;
  readonly sections: readonly SectionReport[];
  readonly files: readonly FileReport[];
  readonly truncations: readonly Cut[];
  /** Of the whole text: the key under which a prompt is stored. */
  readonly hash: string;
  readonly stableHash: string;
}

interface ZoneDraft extends Draft {
  readonly section: Section;
}

/** Pure. A throw of a section is a bug and stays one. */
export function compile(
  sections: readonly Section[],
  facts: PromptFacts,
  budget: PromptBudget,
): CompiledPrompt {
  const { mode } = facts.stable;
  const drafts = sections
    .filter((section) => section.modes.includes(mode))
    .flatMap((section) => draftOf(section, facts));
  const inZone = (zone: Section["zone"]): ZoneDraft[] =>
    drafts.filter((draft) => draft.section.zone === zone);
  const stableFit = fit(inZone("stable"), budget.stableTokens);
  const volatileFit = fit(inZone("volatile"), budget.volatileTokens);
  const cuts = [...stableFit.cuts, ...volatileFit.cuts];
  const kept = new Map([...stableFit.drafts, ...volatileFit.drafts].map((draft) => [draft.id, draft.text]));

  const stable = stableFit.drafts.map(({ text }) => text).join("\n\n");
  const after = volatileFit.drafts.map(({ text }) => text).join("\n\n");
  const volatile = after === "" ? "" : `\n\n${after}`;
  const text = stable + volatile;
  return {
    mode,
    text,
    boundary: stable.length,
    stable,
    volatile,
    sections: sections.map((section) => report(section, facts, kept.get(section.id), cuts)),
    files: facts.stable.files.files.map(fileReport),
    truncations: [...fileCuts(facts), ...cuts],
    hash: hashOf(text),
    stableHash: hashOf(stable),
  };
}

function draftOf(section: Section, facts: PromptFacts): ZoneDraft[] {
  const body = section.zone === "stable" ? section.render(facts.stable) : section.render(facts);
  if (body === null || body === "") return [];
  const shrink = (maxChars: number): string | null => {
    const shorter =
      section.zone === "stable"
        ? section.shrink?.(facts.stable, maxChars)
        : section.shrink?.(facts, maxChars);
    return shorter === undefined || shorter === null ? null : headed(section, shorter);
  };
  return [
    {
      id: section.id,
      priority: section.priority,
      droppable: section.priority < neverDropped,
      shrinksFirst: section.shrinksFirst === true,
      text: headed(section, body),
      shrink,
      section,
    },
  ];
}

function headed({ level, title }: Section, body: string): string {
  return level === 0 ? body : `${"#".repeat(level)} ${title}\n\n${body}`;
}

function report(
  section: Section,
  facts: PromptFacts,
  text: string | undefined,
  cuts: readonly Cut[],
): SectionReport {
  const { mode } = facts.stable;
  const why = section.zone === "stable" ? section.why(facts.stable) : section.why(facts);
  const cut = cuts.find((each) => each.section === section.id);
  const reason = !section.modes.includes(mode)
    ? `mode ${mode} leaves it out`
    : cut === undefined
      ? why
      : `${why}; ${cut.how} to fit the window`;
  return {
    id: section.id,
    zone: section.zone,
    chars: text?.length ?? 0,
    tokens: estimateTokens(text ?? ""),
    hash: text === undefined ? "" : hashOf(text),
    included: text !== undefined,
    reason,
  };
}

function fileReport({ name, state, rawChars, text, truncated, note }: BootstrapFile): FileReport {
  const injected = state === "present" ? text : "";
  return {
    name,
    state,
    rawChars,
    injectedChars: injected.length,
    truncated,
    ...(note === undefined ? {} : { note }),
    hash: state === "missing" ? "" : hashOf(text),
  };
}

function fileCuts({ stable }: PromptFacts): Cut[] {
  if (stable.mode === "none") return [];
  return stable.files.files
    .filter((file) => file.state === "present" && file.truncated)
    .map((file) => ({
      section: `project_context/${file.name}`,
      how: "shortened",
      rawChars: file.rawChars,
      keptChars: file.text.length,
    }));
}
