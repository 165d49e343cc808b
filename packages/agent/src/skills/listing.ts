// The list of skills that the prompt shows, within its budget: full descriptions if they fit, else short
// ones, else names and places alone, and what does not fit even then is left out with a word about it.
import type { SkillFact } from "../prompt/facts.ts";
import { headOf } from "../plain-line.ts";
import { skillSources, type Skill, type SkillLimits } from "./skill-loader.ts";

export interface SkillListing {
  readonly facts: readonly SkillFact[];
  /** Told under the list when it is not whole. */
  readonly note?: string;
}

/** Markup of one entry in the prompt, without its texts. */
const entryChars = 97;
/** A description shorter than this says nothing any more. */
const leastChars = 24;

/** `location` gives a skill's path as the read tool takes it. */
export function listSkills(
  skills: readonly Skill[],
  location: (skill: Skill) => string,
  {
    maxSkillsPromptChars,
    maxSkillsInPrompt,
  }: Pick<SkillLimits, "maxSkillsPromptChars" | "maxSkillsInPrompt">,
): SkillListing {
  const rank = (skill: Skill): number => skillSources.indexOf(skill.source);
  // What has to go is what has the lowest precedence; what stays is shown by name.
  const ranked = skills.toSorted((a, b) => rank(a) - rank(b) || byName(a, b)).slice(0, maxSkillsInPrompt);
  const facts = ranked.map((skill): SkillFact => ({
    name: skill.manifest.name,
    description: skill.manifest.description,
    location: location(skill),
  }));
  const bare = (fact: SkillFact): number =>
    entryChars + escapedChars(fact.name) + escapedChars(fact.location);
  const bareChars = facts.reduce((sum, fact) => sum + bare(fact), 0);
  const fullChars = facts.reduce((sum, fact) => sum + escapedChars(fact.description), bareChars);

  if (fullChars <= maxSkillsPromptChars) return listed(facts, skills.length);
  const each = Math.floor((maxSkillsPromptChars - bareChars) / Math.max(1, facts.length));
  if (each >= leastChars) {
    return listed(
      facts.map((fact) => ({ ...fact, description: shortened(fact.description, each) })),
      skills.length,
    );
  }
  let left = maxSkillsPromptChars;
  const named = facts
    .filter((fact) => (left -= bare(fact)) >= 0)
    .map((fact) => ({ ...fact, description: "" }));
  return listed(named, skills.length);
}

function listed(facts: readonly SkillFact[], all: number): SkillListing {
  const sorted = facts.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const missing = all - facts.length;
  const words = [
    ...(facts.some((fact) => fact.description === "")
      ? ["The list is too long for descriptions; judge by the names."]
      : []),
    ...(missing > 0
      ? [
          `${missing} more skill${missing === 1 ? " is" : "s are"} not listed here; the command /skill shows all.`,
        ]
      : []),
  ];
  return { facts: sorted, ...(words.length === 0 ? {} : { note: words.join(" ") }) };
}

function byName(a: Skill, b: Skill): number {
  return a.manifest.name < b.manifest.name ? -1 : 1;
}

/** Escaped, because that is what the prompt holds. */
function escapedChars(text: string): number {
  return text.length + [...text.matchAll(/[&<>]/g)].reduce((sum, [char]) => sum + (char === "&" ? 4 : 3), 0);
}

function shortened(text: string, most: number): string {
  if (escapedChars(text) <= most) return text;
  let kept = headOf(text, most - 1);
  while (escapedChars(kept) > most - 1) kept = headOf(kept, kept.length - 4);
  return `${kept.trimEnd()}…`;
}
