// Warns of a valid config that does not do what its author expects: names that match nothing, and spending
// limits that cannot hold.
import type { Config } from "@parley/config";
import type { Models } from "@parley/models";
import type { Log } from "@parley/protocol";
import type { SkillRegistry } from "@parley/runner";
import { catalogue, unknownPatterns } from "@parley/tools";

/** `toolNames`: also tools outside the catalogue. */
export async function warnOfConfig(
  config: Config,
  parts: {
    readonly models: Pick<Models, "list">;
    readonly skills: Pick<SkillRegistry, "survey">;
    readonly toolNames: readonly string[];
  },
  log: Pick<Log, "warn">,
): Promise<void> {
  for (const found of uncappedModels(config, parts.models)) log.warn({ ...found }, uncappedWarning(found));
  for (const found of await misspeltSkills(config, parts.skills))
    log.warn({ ...found }, misspeltSkillWarning(found));
  for (const found of misspeltTools(config, parts.toolNames))
    log.warn({ ...found }, misspeltToolWarning(found));
}

interface MisspeltTool {
  /** The rules' place in the config, as a dotted path. */
  readonly at: string;
  readonly pattern: string;
}

/**
 * Finds rules that name no tool: a tool that was meant to be denied still exists. `more`: tools outside the
 * catalogue.
 */
export function misspeltTools(
  { tools, agents, channels, mcp }: Pick<Config, "tools" | "agents" | "channels" | "mcp">,
  more: readonly string[],
): readonly MisspeltTool[] {
  const found: MisspeltTool[] = [];
  const walk = (value: unknown, at: string, inTools: boolean): void => {
    if (typeof value !== "object" || value === null) return;
    if (inTools) {
      const { allow, alsoAllow, deny } = value as {
        readonly [list in "allow" | "alsoAllow" | "deny"]?: unknown;
      };
      const rules = { allow: [...wordsOf(allow), ...wordsOf(alsoAllow)], deny: wordsOf(deny) };
      found.push(
        ...unknownPatterns(rules, more, Object.keys(mcp.servers)).map((pattern) => ({ at, pattern })),
      );
    }
    for (const [key, inner] of Object.entries(value)) {
      // The lists of tools.web name hosts.
      if (key === "web" && /(?:^|\.)tools$/.test(at)) continue;
      walk(inner, at === "" ? key : `${at}.${key}`, inTools || key.startsWith("tools"));
    }
  };
  walk({ tools, agents, channels }, "", false);
  return found;
}

function misspeltToolWarning({ at, pattern }: MisspeltTool): string {
  return `${at} names "${pattern}", which is no tool: nothing is allowed or denied by it. The tools are ${catalogue.map(({ id }) => id).join(", ")}`;
}

function wordsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((word) => typeof word === "string") : [];
}

interface MisspeltSkill {
  readonly name: string;
  /** The bundled skills that exist. */
  readonly bundled: readonly string[];
}

/**
 * Finds names in skills.allowBundled that no bundled skill has; none where bundled skills are off altogether.
 */
export async function misspeltSkills(
  { skills, agents }: Config,
  registry: Pick<SkillRegistry, "survey">,
): Promise<readonly MisspeltSkill[]> {
  const { bundled: isOn, allowBundled = [] } = skills;
  const [agent] = agents.list;
  if (!isOn || allowBundled.length === 0 || agent === undefined) return [];
  const { shelf } = await registry.survey(agent);
  const bundled = [...shelf.skills, ...shelf.shadowed.map(({ skill }) => skill)]
    .filter(({ source }) => source === "bundled")
    .map(({ manifest }) => manifest.name);
  return allowBundled.filter((name) => !bundled.includes(name)).map((name) => ({ name, bundled }));
}

export function misspeltSkillWarning({ name, bundled }: MisspeltSkill): string {
  return `skills.allowBundled names "${name}", which Parley does not bring. It brings ${bundled.toSorted().join(", ")}`;
}

interface UncappedModel {
  readonly agent: string;
  readonly model: string;
}

/**
 * Finds models that an agent's dollar limit cannot hold because their price is unknown: the agent's own and
 * those that people may choose. The rehearsal model costs nothing.
 */
export function uncappedModels(
  { agents: { defaults, list } }: Config,
  models: Pick<Models, "list">,
): readonly UncappedModel[] {
  const capped = list.filter(({ spend }) => spend?.dayUsd !== undefined || spend?.monthUsd !== undefined);
  return capped.flatMap(({ id, model: { primary, fallbacks } }) => {
    const named = new Set([primary, ...fallbacks, ...Object.keys(defaults.models)]);
    const unpriced = models
      .list([...named])
      .filter(({ id: model, api, cost }) => named.has(model) && api !== "rehearsal" && cost === undefined);
    return unpriced.map(({ id: model }) => ({ agent: id, model }));
  });
}

function uncappedWarning({ agent, model }: UncappedModel): string {
  return `the spending limit in dollars of the agent "${agent}" does not hold ${model}: its price is not known. Set the model's cost under models.providers, or limit tokens (dayTokens, monthTokens)`;
}
