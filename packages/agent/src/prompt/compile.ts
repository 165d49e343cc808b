// Sections + facts + budget -> the prompt and its report. Keeps I12: the stable zone is rendered from the
// stable facts alone, cut to a share of its own, and ends at the cache boundary.
import type { BootstrapFile } from "../workspace/snapshot.ts";
import { type Cut, type Draft, fit, type PromptBudget } from "./budget.ts";
import type { PromptMode } from "../prompt-mode.ts";
import type { PromptFacts, StableFacts } from "./facts.ts";
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

/** One zone of a prompt. */
interface Zone {
  readonly text: string;
  readonly hash: string;
  readonly cuts: readonly Cut[];
  readonly reports: ReadonlyMap<string, SectionReport>;
}

interface StableZone extends Zone {
  readonly sections: readonly Section[];
  readonly maxTokens: number;
  readonly files: readonly FileReport[];
  readonly fileCuts: readonly Cut[];
}

/** The stable zone is a function of the stable facts, and most turns have the same (facts.ts). */
const stableZones = new WeakMap<StableFacts, StableZone>();

/** Pure. A throw of a section is a bug and stays one. */
export function compile(
  sections: readonly Section[],
  facts: PromptFacts,
  budget: PromptBudget,
): CompiledPrompt {
  const stable = stableZone(sections, facts, budget.stableTokens);
  const after = zoneOf("volatile", sections, facts, budget.volatileTokens);
  const volatile = after.text === "" ? "" : `\n\n${after.text}`;
  const text = stable.text + volatile;
  return {
    mode: facts.stable.mode,
    text,
    boundary: stable.text.length,
    stable: stable.text,
    volatile,
    sections: sections.flatMap(({ id }) => stable.reports.get(id) ?? after.reports.get(id) ?? []),
    files: stable.files,
    truncations: [...stable.fileCuts, ...stable.cuts, ...after.cuts],
    hash: hashOf(text),
    stableHash: stable.hash,
  };
}

function stableZone(sections: readonly Section[], facts: PromptFacts, maxTokens: number): StableZone {
  const before = stableZones.get(facts.stable);
  if (before?.sections === sections && before.maxTokens === maxTokens) return before;
  const zone: StableZone = {
    ...zoneOf("stable", sections, facts, maxTokens),
    sections,
    maxTokens,
    files: facts.stable.files.files.map(fileReport),
    fileCuts: fileCuts(facts),
  };
  stableZones.set(facts.stable, zone);
  return zone;
}

function zoneOf(
  zone: Section["zone"],
  sections: readonly Section[],
  facts: PromptFacts,
  maxTokens: number,
): Zone {
  const own = sections.filter((section) => section.zone === zone);
  const { mode } = facts.stable;
  const drafts = own
    .filter((section) => section.modes.includes(mode))
    .flatMap((section) => draftOf(section, facts));
  const fitted = fit(drafts, maxTokens);
  const kept = new Map(fitted.drafts.map((draft) => [draft.id, draft.text]));
  const text = fitted.drafts.map((draft) => draft.text).join("\n\n");
  return {
    text,
    hash: hashOf(text),
    cuts: fitted.cuts,
    reports: new Map(
      own.map((section) => [section.id, report(section, facts, kept.get(section.id), fitted.cuts)]),
    ),
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
