// Skills are listed, not loaded: the model picks one and reads its file. Without a read tool the list would
// be useless.
import type { SkillFact, StableFacts } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

const nameChars = 64;
const pathChars = 400;
// The Agent Skills format allows a description of 1,024 characters.
const descriptionChars = 1024;

export const skills: StableSection = {
  id: "skills",
  title: "Skills (mandatory)",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 60,
  render: (facts) => (shown(facts).length === 0 ? null : text(facts, descriptionChars)),
  shrink: (facts, maxChars) => {
    const { length } = shown(facts);
    if (length === 0) return null;
    const left = maxChars - text(facts, 0).length;
    return text(facts, Math.max(40, Math.floor(left / length)));
  },
  why: (facts) =>
    facts.skills.length === 0
      ? "no skill is eligible"
      : facts.tools.has("read")
        ? `${shown(facts).length} eligible skills`
        : "no read tool to open a skill with",
};

/** A path that does not stand in the prompt as it is leads nowhere. */
function shown({ tools, skills: list }: StableFacts): readonly SkillFact[] {
  return tools.has("read") ? list.filter(({ location }) => plainLine(location, pathChars) === location) : [];
}

function text(facts: StableFacts, maxDescriptionChars: number): string {
  const { tools, skillsNote } = facts;
  return [
    "Before replying: scan <available_skills> <description> entries.",
    `- If exactly one skill clearly applies: read its SKILL.md at <location> with \`${tools.name("read")}\`, then follow it.`,
    "- If multiple could apply: choose the most specific one, then read and follow it.",
    "- If none clearly apply: do not read any SKILL.md.",
    "Constraints: never read more than one skill up front; only read after selecting.",
    "<available_skills>",
    ...shown(facts).map((skill) => entry(skill, maxDescriptionChars)),
    "</available_skills>",
    ...(skillsNote === undefined ? [] : [plainLine(skillsNote, 400)]),
  ].join("\n");
}

function entry({ name, description, location }: SkillFact, maxDescriptionChars: number): string {
  return [
    "  <skill>",
    `    <name>${xml(name, nameChars)}</name>`,
    // A list over its budget shows names and places alone.
    ...(description === ""
      ? []
      : [`    <description>${xml(description, maxDescriptionChars)}</description>`]),
    `    <location>${xml(location, pathChars)}</location>`,
    "  </skill>",
  ].join("\n");
}

function xml(value: string, maxChars: number): string {
  return plainLine(value, maxChars).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
