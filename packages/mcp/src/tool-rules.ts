// Applies a server's own `tools.allow` and `tools.deny`, which name its tools as it spells them; deny wins.
import type { ToolRules } from "@parley/tools";

export function allows({ allow, deny }: ToolRules, tool: string): boolean {
  const named = (patterns: readonly string[]): boolean => patterns.some((pattern) => matches(pattern, tool));
  return !named(deny ?? []) && (allow === undefined || named(allow));
}

function matches(pattern: string, tool: string): boolean {
  const parts = pattern
    .toLowerCase()
    .split("*")
    .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(tool.toLowerCase());
}
