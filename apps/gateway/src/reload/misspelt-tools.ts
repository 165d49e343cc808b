// Rules about tools that name no tool. A tool that was to be taken away and is still there is worth a word at
// the start.
import type { Config } from "@parley/config";
import { catalogue, unknownPatterns } from "@parley/tools";

export interface MisspeltTool {
  /** The place of the rules in the config, with dots. */
  readonly at: string;
  readonly pattern: string;
}

/** `more`: tools that stand in no catalogue. */
export function misspeltTools(
  { tools, agents, channels }: Config,
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
      found.push(...unknownPatterns(rules, more).map((pattern) => ({ at, pattern })));
    }
    for (const [key, inner] of Object.entries(value))
      walk(inner, at === "" ? key : `${at}.${key}`, inTools || key.startsWith("tools"));
  };
  walk({ tools, agents, channels }, "", false);
  return found;
}

export function misspeltWarning({ at, pattern }: MisspeltTool): string {
  return `${at} names "${pattern}", which is no tool: nothing is allowed or denied by it. The tools are ${catalogue.map(({ id }) => id).join(", ")}`;
}

function wordsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.filter((word) => typeof word === "string") : [];
}
