// Skills as chat commands: each that people may call gets a name that every platform takes, numbered where
// two would be one.
import { plainLine } from "../plain-line.ts";
import { skillId } from "./skill-name.ts";
import type { Skill } from "./skill-loader.ts";

export interface SkillCommand {
  /** `[a-z0-9_]{1,32}`, which Telegram and Discord both take. */
  readonly command: string;
  readonly skill: Skill;
}

/** Platforms show so much of a description; Discord takes no more. */
const commandDescriptionChars = 100;
const nameChars = 32;

/**
 * `taken`: names of commands that are there already. Skills in the order given, so that equal skills get
 * equal names.
 */
export function skillCommands(skills: readonly Skill[], taken: Iterable<string>): readonly SkillCommand[] {
  const used = new Set(taken);
  return skills
    .filter(({ manifest }) => manifest.userInvocable)
    .map((skill) => {
      const command = freeName(commandName(skill.manifest.name), used);
      used.add(command);
      return { command, skill };
    });
}

export function commandName(name: string): string {
  const plain = name
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, nameChars)
    .replace(/_+$/, "");
  return plain === "" ? "skill_1" : plain;
}

export function commandSummary({ manifest }: Skill): string {
  return plainLine(manifest.description, commandDescriptionChars);
}

/** By its name, or by its command's; null when there is none. */
export function findSkillCommand(commands: readonly SkillCommand[], wanted: string): SkillCommand | null {
  const id = skillId(wanted.trim());
  return (
    commands.find(({ skill }) => skillId(skill.manifest.name) === id) ??
    commands.find(({ command }) => command === commandName(wanted)) ??
    null
  );
}

function freeName(wanted: string, used: ReadonlySet<string>): string {
  if (!used.has(wanted)) return wanted;
  for (let number = 2; ; number += 1) {
    const ending = `_${number}`;
    const name = `${wanted.slice(0, nameChars - ending.length)}${ending}`;
    if (!used.has(name)) return name;
  }
}
