// Names in skills.allowBundled that no skill of Parley's has. Somebody counts on a skill that is not there,
// and the others are off.
import type { Config } from "@parley/config";
import type { SkillRegistry } from "@parley/runner";

export interface MisspeltSkill {
  readonly name: string;
  /** Those that there are. */
  readonly bundled: readonly string[];
}

/** None where the skills that Parley brings are off altogether. */
export async function misspeltSkills(
  { skills, agents }: Config,
  book: Pick<SkillRegistry, "survey">,
): Promise<readonly MisspeltSkill[]> {
  const { bundled: isOn, allowBundled = [] } = skills;
  const [agent] = agents.list;
  if (!isOn || allowBundled.length === 0 || agent === undefined) return [];
  const { shelf } = await book.survey(agent);
  const bundled = [...shelf.skills, ...shelf.shadowed.map(({ skill }) => skill)]
    .filter(({ source }) => source === "bundled")
    .map(({ manifest }) => manifest.name);
  return allowBundled.filter((name) => !bundled.includes(name)).map((name) => ({ name, bundled }));
}

export function misspeltSkillWarning({ name, bundled }: MisspeltSkill): string {
  return `skills.allowBundled names "${name}", which Parley does not bring. It brings ${bundled.toSorted().join(", ")}`;
}
