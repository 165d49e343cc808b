// Lists every tool as a session sees it: usable, removed by a rule, or unavailable, with the reason. `parley
// tools` and /tools show this list.
import type { MethodResult } from "@parley/protocol";
import { catalogue, groupsOf } from "@parley/tools";
import type { ToolsHere } from "./tools-here.ts";

export type ListedTool = MethodResult<"tools.list">["tools"][number];

/** In the catalogue's order; tools that no catalogue lists come last. */
export function listedTools({
  tools: told,
  refused,
  decision,
  unavailable,
}: Pick<ToolsHere, "tools" | "refused" | "decision" | "unavailable">): readonly ListedTool[] {
  const tools = told.filter(({ name }) => !refused.has(name));
  const removed = new Map(decision.removed.map(({ tool, rule }) => [tool, rule]));
  const missing = new Map(unavailable.map(({ tool, reason }) => [tool, reason]));
  const listed = catalogue.map((entry): ListedTool => {
    const { id, label, section, profiles, effect, summary } = entry;
    const isReady = tools.some(({ name }) => name === id);
    const reason = removed.get(id) ?? missing.get(id) ?? null;
    const status = isReady ? "ready" : removed.has(id) ? "removed" : "unavailable";
    return {
      id,
      label,
      section,
      profiles: [...profiles, "full"],
      groups: [...groupsOf(entry)],
      effect,
      summary,
      status,
      reason,
    };
  });
  const more = tools
    .filter(({ name }) => !catalogue.some(({ id }) => id === name))
    .map(({ name, summary, effect }): ListedTool => ({
      id: name,
      label: name,
      section: "rehearsal",
      profiles: ["full"],
      groups: [],
      effect,
      summary,
      status: "ready",
      reason: null,
    }));
  return [...listed, ...more];
}
